/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way out of a refusal: the fewest changes after which a copy, judged again, takes the
 * workload. So what is recommended is known to work.
 */
#include "base/mem.h"
#include "policy/place/place_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void pl_fixes_release(struct pl_fixes *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].text);
	free(f->v);
	*f = PL_FIXES_INIT;
}

/* Mends the copy until it takes the workload; false when nothing does, or not in `most`. */
static bool try(struct pl_copy *m, size_t most)
{
	uint64_t failed;

	while ((failed = pl_failed(&m->q, &m->c)) && m->changes < most)
		if (!pl_mend(m, pl_first(failed)))
			return false;
	return !failed;
}

/* More than any request asks for: each need once, and every label and harness. */
#define MOST (PL_NROWS + 2 * PL_MAX_LIST)

/* The best way that was found so far. */
struct way {
	const struct pl_candidate *c; /* NULL: none */
	size_t changes;
	enum pl_row drop[2]; /* what the request is to do without */
	size_t ndrop;
};

static bool better(const struct way *w, const struct pl_candidate *c, size_t changes)
{
	return !w->c || changes < w->changes ||
	       (changes == w->changes && c != w->c && pl_rank(c, w->c) < 0);
}

/* The candidate with these rows dropped from the request, then mended. */
static bool follow(struct pl_copy *m, const struct pl_query *q, const struct way *w, size_t most)
{
	pl_copy_init(m, q, w->c);
	for (size_t i = 0; i < w->ndrop; i++)
		if (!pl_relax(m, w->drop[i]))
			return false;
	return try(m, most);
}

static void consider(
	struct pl_copy *m, const struct pl_query *q, struct way *best, const struct way *w)
{
	if (!follow(m, q, w, best->c ? best->changes : MOST) || !better(best, w->c, m->changes))
		return;
	*best = *w;
	best->changes = m->changes;
}

static bool write_down(
	struct pl_copy *m, const struct pl_query *q, const struct way *best, struct pl_fixes *out)
{
	if (!best->c)
		return false;
	pl_copy_init(m, q, best->c);
	m->out = out;
	for (size_t i = 0; i < best->ndrop; i++)
		(void)pl_relax(m, best->drop[i]);
	return try(m, MOST);
}

static bool mend_one(struct pl_copy *m, const struct pl_query *q, const struct pl_candidate *v,
	size_t n, const struct pl_result *r, struct pl_fixes *out)
{
	struct way best = {0};

	for (size_t i = 0; i < n; i++)
		if (!r->bound || r->bound == &v[i])
			consider(m, q, &best, &(struct way){.c = &v[i]});
	return write_down(m, q, &best, out);
}

static int rows_of(uint64_t failed)
{
	int n = 0;

	for (unsigned row = 0; row < PL_NROWS; row++)
		n += (failed & PL_ROW_BIT(row)) != 0;
	return n;
}

/* How many candidates the request is changed for: those that fail the least. */
#define NEAR 64

static size_t nearest(const struct pl_candidate *v, size_t n, const struct pl_result *r,
	const struct pl_candidate *out[NEAR])
{
	size_t k = 0;

	for (int rows = 1; rows <= PL_NROWS; rows++)
		for (size_t i = 0; i < n && k < NEAR; i++)
			if (rows_of(r->failed[i]) == rows && (!r->bound || r->bound == &v[i]))
				out[k++] = &v[i];
	return k;
}

/* One thing less is asked for, else two. */
static bool drop_some(struct pl_copy *m, const struct pl_query *q, const struct pl_candidate *v,
	size_t n, const struct pl_result *r, struct pl_fixes *out)
{
	const struct pl_candidate *near[NEAR];
	size_t k = nearest(v, n, r, near);
	struct way best = {0};

	for (size_t drops = 1; drops <= 2 && !best.c; drops++)
		for (size_t i = 0; i < k; i++)
			for (unsigned a = 0; a < PL_NROWS; a++)
				for (unsigned b = drops == 2 ? a + 1 : 0;
					b < (drops == 2 ? PL_NROWS : 1); b++)
					consider(m, q, &best,
						&(struct way){near[i], 0,
							{(enum pl_row)a, (enum pl_row)b}, drops});
	return write_down(m, q, &best, out);
}

static void fresh_text(const struct pl_requirements *r, const char *oci_runtime, struct cl_buf *b)
{
	cl_buf_adds(b, "configure a container executor (executors.container)");
	if (*r->executor_id)
		cl_buf_addf(b, " with id: %s", r->executor_id);
	if (*oci_runtime)
		cl_buf_addf(b, ", oci_runtime: %s", oci_runtime);
	if (r->needs & PL_NEED_BIT(PL_NEED_NETWORK_EGRESS))
		cl_buf_adds(b, ", network: bridge");
	for (size_t i = 0; i < r->labels.n; i++)
		cl_buf_addf(b, "%s%s: \"%s\"", i ? ", " : ", labels: {", r->labels.v[i].key,
			r->labels.v[i].value);
	cl_buf_adds(b, r->labels.n ? "}" : "");
	if (*r->platform || *r->arch || r->min_memory_mb)
		cl_buf_addf(b, ", on a machine with%s%s%s%s", *r->platform ? " platform " : "",
			r->platform, *r->arch ? " arch " : "", r->arch);
	if (r->min_memory_mb)
		cl_buf_addf(b, " at least %" PRId64 " MB of memory", r->min_memory_mb);
}

/* An executor that is not there: the container driver's, set up as the request needs it. */
static bool fresh(const struct pl_query *q, const char *constraint, struct pl_fixes *out)
{
	static const char *const engines[] = {"podman"};
	const struct pl_requirements *r = q->r;
	bool vm = (r->needs & PL_NEED_BIT(PL_NEED_VIRTUALIZATION)) ||
		  (r->isolations && !(r->isolations & UINT32_C(1) << CAP_ISOLATION_CONTAINER));
	bool guest = r->needs & PL_NEED_BIT(PL_NEED_KERNEL_ISOLATION);
	const char *oci_runtime = vm ? "kata" : guest ? "runsc" : "";
	struct pl_candidate c = PL_CANDIDATE_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	pl_driver_caps(oci_runtime, r->arch, &c.caps);
	c.caps.platform = r->platform;
	c.kind = "container";
	c.executor_id = r->executor_id;
	c.labels = r->labels;
	c.runtimes = (struct pl_words){engines, 1};
	c.standing = PL_VERIFIED;
	if (pl_failed(q, &c))
		return false;
	fresh_text(r, oci_runtime, &b);
	out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*out->v));
	out->v[out->n++] = (struct pl_change){
		.executor_id = NULL, .constraint = constraint, .text = cl_buf_detach(&b)};
	return true;
}

void pl_fix(const struct pl_query *q, const struct pl_candidate *v, size_t n,
	const struct pl_result *r, struct pl_fixes *out)
{
	struct pl_copy *m = r->chosen ? NULL : cl_malloc(sizeof(*m));

	if (m && !mend_one(m, q, v, n, r, out) && !fresh(q, r->constraint, out))
		(void)drop_some(m, q, v, n, r, out);
	free(m);
}
