/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/sandbox/diskwatch.h"
#include "base/num.h"

int64_t dw_limit_bytes(int64_t mb)
{
	int64_t bytes;

	return __builtin_mul_overflow(mb, (int64_t)1 << 20, &bytes) ? INT64_MAX : bytes;
}

static int64_t sum(int64_t a, int64_t b)
{
	int64_t s;

	return __builtin_add_overflow(a, b, &s) ? INT64_MAX : s;
}

int64_t dw_total(int64_t tree, int64_t state, int64_t baseline)
{
	return baseline >= 0 && state > baseline ? sum(tree, state - baseline) : tree;
}

enum dw_verdict dw_judge(int64_t limit, int64_t bytes, bool partial)
{
	if (bytes > limit)
		return DW_OVER;
	return partial ? DW_UNKNOWN : DW_UNDER;
}

void dw_note(struct dw_watch *w, const struct dw_sample *s)
{
	w->started = false;
	w->cost_ms = s->cost_ms;
	w->unknown = s->partial;
	if (s->partial)
		return;
	w->before = w->last;
	w->last = *s;
	w->n = w->n ? 2 : 1;
}

void dw_note_start(struct dw_watch *w, const struct dw_sample *s)
{
	dw_note(w, s);
	w->started = !s->partial;
}

static bool near_limit(const struct dw_watch *w)
{
	return (double)w->last.bytes * 100 >= (double)w->limit * DW_NEAR_PERCENT;
}

/* Half of the time in which the growth between two samples would reach the limit. */
static int64_t by_growth(const struct dw_watch *w)
{
	double grown = (double)w->last.bytes - (double)w->before.bytes;
	double took = (double)w->last.at_ms - (double)w->before.at_ms;
	double left = (double)w->limit - (double)w->last.bytes;
	double wait;

	if (grown <= 0)
		return DW_MAX_MS;
	if (took <= 0)
		return DW_MIN_MS;
	wait = left / grown * took / DW_GROWTH_DIVISOR;
	if (wait < DW_MIN_MS)
		return DW_MIN_MS;
	return wait > DW_MAX_MS ? DW_MAX_MS : (int64_t)wait;
}

static int64_t wanted(const struct dw_watch *w)
{
	if (!w->n || w->unknown || near_limit(w))
		return DW_MIN_MS;
	if (w->started)
		return DW_FIRST_MS;
	return w->n < 2 ? DW_FIRST_MS : by_growth(w);
}

int64_t dw_wait_ms(const struct dw_watch *w)
{
	int64_t wait = wanted(w), rest;

	/* What is over is stopped, not measured: the walk's price does not matter then. */
	if (w->stopping)
		return DW_MIN_MS;
	if (__builtin_mul_overflow(w->cost_ms, (int64_t)DW_COST_FACTOR, &rest))
		rest = INT64_MAX;
	return rest > wait ? rest : wait;
}

int dw_check_start(const char *workspace, int64_t bytes, bool partial, int64_t limit_mb,
	const char *source, struct cl_err *e)
{
	if (dw_judge(dw_limit_bytes(limit_mb), bytes, partial) != DW_OVER)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"workspace '%s' holds %s%lld MB already, over the disk limit of %lld MB (%s)",
		workspace, partial ? "at least " : "", (long long)cl_bytes_to_mb(bytes),
		(long long)limit_mb, source);
	(void)cl_constraint(e, "disk_limit");
	return cl_fix(e,
		"free space in '%s', or raise resources.disk in .cloop/sandbox.yaml (an operator's "
		"ceiling still caps it)",
		workspace);
}

bool dw_credited(const struct dw_end *end)
{
	return end->intent && end->status == 128 + 9 && !end->oom && !end->other_cause;
}
