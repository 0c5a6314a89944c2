/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "tsv.h"

#include <stdint.h>

void test_text__starts_and_ends(void)
{
	CHECK(cl_starts("cloop-run", "cloop-"));
	CHECK(cl_starts("x", ""));
	CHECK(!cl_starts("", "x"));
	CHECK(!cl_starts("cloo", "cloop"));
	CHECK(cl_ends("a.yaml", ".yaml"));
	CHECK(cl_ends("", ""));
	CHECK(!cl_ends("l", ".yaml"));
}

void test_text__trim(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {{"", ""}, {" \t\r\n\v\f ", ""}, {" a b ", "a b"}, {"a", "a"},
		{"\xc2\xa0x", "\xc2\xa0x"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_free char *t = cl_trim_dup(rows[i].in);

		CHECK_STR(t, rows[i].out);
	}
}

/* What RFC 3629 says, computed, for every sequence of up to four bytes that can matter. */
static bool by_the_rfc(const unsigned char *s, size_t n)
{
	uint32_t c;

	if (n == 1)
		return s[0] < 0x80;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return false;
	if (n == 2 && (s[0] & 0xe0) == 0xc0)
		return (s[0] & 0x1f) >= 2;
	if (n == 3 && (s[0] & 0xf0) == 0xe0) {
		c = (uint32_t)(s[0] & 15) << 12 | (uint32_t)(s[1] & 63) << 6 | (s[2] & 63);
		return c >= 0x800 && (c < 0xd800 || c > 0xdfff);
	}
	if (n == 4 && (s[0] & 0xf8) == 0xf0) {
		c = (uint32_t)(s[0] & 7) << 18 | (uint32_t)(s[1] & 63) << 12 |
		    (uint32_t)(s[2] & 63) << 6 | (s[3] & 63);
		return c >= 0x10000 && c <= 0x10ffff;
	}
	return false;
}

void test_utf8__every_two_bytes_and_edges_of_more(void)
{
	static const unsigned char edges[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
		0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff};
	unsigned char s[4];
	unsigned wrong = 0;

	for (unsigned a = 0; a < 256; a++) {
		s[0] = (unsigned char)a;
		wrong += cl_utf8_next((char *)s, 1) != (by_the_rfc(s, 1) ? 1 : 0);
		for (unsigned b = 0; b < 256; b++) {
			s[1] = (unsigned char)b;
			if (!by_the_rfc(s, 1))
				wrong += cl_utf8_next((char *)s, 2) != (by_the_rfc(s, 2) ? 2 : 0);
			for (size_t c = 0; c < sizeof(edges); c++) {
				s[2] = edges[c];
				if (a >= 0xe0 && a < 0xf0)
					wrong += (cl_utf8_next((char *)s, 3) == 3) !=
						 by_the_rfc(s, 3);
				for (size_t d = 0; a >= 0xf0 && d < sizeof(edges); d++) {
					s[3] = edges[d];
					wrong += (cl_utf8_next((char *)s, 4) == 4) !=
						 by_the_rfc(s, 4);
				}
			}
		}
	}
	CHECK_INT(wrong, 0);
	CHECK_INT(cl_utf8_next("", 0), 0);
}

void test_utf8__valid(void)
{
	CHECK(cl_utf8_valid("", 0));
	CHECK(cl_utf8_valid("a\0b", 3));
	CHECK(cl_utf8_valid("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 12));
	CHECK(!cl_utf8_valid("\xc3", 1));
	CHECK(!cl_utf8_valid("ok\xe2\x82", 4));
	CHECK(!cl_utf8_valid("\xc0\xaf", 2));
	CHECK(!cl_utf8_valid("\xed\xa0\x80", 3));
	CHECK(!cl_utf8_valid("\xf4\x90\x80\x80", 4));
}

void test_utf8__cut_never_splits(void)
{
	const char *s = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
	size_t len = strlen(s);

	for (size_t max = 0; max <= len + 3; max++) {
		size_t n = cl_utf8_cut(s, len, max);

		CHECK(n <= max && n <= len && cl_utf8_valid(s, n) && max - n < 4 + 4);
	}
	CHECK_INT(cl_utf8_cut(s, len, 2), 1);
	CHECK_INT(cl_utf8_cut(s, len, 3), 3);
	CHECK_INT(cl_utf8_cut("\x80\x80\x80", 3, 2), 0);
}

void test_text__all_in(void)
{
	CHECK(cl_all_in("123", CL_DIGITS));
	CHECK(!cl_all_in("", CL_DIGITS));
	CHECK(!cl_all_in("12a", CL_DIGITS));
	CHECK(!cl_all_in("a\xff", CL_LOWER));
}

void test_text__mask(void)
{
	char s[] = "a\nb\x1b\xc2\x9b\xe2\x80\xae\xff\xc3\xa9\t";
	char all[] = "\n";

	cl_mask(s, "\n");
	CHECK_STR(s, "a\nb??????\?\xc3\xa9?");
	cl_mask(all, "");
	CHECK_STR(all, "?");
}

void test_text__shell_word(void)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{"/srv/shop", "/srv/shop"},
		{"", "''"},
		{"/srv/my shop", "'/srv/my shop'"},
		{"it's", "'it'\\''s'"},
		{"$(id)", "'$(id)'"},
		{"~", "'~'"},
		{"a\nb", "'a\nb'"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_free char *s = cl_shell_word(rows[i].from);

		CHECK_STR(s, rows[i].to);
	}
}

void test_text__lower_is_ascii(void)
{
	char s[] = "AbZ[@`\xc3\x89";

	cl_lower(s);
	CHECK_STR(s, "abz[@`\xc3\x89");
}

void test_text__split_and_join(void)
{
	cleanup_strv struct cl_strv v = CL_STRV_INIT;
	cleanup_free char *j = NULL, *none = cl_join(NULL, 0, ",");

	cl_split(",a,,b,", ',', &v);
	CHECK_INT(v.n, 5);
	CHECK_STR(v.v[0], "");
	CHECK_STR(v.v[1], "a");
	CHECK_STR(v.v[2], "");
	CHECK_STR(v.v[4], "");
	j = cl_join((const char *const *)v.v, v.n, ",");
	CHECK_STR(j, ",a,,b,");
	CHECK_STR(none, "");
	cl_split("", ',', &v);
	CHECK_INT(v.n, 6);
}

void test_text__nearest(void)
{
	static const char *const names[] = {"", "run", "runs", "egress", "sandbox", "secret",
		"firewall", "a-name-that-is-much-longer-than-the-forty-bytes-it-may-have"};
	static const struct {
		const char *word, *want;
	} rows[] = {{"egres", "egress"}, {"ergess", "egress"}, {"sandobx", "sandbox"},
		{"rnu", "run"}, {"firewal", "firewall"}, {"secrte", "secret"}, {"run", "run"},
		{"x", NULL}, {"", NULL}, {"zz", NULL}, {"kubernetes", NULL},
		{"a-name-that-is-much-longer-than-the-forty-bytes-it-may-hav", NULL}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++)
		CHECK_STR(cl_nearest(rows[i].word, names, CL_ARRAY_LEN(names)), rows[i].want);
	CHECK(!cl_nearest("x", NULL, 0));
}

void test_text__hex(void)
{
	char out[9];

	cl_hex("\x00\xff\x0a\x90", 4, out);
	CHECK_STR(out, "00ff0a90");
	cl_hex("", 0, out);
	CHECK_STR(out, "");
}

void test_text__unhex(void)
{
	unsigned char out[4];

	CHECK(cl_unhex("00ff10ab", out, 4));
	CHECK(!memcmp(out, "\x00\xff\x10\xab", 4));
	CHECK(cl_unhex("", out, 0));
	CHECK(!cl_unhex("00ff10a", out, 4));
	CHECK(!cl_unhex("00ff10abc", out, 4));
	CHECK(!cl_unhex("00FF10AB", out, 4));
	CHECK(!cl_unhex("00ff10ag", out, 4));
	CHECK(!cl_unhex("00ff 0ab", out, 4));
}
