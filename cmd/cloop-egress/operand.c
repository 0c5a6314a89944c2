/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "operand.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/git.h"
#include "work/ctx.h"
#include "work/levels.h"
#include "work/project.h"

#include <stdlib.h>
#include <string.h>

void operand_release(struct operand *o)
{
	eg_stack_release(&o->stack);
	free(o->name);
}

static int read_file(struct cl_ctx *c, const char *text, struct operand *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf data = CL_BUF_INIT;

	(void)c;
	if (cl_read_file(text, EGRESS_MAX_FILE, &data, e))
		return strchr(text, ':') ? cl_fix(e,
						   "name a file that exists, or git:%s for one "
						   "at a revision",
						   text)
					 : -1;
	return egress_policy_text(out->name, &data, &out->stack, e);
}

/* REV:PATH */
static int read_git(struct cl_ctx *c, const char *text, struct operand *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf data = CL_BUF_INIT;
	cleanup_free char *rev = NULL;
	const char *colon = strchr(text, ':');

	if (!colon || colon == text || !colon[1])
		return cl_usage(c, e, "'git:%s' is not git:REV:PATH", text);
	rev = cl_strndup(text, (size_t)(colon - text));
	if (sys_git_file(rev, colon + 1, EGRESS_MAX_FILE, &data, e))
		return -1;
	return egress_policy_text(out->name, &data, &out->stack, e);
}

static int read_executor(struct cl_ctx *c, const char *text, struct operand *out, struct cl_err *e)
{
	free(out->name);
	out->name = cl_asprintf("executor %s", text);
	return egress_executor(c, text, &out->stack, e);
}

char *operand_shown(const char *name)
{
	char *shown = cl_strdup(name);

	cl_mask(shown, "");
	return shown;
}

/* A set that is not stored is no set of no rules. */
static int none_stored(const char *name, const struct store_rules_of *of, struct cl_err *e)
{
	cleanup_free char *words = store_rules_words(of);

	(void)cl_fail(e, CL_ENOTFOUND, "there are no %s", name);
	return cl_fix(
		e, "store some: cloop egress rules set %s, or 'none' stands for nothing", words);
}

/* LEVEL:SUBJECT */
static int read_stored(struct cl_ctx *c, const char *text, struct operand *out, struct cl_err *e)
{
	cleanup_rules struct store_rules r = STORE_RULES_INIT;
	cleanup_eg_stack struct eg_stack s = EG_STACK_INIT;
	cleanup_hub struct hub hub = HUB_INIT;
	cleanup_store struct store *store = NULL;
	cleanup_free char *project = NULL;
	static const char *const levels[] = {"executor", "device", "virtual", "project"};
	struct store_rules_of of = {NULL, strchr(text, ':')};

	for (size_t i = 0; i < CL_ARRAY_LEN(levels) && of.subject; i++)
		if (strlen(levels[i]) == (size_t)(of.subject - text) && cl_starts(text, levels[i]))
			of.level = levels[i];
	if (!of.level || !*++of.subject)
		return cl_usage(c, e,
			"'rules:%s' is not rules:project:DIR or rules:executor:ID (device, "
			"virtual)",
			text);
	/* One that is gone has its rules still. */
	if (!strcmp(of.level, "project")) {
		cleanup_free char *real = realpath(of.subject, NULL);

		project = work_project_of(real ? real : of.subject);
		of.subject = project;
	}
	free(out->name);
	out->name = work_level_name(of.level, of.subject);
	if (hub_store_from_ctx(c, STORE_RO, &hub, &store, e) ||
		vouch_newest(&hub, store, &of, 1, &r, e))
		return -1;
	if (!r.rules)
		return none_stored(out->name, &of, e);
	if (work_level_add(&r, &s, e))
		return -1;
	eg_auth_copy(&s.v[0].auth, eg_stack_add(&out->stack, NULL, 0));
	return 0;
}

static const struct {
	const char *prefix;
	int (*read)(struct cl_ctx *c, const char *text, struct operand *out, struct cl_err *e);
} kinds[] = {
	{"git:", read_git},
	{"executor:", read_executor},
	{"rules:", read_stored},
	{"", read_file},
};

static int read_any(struct cl_ctx *c, const char *text, struct operand *out, struct cl_err *e)
{
	size_t i = 0;

	/* A policy that is not there yet: nothing is allowed. */
	if (!strcmp(text, "none"))
		return 0;
	while (!cl_starts(text, kinds[i].prefix))
		i++;
	return kinds[i].read(c, text + strlen(kinds[i].prefix), out, e);
}

int operand_read(struct cl_ctx *c, size_t n, struct operand *out, struct cl_err *e)
{
	const char *text = c->operands[n];

	for (size_t i = 0; i < c->noperands; i++)
		if (i != n && !strcmp(text, "-") && !strcmp(c->operands[i], "-"))
			return cl_usage(c, e, "both policies cannot be standard input");
	out->name = cl_strdup(strcmp(text, "-") ? text : "standard input");
	if (read_any(c, text, out, e)) {
		/* Not status 1, which would be an answer. */
		if (cl_err_exit(e) == 1)
			e->code = CL_ECONFIG;
		return -1;
	}
	egress_notes(c, &out->stack, out->name);
	return 0;
}

int operand_side(const struct operand *o, struct change_side *out, struct cl_err *e)
{
	if (eg_stack_compile(&o->stack, &out->policy, e))
		return cl_wrap(e, "%s", o->name);
	flat_build(&out->policy, true, &out->flat);
	return 0;
}
