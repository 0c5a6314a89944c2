/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The scrubber: lines of the input up to an empty one are values, the rest is the stream. However
 * it is cut, what leaves is the same, holds no value, and nothing stays behind.
 */
#include "base/mem.h"
#include "base/credpat.h"
#include "policy/secret/scrub.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *learn(struct scrub *s, const char *p, const char *end)
{
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);

		if (n)
			(void)scrub_add(s, p, n);
		p = nl ? nl + 1 : end;
		if (!n)
			break;
	}
	return p;
}

/* `quiet`: after every second piece nothing comes for a while. */
static void run(
	const char *p, size_t size, bool patterns, size_t cut, bool quiet, struct cl_buf *out)
{
	cleanup_scrub struct scrub *s = scrub_new(patterns);
	const char *text = learn(s, p, p + size);
	size_t len = size - (size_t)(text - p);

	for (size_t at = 0; at < len; at += cut) {
		scrub_feed(s, text + at, cut < len - at ? cut : len - at, out);
		if (quiet && at / cut % 2)
			scrub_quiet(s, out);
		if (scrub_held(s) > size && scrub_held(s) > CP_MAX + CP_CONTEXT)
			abort();
	}
	scrub_flush(s, out);
	if (scrub_held(s))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct cl_buf whole = CL_BUF_INIT, pieces = CL_BUF_INIT, found = CL_BUF_INIT;
	const char *p = (const char *)data;
	size_t cut = size ? 1 + data[0] % 23 : 1;
	char echo[CP_ECHO];

	if (size > 4096)
		return 0;
	run(p, size, false, size + 1, false, &whole);
	run(p, size, false, cut, false, &pieces);
	if (whole.len != pieces.len || memcmp(whole.p, pieces.p, whole.len) != 0)
		abort();
	cl_buf_reset(&pieces);
	run(p, size, true, cut, false, &pieces);
	cl_buf_reset(&pieces);
	run(p, size, true, cut, true, &pieces);
	(void)cp_scrub(p, size, &found);
	cl_buf_reset(&found);
	cl_buf_add(&found, p, size);
	cp_echo(found.p, echo);
	return 0;
}
