/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/b64.h"
#include "unit.h"

/* RFC 4648 section 10, and bytes whose digits differ between the two alphabets. */
static const struct {
	const char *bytes;
	size_t len;
	const char *std, *url, *url_pad;
} rows[] = {
	{"", 0, "", "", ""},
	{"f", 1, "Zg==", "Zg", "Zg=="},
	{"fo", 2, "Zm8=", "Zm8", "Zm8="},
	{"foo", 3, "Zm9v", "Zm9v", "Zm9v"},
	{"foob", 4, "Zm9vYg==", "Zm9vYg", "Zm9vYg=="},
	{"fooba", 5, "Zm9vYmE=", "Zm9vYmE", "Zm9vYmE="},
	{"foobar", 6, "Zm9vYmFy", "Zm9vYmFy", "Zm9vYmFy"},
	{"\xfb\xff\xfe\x00", 4, "+//+AA==", "-__-AA", "-__-AA=="},
};

void test_b64__both_ways(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *want[] = {rows[i].std, rows[i].url, rows[i].url_pad};

		for (int form = CL_B64; form <= CL_B64_URL_PAD; form++) {
			cleanup_buf struct cl_buf text = CL_BUF_INIT, back = CL_BUF_SECRET;

			cl_b64_encode(form, rows[i].bytes, rows[i].len, &text);
			CHECK_STR(text.p, want[form]);
			CHECK(cl_b64_decode(form, text.p, text.len, false, &back));
			CHECK_INT(back.len, rows[i].len);
			CHECK(!memcmp(back.p, rows[i].bytes, rows[i].len));
			CHECK(cl_b64_decode(form, rows[i].url, 0, false, &back));
		}
	}
}

void test_b64__random_bytes_come_back(void)
{
	unsigned seed = 1;

	for (size_t len = 0; len < 300; len++) {
		cleanup_buf struct cl_buf in = CL_BUF_INIT, text = CL_BUF_INIT, out = CL_BUF_INIT;

		for (size_t i = 0; i < len; i++)
			cl_buf_addc(&in, (char)((seed = seed * 1103515245u + 12345u) >> 16));
		cl_b64_encode(CL_B64, in.p, in.len, &text);
		CHECK(cl_b64_decode(CL_B64, text.p, text.len, false, &out));
		CHECK(out.len == in.len && !memcmp(out.p, in.p, in.len));
	}
}

void test_b64__refuses(void)
{
	static const char *const bad[] = {"Z", "Zm9vY", "Zg=", "Zg===", "Z===", "=",
		"====", "Zh==", "Zm9=", "Zg==Zg==", "Zm9v\n", "Zm 9v", "Zm-v", "Zm9v=", "Zg\x80="};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cleanup_buf struct cl_buf out = CL_BUF_INIT;

		cl_buf_adds(&out, "kept");
		if (cl_b64_decode(CL_B64, bad[i], strlen(bad[i]), false, &out))
			UNIT_FAIL("'%s' was taken", bad[i]);
		CHECK_STR(out.p, "kept");
	}
}

void test_b64__blanks_only_when_asked(void)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	CHECK(cl_b64_decode(CL_B64, " Zm9v\r\n\tYg =\n= ", 15, true, &out));
	CHECK_STR(out.p, "foob");
	CHECK(!cl_b64_decode(CL_B64, "Zm9v\0Zm9v", 9, true, &out));
	CHECK_STR(out.p, "foob");
}
