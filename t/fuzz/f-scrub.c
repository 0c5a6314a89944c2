/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The scrubber: lines of the input up to an empty one are values, the rest is the stream. However
 * it is cut, what leaves is the same, holds no value, and nothing stays behind. One scrubber plays
 * the stream again and again: nothing of the last time may be left in it. An input's size says what
 * is tried of it, for each costs what the others do.
 */
#include "base/mem.h"
#include "base/credpat.h"
#include "policy/secret/scrub.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PIECES 64 /* more of them say no more, and each looks at all that is held */

struct input {
	const char *p, *text;
	size_t len, cut;
};

static size_t line(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return nl ? (size_t)(nl - p) : (size_t)(end - p);
}

static void learn(struct scrub *s, const struct input *in)
{
	for (const char *p = in->p; p < in->text;) {
		size_t n = line(p, in->text);

		(void)scrub_add(s, p, n);
		p += n + (p + n < in->text);
	}
}

/* `quiet`: after every second piece nothing comes for a while. */
static void play(
	struct scrub *s, const struct input *in, size_t cut, bool quiet, struct cl_buf *out)
{
	cl_buf_reset(out);
	for (size_t at = 0; at < in->len; at += cut) {
		scrub_feed(s, in->text + at, cut < in->len - at ? cut : in->len - at, out);
		if (quiet && at / cut % 2)
			scrub_quiet(s, out);
		if (scrub_held(s) > in->len)
			abort();
	}
	scrub_flush(s, out);
	if (scrub_held(s))
		abort();
}

/* Nobody's secret, and not looked for. */
static bool placeholder(const char *p, size_t n)
{
	return n > 9 && !strncasecmp(p, "<redacted", 9) && p[n - 1] == '>';
}

/* A mark may stand where a value was and make one with what is beside it: those are not judged. */
static bool judged(const char *p, size_t n)
{
	return n >= SCRUB_MIN && !memchr(p, '[', n) && !memchr(p, ']', n) && !placeholder(p, n) &&
	       memcmp(p, "redacted", 8) != 0 && !memchr(" \t\r\v\f", *p, 5) &&
	       !memchr(" \t\r\v\f", p[n - 1], 5) && *p && p[n - 1];
}

static void holds_none(const struct input *in, const struct cl_buf *out)
{
	for (const char *p = in->p; p < in->text;) {
		size_t n = line(p, in->text);

		if (n <= SCRUB_VALUE_MAX && judged(p, n) && memmem(out->p, out->len, p, n))
			abort();
		p += n + (p + n < in->text);
	}
}

static void same(const struct cl_buf *a, const struct cl_buf *b)
{
	if (a->len != b->len || memcmp(a->p, b->p, a->len) != 0)
		abort();
}

static void values_only(const struct input *in)
{
	cleanup_scrub struct scrub *s = scrub_new(false);
	cleanup_buf struct cl_buf whole = CL_BUF_INIT, pieces = CL_BUF_INIT;

	learn(s, in);
	play(s, in, in->len + 1, false, &whole);
	play(s, in, in->cut, false, &pieces);
	same(&whole, &pieces);
	holds_none(in, &whole);
	play(s, in, in->cut, true, &pieces);
	holds_none(in, &pieces);
}

/* The lead of a credential may leave before the rest is known: that is no part of a value. */
static void with_patterns(const struct input *in)
{
	cleanup_scrub struct scrub *s = scrub_new(true);
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	learn(s, in);
	play(s, in, in->cut, false, &out);
	holds_none(in, &out);
	play(s, in, in->cut, true, &out);
	holds_none(in, &out);
}

/* What somebody typed, or what is to be recorded. */
static void told(const char *p, size_t size)
{
	cleanup_buf struct cl_buf found = CL_BUF_INIT;
	char echo[CP_ECHO];

	(void)cp_scrub(p, size, &found);
	cl_buf_reset(&found);
	cl_buf_add(&found, p, size);
	cp_echo(found.p, echo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *empty;
	struct input in = {p, p + size, 0, size ? 1 + data[0] % 23 : 1};

	if (size > 4096)
		return 0;
	empty = size && *p == '\n' ? p : memmem(p, size, "\n\n", 2);
	if (empty) {
		in.text = empty + (*p == '\n' && empty == p ? 1 : 2);
		in.len = (size_t)(p + size - in.text);
	}
	in.cut += in.len / PIECES;
	switch (size % 4) {
	case 0:
	case 2:
		values_only(&in);
		break;
	case 1:
		with_patterns(&in);
		break;
	default:
		told(p, size);
	}
	return 0;
}
