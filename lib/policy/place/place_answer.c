/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers. JSON is written as text: ten thousand rejections with every reason are a tree of
 * a hundred thousand nodes that nobody would look at.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/place_internal.h"

#include <stdlib.h>
#include <string.h>

/* The codes of a refusal. */
#define CODE_PLACEMENT "placement"
#define CODE_HOST      "host_execution"

static void member(struct cl_buf *out, const char *before, const char *key, const char *text)
{
	cl_buf_addf(out, "%s\"%s\":", before, key);
	cl_json_quote(out, text);
}

/* "constraint":...,"detail":... then, with an id, that, then "remedy":... */
static void reason(const struct pl_query *q, const struct pl_candidate *c, enum pl_row row,
	const char *id, struct cl_buf *text, struct cl_buf *out)
{
	member(out, "", "constraint", pl_rules[row].constraint);
	cl_buf_reset(text);
	pl_detail(q, c, row, text);
	member(out, ",", "detail", text->p);
	if (id)
		member(out, ",", "executor_id", id);
	cl_buf_reset(text);
	pl_remedy(q, c, row, text);
	member(out, ",", "remedy", text->p);
}

static void rejection(const struct pl_query *q, const struct pl_candidate *c, uint64_t failed,
	struct cl_buf *text, struct cl_buf *out)
{
	enum pl_row first = pl_first(failed);
	const char *sep = "{";

	cl_buf_adds(out, "{\"also\":[");
	for (uint64_t rest = failed & (failed - 1); rest; rest &= rest - 1) {
		cl_buf_adds(out, sep);
		reason(q, c, pl_first(rest), NULL, text, out);
		cl_buf_addc(out, '}');
		sep = ",{";
	}
	cl_buf_adds(out, "],");
	reason(q, c, first, c->executor_id, text, out);
	cl_buf_addc(out, '}');
}

/* One that was refused, with the rows that it fails. */
struct refused {
	const struct pl_candidate *c;
	uint64_t failed;
};

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct refused *)a)->c->executor_id,
		((const struct refused *)b)->c->executor_id);
}

/* Sorted by id; of a bound executor that one alone. Owned; *k of them. */
static struct refused *refused_of(
	const struct pl_candidate *v, size_t n, const struct pl_result *r, size_t *k)
{
	struct refused *out = cl_calloc(n + 1, sizeof(*out));

	*k = 0;
	for (size_t i = 0; i < n; i++)
		if (r->failed[i] && (!r->bound || r->bound == &v[i]))
			out[(*k)++] = (struct refused){&v[i], r->failed[i]};
	qsort(out, *k, sizeof(*out), by_id);
	return out;
}

void pl_rejections_json(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, struct cl_buf *out)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_free struct refused *all = NULL;
	size_t k;

	all = refused_of(v, n, r, &k);
	cl_buf_addc(out, '[');
	for (size_t i = 0; i < k; i++) {
		cl_buf_adds(out, i ? "," : "");
		rejection(q, all[i].c, all[i].failed, &text, out);
	}
	cl_buf_addc(out, ']');
}

static void ids_json(const struct pl_candidate *const *v, size_t from, size_t n, struct cl_buf *out)
{
	cl_buf_addc(out, '[');
	for (size_t i = from; i < n; i++) {
		cl_buf_adds(out, i > from ? "," : "");
		cl_json_quote(out, v[i]->executor_id);
	}
	cl_buf_addc(out, ']');
}

void pl_choice_json(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, bool all, struct cl_buf *out)
{
	cleanup_free const struct pl_candidate **ranked = pl_ranked(v, n, r);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	size_t k = q->bound ? 0 : r->nfit;

	cl_buf_addf(out, "{\"considered\":%zu", r->considered);
	member(out, ",", "executor_id", r->chosen->executor_id);
	member(out, ",", "kind", r->chosen->kind);
	cl_buf_adds(out, ",\"others\":");
	ids_json(ranked, k ? 1 : 0, k, out);
	if (all) {
		cl_buf_adds(out, ",\"rejections\":");
		pl_rejections_json(q, v, n, r, out);
	}
	cl_buf_adds(out, ",\"warnings\":[");
	if (pl_unverified(q, r->chosen, &text))
		cl_json_quote(out, text.p);
	cl_buf_adds(out, "]}");
}

/* ---- a refusal ---- */

static bool host_denial(const struct pl_candidate *v, const struct pl_result *r)
{
	return r->bound && pl_is_host_denial(r->bound, pl_first(r->failed[r->bound - v]));
}

/* How much of a message tells of single executors. */
#define MSG_ROOM 900

static void fleet_message(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, struct cl_buf *out)
{
	cleanup_free struct refused *all = NULL;
	size_t k, i;

	if (!r->considered) {
		cl_buf_adds(out, "no executor takes this workload: there is none");
		return;
	}
	all = refused_of(v, n, r, &k);
	cl_buf_addf(out, "no executor takes this workload: of %zu considered, %zu fail%s %s",
		r->considered, r->nheadline, r->nheadline == 1 ? "s" : "", r->constraint);
	for (i = 0; i < k && out->len < MSG_ROOM; i++) {
		cl_buf_addf(out, "%s%s ", i ? "; " : " (", all[i].c->executor_id);
		pl_detail(q, all[i].c, pl_first(all[i].failed), out);
	}
	if (i < k)
		cl_buf_addf(out, "; and %zu more", k - i);
	cl_buf_adds(out, k ? ")" : "");
}

static void bound_message(const struct pl_query *q, const struct pl_candidate *v,
	const struct pl_result *r, struct cl_buf *out)
{
	const char *sep = " ";

	cl_buf_addf(out, "executor '%s'", r->bound->executor_id);
	for (uint64_t rest = r->failed[r->bound - v]; rest && out->len < MSG_ROOM;
		rest &= rest - 1) {
		cl_buf_adds(out, sep);
		pl_detail(q, r->bound, pl_first(rest), out);
		sep = ", and ";
	}
}

/* Executors that would take what the bound one refuses, best first; owned. */
static const struct pl_candidate **alternatives(
	const struct pl_candidate *v, size_t n, const struct pl_result *r, size_t *k)
{
	struct pl_result fit = {.failed = r->failed};

	for (size_t i = 0; i < n; i++)
		fit.nfit += !r->failed[i];
	*k = fit.nfit;
	return pl_ranked(v, n, &fit);
}

static void remediation(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, const struct pl_fixes *f, struct cl_buf *out)
{
	cleanup_free const struct pl_candidate **other = NULL;
	size_t k = 0;

	if (r->bound) {
		other = alternatives(v, n, r, &k);
		if (k)
			cl_buf_addf(out, "run it on '%s', which takes it", other[0]->executor_id);
	}
	for (size_t i = 0; i < f->n && out->len < 600; i++)
		cl_buf_addf(out, "%s%s", out->len ? (i ? "; " : ", or ") : "", f->v[i].text);
	if (!out->len && r->bound)
		pl_remedy(q, r->bound, pl_first(r->failed[r->bound - v]), out);
	if (!out->len)
		cl_buf_adds(out, "change the request: 'cloop place why' has every reason");
}

int pl_refusal_err(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, const struct pl_fixes *f, struct cl_err *e)
{
	cleanup_buf struct cl_buf msg = CL_BUF_INIT, fix = CL_BUF_INIT;

	if (r->bound)
		bound_message(q, v, r, &msg);
	else
		fleet_message(q, v, n, r, &msg);
	remediation(q, v, n, r, f, &fix);
	(void)cl_fail(e, CL_EREFUSED, "%s", msg.p);
	(void)cl_slug(e, host_denial(v, r) ? CODE_HOST : CODE_PLACEMENT);
	(void)cl_constraint(e, r->constraint);
	return cl_fix(e, "%s", fix.p);
}

static void fixes_json(const struct pl_fixes *f, struct cl_buf *out)
{
	cl_buf_addc(out, '[');
	for (size_t i = 0; i < f->n; i++) {
		member(out, i ? ",{" : "{", "change", f->v[i].text);
		member(out, ",", "constraint", f->v[i].constraint);
		if (f->v[i].executor_id)
			member(out, ",", "executor_id", f->v[i].executor_id);
		else
			cl_buf_adds(out, ",\"executor_id\":null");
		cl_buf_addc(out, '}');
	}
	cl_buf_addc(out, ']');
}

void pl_refusal_json(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, const struct pl_fixes *f, struct cl_buf *out)
{
	struct cl_err e;

	(void)pl_refusal_err(q, v, n, r, f, &e);
	cl_buf_adds(out, "{\"error\":{");
	if (r->bound) {
		cleanup_free const struct pl_candidate **other = NULL;
		size_t k;

		other = alternatives(v, n, r, &k);
		cl_buf_adds(out, "\"alternatives\":");
		ids_json(other, 0, k, out);
		cl_buf_addc(out, ',');
	}
	member(out, "", "code", e.slug);
	cl_buf_addf(out, ",\"considered\":%zu", r->considered);
	member(out, ",", "constraint", r->constraint);
	cl_buf_adds(out, ",\"fixes\":");
	fixes_json(f, out);
	member(out, ",", "kind", cl_err_kind(&e));
	member(out, ",", "message", e.msg);
	cl_buf_adds(out, ",\"rejections\":");
	pl_rejections_json(q, v, n, r, out);
	member(out, ",", "remediation", e.fix);
	cl_buf_adds(out, "}}");
}
