/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "doc_rows.h"

static void inline_row(const struct tsv_row *r)
{
	doc_row(r, CL_DOC_YAML, r->field[0], r->len[0], r->field[1], r->field[2]);
}

void test_yaml__inline_documents(void)
{
	tsv_each("doc/yaml.tsv", inline_row);
}

static void file_row(const struct tsv_row *r)
{
	static char text[65536];
	char path[512];
	size_t n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/yaml/%s", T_CASES, r->field[0]);
	f = fopen(path, "r");
	if (f) {
		n = fread(text, 1, sizeof(text), f);
		(void)fclose(f);
	}
	if (!n)
		TSV_FAIL(r, "no file %s", path);
	doc_row(r, CL_DOC_YAML, text, n, r->field[1], r->field[2]);
}

void test_yaml__files_of_others(void)
{
	tsv_each("yaml/expect.tsv", file_row);
}

#define PARSE(d, text)                                                                     \
	do {                                                                               \
		struct cl_err e_;                                                          \
		if (cl_doc_parse(d, CL_DOC_YAML, "f.yaml", text, strlen(text), NULL, &e_)) \
			UNIT_FAIL("%s", e_.msg);                                           \
	} while (0)

void test_yaml__the_field_says_the_type(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const char *s = NULL;
	bool b = false;
	int64_t n = -7;
	double f = -7;
	struct cl_err e;

	PARSE(&d, "memory: 512\nmode: 0755\nver: 1.10\non: True\nquoted: '5'\nyes: yes\n"
		  "big: 9223372036854775808\nnone:\ncpu: 2\nhalf: 0.5\ninf: .inf\nexp: 1e3\n");
	CHECK_INT(cl_doc_str(&d, d.root, "memory", &s, &e), 0);
	CHECK_STR(s, "512");
	CHECK_INT(cl_doc_str(&d, d.root, "mode", &s, &e), 0);
	CHECK_STR(s, "0755");
	CHECK_INT(cl_doc_str(&d, d.root, "ver", &s, &e), 0);
	CHECK_STR(s, "1.10");
	CHECK_INT(cl_doc_str(&d, d.root, "on", &s, &e), 0);
	CHECK_STR(s, "True");
	CHECK_INT(cl_doc_bool(&d, d.root, "on", &b, &e), 0);
	CHECK(b);
	CHECK_INT(cl_doc_int(&d, d.root, "memory", 0, 1000, &n, &e), 0);
	CHECK_INT(n, 512);
	CHECK_INT(cl_doc_double(&d, d.root, "cpu", &f, &e), 0);
	CHECK(f > 1.9 && f < 2.1);
	/* Absent and empty leave what was there. */
	CHECK_INT(cl_doc_int(&d, d.root, "none", 0, 1, &n, &e), 0);
	CHECK_INT(cl_doc_str(&d, d.root, "absent", &s, &e), 0);
	CHECK_INT(n, 512);
	CHECK_STR(s, "True");
	CHECK(!cl_doc_has(d.root, "none") && !cl_doc_has(d.root, "absent"));
	CHECK(cl_doc_has(d.root, "cpu") && !cl_doc_has(NULL, "cpu"));

	CHECK_INT(cl_doc_bool(&d, d.root, "yes", &b, &e), -1);
	CHECK_STR(e.msg, "'yes' is 'yes', not true or false");
	CHECK_INT(e.line, 6);
	CHECK_INT(e.column, 6);
	CHECK_INT(cl_doc_int(&d, d.root, "quoted", 0, 9, &n, &e), -1);
	CHECK_HAS(e.msg, "'quoted' is '5', not a whole number");
	CHECK_INT(cl_doc_int(&d, d.root, "big", 0, 9, &n, &e), -1);
	CHECK_HAS(e.msg, "too large for 64 bits");
	CHECK_INT(cl_doc_int(&d, d.root, "half", 0, 9, &n, &e), -1);
	CHECK_INT(cl_doc_int(&d, d.root, "exp", 0, 9999, &n, &e), -1);
	CHECK_INT(cl_doc_int(&d, d.root, "cpu", 3, 9, &n, &e), -1);
	CHECK_STR(e.msg, "'cpu' is 2, not between 3 and 9");
	CHECK_INT(cl_doc_double(&d, d.root, "inf", &f, &e), -1);
	CHECK_INT(n, 512);
}

void test_yaml__kinds_and_places(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_strv struct cl_strv v = CL_STRV_INIT;
	json_t *map = NULL, *list = NULL;
	const char *s = NULL;
	unsigned line, column;
	int64_t n = 0;
	struct cl_err e;

	PARSE(&d, "# first\nh\xc3\xa9: x\nm:\n  k: 1\nl:\n  - a\n  - 2\n  - [1]\n  -\n");
	CHECK_INT(cl_doc_map(&d, d.root, "m", &map, &e), 0);
	CHECK_INT(cl_doc_list(&d, d.root, "l", &list, &e), 0);
	CHECK(map && list);
	CHECK_INT(cl_doc_list(&d, d.root, "m", &list, &e), -1);
	CHECK_STR(e.msg, "'m' is a mapping, not a list");
	CHECK_INT(e.line, 4);
	CHECK_INT(cl_doc_map(&d, d.root, "h\xc3\xa9", &map, &e), -1);
	CHECK_INT(e.column, 5); /* characters */
	CHECK_INT(cl_doc_str_at(&d, list, 1, &s, &e), 0);
	CHECK_STR(s, "2");
	CHECK_INT(cl_doc_int_at(&d, list, 1, 0, 5, &n, &e), 0);
	CHECK_INT(n, 2);
	CHECK_INT(cl_doc_str_at(&d, list, 2, &s, &e), -1);
	CHECK_STR(e.msg, "entry 2 of the list is a list, not a string");
	CHECK_INT(e.line, 8);
	CHECK_INT(e.column, 5);
	CHECK_INT(cl_doc_strv(&d, d.root, "l", 3, &v, &e), -1);
	CHECK_STR(e.msg, "'l' has 4 entries, more than the 3 allowed");
	CHECK_INT(cl_doc_strv(&d, d.root, "l", 0, &v, &e), -1);
	CHECK_INT(v.n, 2);
	cl_doc_where(&d, map, "k", 0, true, &line, &column);
	CHECK(line == 4 && column == 3);
	cl_doc_where(&d, map, "k", 0, false, &line, &column);
	CHECK(line == 4 && column == 6);
	cl_doc_where(&d, map, "nowhere", 0, false, &line, &column);
	CHECK(!line && !column);
	CHECK_INT(cl_doc_fail(&d, list, NULL, 0, CL_EREFUSED, &e, "no %s", "way"), -1);
	CHECK(e.line == 6 && e.column == 5 && e.code == CL_EREFUSED);
}

void test_yaml__closed_mappings(void)
{
	static const char *const known[] = {"memory", "cpu"};
	cleanup_doc struct cl_doc d = CL_DOC_INIT, l = CL_DOC_INIT;
	struct cl_err e;

	PARSE(&d, "cpu: 1\nmemroy: 2\n");
	CHECK_INT(cl_doc_closed(&d, d.root, "resources", known, 2, &e), -1);
	CHECK_STR(e.msg, "unknown key 'memroy' in resources");
	CHECK_STR(e.fix, "did you mean 'memory'?");
	CHECK(e.line == 2 && e.column == 1);
	CHECK_INT(cl_doc_closed(&d, NULL, "x", known, 2, &e), 0);
	(void)json_object_del(d.root, "memroy");
	CHECK_INT(cl_doc_closed(&d, d.root, "", known, 2, &e), 0);
	/* A list has no unknown keys; it is no mapping either. */
	PARSE(&l, "- cpu\n");
	CHECK_INT(cl_doc_closed(&l, l.root, "", known, 2, &e), -1);
	CHECK_STR(e.msg, "the whole document is a list, not a mapping");
	CHECK_INT(e.line, 1);
}

static char *nested(const char *open, const char *close, size_t n)
{
	struct cl_buf b = CL_BUF_INIT;

	for (size_t i = 0; i < n; i++)
		cl_buf_adds(&b, open);
	for (size_t i = 0; i < n; i++)
		cl_buf_adds(&b, close);
	return cl_buf_detach(&b);
}

static int parse_code(const char *text, size_t len, const struct cl_doc_limits *l, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	return cl_doc_parse(&d, CL_DOC_YAML, "f", text, len, l, e);
}

void test_yaml__limits(void)
{
	const struct cl_doc_limits small = {.max_bytes = 64, .depth = 2, .nodes = 5};
	cleanup_free char *deep = nested("[", "]", 32), *deeper = nested("[", "]", 33);
	cleanup_free char *bottomless = nested("{a: ", "}", 100000);
	cleanup_free char *dashes = nested("- ", "", 100000), *huge = cl_calloc(1, (1 << 20) + 1);
	struct cl_err e;

	CHECK_INT(parse_code(deep, strlen(deep), NULL, &e), 0);
	CHECK_INT(parse_code(deeper, strlen(deeper), NULL, &e), -1);
	CHECK_HAS(e.msg, "nested");
	CHECK_INT(e.column, 33);
	CHECK_INT(parse_code(bottomless, strlen(bottomless), NULL, &e), -1);
	CHECK_INT(parse_code(dashes, strlen(dashes), NULL, &e), -1);
	memset(huge, '#', (1 << 20) + 1);
	CHECK_INT(parse_code(huge, 1 << 20, NULL, &e), 0);
	CHECK_INT(parse_code(huge, (1 << 20) + 1, NULL, &e), -1);
	CHECK_HAS(e.msg, "1048577 bytes, more than the 1048576");
	CHECK_INT(parse_code("[1, 2, 3, 4]", 12, &small, &e), 0);
	CHECK_INT(parse_code("[1, 2, 3, 4, 5]", 15, &small, &e), -1);
	CHECK_HAS(e.msg, "too many values");
	CHECK_INT(parse_code("[[[1]]]", 7, &small, &e), -1);
	CHECK_INT(parse_code("", 0, NULL, &e), 0);
	CHECK_INT(parse_code(NULL, 0, NULL, &e), 0);
}

/* As many values as the cap lets through, each of them looked up. */
void test_yaml__many_values_are_found_quickly(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	cleanup_strv struct cl_strv v = CL_STRV_INIT;
	struct cl_err e;

	cl_buf_adds(&b, "l:\n");
	for (int i = 0; i < 65000; i++)
		cl_buf_addf(&b, "- %d\n", i);
	PARSE(&d, b.p);
	CHECK_INT(cl_doc_strv(&d, d.root, "l", 0, &v, &e), 0);
	CHECK_INT(v.n, 65000);
	CHECK_STR(v.v[64999], "64999");
}

void test_yaml__messages_quote_little(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	bool out = false;
	struct cl_err e;

	cl_buf_adds(&b, "a: \xe2\x82\xac");
	for (int i = 0; i < 3000; i++)
		cl_buf_adds(&b, "\xe2\x82\xac");
	PARSE(&d, b.p);
	CHECK_INT(cl_doc_bool(&d, d.root, "a", &out, &e), -1);
	CHECK_HAS(e.msg, "\xe2\x82\xac...', not true or false");
	CHECK(strlen(e.msg) < 200);
}

void test_yaml__lines_for_excerpts(void)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const char *s;
	size_t len;

	PARSE(&d, "a: 1\r\nb: 2\rc: 3\n\n# \xe2\x80\xa8# last");
	CHECK(cl_doc_line(&d, 1, &s, &len) && len == 4 && !memcmp(s, "a: 1", 4));
	CHECK(cl_doc_line(&d, 2, &s, &len) && len == 4 && !memcmp(s, "b: 2", 4));
	CHECK(cl_doc_line(&d, 3, &s, &len) && len == 4 && !memcmp(s, "c: 3", 4));
	CHECK(cl_doc_line(&d, 4, &s, &len) && len == 0);
	CHECK(cl_doc_line(&d, 5, &s, &len) && len == 2);
	CHECK(cl_doc_line(&d, 6, &s, &len) && len == 6 && !memcmp(s, "# last", 6));
	CHECK(!cl_doc_line(&d, 7, &s, &len) && !cl_doc_line(&d, 0, &s, &len));
	CHECK(!cl_doc_line(&d, 4000000000u, &s, &len));
}
