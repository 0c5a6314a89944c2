/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/doc_internal.h"
#include "base/mem.h"

#include <string.h>

/* jansson recurses to depth 2048 before it says no; the cap is checked on the text first. */
static bool too_deep(const char *s, size_t len, unsigned max, size_t *at)
{
	unsigned depth = 0;
	bool str = false;

	for (size_t i = 0; i < len; i++) {
		if (str) {
			if (s[i] == '\\')
				i++;
			else if (s[i] == '"')
				str = false;
		} else if (s[i] == '"') {
			str = true;
		} else if (s[i] == '{' || s[i] == '[') {
			if (++depth > max) {
				*at = i;
				return true;
			}
		} else if ((s[i] == '}' || s[i] == ']') && depth) {
			depth--;
		}
	}
	return false;
}

static size_t count_nodes(json_t *j)
{
	size_t n = 1, i;
	const char *key;
	json_t *v;

	if (json_is_object(j)) {
		json_object_foreach (j, key, v)
			n += count_nodes(v);
	} else if (json_is_array(j)) {
		json_array_foreach (j, i, v)
			n += count_nodes(v);
	}
	return n;
}

int cl_doc_parse_json(struct cl_doc *d, const struct cl_doc_limits *l, struct cl_err *e)
{
	json_error_t je;
	unsigned line, column;
	size_t at = 0;

	if (too_deep(d->text, d->len, l->depth, &at)) {
		cl_doc_place(d, at, &line, &column);
		(void)cl_fail(e, CL_EDATA, "nested more than %u levels deep", l->depth);
		(void)cl_fix(e, "nest it less deeply");
		return cl_at(e, d->name, line, column);
	}
	d->root = json_loadb(d->text, d->len, JSON_REJECT_DUPLICATES, &je);
	if (!d->root) {
		(void)cl_fail(e, CL_EDATA, "not JSON: %s",
			json_error_code(&je) == json_error_null_character
				? "a NUL character in a string"
				: je.text);
		(void)cl_fix(e, "give one JSON object, as RFC 8259 has it");
		return cl_at(e, d->name, je.line > 0 ? (unsigned)je.line : 1,
			je.column > 0 ? (unsigned)je.column : 1);
	}
	/* jansson passes over one that stands right behind a number. */
	if (memchr(d->text, '\0', d->len)) {
		cl_doc_place(d, strlen(d->text), &line, &column);
		(void)cl_fail(e, CL_EDATA, "not JSON: a NUL byte");
		(void)cl_fix(e, "give one JSON object, as RFC 8259 has it");
		return cl_at(e, d->name, line, column);
	}
	if (count_nodes(d->root) > l->nodes) {
		(void)cl_fail(e, CL_EDATA, "%s holds more than %zu values", d->name, l->nodes);
		(void)cl_fix(e, "make it smaller");
		return cl_at(e, d->name, 0, 0);
	}
	return 0;
}

/*
 * Walks text that jansson has accepted beside the tree jansson made of it: objects
 * keep the order of their keys, so the n-th key of the text is the n-th of the object.
 */
struct walk {
	struct cl_doc *d;
	size_t at;
	unsigned line, column;
};

static void step(struct walk *w)
{
	char c = w->d->text[w->at++];

	if (c == '\n') {
		w->line++;
		w->column = 1;
	} else if (((unsigned char)c & 0xc0) != 0x80) {
		w->column++;
	}
}

static void skip(struct walk *w, const char *set)
{
	while (w->d->text[w->at] && strchr(set, w->d->text[w->at]))
		step(w);
}

static void scalar(struct walk *w)
{
	const char *s = w->d->text;

	if (s[w->at] != '"') {
		while (s[w->at] && !strchr(" \t\r\n,]}", s[w->at]))
			step(w);
		return;
	}
	step(w);
	while (s[w->at] && s[w->at] != '"') {
		if (s[w->at] == '\\')
			step(w);
		step(w);
	}
	step(w);
}

static void value(struct walk *w, json_t *j)
{
	const char *key;
	json_t *v;
	size_t i;

	if (!json_is_object(j) && !json_is_array(j)) {
		scalar(w);
		return;
	}
	step(w);
	if (json_is_object(j)) {
		json_object_foreach (j, key, v) {
			size_t at = w->d->npos;

			skip(w, " \t\r\n,");
			(void)cl_doc_pos_add(w->d, j, key, 0);
			w->d->pos[at].key_line = w->line;
			w->d->pos[at].key_column = w->column;
			scalar(w);
			skip(w, " \t\r\n:");
			w->d->pos[at].line = w->line;
			w->d->pos[at].column = w->column;
			value(w, v);
		}
	} else {
		json_array_foreach (j, i, v) {
			struct cl_doc_pos *p;

			skip(w, " \t\r\n,");
			p = cl_doc_pos_add(w->d, j, NULL, i);
			p->line = w->line;
			p->column = w->column;
			value(w, v);
		}
	}
	skip(w, " \t\r\n,");
	step(w);
}

void cl_doc_locate_json(struct cl_doc *d)
{
	struct walk w = {d, 0, 1, 1};

	skip(&w, " \t\r\n");
	value(&w, d->root);
}
