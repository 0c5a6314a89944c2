/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/text.h"
#include "sys/id.h"

void test_id__form(void)
{
	char a[29], b[29], h[15];
	struct cl_err e;

	CHECK_INT(sys_new_id("run_", 24, a, sizeof(a), &e), 0);
	CHECK_INT(sys_new_id("run_", 24, b, sizeof(b), &e), 0);
	CHECK_INT(sys_new_id("c-", 12, h, sizeof(h), &e), 0);
	CHECK_INT(strlen(a), 28);
	CHECK_INT(strlen(h), 14);
	CHECK(cl_starts(a, "run_") && cl_all_in(a + 4, "0123456789abcdef"));
	CHECK(strcmp(a, b) != 0);
}

void test_id__no_room(void)
{
	char small[28];
	struct cl_err e;

	CHECK_INT(sys_new_id("run_", 24, small, sizeof(small), &e), -1);
	CHECK_INT(e.code, CL_EBUG);
	CHECK_INT(sys_new_id("", 66, small, sizeof(small), &e), -1);
}

void test_id__clock(void)
{
	int64_t a = sys_now_ms(), b = sys_now_ms();

	CHECK(a > 1700000000000LL);
	CHECK(b >= a - 1000);
}
