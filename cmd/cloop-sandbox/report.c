/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports for people, for programs, and for GitHub's workflow log. */
#include "sandbox_cmd.h"
#include "base/err_json.h"

#include <string.h>

/* How much of a line an excerpt shows. */
#define EXCERPT 100

void sbx_put(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char b = (unsigned char)text[i];

		/* C1 controls hide behind 0xc2 in UTF-8. */
		if (b == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0) {
			(void)putchar('?');
			i++;
		} else {
			(void)putchar(b == '\t' ? ' ' : b < 0x20 || b == 0x7f ? '?' : b);
		}
	}
}

static void put(const char *text)
{
	sbx_put(text, strlen(text));
}

/* The byte where character `column` (from 1) starts, at most len. */
static size_t byte_of(const char *s, size_t len, unsigned column)
{
	size_t i = 0;

	while (i < len && column > 1) {
		i++;
		while (i < len && ((unsigned char)s[i] & 0xc0) == 0x80)
			i++;
		column--;
	}
	return i;
}

/* "   12 |   memory: 2gb" and a caret below; a long line is cut around the place. */
static void excerpt(const struct cl_doc *d, unsigned line, unsigned column)
{
	unsigned first = column > EXCERPT / 2 ? column - EXCERPT / 2 : 1;
	const char *text;
	size_t len, from, to;

	if (!column || !cl_doc_line(d, line, &text, &len))
		return;
	from = byte_of(text, len, first);
	to = byte_of(text, len, first + EXCERPT);
	(void)printf("%5u | %s", line, first > 1 ? "..." : "");
	sbx_put(text + from, to - from);
	(void)printf("%s\n      | %*s^\n", to < len ? "..." : "",
		(int)(column - first + (first > 1 ? 3 : 0)), "");
}

static void finding(const struct sbx_target *t, const struct sbx_finding *f)
{
	bool colour = cl_colour();

	put(t->name);
	if (f->line)
		(void)printf(":%u:%u", f->line, f->column);
	(void)printf(": %s%s:%s ", colour ? f->error ? "\033[31m" : "\033[33m" : "",
		f->error ? "error" : "warning", colour ? "\033[0m" : "");
	put(f->text);
	(void)printf(" [%s]\n", f->rule);
	excerpt(&t->doc, f->line, f->column);
	if (f->fix) {
		(void)printf("  fix: ");
		put(f->fix);
		(void)putchar('\n');
	}
}

void sbx_report_text(const struct sbx_target *t)
{
	struct sbx_finding f[SBX_FINDINGS];
	size_t n = sbx_findings(t, f);

	for (size_t i = 0; i < n; i++)
		finding(t, &f[i]);
	if (t->invalid)
		return;
	put(t->name);
	if (!t->found)
		(void)printf(": no " SB_FILE "; the executor's defaults apply\n");
	else if (n)
		(void)printf(": ok, %zu warning%s\n", n, n == 1 ? "" : "s");
	else
		(void)printf(": ok%s\n", sb_asks_nothing(&t->spec)
						 ? ", asks for nothing: the executor's defaults "
						   "apply"
						 : "");
}

/* A name may be no UTF-8. */
static json_t *name_json(const char *name)
{
	json_t *j = json_string(name);

	return j ? j : json_string("(not UTF-8)");
}

void sbx_report_json(const struct sbx_target *t)
{
	json_t *errors = json_array(), *err;

	if (t->invalid) {
		err = cl_err_json(&t->err);
		(void)json_array_append(errors, json_object_get(err, "error"));
		json_decref(err);
	}
	cl_take_json(json_pack("{s:o, s:b, s:b, s:o, s:o}", "file", name_json(t->name), "found",
		t->found, "valid", !t->invalid, "errors", errors, "warnings",
		sb_notes_json(&t->spec)));
}

/* Workflow commands escape '%' and line ends, and in properties ':' and ',' as well. */
static void escaped(const char *s, bool property)
{
	for (; *s; s++) {
		if (*s == '%' || *s == '\r' || *s == '\n' || (property && (*s == ':' || *s == ',')))
			(void)printf("%%%02X", (unsigned)(unsigned char)*s);
		else
			sbx_put(s, 1);
	}
}

void sbx_report_github(const struct sbx_target *t)
{
	struct sbx_finding f[SBX_FINDINGS];
	size_t n = sbx_findings(t, f);

	for (size_t i = 0; i < n; i++) {
		(void)printf("::%s file=", f[i].error ? "error" : "warning");
		escaped(t->name, true);
		if (f[i].line)
			(void)printf(",line=%u,col=%u", f[i].line, f[i].column);
		(void)printf(",title=cloop sandbox %s::", f[i].rule);
		escaped(f[i].text, false);
		if (f[i].fix) {
			(void)printf("%%0Afix: ");
			escaped(f[i].fix, false);
		}
		(void)putchar('\n');
	}
}
