/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schedule of the disk limit and what its measurements mean. */
#include "base/mem.h"
#include "policy/sandbox/diskwatch.h"
#include "unit.h"

#define MB ((int64_t)1 << 20)

static struct dw_sample at(int64_t at_ms, int64_t bytes, int64_t cost_ms)
{
	return (struct dw_sample){.at_ms = at_ms, .bytes = bytes, .cost_ms = cost_ms};
}

static struct dw_sample part(int64_t bytes, int64_t cost_ms)
{
	return (struct dw_sample){.bytes = bytes, .cost_ms = cost_ms, .partial = true};
}

void test_judge__strictly_over(void)
{
	CHECK_INT(dw_judge(100, 99, false), DW_UNDER);
	CHECK_INT(dw_judge(100, 100, false), DW_UNDER);
	CHECK_INT(dw_judge(100, 101, false), DW_OVER);
	CHECK_INT(dw_judge(100, 101, true), DW_OVER);
	CHECK_INT(dw_judge(100, 100, true), DW_UNKNOWN);
	CHECK_INT(dw_judge(100, 0, true), DW_UNKNOWN);
}

void test_total__baseline(void)
{
	CHECK_INT(dw_total(10, 7, 5), 12);
	CHECK_INT(dw_total(10, 5, 5), 10);
	CHECK_INT(dw_total(10, 3, 5), 10); /* what went from .cloop gives nothing back */
	CHECK_INT(dw_total(10, 7, 0), 17);
	CHECK_INT(dw_total(10, 7, -1), 10);
	CHECK_INT(dw_total(INT64_MAX, 7, 0), INT64_MAX);
	CHECK_INT(dw_limit_bytes(64), 64 * MB);
	CHECK_INT(dw_limit_bytes(INT64_MAX), INT64_MAX);
}

void test_wait__first(void)
{
	struct dw_watch w = {.limit = 1000 * MB};
	struct dw_sample s = at(0, 100 * MB, 40), p = part(100 * MB, 40);

	CHECK_INT(dw_wait_ms(&w), DW_MIN_MS); /* adopted */
	dw_note_start(&w, &s);
	CHECK_INT(dw_wait_ms(&w), DW_FIRST_MS);
	w = (struct dw_watch){.limit = 1000 * MB};
	dw_note_start(&w, &p);
	CHECK_INT(dw_wait_ms(&w), DW_MIN_MS); /* could not be measured */
	w = (struct dw_watch){.limit = 1000 * MB};
	s = at(0, 950 * MB, 40);
	dw_note_start(&w, &s);
	CHECK_INT(dw_wait_ms(&w), DW_MIN_MS); /* near from the start */
}

/* Two samples, the wait after them. */
static int64_t wait2(int64_t limit, struct dw_sample a, struct dw_sample b)
{
	struct dw_watch w = {.limit = limit};

	dw_note_start(&w, &a);
	dw_note(&w, &b);
	return dw_wait_ms(&w);
}

void test_wait__growth(void)
{
	/* 100 MB in 15 s, 600 left: 90 s to go, so 45 s. */
	CHECK_INT(wait2(800 * MB, at(0, 100 * MB, 1), at(15000, 200 * MB, 1)), 45000);
	/* Shrinking, still, and slow growth: the longest. */
	CHECK_INT(wait2(800 * MB, at(0, 200 * MB, 1), at(15000, 100 * MB, 1)), DW_MAX_MS);
	CHECK_INT(wait2(800 * MB, at(0, 200 * MB, 1), at(15000, 200 * MB, 1)), DW_MAX_MS);
	CHECK_INT(wait2(800 * MB, at(0, 200 * MB, 1), at(15000, 200 * MB + 1, 1)), DW_MAX_MS);
	/* Fast growth: the shortest. */
	CHECK_INT(wait2(800 * MB, at(0, 0, 1), at(15000, 600 * MB, 1)), DW_MIN_MS);
	/* From 90 % on: the shortest, though nothing grows. */
	CHECK_INT(wait2(1000, at(0, 900, 1), at(15000, 900, 1)), DW_MIN_MS);
	CHECK_INT(wait2(1000, at(0, 899, 1), at(15000, 899, 1)), DW_MAX_MS);
	/* A clock that stands still cannot divide by zero. */
	CHECK_INT(wait2(800 * MB, at(5, 1, 1), at(5, 2, 1)), DW_MIN_MS);
}

void test_wait__cost(void)
{
	/* Ten walks long, also beyond the longest and near the limit. */
	CHECK_INT(wait2(1000, at(0, 10, 1), at(9, 10, 20000)), 200000);
	CHECK_INT(wait2(1000, at(0, 950, 1), at(9, 950, 700)), 7000);
	CHECK_INT(wait2(1000, at(0, 950, 1), at(9, 950, 499)), DW_MIN_MS);
	CHECK_INT(wait2(1000, at(0, 10, 1), part(20, 60000)), 600000);
	CHECK_INT(wait2(1000, at(0, 10, 1), part(20, INT64_MAX)), INT64_MAX);
	CHECK_INT(wait2(1000, at(0, 10, 1), part(20, 3)), DW_MIN_MS);
}

void test_wait__partial_keeps_growth(void)
{
	struct dw_watch w = {.limit = 800 * MB};
	struct dw_sample a = at(0, 100 * MB, 1), p = part(1, 1), b = at(30000, 200 * MB, 1);

	dw_note_start(&w, &a);
	dw_note(&w, &p);
	CHECK(w.unknown);
	dw_note(&w, &b);
	CHECK(!w.unknown);
	/* Between the complete ones: 100 MB in 30 s, 600 left, half of 180 s. */
	CHECK_INT(dw_wait_ms(&w), 90000);
}

void test_wait__failed_stop(void)
{
	struct dw_watch w = {.limit = 10, .stopping = true, .cost_ms = 60000, .unknown = true};

	CHECK_INT(dw_wait_ms(&w), DW_MIN_MS);
}

/* An adopted workload: one sample says nothing of growth. */
void test_wait__one_sample(void)
{
	struct dw_watch w = {.limit = 1000};
	struct dw_sample s = at(5, 10, 1);

	dw_note(&w, &s);
	CHECK_INT(dw_wait_ms(&w), DW_FIRST_MS);
}

/* Whatever was measured, the wait keeps its bounds. */
void test_wait__bounds(void)
{
	static const int64_t sizes[] = {0, 1, 899, 900, 1000, 1001, INT64_MAX};
	static const int64_t times[] = {INT64_MIN, -1, 0, 1, 15000, INT64_MAX};

	for (size_t i = 0; i < CL_ARRAY_LEN(sizes); i++)
		for (size_t j = 0; j < CL_ARRAY_LEN(sizes); j++)
			for (size_t k = 0; k < CL_ARRAY_LEN(times); k++) {
				int64_t wait =
					wait2(1000, at(0, sizes[i], 1), at(times[k], sizes[j], 1));

				CHECK(wait >= DW_MIN_MS && wait <= DW_MAX_MS);
			}
}

void test_start__refusal(void)
{
	const char *source = "resources.disk in .cloop/sandbox.yaml";
	struct cl_err e;

	CHECK_INT(dw_check_start("/srv/p", 64 * MB, false, 64, source, &e), 0);
	CHECK_INT(dw_check_start("/srv/p", 64 * MB, true, 64, source, &e), 0);
	CHECK_INT(dw_check_start("/srv/p", 73 * MB, false, 64, source, &e), -1);
	CHECK_INT(e.code, CL_EREFUSED);
	CHECK_STR(e.constraint, "disk_limit");
	CHECK_HAS(e.msg, "'/srv/p' holds 73 MB already");
	CHECK_HAS(e.msg, "64 MB (resources.disk in .cloop/sandbox.yaml)");
	CHECK_HAS(e.fix, "free space");
	/* One byte over shows as one MB over, never as equal. */
	CHECK_INT(dw_check_start("/srv/p", 64 * MB + 1, true, 64, source, &e), -1);
	CHECK_HAS(e.msg, "at least 65 MB");
}

void test_end__credit(void)
{
	struct dw_end end = {.intent = true, .status = 137};

	CHECK(dw_credited(&end));
	CHECK(!dw_credited(&(struct dw_end){.intent = false, .status = 137}));
	CHECK(!dw_credited(&(struct dw_end){.intent = true, .status = 0}));
	CHECK(!dw_credited(&(struct dw_end){.intent = true, .status = 143}));
	CHECK(!dw_credited(&(struct dw_end){.intent = true, .status = 137, .oom = true}));
	CHECK(!dw_credited(&(struct dw_end){.intent = true, .status = 137, .other_cause = true}));
}
