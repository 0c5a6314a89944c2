/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/credpat.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/credpat_internal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const unsigned short kinds[256] = {
	['a' ... 'z'] = CP_LOWER,
	['A' ... 'Z'] = CP_UPPER,
	['0' ... '9'] = CP_DIGITS,
	['_'] = CP_UNDER,
	['-'] = CP_DASH,
	['.'] = CP_DOT,
	['+'] = CP_PLUS,
	['='] = CP_PLUS,
	['/'] = CP_SLASH,
	['~'] = CP_TILDE,
	[':'] = CP_COLON,
	['$'] = CP_SIGIL,
	['%'] = CP_SIGIL,
	['!'] = CP_MARKS,
	['&'] = CP_MARKS,
	['\''] = CP_MARKS,
	['('] = CP_MARKS,
	[')'] = CP_MARKS,
	['*'] = CP_MARKS,
	[','] = CP_MARKS,
	[';'] = CP_MARKS,
	[' '] = CP_BLANK,
	['\r'] = CP_LINE,
	['\n'] = CP_LINE,
};

bool cp_in(unsigned set, char c)
{
	return kinds[(unsigned char)c] & set;
}

size_t cp_run_to(const struct cp_text *t, size_t from, unsigned set, size_t max)
{
	size_t n = 0;

	while (from + n < t->len && n < max && cp_in(set, t->p[from + n]))
		n++;
	return n;
}

size_t cp_run(const struct cp_text *t, size_t from, unsigned set)
{
	return cp_run_to(t, from, set, CP_MAX);
}

bool cp_open(const struct cp_text *t, size_t pos)
{
	return pos >= t->len && !t->whole && t->len - t->at < CP_MAX;
}

char cp_before(const struct cp_text *t)
{
	return t->at ? t->p[t->at - 1] : ' ';
}

bool cp_is_word(char c)
{
	return cp_in(CP_ALNUM | CP_UNDER, c);
}

bool cp_has(const char *s, size_t n, unsigned set)
{
	for (size_t i = 0; i < n; i++)
		if (cp_in(set, s[i]))
			return true;
	return false;
}

bool cp_monotonous(const char *s, size_t n)
{
	size_t count[256] = {0};

	for (size_t i = 0; i < n; i++)
		if (++count[(unsigned char)s[i]] * 2 > n)
			return true;
	return false;
}

/* config.auth.v2_token: words joined by dots, without a capital and nearly without digits. */
static bool code_name(const char *s, size_t n)
{
	size_t digits = 0;

	for (size_t i = 0; i < n; i++) {
		if (!cp_in(CP_LOWER | CP_DIGITS | CP_UNDER | CP_DOT, s[i]))
			return false;
		digits += cp_in(CP_DIGITS, s[i]);
	}
	return digits < 3 && cp_has(s, n, CP_DOT);
}

bool cp_generated(const char *s, size_t n)
{
	if (n < 8 || cp_monotonous(s, n) || strchr("$<{%[*", *s) || code_name(s, n))
		return false;
	if (cp_has(s, n, CP_DIGITS) || n >= 32)
		return true;
	return n >= 16 && cp_has(s + 1, n - 1, CP_UPPER) && cp_has(s, n, CP_LOWER) &&
	       !cp_has(s, n, CP_DOT | CP_MARKS | CP_SLASH);
}

enum cp_verdict cp_more(struct cp_match *m, size_t from)
{
	m->from = from;
	return CP_MORE;
}

enum cp_verdict cp_yes(struct cp_match *m, size_t from, size_t to, unsigned set)
{
	m->from = from;
	m->to = to;
	m->set = set;
	return CP_YES;
}

enum cp_verdict cp_yes_run(
	const struct cp_text *t, struct cp_match *m, size_t from, size_t body, unsigned set)
{
	size_t n = cp_run(t, body, set);

	if (cp_open(t, body + n))
		return cp_more(m, from);
	while (n > 1 && cp_in(CP_DOT | CP_UNDER | CP_DASH, t->p[body + n - 1]))
		n--;
	return cp_yes(m, from, body + n, set);
}

/* ---- a lead and a body of one set ---- */

enum {
	MIXED = 1,      /* a digit or a capital in the body */
	START = 2,      /* not inside a word */
	ALONE = 4,      /* nor followed by more of one */
	NO_EXAMPLE = 8, /* AWS's documentation ends its keys so */
	DIGIT = 16,     /* a digit in the body */
};

struct plain {
	unsigned set;
	size_t min, max; /* of the body; max 0: any */
	unsigned flags;
};

static enum cp_verdict plain(
	const struct cp_text *t, size_t lead, const struct plain *r, struct cp_match *m)
{
	size_t from = t->at + lead, n = cp_run_to(t, from, r->set, CP_JUDGED);
	const char *body = t->p + from;

	if ((r->flags & (START | ALONE)) && cp_is_word(cp_before(t)))
		return CP_NO;
	if (cp_open(t, from + n) && (!r->max || n <= r->max))
		return cp_more(m, t->at);
	if (n < r->min || (r->max && n > r->max) || cp_monotonous(body, n))
		return CP_NO;
	if ((r->flags & MIXED) && !cp_has(body, n, CP_DIGITS | CP_UPPER))
		return CP_NO;
	if ((r->flags & DIGIT) && !cp_has(body, n, CP_DIGITS))
		return CP_NO;
	if ((r->flags & ALONE) && from + n < t->len && cp_is_word(t->p[from + n]))
		return CP_NO;
	if ((r->flags & NO_EXAMPLE) && n >= 7 && !memcmp(body + n - 7, "EXAMPLE", 7))
		return CP_NO;
	return cp_yes_run(t, m, t->at, from, r->set);
}

/* The long form, with dots and underscores; its digits alone; or the classic 16 and more. */
static enum cp_verdict github(const struct cp_text *t, size_t lead, struct cp_match *m)
{
	const unsigned set = CP_ALNUM | CP_UNDER | CP_DOT;
	size_t from = t->at + lead, n, short_n, digits;
	const char *body = t->p + from;

	if (cp_is_word(cp_before(t)))
		return CP_NO;
	n = cp_run_to(t, from, set, CP_JUDGED);
	if (cp_open(t, from + n))
		return cp_more(m, t->at);
	short_n = cp_run_to(t, from, CP_ALNUM, CP_JUDGED);
	digits = cp_run_to(t, from, CP_DIGITS, CP_JUDGED);
	if (n >= 31 && !cp_monotonous(body, n) && cp_has(body, n, CP_DIGITS | CP_UPPER))
		return cp_yes_run(t, m, t->at, from, set);
	if (digits && digits < n && body[digits] == '_')
		return cp_yes_run(t, m, t->at, from, set);
	if (short_n >= 16 && !cp_monotonous(body, short_n))
		return cp_yes(m, t->at, from + short_n, CP_ALNUM);
	return CP_NO;
}

/* RFC 7515 and 7516: three parts, or five of an encrypted one, of which parts may be empty. */
static enum cp_verdict jwt(const struct cp_text *t, size_t lead, struct cp_match *m)
{
	size_t first, n, dots = 0;
	const char *p = t->p + t->at;

	(void)lead;
	if (cp_is_word(cp_before(t)))
		return CP_NO;
	first = cp_run_to(t, t->at, CP_WORD, 2 * CP_JUDGED);
	if (cp_open(t, t->at + first))
		return cp_more(m, t->at);
	if (first < 10 || t->at + first == t->len || p[first] != '.')
		return CP_NO;
	for (n = 0; t->at + n < t->len && n < CP_MAX && cp_in(CP_URL, p[n]); n++) {
		/* A sixth part: whoever repeats such beginnings has none of them read to its end. */
		if (p[n] != '.' && dots > 4)
			return CP_NO;
		dots += p[n] == '.';
	}
	if (cp_open(t, t->at + n))
		return cp_more(m, t->at);
	while (n && p[n - 1] == '.' && dots != 2 && dots != 4) {
		n--;
		dots--;
	}
	return (dots == 2 || dots == 4) && n >= first + 8 ? cp_yes(m, t->at, t->at + n, CP_URL)
							  : CP_NO;
}

static const struct plain keys[] = {
	{CP_URL, 12, 0, 0},                                 /* cloop's own, with dots */
	{CP_WORD, 16, 0, START},                            /* cloopenroll1 */
	{CP_ALNUM | CP_UNDER, 16, 0, MIXED | START},        /* github_pat_ */
	{CP_WORD, 12, 0, START},                            /* sk-ant-, sk-proj- */
	{CP_WORD, 20, 0, START | DIGIT},                    /* sk- */
	{CP_ALNUM | CP_DASH, 10, 0, START | DIGIT},         /* xoxb-, xapp- */
	{CP_UPPER | CP_DIGITS, 16, 16, ALONE | NO_EXAMPLE}, /* AKIA */
	{CP_WORD, 30, 0, START},                            /* AIza */
};

/* ---- the table ---- */

/* Those that begin with one letter, in whichever case, stand together. */
static const struct lead {
	const char *detector, *lead;
	bool any_case;
	const struct plain *plain; /* or one of its own: */
	enum cp_verdict (*find)(const struct cp_text *t, size_t lead, struct cp_match *m);
} leads[] = {
	{"pem-private-key", "-----BEGIN ", false, NULL, cp_pem},
	{"cloop-api-token", "cloop_pat_", false, &keys[0], NULL},
	{"cloop-glasses-link", "cloop_glasses_", false, &keys[0], NULL},
	{"cloop-ci-token", "cloop_ci_", false, &keys[0], NULL},
	{"cloop-relay-token", "cloop_relay_", false, &keys[0], NULL},
	{"cloop-enrollment-token", "clet1.", false, &keys[0], NULL},
	{"cloop-enrollment-bundle", "cloopenroll1.", false, &keys[1], NULL},
	{"cloop-agent-credential", "clac1.", false, &keys[0], NULL},
	{"kubeconfig-client-key", "client-key-data", false, NULL, cp_key_data},
	{"token-field", "client_secret", true, NULL, cp_field},
	{"token-field", "client-secret", true, NULL, cp_field},
	{"token-field", "clientsecret", true, NULL, cp_field},
	{"github-token", "ghp_", false, NULL, github},
	{"github-token", "gho_", false, NULL, github},
	{"github-token", "ghu_", false, NULL, github},
	{"github-token", "ghs_", false, NULL, github},
	{"github-token", "ghr_", false, NULL, github},
	{"github-fine-grained-pat", "github_pat_", false, &keys[2], NULL},
	{"anthropic-key", "sk-ant-", false, &keys[3], NULL},
	{"openai-api-key", "sk-proj-", false, &keys[3], NULL},
	{"openai-api-key", "sk-svcacct-", false, &keys[3], NULL},
	{"openai-api-key", "sk-admin-", false, &keys[3], NULL},
	{"openai-api-key", "sk-None-", false, &keys[3], NULL},
	{"openai-api-key", "sk-", false, &keys[4], NULL},
	{"aws-secret-access-key", "SecretAccessKey", true, NULL, cp_aws_secret},
	{"slack-token", "xoxb-", false, &keys[5], NULL},
	{"slack-token", "xoxp-", false, &keys[5], NULL},
	{"slack-token", "xoxa-", false, &keys[5], NULL},
	{"slack-token", "xoxr-", false, &keys[5], NULL},
	{"slack-token", "xoxs-", false, &keys[5], NULL},
	{"slack-token", "xoxo-", false, &keys[5], NULL},
	{"slack-token", "xoxe-", false, &keys[5], NULL},
	{"slack-token", "xoxe.xox", false, &keys[5], NULL},
	{"slack-token", "xapp-", false, &keys[5], NULL},
	{"aws-access-key-id", "AKIA", false, &keys[6], NULL},
	{"aws-access-key-id", "ASIA", false, &keys[6], NULL},
	{"aws-access-key-id", "ABIA", false, &keys[6], NULL},
	{"aws-access-key-id", "ACCA", false, &keys[6], NULL},
	{"google-api-key", "AIza", false, &keys[7], NULL},
	{"aws-secret-access-key", "aws_secret_access_key", true, NULL, cp_aws_secret},
	{"authorization-header", "authorization", true, NULL, cp_authorization},
	{"jwt", "eyJ", false, NULL, jwt},
	{"bearer-token", "bearer", true, NULL, cp_bearer},
	{"token-field", "token", true, NULL, cp_field},
	{"url-userinfo", "://", false, NULL, cp_userinfo},
};

const char *const cp_detectors[] = {"pem-private-key", "cloop-api-token", "cloop-glasses-link",
	"cloop-ci-token", "cloop-relay-token", "cloop-enrollment-token", "cloop-enrollment-bundle",
	"cloop-agent-credential", "github-token", "github-fine-grained-pat", "anthropic-key",
	"openai-api-key", "slack-token", "aws-access-key-id", "google-api-key", "jwt",
	"kubeconfig-client-key", "aws-secret-access-key", "authorization-header", "bearer-token",
	"token-field", "url-userinfo", NULL};

static bool lead_at(const struct cp_text *t, const struct lead *l, size_t n)
{
	if (t->len - t->at < n)
		return false;
	return l->any_case ? !strncasecmp(t->p + t->at, l->lead, n)
			   : !memcmp(t->p + t->at, l->lead, n);
}

static bool begins(const struct lead *l, char c)
{
	return (l->lead[0] | 32) == (c | 32);
}

enum cp_verdict cp_at(const char *text, size_t len, size_t at, bool whole, struct cp_match *match)
{
	return cp_at_hint(text, len, at, whole, 1, match);
}

enum cp_verdict cp_at_hint(
	const char *text, size_t len, size_t at, bool whole, unsigned hint, struct cp_match *match)
{
	const struct cp_text t = {text, len, at, whole};
	size_t i = hint - 1;

	if (at >= len || !hint)
		return CP_NO;
	/* The hint may be another letter's that looks like it. */
	while (i < CL_ARRAY_LEN(leads) && !begins(&leads[i], text[at]))
		i++;
	for (; i < CL_ARRAY_LEN(leads) && begins(&leads[i], text[at]); i++) {
		size_t n = strlen(leads[i].lead);
		enum cp_verdict v;

		if (!lead_at(&t, &leads[i], n))
			continue;
		match->detector = leads[i].detector;
		v = leads[i].plain ? plain(&t, n, leads[i].plain, match)
				   : leads[i].find(&t, n, match);
		if (v != CP_NO)
			return v;
	}
	return CP_NO;
}

/* The hint is the first row that starts so, from 1. */
static void mark(unsigned char *table, const char *s, bool any_case, size_t row)
{
	for (unsigned upper = 0; upper < (any_case ? 8 : 1); upper++) {
		unsigned w = 0;

		for (unsigned k = 0; k < 3; k++) {
			char c = s[k];

			if (any_case && c >= 'A' && c <= 'Z')
				c = (char)(c + 32);
			if (upper >> k & 1 && c >= 'a' && c <= 'z')
				c = (char)(c - 32);
			w |= (unsigned)(unsigned char)c << 8 * k;
		}
		if (!table[cp_hash(w)])
			table[cp_hash(w)] = (unsigned char)(row + 1);
	}
}

void cp_filter(unsigned char table[CP_TABLE])
{
	memset(table, 0, CP_TABLE);
	for (size_t i = 0; i < CL_ARRAY_LEN(leads); i++)
		mark(table, leads[i].lead, leads[i].any_case, i);
}

/* Leads that begin alike share a bit, so that few places have one of another's. */
static unsigned char bit_of(char first)
{
	static const char *const alike[] = {"-:", "c", "g", "s", "xe", "a", "t"};
	unsigned i = 0;

	while (i < CL_ARRAY_LEN(alike) && !strchr(alike[i], first | 32) && !strchr(alike[i], first))
		i++;
	return (unsigned char)(1u << i);
}

void cp_nibbles(unsigned char mask[6][16])
{
	memset(mask, 0, 96);
	for (size_t i = 0; i < CL_ARRAY_LEN(leads); i++) {
		const unsigned char bit = bit_of(leads[i].lead[0]);

		for (size_t k = 0; k < 6; k++) {
			unsigned char c = (unsigned char)leads[i].lead[k / 2];
			bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';

			/* The other case of a letter, every second time. */
			if (leads[i].any_case && letter && k % 2)
				c ^= 32;
			mask[k / 2 * 2][c & 15] |= bit;
			mask[k / 2 * 2 + 1][c >> 4] |= bit;
		}
	}
}

/* The first row, from 1, of those that begin with a byte, in whichever case. */
static void first_rows(unsigned char first[256])
{
	memset(first, 0, 256);
	for (size_t i = CL_ARRAY_LEN(leads); i--;) {
		unsigned char c = (unsigned char)leads[i].lead[0];

		first[c | 32] = first[c & ~32] = (unsigned char)(i + 1);
	}
}

size_t cp_scrub(const char *text, size_t len, struct cl_buf *out)
{
	size_t done = 0, found = 0;
	unsigned char first[256];

	first_rows(first);
	for (size_t i = 0; i + 2 < len; i++) {
		unsigned hint = first[(unsigned char)text[i]];
		struct cp_match m;

		if (cp_at_hint(text, len, i, true, hint, &m) != CP_YES || m.to <= done)
			continue;
		if (m.from > done)
			cl_buf_add(out, text + done, m.from - done);
		if (m.from >= done)
			cl_buf_adds(out, CP_REDACTED);
		done = m.to;
		i = m.to > i + 1 ? m.to - 1 : i;
		found++;
	}
	cl_buf_add(out, text + done, len - done);
	return found;
}

char *cp_redact(const char *text)
{
	cleanup_buf struct cl_buf out = CL_BUF_SECRET;

	(void)cp_scrub(text, strlen(text), &out);
	return cl_strdup(out.p);
}

void cp_echo(const char *text, char out[CP_ECHO])
{
	cleanup_buf struct cl_buf b = CL_BUF_SECRET;
	cleanup_free char *known = cl_strndup(text, strnlen(text, CP_MAX));
	size_t n, chars = 0;

	(void)cp_scrub(known, strlen(known), &b);
	explicit_bzero(known, strlen(known));
	for (n = 0; n < b.len && chars < 12; chars++) {
		size_t step = cl_utf8_next(b.p + n, b.len - n);

		n += step ? step : 1;
	}
	(void)snprintf(out, CP_ECHO, "%.*s%s", (int)n, b.p, n < b.len ? "…" : "");
	cl_mask(out, "");
}
