/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "place_cmd.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void as_json(const struct place_ask *a, bool all)
{
	const struct pl_request *r = &a->request;
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	if (a->result.chosen)
		pl_choice_json(&a->query, r->v, r->n, &a->result, all, &out);
	else
		pl_refusal_json(&a->query, r->v, r->n, &a->result, &a->fixes, &out);
	cl_buf_addc(&out, '\n');
	(void)fwrite(out.p, 1, out.len, stdout);
}

static int by_id(const void *a, const void *b)
{
	return strcmp((*(const struct pl_candidate *const *)a)->executor_id,
		(*(const struct pl_candidate *const *)b)->executor_id);
}

/* Those that are refused, by id: each constraint on a line of its own. */
static void list_refused(const struct place_ask *a, struct cl_table *t)
{
	const struct pl_request *r = &a->request;
	cleanup_free const struct pl_candidate **all = cl_calloc(r->n + 1, sizeof(*all));
	size_t k = 0;

	for (size_t i = 0; i < r->n; i++)
		if (a->result.failed[i] && (!a->result.bound || a->result.bound == &r->v[i]))
			all[k++] = &r->v[i];
	qsort(all, k, sizeof(*all), by_id);
	for (size_t i = 0; i < k; i++) {
		uint64_t rest = a->result.failed[all[i] - r->v];
		const char *id = all[i]->executor_id;

		for (; rest; rest &= rest - 1) {
			cleanup_buf struct cl_buf b = CL_BUF_INIT;

			pl_detail(&a->query, all[i], pl_first(rest), &b);
			cl_table_add(t, id);
			cl_table_add(t, pl_constraint(pl_first(rest)));
			cl_table_add(t, b.p);
			id = "";
		}
	}
}

static void list_fit(const struct place_ask *a, struct cl_table *t)
{
	const struct pl_request *r = &a->request;
	cleanup_free const struct pl_candidate **fit = NULL;
	const struct pl_candidate *before = NULL;

	if (a->query.bound) {
		cl_table_add(t, a->result.chosen->executor_id);
		cl_table_add(t, "chosen");
		cl_table_add(t, "the executor that was asked for");
		return;
	}
	fit = pl_ranked(r->v, r->n, &a->result);
	for (size_t i = 0; i < a->result.nfit; i++) {
		cleanup_buf struct cl_buf b = CL_BUF_INIT;

		cl_table_add(t, fit[i]->executor_id);
		cl_table_add(t, i ? "fits" : "chosen");
		if (before) {
			cl_buf_addf(&b, "after %s, which ", before->executor_id);
			pl_rank_reason(before, fit[i], &b);
		}
		cl_table_add(t, b.p);
		before = fit[i];
	}
}

static void list(const struct place_ask *a)
{
	struct cl_table t;

	cl_table_init(&t, 3);
	if (a->result.chosen)
		list_fit(a, &t);
	list_refused(a, &t);
	cl_table_print(&t, stdout);
	cl_table_release(&t);
}

int place_choose(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_place_ask struct place_ask a = PLACE_ASK_INIT;
	cleanup_buf struct cl_buf warning = CL_BUF_INIT;
	const struct pl_request *r = &a.request;
	bool all = cl_flag(c, "all");

	if (place_answer(c, &a, e))
		return -1;
	if (c->json) {
		as_json(&a, all);
		return a.result.chosen ? 0 : 1;
	}
	if (all)
		list(&a);
	else if (a.result.chosen)
		(void)puts(a.result.chosen->executor_id);
	if (!a.result.chosen)
		return pl_refusal_err(&a.query, r->v, r->n, &a.result, &a.fixes, e);
	if (pl_unverified(&a.query, a.result.chosen, &warning))
		cl_warn(c, "%s", warning.p);
	return 0;
}
