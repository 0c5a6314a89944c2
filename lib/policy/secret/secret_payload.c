/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the readers of payloads share: lines, documents that leave nothing behind, refusals. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_inventory.h"
#include "policy/secret/secret_kind.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sec_payload_bad(struct cl_err *e, const char *kind, const char *fmt, ...)
{
	char text[900];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)cl_fail(e, CL_EDATA, "%s %s", kind, text);
	for (size_t i = 0; i < SEC_NKINDS; i++)
		if (!strcmp(sec_kinds[i].name, kind))
			(void)cl_fix(e, "it takes %s", sec_kinds[i].payload);
	return cl_slug(e, "invalid_payload");
}

void sec_trim(const char **s, size_t *len)
{
	static const char blanks[] = " \t\r\n\v\f";

	while (*len && **s && strchr(blanks, **s))
		(*s)++, (*len)--;
	while (*len && (*s)[*len - 1] && strchr(blanks, (*s)[*len - 1]))
		(*len)--;
}

int sec_doc_parse(struct cl_doc *d, enum cl_doc_kind form, const char *kind, const char *text,
	size_t len, struct cl_err *e)
{
	static const struct cl_doc_limits limits = {.depth = 32};
	unsigned line, column;

	if (!cl_doc_parse(d, form, kind, text, len, &limits, e))
		return 0;
	line = e->line;
	column = e->column;
	(void)sec_payload_bad(e, kind, "payload is no %s that can be read (line %u, column %u)",
		form == CL_DOC_JSON ? "JSON" : "YAML", line, column);
	if (form == CL_DOC_YAML)
		(void)cl_fix(e, "give one document without anchors, tags and keys that come twice: "
				"kubectl config view --raw --flatten");
	return cl_at(e, NULL, line, column);
}

static int hex_of(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)((at - digits) % 16) : -1;
}

void sec_url_password(const char *p, size_t n, struct cl_strv *out)
{
	const char *from = memmem(p, n, "://", 3), *end, *at, *colon;
	cleanup_buf struct cl_buf plain = CL_BUF_SECRET;

	from = from ? from + 3 : p;
	end = p + n;
	at = memrchr(from, '@', (size_t)(end - from));
	colon = at ? memchr(from, ':', (size_t)(at - from)) : NULL;
	if (!colon)
		return;
	cl_strv_addn(out, colon + 1, (size_t)(at - colon - 1));
	for (p = colon + 1; p < at; p++) {
		bool coded = at - p > 2 && *p == '%' && hex_of(p[1]) >= 0 && hex_of(p[2]) >= 0;

		cl_buf_addc(&plain, coded ? (char)(hex_of(p[1]) << 4 | hex_of(p[2])) : *p);
		p += coded ? 2 : 0;
	}
	if (plain.len != (size_t)(at - colon - 1) && strlen(plain.p) == plain.len)
		cl_strv_addn(out, plain.p, plain.len);
}

static int bad_line(struct cl_err *e, const char *kind, unsigned no, const char *why)
{
	(void)sec_payload_bad(e, kind, "line %u %s", no, why);
	return cl_at(e, NULL, no, 0);
}

int sec_inventory_lines(const char *kind, const char *text, size_t len,
	int (*fn)(void *ctx, const char *line, unsigned no, struct cl_err *e), void *ctx,
	struct cl_err *e)
{
	const char *start = text, *end;
	unsigned no = 1, lines = 0;

	sec_trim(&text, &len);
	end = text + len;
	/* Blank lines before the first one count for its number, as an editor shows it. */
	for (const char *p = start; p < text; p++)
		no += *p == '\n';
	for (const char *p = text; p < end; no++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);
		cleanup_free char *line = NULL;
		const char *from = p;

		if (++lines > SEC_INVENTORY_LINES) {
			(void)sec_payload_bad(
				e, kind, "inventory has more than %d lines", SEC_INVENTORY_LINES);
			return cl_fix(e, "split it: a secret for each part of it");
		}
		p = nl ? nl + 1 : end;
		sec_trim(&from, &n);
		if (!n || *from == '#')
			continue;
		if (!cl_utf8_valid(from, n))
			return bad_line(e, kind, no, "is not UTF-8");
		line = cl_strndup(from, n);
		for (size_t i = 0; i < n; i++)
			if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
				return bad_line(e, kind, no, "has a control character in it");
		if (fn(ctx, line, no, e))
			return -1;
	}
	return 0;
}

char *sec_joined(const struct cl_strv *list)
{
	return cl_join((const char *const *)list->v, list->n, ",");
}

/* Bytes of names that a message has room for. */
#define SAID 160

void sec_names_said(const struct cl_strv *names, struct cl_buf *out)
{
	size_t i = 0;

	for (; i < names->n && (!i || out->len + strlen(names->v[i]) < SAID); i++)
		cl_buf_addf(out, "%s%s", i ? ", " : "", names->v[i]);
	if (i < names->n)
		cl_buf_addf(out, " and %zu more", names->n - i);
}

static int none_selected(const char *what, const char *flag, const char *list,
	const struct cl_strv *all, const char *secret, struct cl_err *e)
{
	cleanup_buf struct cl_buf there = CL_BUF_INIT;

	sec_names_said(all, &there);
	(void)cl_fail(e, CL_EREFUSED, "secret '%s' has no %s that %s %s matches", secret, what,
		flag, list);
	if (!all->n)
		return cl_fix(e, "it has none at all: look at what was minted, and where it leads");
	return cl_fix(e, "name what there is, case counts: %s", there.p);
}

int sec_selected(size_t n, size_t max, const char *what, const char *flag,
	const struct cl_strv *patterns, const struct cl_strv *all, const char *secret,
	struct cl_err *e)
{
	cleanup_free char *list = NULL;

	if (n && n <= max)
		return 0;
	list = sec_joined(patterns);
	if (!n)
		return none_selected(what, flag, list, all, secret, e);
	(void)cl_fail(e, CL_EREFUSED, "%s %s opens %zu %s of secret '%s', and a grant may open %zu",
		flag, list, n, what, secret, max);
	return cl_fix(e, "name at most %zu with %s", max, flag);
}
