/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/encode.h"
#include "base/mem.h"

static char *encoded(enum cl_base64 kind, const char *s, size_t len)
{
	struct cl_buf b = CL_BUF_INIT;

	cl_base64(kind, s, len, &b);
	return cl_buf_detach(&b);
}

/* RFC 4648 section 10, and what tells the two alphabets apart. */
void test_encode__base64(void)
{
	static const struct {
		const char *text, *plain, *url;
	} rows[] = {{"", "", ""}, {"f", "Zg==", "Zg"}, {"fo", "Zm8=", "Zm8"},
		{"foo", "Zm9v", "Zm9v"}, {"foob", "Zm9vYg==", "Zm9vYg"},
		{"fooba", "Zm9vYmE=", "Zm9vYmE"}, {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
		{"\xfb\xff\xfe", "+//+", "-__-"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_free char *plain = encoded(CL_BASE64, rows[i].text, strlen(rows[i].text));
		cleanup_free char *url = encoded(CL_BASE64_URL, rows[i].text, strlen(rows[i].text));
		unsigned char out[16];
		size_t n = 99;

		CHECK_STR(plain, rows[i].plain);
		CHECK_STR(url, rows[i].url);
		CHECK(cl_unbase64(CL_BASE64, plain, strlen(plain), out, &n));
		CHECK_INT(n, strlen(rows[i].text));
		CHECK(!memcmp(out, rows[i].text, n));
		CHECK(cl_unbase64(CL_BASE64_URL, url, strlen(url), out, &n));
		CHECK_INT(n, strlen(rows[i].text));
	}
}

/* One text a value: what only another reader would take is refused. */
void test_encode__base64_strict(void)
{
	static const char *const plain[] = {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm8",
		"Zm9v ", " Zm9v", "Zm9v\n", "Zm-v", "Zm_v", "====", "=", "Zm=v",
		"Zg==Zg==", "Zm9vYg=\x01"};
	static const char *const url[] = {
		"Z", "Zg==", "Zh", "Zm9", "Zm8=", "Zm+v", "Zm/v", "Zm9v="};
	unsigned char out[32];
	size_t n;

	for (size_t i = 0; i < CL_ARRAY_LEN(plain); i++)
		if (cl_unbase64(CL_BASE64, plain[i], strlen(plain[i]), out, &n))
			UNIT_FAIL("'%s' was taken", plain[i]);
	for (size_t i = 0; i < CL_ARRAY_LEN(url); i++)
		if (cl_unbase64(CL_BASE64_URL, url[i], strlen(url[i]), out, &n))
			UNIT_FAIL("'%s' was taken as URL", url[i]);
	CHECK(!cl_unbase64(CL_BASE64_URL, "A\0AA", 4, out, &n));
}

void test_encode__base64_round(void)
{
	unsigned char in[64], out[CL_BASE64_DECODED(CL_BASE64_LEN(sizeof(in)))];

	for (size_t len = 0; len <= sizeof(in); len++)
		for (int kind = CL_BASE64; kind <= CL_BASE64_URL; kind++) {
			cleanup_free char *text = NULL;
			size_t n;

			for (size_t i = 0; i < len; i++)
				in[i] = (unsigned char)(i * 37 + len * 101);
			text = encoded((enum cl_base64)kind, (const char *)in, len);
			CHECK(strlen(text) <= CL_BASE64_LEN(len));
			CHECK(cl_unbase64((enum cl_base64)kind, text, strlen(text), out, &n));
			CHECK_INT(n, len);
			CHECK(!memcmp(in, out, len));
		}
}

void test_encode__hex(void)
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
