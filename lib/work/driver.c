/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/driver.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "sys/proc.h"
#include "work/paths.h"

#include <stdio.h>
#include <string.h>

/* Longer than a setup build may take; every driver bounds its own steps. */
#define DRIVER_TIMEOUT_MS (40 * 60 * 1000)

int work_driver(const char *kind, const char *verb, json_t *in, json_t **out, struct cl_err *e)
{
	cleanup_free char *name = cl_asprintf("cloop-exec-%s", kind), *path = cl_sibling(name);
	cleanup_free char *text = cl_json_text(in), *first = NULL, *verb_copy = cl_strdup(verb);
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	char *argv[] = {name, verb_copy, (char *)"--json", NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	work_engine_env(&env);
	r.spawn.path = path;
	r.spawn.argv = argv;
	r.spawn.envp = env.v;
	r.spawn.new_session = true;
	r.input = text;
	r.input_len = strlen(text);
	r.timeout_ms = DRIVER_TIMEOUT_MS;
	if (sys_run(&r, e))
		return -1;
	if (r.status) {
		if (!cl_doc_parse(&d, CL_DOC_JSON, name, r.err.p, r.err.len, NULL, e))
			return cl_err_from_json(d.root, e);
		first = sys_first_line(&r.err);
		return cl_fail(
			e, CL_EBUG, "%s %s ended with status %d: %s", name, verb, r.status, first);
	}
	if (cl_doc_parse(&d, CL_DOC_JSON, name, r.out.p, r.out.len, NULL, e))
		return cl_wrap(e, "answer of %s %s", name, verb);
	*out = json_incref(d.root);
	return 0;
}

json_t *work_executor_json(const struct cl_doc *d, const struct cfg_executor *x)
{
	json_t *raw = json_object_get(json_object_get(d->root, "executors"), "container"), *out;
	unsigned n;

	if (json_is_array(raw) && sscanf(x->key, "executors.container[%u]", &n) == 1)
		raw = json_array_get(raw, n);
	out = raw ? json_deep_copy(raw) : json_object();
	(void)json_object_set_new(out, "id", json_string(x->id));
	return out;
}
