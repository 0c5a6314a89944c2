/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "docgen.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Text for an mdoc line: backslashes escaped, and no control character at a line's start. */
void dg_text(const char *s)
{
	if (*s == '.' || *s == '\'')
		(void)fputs("\\&", stdout);
	for (; *s; s++) {
		if (*s == '\\')
			(void)fputs("\\e", stdout);
		else if (*s == '-' && s[1] == '-')
			(void)fputs("\\-", stdout);
		else
			(void)putchar(*s);
	}
}

/* An argument of a macro: quoted, quotes doubled. */
void dg_arg(const char *s)
{
	(void)putchar('"');
	for (; *s; s++) {
		if (*s == '"')
			(void)fputs("\"\"", stdout);
		else if (*s == '\\')
			(void)fputs("\\e", stdout);
		else
			(void)putchar(*s);
	}
	(void)putchar('"');
}

static void option(json_t *o)
{
	const char *a = dg_str(o, "arg"), *def = dg_str(o, "default"), *type = dg_str(o, "type");
	json_t *values = json_object_get(o, "values");
	const char *letter = dg_str(o, "letter");
	json_t *v;
	size_t i;

	(void)printf(".It ");
	if (*letter)
		(void)printf("Fl %s , ", letter);
	(void)printf("Fl Fl %s", dg_str(o, "name"));
	if (*a) {
		(void)printf(" Ar ");
		dg_arg(a);
	}
	(void)putchar('\n');
	dg_text(dg_str(o, "help"));
	json_array_foreach (values, i, v) {
		(void)printf("%s%s", i ? ", " : ": ", json_string_value(v));
	}
	if (!strcmp(type, "list"))
		(void)printf("; may be repeated");
	if (!strcmp(type, "csv"))
		(void)printf("; may be repeated, or hold several values with commas between");
	if (*def) {
		(void)printf(" (default: ");
		dg_text(def);
		(void)putchar(')');
	}
	(void)printf(".\n");
}

static void options(const char *title, json_t *list)
{
	json_t *o;
	size_t i;

	if (!json_array_size(list))
		return;
	(void)printf("%s\n.Bl -tag -width Ds\n", title);
	json_array_foreach (list, i, o)
		option(o);
	(void)printf(".El\n");
}

static void synopsis(json_t *spec, json_t *verbs)
{
	json_t *v;
	size_t i;

	(void)printf(".Sh SYNOPSIS\n");
	json_array_foreach (verbs, i, v) {
		json_t *operands = json_object_get(v, "operands");
		json_t *o;
		size_t k;

		if (json_is_true(json_object_get(v, "hidden")))
			continue;
		(void)printf(".Nm \"%s%s%s\"\n.Op Ar option ...\n", dg_str(spec, "typed"),
			*dg_str(v, "name") ? " " : "", dg_str(v, "name"));
		if (json_is_true(json_object_get(v, "rest")))
			(void)printf(".Op Fl Fl\n");
		json_array_foreach (operands, k, o) {
			(void)printf(".%sAr %s%s\n",
				json_is_true(json_object_get(o, "optional")) ? "Op " : "",
				dg_str(o, "name"),
				json_is_true(json_object_get(o, "repeat")) ? " ..." : "");
		}
	}
}

static void operands_of(json_t *verb, bool only)
{
	json_t *list = json_object_get(verb, "operands");
	json_t *o;
	size_t i;

	if (!json_array_size(list))
		return;
	(void)printf("%sOperands:\n.Bl -tag -width Ds\n", only ? "" : ".Pp\n");
	json_array_foreach (list, i, o) {
		(void)printf(".It Ar %s\n", dg_str(o, "name"));
		dg_text(dg_str(o, "help"));
		(void)printf(".\n");
	}
	(void)printf(".El\n");
}

static void verb_section(json_t *spec, json_t *v, bool only)
{
	if (json_is_true(json_object_get(v, "hidden")))
		return;
	if (!only) {
		(void)printf(".Ss ");
		(void)printf("%s %s\n", dg_str(spec, "typed"), dg_str(v, "name"));
		dg_text(dg_str(v, "summary"));
		(void)printf(".\n");
		if (*dg_str(v, "alias")) {
			(void)printf("Also typed\n.Ql %s .\n", dg_str(v, "alias"));
		}
	}
	operands_of(v, only);
	/* mdoc has no paragraph right after a section's title. */
	options(only && !json_array_size(json_object_get(v, "operands")) ? "Options:"
									 : ".Pp\nOptions:",
		json_object_get(v, "options"));
}

void dg_prose(const char *path, enum dg_part part)
{
	/* What stands at a page's end by convention (mdoc(7)), whatever the table has between. */
	static const char *const last[] = {".Sh STANDARDS", ".Sh HISTORY", ".Sh AUTHORS",
		".Sh CAVEATS", ".Sh BUGS", ".Sh SECURITY"};
	char line[1024];
	bool tail = false;
	FILE *f = path ? fopen(path, "r") : NULL;

	while (f && fgets(line, sizeof(line), f)) {
		for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
			tail = tail || !strncmp(line, last[i], strlen(last[i]));
		if (tail == (part == DG_TAIL))
			(void)fputs(line, stdout);
	}
	if (f)
		(void)fclose(f);
}

static void texts(const char *section, const char *macro, json_t *list)
{
	json_t *t;
	size_t i;

	if (!json_array_size(list))
		return;
	(void)printf(".Sh %s\n.Bl -tag -width Ds\n", section);
	json_array_foreach (list, i, t) {
		(void)printf(".It %s ", macro);
		dg_arg(dg_str(t, "name"));
		(void)putchar('\n');
		dg_text(dg_str(t, "help"));
		(void)printf(".\n");
	}
	(void)printf(".El\n");
}

static bool same_exits(json_t *a, json_t *b)
{
	return json_equal(json_object_get(a, "exits"), json_object_get(b, "exits"));
}

static void exit_list(json_t *v)
{
	json_t *x;
	size_t i;

	(void)printf(".Bl -tag -width Ds\n");
	json_array_foreach (json_object_get(v, "exits"), i, x) {
		(void)printf(".It %d\n", (int)json_integer_value(json_object_get(x, "status")));
		dg_text(dg_str(x, "meaning"));
		(void)printf(".\n");
	}
	(void)printf(".El\n");
}

/* One list for the verbs that share it, so that a page does not say the same ten times. */
static void exits(json_t *verbs)
{
	size_t n = json_array_size(verbs);
	bool any = false;

	(void)printf(".Sh EXIT STATUS\n");
	for (size_t i = 0; i < n; i++) {
		json_t *v = json_array_get(verbs, i);
		size_t first = 0;
		bool many = false;

		while (!same_exits(json_array_get(verbs, first), v) ||
			json_is_true(json_object_get(json_array_get(verbs, first), "hidden")))
			if (++first >= n)
				break;
		if (first < i || first >= n)
			continue;
		if (n > 1) {
			(void)printf("%s", any ? ".Pp\n" : "");
			any = true;
			for (size_t k = i; k < n; k++) {
				json_t *w = json_array_get(verbs, k);

				if (!same_exits(v, w) || json_is_true(json_object_get(w, "hidden")))
					continue;
				(void)printf("%s%s", many ? ",\n" : "",
					*dg_str(w, "name") ? dg_str(w, "name") : "without a verb");
				many = true;
			}
			(void)printf(":\n");
		}
		exit_list(v);
	}
}

static void examples(json_t *verbs)
{
	bool any = false;
	json_t *v, *x;
	size_t i, k;

	json_array_foreach (verbs, i, v) {
		json_array_foreach (json_object_get(v, "examples"), k, x) {
			(void)printf("%s", any ? ".Pp\n" : ".Sh EXAMPLES\n");
			any = true;
			dg_text(dg_str(x, "what"));
			(void)printf(":\n.Dl ");
			dg_text(dg_str(x, "line"));
			(void)putchar('\n');
		}
	}
}

/* By section, then by name: "cloop.1", "cloop-run.1", "cloop-exec.7". */
static int by_section(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	size_t n = (size_t)(strrchr(x, '.') - x), m = (size_t)(strrchr(y, '.') - y);
	int d = strcmp(x + n, y + m);

	if (!d)
		d = memcmp(x, y, n < m ? n : m);
	return d ? d : (n > m) - (n < m);
}

static bool among(const char *name, char *const *pages, size_t npages)
{
	for (size_t i = 0; i < npages; i++)
		if (!strcmp(pages[i], name))
			return true;
	return false;
}

/*
 * What the table says, written "name(1)", without pages of ours that do not exist; the front
 * command points to every page.
 */
static void see_also(json_t *spec, char *const *pages, size_t npages)
{
	bool front = !strcmp(dg_str(spec, "name"), "cloop");
	json_t *list = json_object_get(spec, "see_also");
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *t = json_string_value(json_array_get(list, i));
		size_t n = strcspn(t, "(");
		cleanup_free char *page =
			cl_asprintf("%.*s.%.1s", (int)n, t, t[n] ? t + n + 1 : "1");

		if (!cl_starts(page, "cloop") || among(page, pages, npages))
			cl_strv_add(&names, page);
	}
	for (size_t i = 0; front && i < npages; i++)
		if (strcmp(pages[i], "cloop.1") != 0)
			cl_strv_add(&names, pages[i]);
	if (!names.n)
		return;
	cl_strv_uniq(&names);
	qsort(names.v, names.n, sizeof(*names.v), by_section);
	(void)printf(".Sh SEE ALSO\n");
	for (size_t i = 0; i < names.n; i++) {
		const char *t = names.v[i], *dot = strrchr(t, '.');

		(void)printf(
			".Xr %.*s %s%s\n", (int)(dot - t), t, dot + 1, i + 1 < names.n ? " ," : "");
	}
}

void dg_man(json_t *spec, const char *prose, char *const *pages, size_t npages)
{
	json_t *verbs = json_object_get(spec, "verbs");
	bool only = json_array_size(verbs) == 1, bare;
	char title[64] = "";
	json_t *v;
	size_t i;

	for (i = 0; dg_str(spec, "name")[i] && i < sizeof(title) - 1; i++) {
		char c = dg_str(spec, "name")[i];

		title[i] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
	}
	(void)printf(".\\\" Generated from the command's own table by lib/docgen; edit\n"
		     ".\\\" cmd/%s/spec.c and cmd/%s/man.mdoc instead.\n"
		     ".Dd November 29, 2026\n.Dt %s 1\n.Os\n.Sh NAME\n.Nm %s\n.Nd ",
		dg_str(spec, "name"), dg_str(spec, "name"), title, dg_str(spec, "name"));
	dg_text(dg_str(spec, "summary"));
	(void)putchar('\n');
	synopsis(spec, verbs);
	dg_prose(prose, DG_HEAD);
	(void)printf(".Sh OPTIONS\n");
	json_array_foreach (verbs, i, v)
		verb_section(spec, v, only);
	v = json_array_get(verbs, 0);
	bare = only && !json_array_size(json_object_get(v, "operands")) &&
	       !json_array_size(json_object_get(v, "options"));
	options(bare   ? "Options of every cloop command:"
		: only ? ".Pp\nOptions of every cloop command:"
		       : ".Ss Options of every verb",
		json_object_get(v, "shared"));
	options(".Pp\nOptions of every verb of this command:", json_object_get(spec, "options"));
	texts("ENVIRONMENT", "Ev", json_object_get(spec, "environment"));
	texts("FILES", "Pa", json_object_get(spec, "files"));
	exits(verbs);
	examples(verbs);
	see_also(spec, pages, npages);
	dg_prose(prose, DG_TAIL);
}
