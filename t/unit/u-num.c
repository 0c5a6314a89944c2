/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/num.h"
#include "tsv.h"

static void size_row(const struct tsv_row *r)
{
	enum cl_size_unit bare = *r->field[1] == 'b' ? CL_SIZE_BYTES : CL_SIZE_MB;
	int64_t got = -7;
	struct cl_err e;

	if (!strcmp(r->field[2], "error")) {
		if (!cl_parse_size(r->field[0], bare, "memory", &got, &e))
			TSV_FAIL(r, "'%s' passed as %lld", r->field[0], (long long)got);
		else if (e.code != CL_EDATA || !strstr(e.msg, r->field[4]) ||
			 !strstr(e.msg, "memory '"))
			TSV_FAIL(r, "'%s': %s", r->field[0], e.msg);
		CHECK_INT(got, -7);
		return;
	}
	if (cl_parse_size(r->field[0], bare, "memory", &got, &e))
		TSV_FAIL(r, "'%s': %s", r->field[0], e.msg);
	if (got != strtoll(r->field[2], NULL, 10))
		TSV_FAIL(r, "'%s' is %lld", r->field[0], (long long)got);
	if (cl_bytes_to_mb(got) != strtoll(r->field[3], NULL, 10))
		TSV_FAIL(r, "'%s' is %lld MiB", r->field[0], (long long)cl_bytes_to_mb(got));
}

void test_size__table(void)
{
	tsv_each("num/size.tsv", size_row);
}

void test_size__print_reads_back(void)
{
	static const int64_t values[] = {0, 1, 17, 1023, 1024, 1025, 1536 * 1024, 1 << 20,
		(int64_t)2 << 30, (int64_t)3 << 40, (int64_t)1 << 50, INT64_MAX, -1, -1024,
		INT64_MIN};
	char text[24];
	struct cl_err e;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		int64_t back = -7;

		cl_format_size(values[i], text);
		CHECK_INT(cl_parse_size(text, CL_SIZE_BYTES, "x", &back, &e), 0);
		CHECK_INT(back, values[i]);
	}
	cl_format_size(1536 * 1024, text);
	CHECK_STR(text, "1536k");
	cl_format_size((int64_t)2 << 30, text);
	CHECK_STR(text, "2g");
	cl_format_size((int64_t)1 << 50, text);
	CHECK_STR(text, "1024t");
}

static void duration_row(const struct tsv_row *r)
{
	bool zero = !strcmp(r->field[1], "zero"), error = !strcmp(r->field[1], "error");
	int64_t ms = -7, again = -7;
	char text[40];
	struct cl_err e;
	int strict = cl_parse_duration(r->field[0], false, "--ttl", &ms, &e);

	if (error || zero) {
		if (!strict || e.code != CL_EDATA || !strstr(e.msg, "--ttl '") || ms != -7)
			TSV_FAIL(r, "'%s' passed as %lld", r->field[0], (long long)ms);
		if (!cl_parse_duration(r->field[0], true, "--ttl", &ms, &e) != zero)
			TSV_FAIL(r, "'%s' with zero allowed", r->field[0]);
		if (zero)
			CHECK_INT(ms, 0);
		return;
	}
	if (strict)
		TSV_FAIL(r, "'%s': %s", r->field[0], e.msg);
	if (ms != strtoll(r->field[1], NULL, 10))
		TSV_FAIL(r, "'%s' is %lld", r->field[0], (long long)ms);
	cl_format_duration(ms, text);
	if (strcmp(text, r->field[2]) != 0)
		TSV_FAIL(r, "'%s' prints as %s", r->field[0], text);
	CHECK_INT(cl_parse_duration(text, false, "x", &again, &e), 0);
	CHECK_INT(again, ms);
}

void test_duration__table(void)
{
	tsv_each("num/duration.tsv", duration_row);
}

void test_duration__prints_the_past_and_the_ends(void)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {{0, "0s"}, {-250, "-250ms"}, {-1500, "-1.5s"}, {-90000, "-1m30s"},
		{-3600000, "-1h0m0s"}, {999, "999ms"}, {59999, "59.999s"},
		{INT64_MAX, "2562047788015h12m55.807s"}, {INT64_MIN, "-2562047788015h12m55.808s"}};
	char text[40];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cl_format_duration(rows[i].ms, text);
		CHECK_STR(text, rows[i].text);
	}
}

static void time_row(const struct tsv_row *r)
{
	int64_t t = -7;
	char text[32];
	struct cl_err e;
	int rc = cl_parse_time(r->field[0], "expires", &t, &e);

	if (!strcmp(r->field[1], "error")) {
		if (!rc || e.code != CL_EDATA || !strstr(e.msg, "expires '") || t != -7)
			TSV_FAIL(r, "'%s' passed as %lld", r->field[0], (long long)t);
		return;
	}
	if (rc)
		TSV_FAIL(r, "'%s': %s", r->field[0], e.msg);
	if (t != strtoll(r->field[1], NULL, 10))
		TSV_FAIL(r, "'%s' is %lld", r->field[0], (long long)t);
	cl_format_time(t, text);
	if (strcmp(text, *r->field[2] ? r->field[2] : r->field[0]) != 0)
		TSV_FAIL(r, "'%s' prints as %s", r->field[0], text);
}

void test_time__table(void)
{
	tsv_each("num/time.tsv", time_row);
}

void test_time__outside_the_format_stays_in_it(void)
{
	char text[32];

	cl_format_time(INT64_MAX, text);
	CHECK_STR(text, "9999-12-31T23:59:59Z");
	cl_format_time(INT64_MIN, text);
	CHECK_STR(text, "0000-01-01T00:00:00Z");
}

static void double_row(const struct tsv_row *r)
{
	double v = -7, again = -7;
	char text[32];
	struct cl_err e;
	int rc = cl_parse_double(r->field[0], "cpu", &v, &e);

	if (!strcmp(r->field[1], "error")) {
		if (!rc || e.code != CL_EDATA || !strstr(e.msg, "cpu '") || v > -7 || v < -7)
			TSV_FAIL(r, "'%s' passed as %g", r->field[0], v);
		return;
	}
	if (rc)
		TSV_FAIL(r, "'%s': %s", r->field[0], e.msg);
	cl_format_double(v, text);
	if (strcmp(text, r->field[1]) != 0)
		TSV_FAIL(r, "'%s' prints as %s", r->field[0], text);
	CHECK_INT(cl_parse_double(text, "x", &again, &e), 0);
	CHECK(!(again < v) && !(again > v));
}

void test_double__table(void)
{
	tsv_each("num/double.tsv", double_row);
}

void test_int__takes_digits_in_range_only(void)
{
	static const char *const bad[] = {"", " 1", "1 ", "+1", "0x1", "1.0", "1e1", "a", "1a",
		"--1", "-", "18446744073709551616", "99999999999999999999999999", "\xd9\xa1",
		"1\n"};
	uint64_t u = 7;
	int64_t i = 7;
	struct cl_err e;

	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		CHECK_INT(cl_parse_u64(bad[k], 0, UINT64_MAX, "n", &u, &e), -1);
		CHECK_INT(e.code, CL_EDATA);
		CHECK_INT(cl_parse_i64(bad[k], INT64_MIN, INT64_MAX, "n", &i, &e), -1);
		CHECK_INT(e.code, CL_EDATA);
	}
	CHECK_INT(u, 7);
	CHECK_INT(i, 7);
	CHECK_INT(cl_parse_u64("-1", 0, UINT64_MAX, "n", &u, &e), -1);
	CHECK_INT(cl_parse_u64("18446744073709551615", 0, UINT64_MAX, "n", &u, &e), 0);
	CHECK(u == UINT64_MAX);
	CHECK_INT(cl_parse_u64("0", 0, 0, "n", &u, &e), 0);
	CHECK_INT(cl_parse_u64("1", 0, 0, "n", &u, &e), -1);
	CHECK_INT(cl_parse_u64("9", 10, 20, "port", &u, &e), -1);
	CHECK_STR(e.msg, "port '9' is not between 10 and 20");
	CHECK_INT(cl_parse_i64("-9223372036854775808", INT64_MIN, INT64_MAX, "n", &i, &e), 0);
	CHECK(i == INT64_MIN);
	CHECK_INT(cl_parse_i64("-9223372036854775809", INT64_MIN, INT64_MAX, "n", &i, &e), -1);
	CHECK_INT(cl_parse_i64("9223372036854775808", INT64_MIN, INT64_MAX, "n", &i, &e), -1);
	CHECK_INT(cl_parse_i64("-0", INT64_MIN, INT64_MAX, "n", &i, &e), 0);
	CHECK_INT(i, 0);
	CHECK_INT(cl_parse_i64("-5", -5, -5, "n", &i, &e), 0);
}
