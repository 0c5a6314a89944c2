/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Placement requests. What is taken is answered; the choice is one that fails nothing and
 * that none who fits comes before; a refusal has a reason for everyone; what is printed is
 * JSON; the request, printed and read again, has the same answer.
 */
#include "base/mem.h"
#include "policy/place/place.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

static void right(const struct pl_query *q, const struct pl_request *r, const struct pl_result *x)
{
	size_t fit = 0;

	for (size_t i = 0; i < r->n; i++) {
		must(x->failed[i] == pl_failed(q, &r->v[i]));
		fit += !x->failed[i];
		if (!x->failed[i])
			must(x->chosen && pl_rank(x->chosen, &r->v[i]) <= 0);
	}
	must(fit == x->nfit && (fit > 0) == (x->chosen != NULL));
	must(x->chosen || x->constraint);
}

static char *answered(const struct pl_request *r, const char *bound)
{
	cleanup_pl_result struct pl_result x = PL_RESULT_INIT;
	cleanup_pl_fixes struct pl_fixes f = PL_FIXES_INIT;
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	struct pl_query q;
	json_t *j;

	pl_query_init(&q, &r->requirements, &r->policy);
	if (bound) {
		pl_check(&q, r->v, r->n, 0, &x);
	} else {
		pl_select(&q, r->v, r->n, r->nulls, &x);
		right(&q, r, &x);
	}
	pl_fix(&q, r->v, r->n, &x, &f);
	must(!x.chosen || !f.n);
	if (x.chosen)
		pl_choice_json(&q, r->v, r->n, &x, true, &out);
	else
		pl_refusal_json(&q, r->v, r->n, &x, &f, &out);
	j = json_loadb(out.p, out.len, JSON_REJECT_DUPLICATES, NULL);
	must(j != NULL);
	json_decref(j);
	return cl_buf_detach(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = cl_strndup((const char *)data, size), *printed = NULL;
	cleanup_pl_request struct pl_request r = PL_REQUEST_INIT, again = PL_REQUEST_INIT;
	cleanup_free char *a = NULL, *b = NULL;
	struct cl_err e;

	if (pl_request_read("f", text, size, &r, &e)) {
		must(e.code == CL_EDATA && *e.msg);
		return 0;
	}
	a = answered(&r, NULL);
	if (r.n)
		free(answered(&r, r.v[0].executor_id));
	printed = pl_request_text(r.v, r.n, &r.requirements, &r.policy);
	must(!pl_request_read("f", printed, strlen(printed), &again, &e));
	again.nulls = r.nulls;
	b = answered(&again, NULL);
	must(!strcmp(a, b));
	return 0;
}
