/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `firewall test`: files of expectations against the policy they carry, or one for all. */
#include "test.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const struct cl_doc_limits limits = {
	.max_bytes = 32u << 20, .nodes = 2 * EG_MAX_CIDRS_FILE + EXP_MAX_TARGETS + 65536};

static void file_release(struct test_file *f)
{
	free(f->results);
	flat_release(&f->flat);
	eg_policy_release(&f->policy);
	exp_suite_release(&f->suite);
}

static void files_release(struct test_files *t)
{
	for (size_t i = 0; i < t->n; i++)
		file_release(&t->v[i]);
	free(t->v);
}
#define cleanup_files __attribute__((cleanup(files_release)))

static int load_suite(const char *path, struct test_file *f, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	f->name = strcmp(path, "-") ? path : "standard input";
	return cl_read_file(path, limits.max_bytes, &text,
		       e) || cl_doc_parse(&d, CL_DOC_YAML, f->name, text.p, text.len, &limits, e) ||
			       exp_read(&d, &f->suite, e)
		       ? -1
		       : 0;
}

/* The policy of --policy, for every file. */
static int load_policy(const char *path, struct eg_stack *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	return cl_read_file(path, limits.max_bytes, &text, e) ||
			       egress_policy_text(path, &text, out, e)
		       ? -1
		       : 0;
}

static int judge(struct test_file *f, const struct eg_stack *given, struct cl_err *e)
{
	if (given && f->suite.has_policy) {
		(void)cl_fail(e, CL_EDATA, "%s has a policy of its own", f->name);
		return cl_fix(e, "leave out --policy, or the file's 'policy:'");
	}
	if (!given && !f->suite.has_policy) {
		(void)cl_fail(e, CL_EDATA, "%s has no policy to test", f->name);
		return cl_fix(e, "write one under 'policy:', or name one with --policy FILE");
	}
	if (eg_stack_compile(given ? given : &f->suite.policy, &f->policy, e))
		return cl_wrap(e, "%s", f->name);
	flat_build(&f->policy, true, &f->flat);
	f->results = cl_calloc(f->suite.ncases + 1, sizeof(*f->results));
	for (size_t i = 0; i < f->suite.ncases; i++) {
		f->results[i] = exp_run(&f->suite.cases[i], &f->flat);
		f->failed += !f->results[i].ok;
	}
	return 0;
}

static void report(const char *format, const struct test_files *t)
{
	if (!strcmp(format, "junit"))
		test_report_junit(t);
	else if (!strcmp(format, "json"))
		test_report_json(t);
	else
		test_report_tap(t);
}

int egress_test(struct cl_ctx *c, struct cl_err *e)
{
	const char *format = c->json ? "json" : cl_str_or(c, "format", "tap");
	const char *policy = cl_str(c, "policy");
	cleanup_eg_stack struct eg_stack given = EG_STACK_INIT;
	cleanup_files struct test_files t = {0};
	size_t failed = 0;

	if (c->json && cl_given(c, "format") && strcmp(cl_str(c, "format"), "json") != 0)
		return cl_usage(
			c, e, "--json and --format %s cannot go together", cl_str(c, "format"));
	t.v = cl_calloc(c->noperands, sizeof(*t.v));
	/* Nothing is reported of files of which one cannot be read. */
	for (t.n = 0; t.n < c->noperands;) {
		struct test_file *f = &t.v[t.n++];

		*f = (struct test_file){.suite = EXP_SUITE_INIT};
		if (load_suite(c->operands[t.n - 1], f, e))
			return -1;
	}
	if (policy && load_policy(policy, &given, e))
		return -1;
	egress_notes(c, &given, policy);
	for (size_t i = 0; i < t.n; i++) {
		egress_notes(c, &t.v[i].suite.policy, t.v[i].name);
		if (judge(&t.v[i], policy ? &given : NULL, e))
			return -1;
		failed += t.v[i].failed;
	}
	report(format, &t);
	return failed ? 1 : 0;
}
