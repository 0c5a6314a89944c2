/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every constraint that was asked, held against one candidate or each. */
#include "place_cmd.h"
#include "base/doc.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* How the candidate came out: "chosen", "fits, after a, which is ready", "refused". */
static void verdict(const struct place_ask *a, size_t i, struct cl_buf *out)
{
	const struct pl_candidate *c = &a->request.v[i], *chosen = a->result.chosen;

	if (a->result.failed[i]) {
		cl_buf_adds(out, "refused");
	} else if (c == chosen) {
		cl_buf_adds(out, "chosen");
	} else if (chosen && !a->query.bound) {
		cl_buf_addf(out, "fits, after %s, which ", chosen->executor_id);
		pl_rank_reason(chosen, c, out);
	} else {
		cl_buf_adds(out, "fits");
	}
}

static void one_text(const struct place_ask *a, size_t i)
{
	const struct pl_candidate *c = &a->request.v[i];
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_table t;

	verdict(a, i, &b);
	(void)printf("%s: %s\n", c->executor_id, b.p);
	cl_table_init(&t, 4);
	for (unsigned row = 0; row < PL_NROWS; row++) {
		bool fails = a->result.failed[i] & PL_ROW_BIT(row);

		if (!pl_asked(&a->query, (enum pl_row)row))
			continue;
		cl_table_add(&t, "");
		cl_table_add(&t, fails ? "NO" : "ok");
		cl_table_add(&t, pl_constraint((enum pl_row)row));
		cl_buf_reset(&b);
		if (fails)
			pl_detail(&a->query, c, (enum pl_row)row, &b);
		cl_table_add(&t, b.p);
		if (!fails)
			continue;
		cl_buf_reset(&b);
		cl_buf_adds(&b, "fix: ");
		pl_remedy(&a->query, c, (enum pl_row)row, &b);
		for (int k = 0; k < 3; k++)
			cl_table_add(&t, "");
		cl_table_add(&t, b.p);
	}
	cl_table_print(&t, stdout);
	cl_table_release(&t);
}

static json_t *row_json(const struct place_ask *a, size_t i, enum pl_row row)
{
	const struct pl_candidate *c = &a->request.v[i];
	bool fails = a->result.failed[i] & PL_ROW_BIT(row);
	json_t *o = json_pack("{s:s, s:b}", "constraint", pl_constraint(row), "met", !fails);
	cleanup_buf struct cl_buf detail = CL_BUF_INIT, remedy = CL_BUF_INIT;

	if (!fails)
		return o;
	pl_detail(&a->query, c, row, &detail);
	pl_remedy(&a->query, c, row, &remedy);
	(void)json_object_set_new(o, "detail", cl_json_string(detail.p));
	(void)json_object_set_new(o, "remedy", cl_json_string(remedy.p));
	return o;
}

static void one_json(const struct place_ask *a, size_t i)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	json_t *rows = json_array();

	for (unsigned row = 0; row < PL_NROWS; row++)
		if (pl_asked(&a->query, (enum pl_row)row))
			(void)json_array_append_new(rows, row_json(a, i, (enum pl_row)row));
	verdict(a, i, &b);
	cl_take_json(json_pack("{s:s, s:b, s:b, s:s, s:o}", "executor_id",
		a->request.v[i].executor_id, "fits", !a->result.failed[i], "chosen",
		a->result.chosen == &a->request.v[i], "verdict", b.p, "constraints", rows));
}

static void fixes(const struct place_ask *a)
{
	for (size_t i = 0; i < a->fixes.n; i++)
		(void)printf("%s%s", i ? "; " : "fix: ", a->fixes.v[i].text);
	if (a->fixes.n)
		(void)putchar('\n');
}

int place_why(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_place_ask struct place_ask a = PLACE_ASK_INIT;
	const char *id = cl_operand(c, 0), *bound = cl_str(c, "bound");
	size_t which = 0;

	if (bound && id && strcmp(bound, id) != 0)
		return cl_usage(
			c, e, "--bound judges '%s' alone: ask about it, or without --bound", bound);
	id = id ? id : bound;
	if (place_answer(c, &a, e) || (id && place_find(&a, id, &which, e)))
		return -1;
	for (size_t i = 0; i < a.request.n; i++) {
		if (id && i != which)
			continue;
		if (c->json)
			one_json(&a, i);
		else
			one_text(&a, i);
	}
	if (!c->json)
		fixes(&a);
	return (id ? !a.result.failed[which] : a.result.chosen != NULL) ? 0 : 1;
}
