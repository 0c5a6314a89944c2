/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a form stands, line ends in it or not. */
#include "policy/secret/scrub_internal.h"

#include <string.h>

size_t scrub_span(const struct scrub_form *f)
{
	return f->how == SCRUB_PLAIN ? f->len : f->len + 2 * (f->len / SCRUB_LINE + 1);
}

size_t scrub_step(const struct scrub_form *f, size_t block)
{
	size_t line = f->how == SCRUB_WRAPS ? (f->len + 1) / 2 : f->len;

	return line <= block ? 1 : line - block + 1;
}

/* A line end that cuts it before the first whole sample leaves one on the line behind it. */
size_t scrub_places(const struct scrub_form *f, size_t block, size_t step)
{
	size_t most = f->len - block + 1, n = f->how == SCRUB_WRAPS ? 2 * step + block - 2 : step;

	return n < most ? n : most;
}

/* Bytes of the line end that p[0..n) starts with; the second of them may not be there yet. */
static size_t line_end(const char *p, size_t n)
{
	return *p == '\n' ? 1 : (*p == '\r' && (n == 1 || p[1] == '\n') ? 2 : 0);
}

static size_t match_lines(const struct scrub_form *f, const char *p, size_t n)
{
	/* Of a tail some digits stand on the line before. */
	size_t i = 0, line = f->how == SCRUB_TAIL ? SCRUB_HEAD - 1 : SCRUB_LINE;

	for (size_t k = 0; k < f->len; line++, i++, k++) {
		size_t end;

		if (i < n && p[i] != f->p[k]) {
			end = k < SCRUB_HEAD || line < SCRUB_LINE ? 0 : line_end(p + i, n - i);
			if (!end)
				return 0;
			i += end;
			line = 0;
		}
		if (i >= n)
			return i + f->len - k;
		if (p[i] != f->p[k])
			return 0;
	}
	return i;
}

size_t scrub_match(const struct scrub_form *f, const char *p, size_t n)
{
	size_t most = n < f->len ? n : f->len;

	if (!memcmp(p, f->p, most))
		return f->len;
	return f->how == SCRUB_PLAIN ? 0 : match_lines(f, p, n);
}

bool scrub_back(const struct scrub_form *f, size_t k, const char *p, size_t first, size_t *at)
{
	size_t i = *at;

	while (k) {
		if (i == first)
			return false;
		if (f->how != SCRUB_PLAIN && p[i - 1] == '\n') {
			i -= i - 1 > first && p[i - 2] == '\r' ? 2 : 1;
			continue;
		}
		i--;
		k--;
	}
	*at = i;
	return true;
}
