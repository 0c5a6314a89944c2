/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/encode.h"

#include <string.h>

static const char digits[2][65] = {
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

size_t cl_base64_to(enum cl_base64 kind, const void *p, size_t len, char *out)
{
	const char *d = digits[kind == CL_BASE64_URL];
	const unsigned char *in = p;
	char *o = out;

	for (size_t i = 0; i < len; i += 3) {
		size_t have = len - i < 3 ? len - i : 3;
		unsigned v = (unsigned)in[i] << 16 | (have > 1 ? (unsigned)in[i + 1] << 8 : 0) |
			     (have > 2 ? in[i + 2] : 0);

		for (size_t k = 0; k < 4; k++) {
			if (k <= have)
				*o++ = d[v >> (18 - 6 * k) & 63];
			else if (kind == CL_BASE64)
				*o++ = '=';
		}
	}
	*o = '\0';
	return (size_t)(o - out);
}

void cl_base64(enum cl_base64 kind, const void *p, size_t len, struct cl_buf *out)
{
	out->len += cl_base64_to(kind, p, len, cl_buf_reserve(out, CL_BASE64_LEN(len)));
}

/* The value of a digit, or 64. */
static unsigned value(const char *d, char c)
{
	const char *at = c ? strchr(d, c) : NULL;

	return at ? (unsigned)(at - d) : 64;
}

bool cl_unbase64(enum cl_base64 kind, const char *s, size_t len, unsigned char *out, size_t *n)
{
	const char *d = digits[kind == CL_BASE64_URL];
	unsigned bits = 0, have = 0;
	unsigned char *o = out;

	if (kind == CL_BASE64) {
		if (len % 4)
			return false;
		for (int pad = 0; pad < 2 && len && s[len - 1] == '='; pad++)
			len--;
	}
	if (len % 4 == 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned v = value(d, s[i]);

		if (v > 63)
			return false;
		bits = bits << 6 | v;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		*o++ = (unsigned char)(bits >> have);
		bits &= (1u << have) - 1;
	}
	*n = (size_t)(o - out);
	return bits == 0;
}

bool cl_unhex(const char *s, unsigned char *out, size_t len)
{
	static const char hex[] = "0123456789abcdef";

	if (strlen(s) != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++) {
		const char *hi = strchr(hex, s[2 * i]), *lo = strchr(hex, s[2 * i + 1]);

		if (!hi || !lo)
			return false;
		out[i] = (unsigned char)((hi - hex) << 4 | (lo - hex));
	}
	return true;
}
