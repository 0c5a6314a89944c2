/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CMD_EGRESS_TEST_H
#define CMD_EGRESS_TEST_H

#include "egress.h"
#include "policy/egress/expect.h"

/* One file, judged. */
struct test_file {
	const char *name; /* borrowed */
	struct exp_suite suite;
	struct eg_policy policy;
	struct flat flat;
	struct exp_result *results; /* one a case */
	size_t failed;
};

struct test_files {
	struct test_file *v;
	size_t n;
};

/* Test Anything Protocol 14; JUnit's XML; one object. */
void test_report_tap(const struct test_files *t);
void test_report_junit(const struct test_files *t);
void test_report_json(const struct test_files *t);

#endif
