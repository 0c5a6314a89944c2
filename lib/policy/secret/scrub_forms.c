/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/b64.h"
#include "base/text.h"
#include "policy/secret/scrub_internal.h"

#include <string.h>

/*
 * Base64, in both its sets, of the value behind `before` other bytes: only the digits that its own
 * bits make, for the ones at both ends depend on what stands beside it.
 */
static void aligned(const char *value, size_t len, size_t before, scrub_take *take, void *ctx)
{
	cleanup_buf struct cl_buf in = CL_BUF_SECRET, text = CL_BUF_SECRET;
	size_t from = (8 * before + 5) / 6, to = 8 * (before + len) / 6;

	(void)cl_buf_reserve(&in, before + len);
	cl_buf_add(&in, "\0\0", before);
	cl_buf_add(&in, value, len);
	cl_b64_encode(CL_B64, in.p, in.len, &text);
	for (unsigned url = 0; url < 2; url++) {
		take(ctx, text.p + from, to - from, SCRUB_WRAPS);
		take(ctx, text.p + from + SCRUB_HEAD - 1, to - from - SCRUB_HEAD + 1, SCRUB_TAIL);
		for (size_t i = from; i < to; i++)
			text.p[i] = text.p[i] == '+' ? '-' : (text.p[i] == '/' ? '_' : text.p[i]);
	}
}

/* RFC 3986 2.1, with what is left as it is; the hex digits in either case. */
static void percent(const char *value, size_t len, const char *keep, const char *hex, bool plus,
	scrub_take *take, void *ctx)
{
	cleanup_buf struct cl_buf text = CL_BUF_SECRET;
	bool kept[256] = {false};
	char *at = cl_buf_reserve(&text, 3 * len);

	for (; *keep; keep++)
		kept[(unsigned char)*keep] = true;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		if (kept[c])
			*at++ = (char)c;
		else if (plus && c == ' ')
			*at++ = '+';
		else {
			*at++ = '%';
			*at++ = hex[c >> 4];
			*at++ = hex[c & 15];
		}
	}
	take(ctx, text.p, (size_t)(at - text.p), SCRUB_PLAIN);
	text.len = (size_t)(at - text.p);
}

/* What writers of JSON escape besides what they must. */
enum {
	JSON_SLASH = 1, /* \/ */
	JSON_HTML = 2,  /* & < > as \u0026 ... */
	JSON_ASCII = 4, /* everything else than ASCII, as UTF-16 */
};

static char *unit(char *at, unsigned u)
{
	static const char hex[] = "0123456789abcdef";

	*at++ = '\\';
	*at++ = 'u';
	for (unsigned k = 0; k < 4; k++)
		*at++ = hex[u >> (12 - 4 * k) & 15];
	return at;
}

/* The code point that n bytes are in UTF-8, as one unit or two (RFC 8259 7). */
static char *units(char *at, const char *p, size_t n)
{
	unsigned u = (unsigned char)*p & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		u = u << 6 | ((unsigned char)p[i] & 63);
	if (u < 0x10000)
		return unit(at, u);
	u -= 0x10000;
	return unit(unit(at, 0xd800 | u >> 10), 0xdc00 | (u & 0x3ff));
}

/* As a JSON string (RFC 8259 7) has it inside its quotes. */
static void json(const char *value, size_t len, unsigned how, scrub_take *take, void *ctx)
{
	static const char named[256] = {['"'] = '"',
		['\\'] = '\\',
		['\n'] = 'n',
		['\r'] = 'r',
		['\t'] = 't',
		['\b'] = 'b',
		['\f'] = 'f'};
	cleanup_buf struct cl_buf text = CL_BUF_SECRET;
	char *at = cl_buf_reserve(&text, 6 * len);

	for (size_t i = 0, n; i < len; i += n) {
		unsigned char c = (unsigned char)value[i];

		n = 1;
		if (named[c] || (c == '/' && how & JSON_SLASH)) {
			*at++ = '\\';
			*at++ = c == '/' ? '/' : named[c];
		} else if (c < ' ' || ((c == '&' || c == '<' || c == '>') && how & JSON_HTML)) {
			at = unit(at, c);
		} else if (how & JSON_ASCII && c >= 0x80 &&
			   (n = cl_utf8_next(value + i, len - i)) > 0) {
			at = units(at, value + i, n);
		} else {
			*at++ = (char)c;
			n = 1;
		}
	}
	take(ctx, text.p, (size_t)(at - text.p), SCRUB_PLAIN);
	text.len = (size_t)(at - text.p);
}

/* What it changes nothing to escape is not tried twice. */
static unsigned json_ways(const char *value, size_t len)
{
	unsigned ways = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		ways |= c == '/' ? JSON_SLASH : 0;
		ways |= c == '&' || c == '<' || c == '>' ? JSON_HTML : 0;
		ways |= c >= 0x80 ? JSON_ASCII : 0;
	}
	return ways;
}

/* A terminal turns each line end into two bytes. */
static void returns(const char *value, size_t len, scrub_take *take, void *ctx)
{
	cleanup_buf struct cl_buf text = CL_BUF_SECRET;

	for (size_t i = 0; i < len; i++) {
		if (value[i] == '\n' && (!i || value[i - 1] != '\r'))
			cl_buf_addc(&text, '\r');
		cl_buf_addc(&text, value[i]);
	}
	take(ctx, text.p, text.len, SCRUB_PLAIN);
}

void scrub_forms(const char *value, size_t len, scrub_take *take, void *ctx)
{
	/* encodeURIComponent keeps the first set, strict encoders and query strings the second. */
	static const char *const keep[] = {CL_ALNUM "-_.!~*'()", CL_ALNUM "-_.~"};
	static const char *const hex[] = {"0123456789ABCDEF", "0123456789abcdef"};
	const unsigned ways = json_ways(value, len);

	take(ctx, value, len, SCRUB_PLAIN);
	for (size_t before = 0; before < 3; before++)
		aligned(value, len, before, take, ctx);
	for (size_t k = 0; k < 2; k++)
		for (size_t h = 0; h < 2; h++)
			percent(value, len, keep[k], hex[h], k == 1, take, ctx);
	percent(value, len, keep[1], hex[0], false, take, ctx);
	for (unsigned how = 0; how < 8; how++)
		if (!(how & ~ways))
			json(value, len, how, take, ctx);
	if (memchr(value, '\n', len))
		returns(value, len, take, ctx);
}
