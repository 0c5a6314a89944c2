/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/secret/secret_pattern.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool sec_has_wildcard(const char *pattern)
{
	return strpbrk(pattern, "*?") != NULL;
}

/*
 * One star to go back to is enough: a later one takes over, and a star never passes a '/',
 * so what stands behind a '/' of the pattern stands behind one of the text.
 */
static bool glob(const char *p, size_t np, const char *t, size_t nt)
{
	size_t i = 0, k = 0, star = np, from = 0;

	while (k < nt) {
		if (i < np && p[i] == '*') {
			star = i++;
			from = k;
		} else if (i < np && (p[i] == t[k] || (p[i] == '?' && t[k] != '/'))) {
			i++;
			k++;
		} else if (star < np && t[from] != '/') {
			i = star + 1;
			k = ++from;
		} else {
			return false;
		}
	}
	while (i < np && p[i] == '*')
		i++;
	return i == np;
}

bool sec_glob(const char *pattern, const char *text)
{
	return glob(pattern, strlen(pattern), text, strlen(text));
}

bool sec_name_match(const char *pattern, const char *name)
{
	return *name && (!strcmp(pattern, "*") || sec_glob(pattern, name));
}

bool sec_name_allowed(const struct cl_strv *patterns, const char *name)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (sec_name_match(patterns->v[i], name))
			return true;
	return false;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* ---- repositories ---- */

struct span {
	const char *p;
	size_t n;
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct span trim(const char *s)
{
	struct span v = {s, strlen(s)};

	while (v.n && is_blank(v.p[0]))
		v.p++, v.n--;
	while (v.n && is_blank(v.p[v.n - 1]))
		v.n--;
	return v;
}

static void trim_slashes(struct span *v)
{
	while (v->n && v->p[0] == '/')
		v->p++, v->n--;
	while (v->n && v->p[v->n - 1] == '/')
		v->n--;
}

/* '/' at both ends and one ".git" go. */
static void trim_path(struct span *v)
{
	trim_slashes(v);
	if (v->n >= 4 && !memcmp(v->p + v->n - 4, ".git", 4))
		v->n -= 4;
	trim_slashes(v);
}

/* "https://HOST/" and "user@host:" are dropped. */
static void drop_host(struct span *v)
{
	const char *scheme = memmem(v->p, v->n, "://", 3), *at, *colon, *slash;
	size_t skip;

	if (scheme) {
		slash = memchr(scheme + 3, '/', v->n - (size_t)(scheme + 3 - v->p));
		skip = slash ? (size_t)(slash - v->p) : v->n;
	} else {
		at = memchr(v->p, '@', v->n);
		colon = at ? memchr(at, ':', v->n - (size_t)(at - v->p)) : NULL;
		slash = memchr(v->p, '/', v->n);
		if (!colon || (slash && slash < colon))
			return;
		skip = (size_t)(colon + 1 - v->p);
	}
	v->p += skip;
	v->n -= skip;
}

static bool segment_ok(const char *s, size_t n)
{
	static const char set[] = CL_LOWER CL_DIGITS "._-";

	if (!n || n > 100)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!s[i] || !strchr(set, s[i]))
			return false;
		if (s[i] == '.' && i + 1 < n && s[i + 1] == '.')
			return false;
	}
	return !(n == 1 && s[0] == '.');
}

bool sec_repo_of(const char *subject, char out[SEC_REPO_TEXT])
{
	struct span v = trim(subject);
	const char *slash;
	size_t owner;

	drop_host(&v);
	trim_path(&v);
	if (!v.n || v.n >= SEC_REPO_TEXT)
		return false;
	for (size_t i = 0; i < v.n; i++)
		out[i] = lower(v.p[i]);
	out[v.n] = '\0';
	slash = memchr(out, '/', v.n);
	if (!slash)
		return false;
	owner = (size_t)(slash - out);
	return segment_ok(out, owner) && segment_ok(slash + 1, v.n - owner - 1);
}

/*
 * A pattern in lower case without '/' and ".git" around it; false when it is longer than one
 * may be, which matches nothing.
 */
static bool pattern_of(const char *pattern, char out[SEC_PATTERN_MAX + 1])
{
	struct span v = trim(pattern);

	trim_path(&v);
	if (!v.n || v.n > SEC_PATTERN_MAX)
		return false;
	for (size_t i = 0; i < v.n; i++)
		out[i] = lower(v.p[i]);
	out[v.n] = '\0';
	return true;
}

/* The one '/' of a pattern of two segments, or NULL. */
static const char *two_segments(const char *p)
{
	const char *slash = strchr(p, '/');

	return slash && slash != p && slash[1] && !strchr(slash + 1, '/') ? slash : NULL;
}

bool sec_repo_pattern_dead(const char *pattern)
{
	char p[SEC_PATTERN_MAX + 1];

	return !pattern_of(pattern, p) || (strcmp(p, "*") != 0 && !two_segments(p));
}

bool sec_repo_match(const char *pattern, const char *subject)
{
	char p[SEC_PATTERN_MAX + 1], s[SEC_REPO_TEXT];
	const char *ps, *ss;

	if (!sec_repo_of(subject, s) || !pattern_of(pattern, p))
		return false;
	if (!strcmp(p, "*"))
		return true;
	ps = two_segments(p);
	if (!ps)
		return false;
	ss = strchr(s, '/');
	return glob(p, (size_t)(ps - p), s, (size_t)(ss - s)) && sec_glob(ps + 1, ss + 1);
}

bool sec_repo_allowed(const struct cl_strv *patterns, const char *subject)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (sec_repo_match(patterns->v[i], subject))
			return true;
	return false;
}

bool sec_repos_all(const struct cl_strv *patterns)
{
	char p[SEC_PATTERN_MAX + 1];

	for (size_t i = 0; i < patterns->n; i++)
		if (pattern_of(patterns->v[i], p) && (!strcmp(p, "*") || !strcmp(p, "*/*")))
			return true;
	return false;
}

/* ---- branches ---- */

#define HEADS "refs/heads/"

static const char *short_branch(const char *s)
{
	return cl_starts(s, HEADS) ? s + strlen(HEADS) : s;
}

bool sec_branch_match(const char *pattern, const char *ref)
{
	const char *p = short_branch(pattern), *b = short_branch(ref);
	size_t n = strlen(p);

	if (!*b || cl_starts(b, "refs/"))
		return false;
	if (!strcmp(p, "**"))
		return true;
	if (!cl_ends(p, "/**"))
		return sec_glob(p, b);
	/* The prefix with its '/' matches a beginning that ends at one of the branch's '/'. */
	for (const char *s = strchr(b, '/'); s; s = strchr(s + 1, '/'))
		if (s[1] && glob(p, n - 2, b, (size_t)(s + 1 - b)))
			return true;
	return false;
}

bool sec_branch_allowed(const struct cl_strv *patterns, const char *ref)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (sec_branch_match(patterns->v[i], ref))
			return true;
	return false;
}

/* ---- hosts ---- */

static void cut_at(struct span *v, const char *set)
{
	for (size_t i = 0; i < v->n; i++)
		if (strchr(set, v->p[i]) && v->p[i]) {
			v->n = i;
			return;
		}
}

/* What is left of the authority: no userinfo, no port, no final dot. */
static void bare_host(struct span *v)
{
	const char *at = memrchr(v->p, '@', v->n);
	const char *close;

	if (at) {
		v->n -= (size_t)(at + 1 - v->p);
		v->p = at + 1;
	}
	close = v->n && v->p[0] == '[' ? memchr(v->p, ']', v->n) : NULL;
	if (!close)
		cut_at(v, ":");
	if (v->n && v->p[v->n - 1] == '.')
		v->n--;
}

bool sec_host_of(const char *subject, char out[SEC_HOST_TEXT])
{
	struct span v = trim(subject);
	const char *scheme = memmem(v.p, v.n, "://", 3);

	if (scheme) {
		v.n -= (size_t)(scheme + 3 - v.p);
		v.p = scheme + 3;
	}
	cut_at(&v, "/?#");
	bare_host(&v);
	if (!v.n || v.n >= SEC_HOST_TEXT)
		return false;
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if ((unsigned char)c <= ' ' || c == 0x7f || strchr("*?[]\\", c))
			return false;
		out[i] = lower(c);
	}
	out[v.n] = '\0';
	return !strstr(out, "..");
}

bool sec_host_match(const char *pattern, const char *subject)
{
	char host[SEC_HOST_TEXT];
	struct span p = trim(pattern);
	size_t n;

	if (!sec_host_of(subject, host) || !p.n)
		return false;
	if (p.n == 1 && *p.p == '*')
		return true;
	n = strlen(host);
	if (p.n > 2 && p.p[0] == '*' && p.p[1] == '.') {
		size_t tail = p.n - 1; /* with its dot */

		return !memchr(p.p + 1, '*', tail) && n > tail &&
		       !strncasecmp(host + n - tail, p.p + 1, tail);
	}
	return n == p.n && !strncasecmp(host, p.p, n);
}

bool sec_host_allowed(const struct cl_strv *patterns, const char *subject)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (sec_host_match(patterns->v[i], subject))
			return true;
	return false;
}

/* ---- permissions ---- */

bool sec_permission_allowed(const struct cl_strv *list, const char *permission)
{
	size_t scope = strcspn(permission, ":");

	for (size_t i = 0; i < list->n; i++) {
		const char *p = list->v[i];

		if (!strcmp(p, "*") || !strcasecmp(p, permission) ||
			(strlen(p) == scope && !strncasecmp(p, permission, scope)))
			return true;
	}
	return false;
}
