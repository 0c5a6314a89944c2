/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/image/imageref.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static int bad(struct cl_err *e, const char *text, const char *why, const char *fix)
{
	(void)cl_fail(e, CL_EDATA, "image reference '%.*s' %s", IR_MAX, text, why);
	(void)cl_rule(e, "reference-syntax");
	return cl_fix(e, "%s", fix);
}

/* Bytes of a reference are 0x21-0x7e: every lookalike letter is outside that. */
static int check_bytes(const char *text, struct cl_err *e)
{
	size_t len = strlen(text);

	if (!len)
		return bad(e, text, "is empty", "name an image such as ghcr.io/acme/tools:1");
	if (len > IR_MAX)
		return bad(e, text, "is longer than 512 bytes", "name the image more briefly");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x80)
			return bad(e, text, "holds a byte that is not ASCII",
				"type it again: a letter in it only looks like an ASCII one");
		if (c < 0x21 || c == 0x7f)
			return bad(e, text, "holds a blank or a control character",
				"write it without blanks");
	}
	return 0;
}

/* Classes of characters, as comparisons: references come by the million. */
static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool lower_or_digit(char c)
{
	return digit(c) || (c >= 'a' && c <= 'z');
}

static bool alnum(char c)
{
	return lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

static bool all_hex(const char *s)
{
	while (digit(*s) || (*s >= 'a' && *s <= 'f'))
		s++;
	return !*s;
}

/* 1-128 of letters, digits, '_', '.', '-', the last two not in front. */
static bool tag_ok(const char *s)
{
	const char *p = s;

	while (alnum(*p) || *p == '_' || *p == '.' || *p == '-')
		p++;
	return p > s && !*p && p - s <= 128 && *s != '.' && *s != '-';
}

static bool digest_ok(const char *s)
{
	static const struct {
		const char *prefix;
		size_t hex;
	} kinds[] = {{"sha256:", 64}, {"sha512:", 128}};

	for (size_t i = 0; i < CL_ARRAY_LEN(kinds); i++) {
		const char *hex = s + strlen(kinds[i].prefix);

		if (cl_starts(s, kinds[i].prefix) && strlen(hex) == kinds[i].hex)
			return all_hex(hex);
	}
	return false;
}

/* Copies n bytes of s; every destination holds IR_MAX and a NUL. */
static void copy(char *to, const char *s, size_t n)
{
	memcpy(to, s, n);
	to[n] = '\0';
}

/* Takes "@digest" off the end of rest. */
static int take_digest(const char *text, char *rest, struct ir_ref *out, struct cl_err *e)
{
	char *at = strrchr(rest, '@');

	if (!at)
		return 0;
	if (at == rest)
		return bad(e, text, "has nothing before its digest", "put the repository in front");
	if (!digest_ok(at + 1))
		return bad(e, text, "has a malformed digest",
			"a digest is sha256: and 64, or sha512: and 128, lower-case hex digits");
	copy(out->digest, at + 1, strlen(at + 1));
	*at = '\0';
	return 0;
}

/* Takes ":tag" off the end of rest: a colon that no slash follows. */
static int take_tag(const char *text, char *rest, struct ir_ref *out, struct cl_err *e)
{
	char *colon = strrchr(rest, ':');

	if (!colon || strchr(colon, '/'))
		return 0;
	if (colon == rest)
		return bad(e, text, "has nothing before its tag", "put the repository in front");
	if (!tag_ok(colon + 1))
		return bad(e, text, "has a malformed tag",
			"a tag is 1-128 of letters, digits, '_', '.', '-', and starts with none of "
			"'.' and '-'");
	copy(out->tag, colon + 1, strlen(colon + 1));
	*colon = '\0';
	return 0;
}

bool ir_names_registry(const char *first, size_t len)
{
	if (len == 9 && !memcmp(first, "localhost", 9))
		return true;
	for (size_t i = 0; i < len; i++)
		if (first[i] == '.' || first[i] == ':' || (first[i] >= 'A' && first[i] <= 'Z'))
			return true;
	return false;
}

/* Labels joined by dots (RFC 1123): none empty, alphanumeric at both ends. */
static bool host_ok(const char *s, size_t len)
{
	size_t start = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && s[i] != '.') {
			if (!alnum(s[i]) && s[i] != '-')
				return false;
			continue;
		}
		if (i == start || !alnum(s[start]) || !alnum(s[i - 1]))
			return false;
		start = i + 1;
	}
	return true;
}

/* "" or ":" and at most five digits. */
static bool port_ok(const char *s)
{
	if (!*s)
		return true;
	return *s == ':' && strlen(s + 1) <= 5 && !s[1 + strspn(s + 1, CL_DIGITS)];
}

bool ir_registry(const char *text, char out[IR_MAX + 1])
{
	static const char *const aliases[] = {"index.docker.io", "registry-1.docker.io"};
	size_t len = strlen(text), host;

	if (!len || len > IR_MAX)
		return false;
	if (*text == '[') {
		host = strspn(text + 1, CL_DIGITS "abcdefABCDEF:.") + 1;
		if (host == 1 || text[host] != ']' || !port_ok(text + host + 1))
			return false;
	} else {
		host = strcspn(text, ":");
		if (!host_ok(text, host) || !port_ok(text + host))
			return false;
	}
	copy(out, text, len);
	cl_lower(out);
	for (size_t i = 0; i < CL_ARRAY_LEN(aliases); i++)
		if (!strcmp(out, aliases[i]))
			copy(out, IR_DOCKER, strlen(IR_DOCKER));
	return true;
}

bool ir_repository(const char *text)
{
	for (const char *p = text;; p++) {
		const char *start = p;

		while (lower_or_digit(*p) || *p == '.' || *p == '_' || *p == '-')
			p++;
		if (p == start || !lower_or_digit(*start) || !lower_or_digit(p[-1]))
			return false;
		if (*p != '/')
			return !*p;
	}
}

void ir_qualify(struct ir_ref *r, const char *registry)
{
	copy(r->registry, registry, strnlen(registry, IR_MAX));
	if (!strcmp(registry, IR_DOCKER) && *r->repository && !strchr(r->repository, '/')) {
		memmove(r->repository + 8, r->repository, strlen(r->repository) + 1);
		memcpy(r->repository, "library/", 8);
	}
}

static int take_name(const char *text, const char *rest, struct ir_ref *out, struct cl_err *e)
{
	char named[IR_MAX + 1], registry[IR_MAX + 1];
	const char *slash = strchr(rest, '/'), *repo = rest;

	if (slash && ir_names_registry(rest, (size_t)(slash - rest))) {
		copy(named, rest, (size_t)(slash - rest));
		if (!ir_registry(named, registry))
			return bad(e, text, "names a malformed registry",
				"a registry is HOST or HOST:PORT, without a scheme");
		out->qualified = true;
		repo = slash + 1;
	}
	if (!ir_repository(repo))
		return bad(e, text, "names a malformed repository",
			"its path is of lower-case letters, digits, '.', '_', '-', and each part "
			"starts and ends with a letter or a digit");
	copy(out->repository, repo, strlen(repo));
	if (out->qualified)
		ir_qualify(out, registry);
	return 0;
}

int ir_parse(const char *text, struct ir_ref *out, struct cl_err *e)
{
	char rest[IR_MAX + 1];

	/* Each text is ended, not cleared: references come by the million. */
	*out->registry = *out->repository = *out->tag = *out->digest = '\0';
	out->qualified = false;
	copy(out->original, text, cl_utf8_cut(text, strlen(text), IR_MAX));
	if (check_bytes(text, e))
		return -1;
	copy(rest, text, strlen(text));
	if (take_digest(text, rest, out, e) || take_tag(text, rest, out, e))
		return -1;
	return take_name(text, rest, out, e);
}

/*
 * "registry/repository". In lower case a host with neither dot nor port would read back as a
 * path on the default registry, so such a one is written in capitals ("FOO/bar").
 */
static void name(const struct ir_ref *r, struct cl_buf *out)
{
	size_t len = strlen(r->registry);
	bool capitals = !ir_names_registry(r->registry, len);

	for (size_t i = 0; i < len; i++) {
		char c = r->registry[i];

		cl_buf_addc(out, capitals && c >= 'a' && c <= 'z' ? (char)(c - 32) : c);
	}
	cl_buf_addf(out, "%s%s", len ? "/" : "", r->repository);
}

void ir_canonical(const struct ir_ref *r, struct cl_buf *out)
{
	if (!*r->digest)
		return;
	name(r, out);
	cl_buf_addf(out, "@%s", r->digest);
}

void ir_text(const struct ir_ref *r, struct cl_buf *out)
{
	name(r, out);
	if (*r->tag)
		cl_buf_addf(out, ":%s", r->tag);
	if (*r->digest)
		cl_buf_addf(out, "@%s", r->digest);
}
