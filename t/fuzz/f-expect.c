/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of policy tests, read and run; every example of a failure is one by first match. */
#include "base/mem.h"
#include "policy/egress/expect.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int yes)
{
	if (!yes)
		abort();
}

static void run(const struct exp_suite *s)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_flat struct flat f = FLAT_INIT;
	struct cl_err e;

	if (eg_stack_compile(&s->policy, &p, &e))
		return;
	flat_build(&p, true, &f);
	for (size_t i = 0; i < s->ncases; i++) {
		const struct exp_case *c = &s->cases[i];
		struct exp_result r = exp_run(c, &f);
		struct eg_answer a;

		must(c->name && c->ntargets && c->line);
		if (r.ok)
			continue;
		a = eg_evaluate(&p, &r.addr, r.port, r.proto, true);
		must(a.verdict == r.answer.verdict && a.rule == r.answer.rule);
		must(a.verdict != c->want || (c->reason && strcmp(c->reason, a.reason) != 0));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_exp_suite struct exp_suite s = EXP_SUITE_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	if (cl_doc_parse(&d, CL_DOC_YAML, "x", (const char *)data, size, NULL, &e))
		return 0;
	cl_err_init(&e);
	if (exp_read(&d, &s, &e))
		must(e.msg[0] && e.line);
	else
		run(&s);
	return 0;
}
