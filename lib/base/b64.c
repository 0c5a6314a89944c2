/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/b64.h"

#include <stdint.h>
#include <string.h>

static const char std_set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void cl_b64_encode(enum cl_b64 form, const void *p, size_t len, struct cl_buf *out)
{
	const unsigned char *in = p;
	const char *set = form == CL_B64 ? std_set : url_set;
	char *at = cl_buf_reserve(out, len / 3 * 4 + 4);

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t v = (uint32_t)in[i] << 16 | (n > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
			     (n > 2 ? in[i + 2] : 0);

		for (size_t k = 0; k < 4; k++) {
			if (k <= n)
				*at++ = set[v >> (18 - 6 * k) & 63];
			else if (form != CL_B64_URL)
				*at++ = '=';
		}
	}
	out->len = (size_t)(at - out->p);
	*at = '\0';
}

static int value(const char *set, char c)
{
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == set[62] ? 62 : c == set[63] ? 63 : -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* What may follow the digits: exactly the padding that completes them, or none. */
static bool tail_ok(const char *text, size_t len, bool blanks, size_t digits)
{
	size_t pads = 0;

	for (size_t i = 0; i < len; i++) {
		if (blanks && is_blank(text[i]))
			continue;
		if (text[i] != '=')
			return false;
		pads++;
	}
	return !pads || pads == (4 - digits % 4) % 4;
}

bool cl_b64_decode(enum cl_b64 form, const char *text, size_t len, bool blanks, struct cl_buf *out)
{
	const char *set = form == CL_B64 ? std_set : url_set;
	size_t start = out->len, digits = 0, i;
	uint32_t acc = 0;
	char *at = cl_buf_reserve(out, len / 4 * 3 + 3);

	for (i = 0; i < len; i++) {
		int v = value(set, text[i]);

		if (v < 0 && blanks && is_blank(text[i]))
			continue;
		if (v < 0)
			break;
		acc = acc << 6 | (uint32_t)v;
		digits++;
		if (digits % 4 != 1)
			*at++ = (char)(acc >> (8 - digits % 4 * 2) % 8);
	}
	out->len = (size_t)(at - out->p);
	*at = '\0';
	/* The bits of the last digit that make no byte: 4 after two digits, 2 after three. */
	if (digits % 4 != 1 && tail_ok(text + i, len - i, blanks, digits) &&
		!(digits % 4 == 2 && (acc & 15)) && !(digits % 4 == 3 && (acc & 3)))
		return true;
	if (out->secret && out->cap)
		explicit_bzero(out->p + start, out->len - start);
	out->len = start;
	if (out->cap)
		out->p[start] = '\0';
	return false;
}
