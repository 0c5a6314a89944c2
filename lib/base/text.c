/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text.h"
#include "base/mem.h"

#include <string.h>

bool cl_starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool cl_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !memcmp(s + n - m, suffix, m);
}

static bool blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

char *cl_trim_dup(const char *s)
{
	size_t n;

	while (blank(*s))
		s++;
	n = strlen(s);
	while (n && blank(s[n - 1]))
		n--;
	return cl_strndup(s, n);
}

size_t cl_utf8_next(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	static const struct {
		unsigned char lo, hi, min2, max2, n;
	} rows[] = {
		{0x00, 0x7f, 0, 0, 1},
		{0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; len && i < CL_ARRAY_LEN(rows); i++) {
		if (s[0] < rows[i].lo || s[0] > rows[i].hi)
			continue;
		if (rows[i].n > len)
			return 0;
		if (rows[i].n > 1 && (s[1] < rows[i].min2 || s[1] > rows[i].max2))
			return 0;
		for (size_t k = 2; k < rows[i].n; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return rows[i].n;
	}
	return 0;
}

bool cl_utf8_valid(const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = (unsigned char)s[i] < 0x80 ? 1 : cl_utf8_next(s + i, len - i);
		if (!n)
			return false;
	}
	return true;
}

size_t cl_utf8_cut(const char *s, size_t len, size_t max)
{
	if (len <= max)
		return len;
	while (max && ((unsigned char)s[max] & 0xc0) == 0x80)
		max--;
	return max;
}

void cl_mask(char *s, const char *keep)
{
	size_t len = strlen(s);

	for (size_t i = 0, n; i < len; i += n) {
		unsigned char *p = (unsigned char *)s + i;
		bool bad;

		n = cl_utf8_next(s + i, len - i);
		/* The C1 controls hide behind 0xc2. */
		bad = !n || *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0) ||
		      (*p == 0xe2 && p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
		      (*p == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
		n = n ? n : 1;
		if (bad && !strchr(keep, *p))
			memset(p, '?', n);
	}
}

bool cl_all_in(const char *s, const char *set)
{
	return *s && !s[strspn(s, set)];
}

char *cl_masked(const char *s)
{
	char *out = cl_strdup(s);

	cl_mask(out, "");
	return out;
}

char *cl_shell_word(const char *s)
{
	struct cl_buf b = CL_BUF_INIT;

	if (cl_all_in(s, CL_ALNUM "-_./:=,@+%"))
		return cl_strdup(s);
	cl_buf_addc(&b, '\'');
	for (; *s; s++)
		if (*s == '\'')
			cl_buf_adds(&b, "'\\''");
		else
			cl_buf_addc(&b, *s);
	cl_buf_addc(&b, '\'');
	return b.p;
}

void cl_lower(char *s)
{
	for (; *s; s++)
		if (*s >= 'A' && *s <= 'Z')
			*s = (char)(*s + 32);
}

void cl_split(const char *s, char sep, struct cl_strv *out)
{
	const char *p;

	while ((p = strchr(s, sep))) {
		cl_strv_addn(out, s, (size_t)(p - s));
		s = p + 1;
	}
	cl_strv_add(out, s);
}

char *cl_join(const char *const *v, size_t n, const char *sep)
{
	struct cl_buf b = CL_BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		if (i)
			cl_buf_adds(&b, sep);
		cl_buf_adds(&b, v[i]);
	}
	return cl_buf_detach(&b);
}

#define NEAREST_MAX 40

/* Optimal string alignment distance; both at most NEAREST_MAX long. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned d[NEAREST_MAX + 1][NEAREST_MAX + 1];

	for (size_t i = 0; i <= n; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[n][m];
}

const char *cl_nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t len = strlen(word);
	const char *best = NULL;
	unsigned best_d = 0;

	if (!len || len > NEAREST_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t m = strlen(candidates[i]);
		unsigned d;

		if (!m || m > NEAREST_MAX)
			continue;
		d = distance(word, len, candidates[i], m);
		if (!best || d < best_d) {
			best = candidates[i];
			best_d = d;
		}
	}
	/* A third of the word wrong is still a typo; more, or all of it, is another word. */
	return best && best_d < len && best_d <= (len + 2) / 3 ? best : NULL;
}

void cl_hex(const void *p, size_t len, char *out)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *b = p;

	for (size_t i = 0; i < len; i++) {
		*out++ = hex[b[i] >> 4];
		*out++ = hex[b[i] & 15];
	}
	*out = '\0';
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
