/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/b64.h"
#include "base/text.h"
#include "policy/secret/scrub_internal.h"

#include <string.h>

typedef void take_fn(void *ctx, const char *form, size_t len);

/*
 * Base64 of the value behind `before` other bytes: only the digits that its own bits make, for
 * the ones at both ends depend on what stands beside it.
 */
static void aligned(
	enum cl_b64 form, const char *value, size_t len, size_t before, take_fn *take, void *ctx)
{
	cleanup_buf struct cl_buf in = CL_BUF_SECRET, text = CL_BUF_SECRET;
	size_t from = (8 * before + 5) / 6, to = 8 * (before + len) / 6;

	cl_buf_add(&in, "\0\0", before);
	cl_buf_add(&in, value, len);
	cl_b64_encode(form, in.p, in.len, &text);
	take(ctx, text.p + from, to - from);
}

/* As base64(1) and openssl(1) print what is long: lines of `width`. */
static void wrapped(const char *value, size_t len, size_t width, take_fn *take, void *ctx)
{
	cleanup_buf struct cl_buf text = CL_BUF_SECRET, lines = CL_BUF_SECRET;

	if (len * 8 / 6 <= width)
		return;
	cl_b64_encode(CL_B64, value, len, &text);
	text.len = len * 8 / 6;
	for (size_t i = 0; i < text.len; i += width) {
		size_t n = text.len - i < width ? text.len - i : width;

		if (i)
			cl_buf_addc(&lines, '\n');
		cl_buf_add(&lines, text.p + i, n);
	}
	take(ctx, lines.p, lines.len);
}

/* RFC 3986 2.1, with what is left as it is; the hex digits in either case. */
static void percent(const char *value, size_t len, const char *keep, const char *hex, bool plus,
	take_fn *take, void *ctx)
{
	cleanup_buf struct cl_buf text = CL_BUF_SECRET;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		if (c && strchr(keep, c))
			cl_buf_addc(&text, (char)c);
		else if (plus && c == ' ')
			cl_buf_addc(&text, '+');
		else {
			cl_buf_addc(&text, '%');
			cl_buf_addc(&text, hex[c >> 4]);
			cl_buf_addc(&text, hex[c & 15]);
		}
	}
	take(ctx, text.p, text.len);
}

/* As a JSON string (RFC 8259 7) has it inside its quotes, '/' as it is. */
static void json(const char *value, size_t len, take_fn *take, void *ctx)
{
	static const char named[] = "\"\"\\\\\nn\rr\tt\bb\ff";
	cleanup_buf struct cl_buf text = CL_BUF_SECRET;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];
		const char *at = NULL;

		for (size_t k = 0; k + 1 < sizeof(named) && !at; k += 2)
			at = (unsigned char)named[k] == c ? named + k + 1 : NULL;
		if (at) {
			cl_buf_addc(&text, '\\');
			cl_buf_addc(&text, *at);
		} else if (c < ' ') {
			cl_buf_addf(&text, "\\u%04x", c);
		} else {
			cl_buf_addc(&text, (char)c);
		}
	}
	take(ctx, text.p, text.len);
}

/* A terminal turns each line end into two bytes. */
static void returns(const char *value, size_t len, take_fn *take, void *ctx)
{
	cleanup_buf struct cl_buf text = CL_BUF_SECRET;

	for (size_t i = 0; i < len; i++) {
		if (value[i] == '\n' && (!i || value[i - 1] != '\r'))
			cl_buf_addc(&text, '\r');
		cl_buf_addc(&text, value[i]);
	}
	take(ctx, text.p, text.len);
}

void scrub_forms(const char *value, size_t len, take_fn *take, void *ctx)
{
	/* encodeURIComponent keeps the first set, strict encoders and query strings the second. */
	static const char *const keep[] = {CL_ALNUM "-_.!~*'()", CL_ALNUM "-_.~"};
	static const char *const hex[] = {"0123456789ABCDEF", "0123456789abcdef"};

	take(ctx, value, len);
	for (size_t before = 0; before < 3; before++) {
		aligned(CL_B64, value, len, before, take, ctx);
		aligned(CL_B64_URL, value, len, before, take, ctx);
	}
	wrapped(value, len, 76, take, ctx);
	wrapped(value, len, 64, take, ctx);
	for (size_t k = 0; k < 2; k++)
		for (size_t h = 0; h < 2; h++)
			percent(value, len, keep[k], hex[h], k == 1, take, ctx);
	percent(value, len, keep[1], hex[0], false, take, ctx);
	json(value, len, take, ctx);
	if (memchr(value, '\n', len))
		returns(value, len, take, ctx);
}
