/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "doc_rows.h"
#include "base/json_text.h"

static void row(const struct tsv_row *r)
{
	doc_row(r, CL_DOC_JSON, r->field[0], r->len[0], r->field[1], r->field[2]);
}

void test_json__table(void)
{
	tsv_each("doc/json.tsv", row);
}

static int parse(struct cl_doc *d, const char *text, struct cl_err *e)
{
	return cl_doc_parse(d, CL_DOC_JSON, "-", text, strlen(text), NULL, e);
}

void test_json__places_of_values(void)
{
	static const char text[] =
		"\n { \"a\\\"\" : [ 1, {\"h\xc3\xa9\":\"x, ]}\"} ,\n  -2.5e3 ],\n"
		"\t\"b\":{} }\n";
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	json_t *list = NULL;
	unsigned line, column;
	struct cl_err e;

	CHECK_INT(parse(&d, text, &e), 0);
	CHECK_INT(cl_doc_list(&d, d.root, "a\"", &list, &e), 0);
	cl_doc_where(&d, d.root, "a\"", 0, true, &line, &column);
	CHECK(line == 2 && column == 4);
	cl_doc_where(&d, d.root, "a\"", 0, false, &line, &column);
	CHECK(line == 2 && column == 12);
	cl_doc_where(&d, list, NULL, 1, false, &line, &column);
	CHECK(line == 2 && column == 17);
	cl_doc_where(&d, json_array_get(list, 1), "h\xc3\xa9", 0, false, &line, &column);
	CHECK(line == 2 && column == 23);
	cl_doc_where(&d, list, NULL, 2, false, &line, &column);
	CHECK(line == 3 && column == 3);
	cl_doc_where(&d, d.root, "b", 0, true, &line, &column);
	CHECK(line == 4 && column == 2);
	cl_doc_where(&d, list, NULL, 3, false, &line, &column);
	CHECK(!line && !column);
}

void test_json__types_are_strict(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const char *s = "kept";
	int64_t n = -7;
	bool b = false;
	double f = -7;
	struct cl_err e;

	CHECK_INT(parse(&d, "{\"n\":5,\"s\":\"5\",\"t\":true,\"z\":null,\"r\":1.5,\"l\":[1,\"a\"]}",
			  &e),
		0);
	CHECK_INT(cl_doc_str(&d, d.root, "n", &s, &e), -1);
	CHECK_STR(e.msg, "'n' is a whole number, not a string");
	CHECK(e.line == 1 && e.column == 6);
	CHECK_STR(e.file, "-");
	CHECK_INT(cl_doc_int(&d, d.root, "s", 0, 9, &n, &e), -1);
	CHECK_INT(cl_doc_int(&d, d.root, "r", 0, 9, &n, &e), -1);
	CHECK_INT(cl_doc_bool(&d, d.root, "n", &b, &e), -1);
	CHECK_INT(cl_doc_double(&d, d.root, "r", &f, &e), 0);
	CHECK_INT(cl_doc_double(&d, d.root, "n", &f, &e), 0);
	CHECK_INT(cl_doc_double(&d, d.root, "t", &f, &e), -1);
	CHECK_INT(cl_doc_str(&d, d.root, "z", &s, &e), 0);
	CHECK_STR(s, "kept");
	CHECK_INT(cl_doc_str_at(&d, json_object_get(d.root, "l"), 0, &s, &e), -1);
	CHECK_INT(cl_doc_str_at(&d, json_object_get(d.root, "l"), 1, &s, &e), 0);
	CHECK_STR(s, "a");
	CHECK_INT(n, -7);
}

void test_json__limits(void)
{
	const struct cl_doc_limits small = {.max_bytes = 40, .depth = 2, .nodes = 4};
	cleanup_buf struct cl_buf deep = CL_BUF_INIT;
	struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	for (int i = 0; i < 500000; i++)
		cl_buf_addc(&deep, '[');
	CHECK_INT(parse(&d, deep.p, &e), -1);
	CHECK_HAS(e.msg, "nested more than 32 levels");
	CHECK_INT(e.column, 33);
	cl_doc_release(&d);
	/* Brackets in strings are no nesting, a quote behind a backslash no end. */
	CHECK_INT(cl_doc_parse(&d, CL_DOC_JSON, "f", "[[\"[[[\\\"[[[\"]]", 14, &small, &e), 0);
	cl_doc_release(&d);
	CHECK_INT(cl_doc_parse(&d, CL_DOC_JSON, "f", "[[[1]]]", 7, &small, &e), -1);
	cl_doc_release(&d);
	CHECK_INT(cl_doc_parse(&d, CL_DOC_JSON, "f", "[1,2,3]", 7, &small, &e), 0);
	cl_doc_release(&d);
	CHECK_INT(cl_doc_parse(&d, CL_DOC_JSON, "f", "[1,2,3,4]", 9, &small, &e), -1);
	CHECK_HAS(e.msg, "more than 4 values");
	cl_doc_release(&d);
	CHECK_INT(cl_doc_parse(&d, CL_DOC_JSON, "f", deep.p, 41, &small, &e), -1);
	CHECK_HAS(e.msg, "41 bytes");
	cl_doc_release(&d);
	CHECK_INT(cl_doc_parse(&d, CL_DOC_JSON, "f", "\"\\", 2, &small, &e), -1);
	cl_doc_release(&d);
}

void test_json__numbers_are_short_and_exact(void)
{
	static const struct {
		double v;
		const char *text;
	} rows[] = {{1.1, "[1.1]"}, {2, "[2.0]"}, {1e-05, "[1e-5]"},
		{0.1 + 0.2, "[0.30000000000000004]"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		json_t *j = json_pack("[f]", rows[i].v);
		cleanup_free char *s = cl_json_text(j);

		CHECK_STR(s, rows[i].text);
		json_decref(j);
	}
}

void test_json__any_bytes_become_a_string(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {{"", ""}, {"h\xc3\xa9", "h\xc3\xa9"},
		{"a\xff"
		 "b",
			"a\xef\xbf\xbd"
			"b"},
		{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		json_t *j = cl_json_string(rows[i].in);

		CHECK_STR(json_string_value(j), rows[i].out);
		json_decref(j);
	}
}

void test_json__text_is_one_sorted_line(void)
{
	json_t *j = json_pack("{s:i, s:[s, n], s:s}", "b", 1, "a", "x\ny", "c", "h\xc3\xa9/");
	cleanup_free char *s = cl_json_text(j);

	CHECK_STR(s, "{\"a\":[\"x\\ny\",null],\"b\":1,\"c\":\"h\xc3\xa9/\"}");
	json_decref(j);
}

void test_json__whole_numbers(void)
{
	static const int64_t rows[] = {0, 1, -1, 9, 10, -10, 1234567890123, INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_buf struct cl_buf b = CL_BUF_INIT;
		char want[24];

		(void)snprintf(want, sizeof(want), "%lld", (long long)rows[i]);
		cl_json_int(&b, rows[i]);
		CHECK_STR(b.p, want);
	}
}

/* What jansson would write of the same tree. */
static void same_as_jansson(const json_t *j)
{
	char *want = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	cleanup_free char *got = cl_json_text(j);

	CHECK_STR(got, want);
	free(want);
}

static void one_text(const struct tsv_row *r)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_doc_limits l = {.depth = 8};
	struct cl_err e;

	if (!cl_doc_parse(&d, CL_DOC_JSON, "f", r->field[0], r->len[0], &l, &e) &&
		!strpbrk(r->field[0], ".eE"))
		same_as_jansson(d.root);
}

void test_json__text_is_what_jansson_writes(void)
{
	json_t *all = json_object();
	char bytes[0x80], key[12];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	for (int i = 0; i < 60; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i * 7919 % 60);
		(void)json_object_set_new(all, key, json_stringn(bytes + i, (size_t)i));
	}
	(void)json_object_set_new(all, "", json_stringn(bytes, sizeof(bytes)));
	(void)json_object_set_new(all, "\n\"\xc3\xa9", json_integer(INT64_MIN));
	same_as_jansson(all);
	json_decref(all);
	tsv_each("doc/json.tsv", one_text);
}
