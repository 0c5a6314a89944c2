/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON without a tree: what it takes and refuses, where, and what it writes. */
#include "base/json_text.h"
#include "base/doc.h"
#include "base/mem.h"
#include "tsv.h"

static int skip(const char *text, size_t len, struct cl_err *e)
{
	cleanup_free char *copy = cl_strndup(text, len);
	cleanup_scan struct cl_scan s = CL_SCAN_INIT;

	cl_scan_start(&s, "f", copy, len, 8);
	return cl_scan_skip(&s, e) || cl_scan_end(&s, e) ? -1 : 0;
}

/* The cases of the reader that makes a tree hold for this one, but for keys that stand twice. */
static void one_json(const struct tsv_row *r)
{
	struct cl_err e;
	int tree, text;

	{
		cleanup_doc struct cl_doc d = CL_DOC_INIT;
		struct cl_doc_limits l = {.depth = 8};

		tree = cl_doc_parse(&d, CL_DOC_JSON, "f", r->field[0], r->len[0], &l, &e);
	}
	if (tree && (strstr(e.msg, "duplicate") || strstr(e.msg, "big") || strstr(e.msg, "real")))
		return;
	text = skip(r->field[0], r->len[0], &e);
	/* A document is an object or a list; a value may be anything. */
	if (text == tree || (tree && !text && !strchr("{[", r->field[0][0])))
		return;
	TSV_FAIL(r, "tree %d, text %d: %s", tree, text, r->field[0]);
}

void test_json_text__takes_what_a_tree_is_made_of(void)
{
	tsv_each("doc/json.tsv", one_json);
}

void test_json_text__refuses_with_a_place(void)
{
	static const struct {
		const char *text, *msg;
		unsigned line, column;
	} rows[] = {
		{"", "ends where a value should", 1, 1},
		{"{", "ends where a key should", 1, 2},
		{"{\n \"a\" 1}", "a number stands where ':' should", 2, 6},
		{"{\"a\":1,}", "something else stands where a key should", 1, 8},
		{"{1:2}", "a number stands where a key should", 1, 2},
		{"[1 2]", "a number stands where ',' or ']' should", 1, 4},
		{"[1,]", "something else stands where a value should", 1, 4},
		{"[01]", "malformed number", 1, 2},
		{"[-]", "malformed number", 1, 2},
		{"[1.]", "malformed number", 1, 2},
		{"[1e]", "malformed number", 1, 2},
		{"[nul]", "a word that is no value", 1, 2},
		{"[tru", "a word that is no value", 1, 2},
		{"[\"a", "without its end", 1, 4},
		{"[\"a\\", "no such escape", 1, 4},
		{"[\"\\x\"]", "no such escape", 1, 3},
		{"[\"\\u12\"]", "without the digits", 1, 3},
		{"[\"\\ud800\"]", "without the digits", 1, 3},
		{"[\"\\ud800\\u0041\"]", "without the digits", 1, 3},
		{"[\"\\udc00\"]", "without the digits", 1, 3},
		{"[\"\\u0000\"]", "NUL", 1, 3},
		{"[\"a\tb\"]", "control character", 1, 4},
		{"[\"\xff\"]", "not UTF-8", 1, 3},
		{"[\"\xc3\"]", "not UTF-8", 1, 3},
		{"[\"\xc3\xa9\", x]", "something else stands where a value should", 1, 7},
		{"[[[[[[[[[]]]]]]]]]", "more than 8 levels", 1, 9},
		{"[] []", "more stands behind", 1, 4},
		{"[]]", "more stands behind", 1, 3},
		{"[}", "something else stands where a value should", 1, 2},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		struct cl_err e;

		if (!skip(rows[i].text, strlen(rows[i].text), &e)) {
			UNIT_FAIL("took %s", rows[i].text);
			continue;
		}
		CHECK_HAS(e.msg, rows[i].msg);
		if (e.line != rows[i].line || e.column != rows[i].column)
			UNIT_FAIL("%s: %u:%u", rows[i].text, e.line, e.column);
	}
}

void test_json_text__a_nul_byte_is_no_end(void)
{
	struct cl_err e;

	CHECK_INT(skip("[]\0", 3, &e), -1);
	CHECK_INT(skip("[\0]", 3, &e), -1);
	CHECK_INT(skip("[\"\0\"]", 5, &e), -1);
	CHECK_INT(skip("{\"a\0\":1}", 8, &e), -1);
	CHECK_INT(skip("[1\0]", 4, &e), -1);
}

void test_json_text__strings(void)
{
	char text[] =
		"[\"plain\", \"\", \"a\\n\\\"\\\\\\/\\u00e9\\ud83d\\ude00z\", \"\xe2\x82\xac\"]";
	static const char *const want[] = {
		"plain", "", "a\n\"\\/\xc3\xa9\xf0\x9f\x98\x80z", "\xe2\x82\xac"};
	cleanup_scan struct cl_scan s = CL_SCAN_INIT;
	const char *got[4] = {"", "", "", ""};
	bool first = true, more;
	struct cl_err e;

	cl_scan_start(&s, "f", text, sizeof(text) - 1, 2);
	CHECK_INT(cl_scan_open(&s, '[', "it", &e), 0);
	for (size_t i = 0; i < 4; i++) {
		CHECK_INT(cl_scan_item(&s, &first, &more, &e), 0);
		CHECK(more);
		CHECK_INT(cl_scan_string(&s, "it", &got[i], &e), 0);
	}
	CHECK_INT(cl_scan_item(&s, &first, &more, &e), 0);
	CHECK(!more);
	/* All of them live on while the reader goes on. */
	for (size_t i = 0; i < 4; i++)
		CHECK_STR(got[i], want[i]);
}

static int whole(const char *text, int64_t min, int64_t max, int64_t *out, struct cl_err *e)
{
	cleanup_free char *copy = cl_strdup(text);
	cleanup_scan struct cl_scan s = CL_SCAN_INIT;

	cl_scan_start(&s, "f", copy, strlen(copy), 2);
	return cl_scan_int(&s, "it", min, max, out, e) || cl_scan_end(&s, e) ? -1 : 0;
}

void test_json_text__whole_numbers(void)
{
	static const char *const bad[] = {"", "1.0", "1e2", "-", "+1", "01", "\"1\"", "true", "0x1",
		"9223372036854775808", "-9223372036854775809", "99999999999999999999999"};
	int64_t n = 7;
	struct cl_err e;

	CHECK_INT(whole("0", 0, 0, &n, &e), 0);
	CHECK_INT(n, 0);
	CHECK_INT(whole(" -0 ", 0, 0, &n, &e), 0);
	CHECK_INT(whole("9223372036854775807", INT64_MIN, INT64_MAX, &n, &e), 0);
	CHECK(n == INT64_MAX);
	CHECK_INT(whole("-9223372036854775808", INT64_MIN, INT64_MAX, &n, &e), 0);
	CHECK(n == INT64_MIN);
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++)
		CHECK_INT(whole(bad[i], INT64_MIN, INT64_MAX, &n, &e), -1);
	CHECK_INT(whole("4", 5, 6, &n, &e), -1);
	CHECK_HAS(e.msg, "it is 4, not from 5 to 6");
	CHECK_INT(whole("7", 5, 6, &n, &e), -1);
}

void test_json_text__quoting(void)
{
	static const char *const rows[][2] = {{"", "\"\""}, {"plain", "\"plain\""},
		{"a\"b\\c", "\"a\\\"b\\\\c\""}, {"a\n\x01", "\"a\\u000A\\u0001\""},
		{"\xc3\xa9", "\"\xc3\xa9\""},
		{"a\xff"
		 "b",
			"\"a\xef\xbf\xbd"
			"b\""},
		{"\xc3", "\"\xef\xbf\xbd\""}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_buf struct cl_buf b = CL_BUF_INIT;

		cl_json_quote(&b, rows[i][0]);
		CHECK_STR(b.p, rows[i][1]);
	}
}
