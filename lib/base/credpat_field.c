/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detectors whose credential stands behind a word, and keys in PEM. */
#include "base/credpat_internal.h"

#include <string.h>
#include <strings.h>

/*
 * Behind a key: quotes and blanks, ':' or '=', blanks, a quote. False: it is no key of a value.
 * *pos is then where the value starts; it is the text's end when the text ends before.
 */
static bool skip_separator(const struct cp_text *t, size_t from, size_t *pos)
{
	size_t i = from, limit = from + CP_CONTEXT / 2;
	bool seen = false;

	for (; i < t->len && i < limit; i++) {
		char c = t->p[i];

		if (c == ':' || c == '=') {
			if (seen && c == ':')
				return false;
			seen = true;
		} else if (c != ' ' && c != '\t' && c != '"' && c != '\'' && c != '\\' &&
			   c != '>') {
			break;
		}
	}
	*pos = i;
	return i < limit && (seen || i == t->len);
}

enum cp_verdict cp_field(const struct cp_text *t, size_t lead, struct cp_match *m)
{
	size_t from, n;

	if (!skip_separator(t, t->at + lead, &from))
		return CP_NO;
	n = cp_run_to(t, from, CP_VALUE, CP_JUDGED);
	if (cp_open(t, from + n))
		return cp_more(m, from);
	if (from + n < t->len && strchr("({[", t->p[from + n]))
		return CP_NO;
	return cp_generated(t->p + from, n) ? cp_yes_run(t, m, from, from, CP_VALUE) : CP_NO;
}

enum cp_verdict cp_key_data(const struct cp_text *t, size_t lead, struct cp_match *m)
{
	size_t from, n;

	if (!skip_separator(t, t->at + lead, &from))
		return CP_NO;
	n = cp_run(t, from, CP_B64);
	if (cp_open(t, from + n))
		return cp_more(m, from);
	return n >= 16 ? cp_yes(m, from, from + n, CP_B64) : CP_NO;
}

enum cp_verdict cp_aws_secret(const struct cp_text *t, size_t lead, struct cp_match *m)
{
	size_t from, n;

	if (!skip_separator(t, t->at + lead, &from))
		return CP_NO;
	n = cp_run_to(t, from, CP_B64, 41);
	if (cp_open(t, from + n) && n <= 40)
		return cp_more(m, from);
	if (n != 40 || memmem(t->p + from, n, "EXAMPLE", 7) || cp_monotonous(t->p + from, n))
		return CP_NO;
	return cp_yes(m, from, from + n, CP_B64);
}

/* A scheme's name before the credential: Basic, Bearer, token, Negotiate (RFC 9110 11.4). */
static size_t scheme(const struct cp_text *t, size_t from)
{
	size_t n = cp_run_to(t, from, CP_ALNUM | CP_DASH, 17),
	       blanks = n ? cp_run_to(t, from + n, CP_BLANK, 8) : 0;

	return n <= 16 && blanks ? n + blanks : 0;
}

enum cp_verdict cp_authorization(const struct cp_text *t, size_t lead, struct cp_match *m)
{
	size_t from, n;

	if (!skip_separator(t, t->at + lead, &from))
		return CP_NO;
	n = cp_run_to(t, from, CP_VALUE, CP_JUDGED);
	if (cp_open(t, from + n))
		return cp_more(m, from);
	from += scheme(t, from);
	n = cp_run_to(t, from, CP_VALUE, CP_JUDGED);
	if (cp_open(t, from + n))
		return cp_more(m, from);
	if (n < 8 || strchr("$<{%", t->p[from]) || cp_monotonous(t->p + from, n))
		return CP_NO;
	return cp_yes_run(t, m, from, from, CP_VALUE);
}

enum cp_verdict cp_bearer(const struct cp_text *t, size_t lead, struct cp_match *m)
{
	size_t blanks = cp_run_to(t, t->at + lead, CP_BLANK, 8), from = t->at + lead + blanks, n;

	if (cp_is_word(cp_before(t)) || (!blanks && from < t->len))
		return CP_NO;
	n = cp_run_to(t, from, CP_VALUE, CP_JUDGED);
	if (cp_open(t, from + n))
		return cp_more(m, from);
	return n >= 16 && cp_generated(t->p + from, n) ? cp_yes_run(t, m, from, from, CP_VALUE)
						       : CP_NO;
}

static bool template(const char *s, size_t n)
{
	return !n || strchr("$<{%*", *s);
}

/* The part of scheme://user:password@host that is secret (RFC 3986 3.2.1). */
enum cp_verdict cp_userinfo(const struct cp_text *t, size_t lead, struct cp_match *m)
{
	const unsigned set = CP_URL | CP_PLUS | CP_TILDE | CP_COLON | CP_SIGIL | CP_MARKS;
	size_t from = t->at + lead, n = cp_run(t, from, set), user;
	const char *p = t->p + from, *colon;

	if (cp_open(t, from + n))
		return cp_more(m, from);
	if (from + n >= t->len || p[n] != '@')
		return CP_NO;
	colon = memchr(p, ':', n);
	user = colon ? (size_t)(colon - p) : n;
	if (user >= 16 && cp_generated(p, user))
		return cp_yes(m, from, from + n, set);
	if (!colon || template(colon + 1, n - user - 1))
		return CP_NO;
	return cp_yes(m, from + user + 1, from + n, set);
}

/* ---- PEM ---- */

/* A line end as it stands, or as JSON and shells write it. */
static size_t line_end(const struct cp_text *t, size_t i)
{
	if (i < t->len && (t->p[i] == '\n' || t->p[i] == '\r' || t->p[i] == ' '))
		return 1;
	if (i + 1 < t->len && t->p[i] == '\\' && (t->p[i + 1] == 'n' || t->p[i + 1] == 'r'))
		return 2;
	return 0;
}

/* Bytes of "Proc-Type: 4,ENCRYPTED" and its like (RFC 1421), or 0. */
static size_t header(const struct cp_text *t, size_t i)
{
	static const char *const names[] = {"Proc-Type:", "DEK-Info:", "Version:", "Comment:"};

	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		size_t n = strlen(names[k]);

		if (t->len - i >= n && !memcmp(t->p + i, names[k], n))
			return n +
			       cp_run(t, i + n, CP_URL | CP_SLASH | CP_COLON | CP_MARKS | CP_BLANK);
	}
	return 0;
}

/* Where the lines of the key end: behind END, or at the first line that is none of it. */
static size_t key_lines(const struct cp_text *t, size_t i)
{
	size_t good = i;

	while (i < t->len && i - t->at < CP_MAX) {
		size_t n = line_end(t, i);

		if (!n)
			n = header(t, i);
		if (!n) {
			n = cp_run(t, i, CP_B64);
			/* A word of prose is short; the last line of a key may be. */
			if (n && n < CP_MAX && i + n < t->len && !line_end(t, i + n) &&
				t->p[i + n] != '-')
				return good;
		}
		if (!n)
			break;
		i += n;
		good = i;
	}
	if (t->len - i >= 9 && !memcmp(t->p + i, "-----END ", 9)) {
		i += 9 + cp_run(t, i + 9, CP_UPPER | CP_DIGITS | CP_BLANK);
		return i + cp_run(t, i, CP_DASH);
	}
	return good;
}

enum cp_verdict cp_pem(const struct cp_text *t, size_t lead, struct cp_match *m)
{
	const unsigned more = CP_B64 | CP_LINE;
	size_t i = t->at + lead, n = cp_run(t, i, CP_UPPER | CP_DIGITS | CP_BLANK), end;
	const char *label = t->p + i;

	if (cp_open(t, i + n + 5))
		return n < 64 ? cp_more(m, t->at) : CP_NO;
	if (n < 11 || memcmp(t->p + i + n, "-----", t->len - i - n < 5 ? t->len - i - n : 5) != 0)
		return CP_NO;
	if (!memmem(label, n, "PRIVATE KEY", 11))
		return CP_NO;
	i += n + cp_run(t, i + n, CP_DASH);
	end = key_lines(t, i);
	if (cp_open(t, end) || (cp_open(t, t->len) && end + 80 > t->len && t->p[end - 1] != '-'))
		return cp_more(m, t->at);
	return cp_yes(m, t->at, end, more);
}
