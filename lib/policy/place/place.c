/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/num.h"
#include "policy/place/place_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *pl_health_name(enum pl_health h)
{
	static const char *const names[PL_NHEALTHS] = {
		"ready", "degraded", "unreachable", "cordoned", "draining"};

	return names[h];
}

const char *pl_need_name(enum pl_need n)
{
	static const char *const names[PL_NNEEDS] = {
		[PL_NEED_ISOLATION] = "isolation",
		[PL_NEED_VIRTUALIZATION] = "virtualization",
		[PL_NEED_KERNEL_ISOLATION] = "kernel_isolation",
		[PL_NEED_CONTAINER_RUNTIME] = "container_runtime",
		[PL_NEED_NETWORK_EGRESS] = "network_egress",
		[PL_NEED_RESOURCE_LIMITS] = "resource_limits",
		[PL_NEED_DISK_LIMIT] = "disk_limit",
		[PL_NEED_IMAGE_OVERRIDE] = "image_override",
		[PL_NEED_SANDBOX_BUILD] = "sandbox_build",
		[PL_NEED_SANDBOX_MOUNTS] = "sandbox_mounts",
		[PL_NEED_HOST_MOUNTS] = "host_mounts",
		[PL_NEED_DEVICES] = "devices",
		[PL_NEED_INTERFACES] = "interfaces",
		[PL_NEED_EGRESS_SCOPE] = "egress_scope",
		[PL_NEED_WORKSPACE_PROVISIONING] = "workspace_provisioning",
		[PL_NEED_HOST_FILESYSTEM_WORKSPACE] = "host_filesystem_workspace",
		[PL_NEED_WRITE_BACK] = "write_back",
		[PL_NEED_BRANCH_BUNDLE] = "branch_bundle",
		[PL_NEED_PROJECT_SEED] = "project_seed",
		[PL_NEED_SECRET_FILES] = "secret_files",
		[PL_NEED_REVOCATION] = "revocation",
		[PL_NEED_STREAM] = "stream",
		[PL_NEED_SIGNAL] = "signal",
	};

	return names[n];
}

const char *pl_constraint(enum pl_row r)
{
	return pl_rules[r].constraint;
}

/* Three numbers of 21 bits each; +1 so that v0.0.0 is a release too. */
uint64_t pl_release(const char *build)
{
	uint64_t v = 0;
	const char *p = build;

	if (*p++ != 'v')
		return 0;
	for (int i = 0; i < 3; i++) {
		uint64_t n = 0;
		size_t len = strspn(p, "0123456789");

		if (!len || len > 7)
			return 0;
		for (size_t k = 0; k < len; k++)
			n = n * 10 + (uint64_t)(p[k] - '0');
		if (n >= UINT64_C(1) << 21 || p[len] != (i < 2 ? '.' : '\0'))
			return 0;
		v = v << 21 | n;
		p += len + 1;
	}
	return v + 1;
}

void pl_release_text(uint64_t release, struct cl_buf *out)
{
	const uint64_t mask = (UINT64_C(1) << 21) - 1, v = release - 1;

	cl_buf_addf(out, "v%" PRIu64 ".%" PRIu64 ".%" PRIu64, v >> 42, v >> 21 & mask, v & mask);
}

/* ---- judging ---- */

static bool asked(const struct pl_query *q, const struct pl_rule *row)
{
	return row->need >= 0 ? (q->r->needs & PL_NEED_BIT(row->need)) != 0 : row->asked(q);
}

void pl_query_ask(struct pl_query *q)
{
	q->nrows = 0;
	q->caps = 0;
	q->arch_alias = pl_arch_alias(q->r->arch);
	for (unsigned i = 0; i < PL_NROWS; i++) {
		if (!asked(q, &pl_rules[i]))
			continue;
		if (pl_rules[i].cap >= 0) {
			q->caps |= CAP_BIT(pl_rules[i].cap);
			q->row_of_cap[pl_rules[i].cap] = (uint8_t)i;
		} else {
			q->rows[q->nrows++] = (uint8_t)i;
		}
	}
}

void pl_query_init(struct pl_query *q, const struct pl_requirements *r, const struct pl_policy *p)
{
	*q = (struct pl_query){.r = r, .p = p};
	pl_query_ask(q);
}

bool pl_asked(const struct pl_query *q, enum pl_row r)
{
	return asked(q, &pl_rules[r]);
}

uint64_t pl_failed(const struct pl_query *q, const struct pl_candidate *c)
{
	uint64_t failed = 0;

	for (uint32_t lacks = q->caps & ~c->caps.bits; lacks; lacks &= lacks - 1)
		failed |= PL_ROW_BIT(q->row_of_cap[__builtin_ctz(lacks)]);
	for (size_t i = 0; i < q->nrows; i++)
		if (pl_rules[q->rows[i]].fails(q, c))
			failed |= PL_ROW_BIT(q->rows[i]);
	return failed;
}

enum pl_row pl_first(uint64_t failed)
{
	return (enum pl_row)__builtin_ctzll(failed);
}

void pl_detail(
	const struct pl_query *q, const struct pl_candidate *c, enum pl_row r, struct cl_buf *out)
{
	if (pl_rules[r].say)
		pl_rules[r].say(q, c, out);
	else
		cl_buf_adds(out, pl_rules[r].detail);
}

void pl_remedy(
	const struct pl_query *q, const struct pl_candidate *c, enum pl_row r, struct cl_buf *out)
{
	if (pl_rules[r].cure)
		pl_rules[r].cure(q, c, out);
	else
		cl_buf_adds(out, pl_rules[r].remedy);
}

bool pl_is_host_denial(const struct pl_candidate *c, enum pl_row r)
{
	return c->caps.isolation == CAP_ISOLATION_NONE && pl_rules[r].gap;
}

/* ---- ranking ---- */

/* What has no bound, or a load that nobody knows, counts as free without end. */
#define FREE_MAX (INT64_C(1) << 30)

int64_t pl_free_slots(const struct pl_candidate *c)
{
	if (c->caps.max_concurrent <= 0 || !c->in_flight_known)
		return FREE_MAX;
	return c->in_flight >= c->caps.max_concurrent ? 0 : c->caps.max_concurrent - c->in_flight;
}

static uint64_t newness(const struct pl_candidate *c)
{
	return c->release || pl_kind_is(c, "remote") ? c->release : UINT64_MAX;
}

/* The criteria in order, larger is better. */
static int64_t is_ready(const struct pl_candidate *c)
{
	return c->health == PL_READY;
}

static int64_t isolates(const struct pl_candidate *c)
{
	return c->caps.isolation != CAP_ISOLATION_NONE;
}

static int64_t build_order(const struct pl_candidate *c)
{
	return (int64_t)(newness(c) >> 1); /* the lowest bit is only the +1 of v0.0.0 and its kin */
}

static const struct {
	int64_t (*of)(const struct pl_candidate *c);
	const char *words;
} criteria[] = {
	{is_ready, "is ready"},
	{pl_free_slots, "has more free slots"},
	{isolates, "isolates from its host"},
	{build_order, "runs a newer build"},
};

int pl_rank(const struct pl_candidate *a, const struct pl_candidate *b)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(criteria); i++) {
		int64_t x = criteria[i].of(a), y = criteria[i].of(b);

		if (x != y)
			return x > y ? -1 : 1;
	}
	return strcmp(a->executor_id, b->executor_id);
}

void pl_rank_reason(const struct pl_candidate *a, const struct pl_candidate *b, struct cl_buf *out)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(criteria); i++) {
		if (criteria[i].of(a) == criteria[i].of(b))
			continue;
		cl_buf_adds(out, criteria[i].words);
		if (criteria[i].of == pl_free_slots && pl_free_slots(a) < FREE_MAX)
			cl_buf_addf(out, " (%" PRId64 ", not %" PRId64 ")", pl_free_slots(a),
				pl_free_slots(b));
		return;
	}
	cl_buf_adds(out, "comes first in the alphabet");
}

/* ---- choosing ---- */

void pl_result_release(struct pl_result *r)
{
	free(r->failed);
	*r = PL_RESULT_INIT;
}

/* Rows that share a constraint count together; of two with as many, the alphabet decides. */
static void headline(struct pl_result *r, const size_t first[PL_NROWS])
{
	size_t best = 0;

	for (unsigned i = 0; i < PL_NROWS; i++) {
		const char *name = pl_rules[i].constraint;
		size_t n = 0;

		for (unsigned k = 0; k < PL_NROWS; k++)
			if (first[k] && !strcmp(pl_rules[k].constraint, name))
				n += first[k];
		if (n > best || (n && n == best && strcmp(name, r->constraint) < 0)) {
			best = n;
			r->constraint = name;
		}
	}
	r->nheadline = best;
	if (!best)
		r->constraint = "no_candidates";
}

void pl_select(const struct pl_query *q, const struct pl_candidate *v, size_t n, size_t nulls,
	struct pl_result *out)
{
	size_t first[PL_NROWS] = {0};

	*out = (struct pl_result){
		.failed = cl_calloc(n ? n : 1, sizeof(*out->failed)), .considered = n + nulls};
	for (size_t i = 0; i < n; i++) {
		out->failed[i] = pl_failed(q, &v[i]);
		if (out->failed[i]) {
			first[pl_first(out->failed[i])]++;
			continue;
		}
		out->nfit++;
		if (!out->chosen || pl_rank(&v[i], out->chosen) < 0)
			out->chosen = &v[i];
	}
	if (!out->chosen)
		headline(out, first);
}

void pl_check(struct pl_query *q, const struct pl_candidate *v, size_t n, size_t which,
	struct pl_result *out)
{
	struct pl_query others = *q;

	/* One that is to take its place must be able to now. */
	others.bound = false;
	pl_query_ask(&others);
	q->bound = true;
	pl_query_ask(q);
	*out = (struct pl_result){.failed = cl_calloc(n, sizeof(*out->failed)), .considered = 1};
	for (size_t i = 0; i < n; i++)
		out->failed[i] = i == which ? pl_failed(q, &v[i])
					    : pl_failed(&others, &v[i]) & ~PL_ROW_BIT(PL_PIN);
	if (!out->failed[which]) {
		out->chosen = &v[which];
		out->nfit = 1;
		return;
	}
	out->nheadline = 1;
	out->constraint = pl_rules[pl_first(out->failed[which])].constraint;
	out->bound = &v[which];
}

static int by_rank(const void *a, const void *b)
{
	return pl_rank(
		*(const struct pl_candidate *const *)a, *(const struct pl_candidate *const *)b);
}

const struct pl_candidate **pl_ranked(
	const struct pl_candidate *v, size_t n, const struct pl_result *r)
{
	const struct pl_candidate **out =
		cl_calloc(r->nfit + 1, sizeof(const struct pl_candidate *));
	size_t k = 0;

	for (size_t i = 0; i < n && k < r->nfit; i++)
		if (!r->failed[i])
			out[k++] = &v[i];
	qsort(out, k, sizeof(*out), by_rank);
	return out;
}
