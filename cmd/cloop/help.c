/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "front.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/version.h"
#include "sys/proc.h"

#include <string.h>

#ifndef CLOOP_COMMIT
#define CLOOP_COMMIT "unknown"
#endif

/* What a command says of itself; a third party's that does not speak --cl-spec says nothing. */
static char *summary_of(char *path)
{
	char *const argv[] = {path, (char *)"--cl-spec", NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const char *s = NULL;
	struct cl_err e;
	char *own;

	r.spawn.path = path;
	r.spawn.argv = argv;
	r.spawn.new_session = true; /* the timeout then ends its children too */
	r.timeout_ms = 2000;
	if (sys_run(&r, &e) || r.status ||
		cl_doc_parse(&d, CL_DOC_JSON, path, r.out.p, r.out.len, NULL, &e) ||
		cl_doc_str(&d, d.root, "summary", &s, &e) || !s)
		return cl_strdup("");
	own = cl_strdup(s);
	cl_mask(own, "");
	return own;
}

static void each(void (*fn)(const char *name, const char *path, const char *summary))
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	front_names(&names);
	for (size_t i = 0; i < names.n; i++) {
		cleanup_free char *path = front_find(names.v[i]);
		cleanup_free char *summary = path ? summary_of(path) : NULL;

		if (path)
			fn(names.v[i], path, summary);
	}
}

static void as_text(const char *name, const char *path, const char *summary)
{
	(void)path;
	(void)printf("  %-16s  %s\n", name, summary);
}

static void as_json(const char *name, const char *path, const char *summary)
{
	cl_take_json(json_pack(
		"{s:s, s:o, s:s}", "name", name, "path", cl_json_string(path), "summary", summary));
}

int front_help(struct cl_ctx *c, struct cl_err *e)
{
	const char *name = cl_operand(c, 0);
	char *argv[] = {NULL, (char *)"--help", NULL};

	if (name) {
		for (const struct cl_verb *v = front_spec.verbs; v->name; v++)
			if (!strcmp(v->name, name))
				return cl_usage(c, e, "'%s' is part of cloop itself", name);
		return front_exec(name, argv, e);
	}
	(void)printf("cloop: %s\n\nUsage: cloop [-C DIR] COMMAND [ARG...]\n\nCommands:\n",
		front_spec.summary);
	each(as_text);
	(void)printf("\nMore: cloop help COMMAND, man cloop-COMMAND, man cloop\n");
	return 0;
}

int front_list(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	(void)e;
	if (!cl_flag(c, "names")) {
		each(c->json ? as_json : as_text);
		return 0;
	}
	front_names(&names);
	for (size_t i = 0; i < names.n; i++) {
		if (c->json)
			cl_take_json(json_pack("{s:s}", "name", names.v[i]));
		else
			(void)puts(names.v[i]);
	}
	return 0;
}

int front_version(struct cl_ctx *c, struct cl_err *e)
{
	(void)e;
	if (c->json)
		cl_take_json(json_pack("{s:s, s:i, s:i, s:s, s:i}", "version", CLOOP_VERSION,
			"protocol", CLOOP_PROTOCOL, "min_protocol", CLOOP_MIN_PROTOCOL, "commit",
			CLOOP_COMMIT, "sequence", CLOOP_SEQUENCE));
	else
		(void)printf("cloop %s (%s)\n", CLOOP_VERSION, CLOOP_COMMIT);
	return 0;
}
