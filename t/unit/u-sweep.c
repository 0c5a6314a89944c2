/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/sweep.h"
#include "unit.h"

void test_sweep__a_guardian_collects_at_its_time(void)
{
	int64_t last = 1000;

	CHECK_INT(sweep_due(1000, 500, &last), SWEEP_URGENT);
	CHECK_INT(sweep_due(1499, 500, &last), SWEEP_URGENT);
	CHECK_INT(last, 1000);
	CHECK_INT(sweep_due(1500, 500, &last), SWEEP_ALL);
	CHECK_INT(last, 1500);
	CHECK_INT(sweep_due(1501, 500, &last), SWEEP_URGENT);
	/* A shorter time holds from the next pass on. */
	CHECK_INT(sweep_due(1511, 10, &last), SWEEP_ALL);
	CHECK_INT(last, 1511);
}

void test_sweep__zero_is_never(void)
{
	int64_t last = 0;

	CHECK_INT(sweep_due(INT64_MAX, 0, &last), SWEEP_URGENT);
	CHECK_INT(last, 0);
}
