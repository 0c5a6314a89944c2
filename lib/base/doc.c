/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/doc_internal.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cl_doc_release(struct cl_doc *d)
{
	for (size_t i = 0; i < d->npos; i++)
		free(d->pos[i].raw);
	free(d->pos);
	free(d->name);
	free(d->text);
	json_decref(d->root);
	*d = CL_DOC_INIT;
}

int cl_doc_parse(struct cl_doc *d, enum cl_doc_kind kind, const char *name, const char *text,
	size_t len, const struct cl_doc_limits *limits, struct cl_err *e)
{
	struct cl_doc_limits l = limits ? *limits : (struct cl_doc_limits){0};

	l.max_bytes = l.max_bytes ? l.max_bytes : 1 << 20;
	l.depth = l.depth ? l.depth : 32;
	l.nodes = l.nodes ? l.nodes : 65536;
	d->kind = kind;
	d->name = cl_strdup(name);
	if (len > l.max_bytes) {
		(void)cl_fail(e, CL_EDATA, "%s holds %zu bytes, more than the %zu allowed", name,
			len, l.max_bytes);
		return cl_at(e, name, 0, 0);
	}
	d->text = cl_strndup(text, len);
	d->len = len;
	return kind == CL_DOC_JSON ? cl_doc_parse_json(d, &l, e) : cl_doc_parse_yaml(d, &l, e);
}

struct cl_doc_pos *cl_doc_pos_add(
	struct cl_doc *d, const json_t *parent, const char *key, size_t index)
{
	struct cl_doc_pos *p;

	d->pos = cl_grow(d->pos, &d->pos_cap, d->npos + 1, sizeof(*d->pos));
	p = &d->pos[d->npos++];
	*p = (struct cl_doc_pos){.parent = parent, .key = key, .index = index};
	return p;
}

static const struct cl_doc_pos *find(
	struct cl_doc *d, const json_t *parent, const char *key, size_t index)
{
	/* A JSON document is only walked for places once an error asks for one. */
	if (!d->npos && d->kind == CL_DOC_JSON && d->root)
		cl_doc_locate_json(d);
	for (size_t i = 0; i < d->npos; i++) {
		const struct cl_doc_pos *p = &d->pos[i];

		if (p->parent != parent)
			continue;
		if (key ? p->key && !strcmp(p->key, key) : !p->key && p->index == index)
			return p;
	}
	return NULL;
}

void cl_doc_where(struct cl_doc *d, const json_t *parent, const char *key, size_t index,
	bool at_key, unsigned *line, unsigned *column)
{
	const struct cl_doc_pos *p = find(d, parent, key, index);

	*line = !p ? 0 : at_key && p->key_line ? p->key_line : p->line;
	*column = !p ? 0 : at_key && p->key_line ? p->key_column : p->column;
}

/* Sets the place of an error that has its message. */
static int at(struct cl_doc *d, const json_t *parent, const char *key, size_t index, bool at_key,
	struct cl_err *e)
{
	unsigned line, column;

	cl_doc_where(d, parent, key, index, at_key, &line, &column);
	return cl_at(e, d->name, line, column);
}

int cl_doc_fail(struct cl_doc *d, const json_t *parent, const char *key, size_t index,
	enum cl_code code, struct cl_err *e, const char *fmt, ...)
{
	char text[sizeof(e->msg)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)cl_fail(e, code, "%s", text);
	return at(d, parent, key, index, false, e);
}

int cl_doc_closed(struct cl_doc *d, json_t *obj, const char *where, const char *const *known,
	size_t n, struct cl_err *e)
{
	const char *key, *near;
	json_t *v;

	json_object_foreach (obj, key, v) {
		size_t i = 0;

		while (i < n && strcmp(known[i], key))
			i++;
		if (i < n)
			continue;
		(void)cl_fail(
			e, CL_EDATA, "unknown key '%s'%s%s", key, *where ? " in " : "", where);
		near = cl_nearest(key, known, n);
		if (near)
			(void)cl_fix(e, "did you mean '%s'?", near);
		else {
			cleanup_free char *all = cl_join(known, n, ", ");

			(void)cl_fix(e, "the keys here are: %s", all);
		}
		return at(d, obj, key, 0, true, e);
	}
	return 0;
}

bool cl_doc_has(const json_t *obj, const char *key)
{
	const json_t *v = json_object_get(obj, key);

	return v && !json_is_null(v);
}

static const char *kind_of(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "a mapping";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "a whole number";
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
	default:
		return "nothing";
	}
}

/* One value to read: obj[key], or a list's index-th. */
struct place {
	struct cl_doc *d;
	const json_t *parent;
	const char *key;
	size_t index;
	json_t *v; /* NULL when absent or null */
};

static struct place in_map(struct cl_doc *d, const json_t *obj, const char *key)
{
	json_t *v = json_object_get(obj, key);

	return (struct place){d, obj, key, 0, v && !json_is_null(v) ? v : NULL};
}

static struct place in_list(struct cl_doc *d, const json_t *arr, size_t index)
{
	json_t *v = json_array_get(arr, index);

	return (struct place){d, arr, NULL, index, v};
}

static int wrong(const struct place *p, const char *want, struct cl_err *e)
{
	char label[160];

	if (p->key)
		(void)snprintf(label, sizeof(label), "'%s'", p->key);
	else
		(void)snprintf(label, sizeof(label), "entry %zu of the list", p->index);
	if (json_is_string(p->v))
		(void)cl_fail(
			e, CL_EDATA, "%s is '%s', not %s", label, json_string_value(p->v), want);
	else
		(void)cl_fail(e, CL_EDATA, "%s is %s, not %s", label, kind_of(p->v), want);
	(void)cl_fix(e, "write %s there", want);
	return at(p->d, p->parent, p->key, p->index, false, e);
}

/*
 * The text of a scalar as written, when the document kept it. *plain: unquoted.
 * YAML keeps every scalar's text; JSON numbers are never needed as text.
 */
static const char *raw_text(const struct place *p, bool *plain)
{
	const struct cl_doc_pos *pos;

	*plain = false;
	if (p->d->kind != CL_DOC_YAML)
		return NULL;
	pos = find(p->d, p->parent, p->key, p->index);
	if (!pos || !pos->raw)
		return NULL;
	*plain = pos->plain;
	return pos->raw;
}

int cl_doc_bool(struct cl_doc *d, const json_t *obj, const char *key, bool *out, struct cl_err *e)
{
	struct place p = in_map(d, obj, key);

	if (!p.v)
		return 0;
	if (!json_is_boolean(p.v))
		return wrong(&p, "true or false", e);
	*out = json_is_true(p.v);
	return 0;
}

static int read_int(const struct place *p, int64_t min, int64_t max, int64_t *out, struct cl_err *e)
{
	const char *raw;
	bool plain;

	if (!p->v)
		return 0;
	raw = raw_text(p, &plain);
	if (!json_is_integer(p->v)) {
		/* A plain number that no 64 bits hold came through as a string. */
		if (plain && raw && cl_all_in(raw + strspn(raw, "+-"), CL_DIGITS))
			(void)cl_fail(e, CL_EDATA, "'%s' is %s, too large for 64 bits",
				p->key ? p->key : "the entry", raw);
		else
			return wrong(p, "a whole number", e);
		return at(p->d, p->parent, p->key, p->index, false, e);
	}
	*out = json_integer_value(p->v);
	if (*out < min || *out > max) {
		(void)cl_fail(e, CL_EDATA,
			"'%s' is %" PRId64 ", not between %" PRId64 " and %" PRId64,
			p->key ? p->key : "the entry", *out, min, max);
		return at(p->d, p->parent, p->key, p->index, false, e);
	}
	return 0;
}

int cl_doc_int(struct cl_doc *d, const json_t *obj, const char *key, int64_t min, int64_t max,
	int64_t *out, struct cl_err *e)
{
	struct place p = in_map(d, obj, key);

	return read_int(&p, min, max, out, e);
}

int cl_doc_int_at(struct cl_doc *d, const json_t *arr, size_t index, int64_t min, int64_t max,
	int64_t *out, struct cl_err *e)
{
	struct place p = in_list(d, arr, index);

	return read_int(&p, min, max, out, e);
}

int cl_doc_double(
	struct cl_doc *d, const json_t *obj, const char *key, double *out, struct cl_err *e)
{
	struct place p = in_map(d, obj, key);

	if (!p.v)
		return 0;
	if (!json_is_number(p.v) || !isfinite(json_number_value(p.v)))
		return wrong(&p, "a number", e);
	*out = json_number_value(p.v);
	return 0;
}

static int read_str(const struct place *p, const char **out, struct cl_err *e)
{
	const char *raw;
	bool plain;

	if (!p->v)
		return 0;
	if (json_is_string(p->v)) {
		*out = json_string_value(p->v);
		return 0;
	}
	/* `memory: 512` means the text 512: an author does not think in YAML types. */
	raw = raw_text(p, &plain);
	if (!raw || json_is_null(p->v))
		return wrong(p, "a string", e);
	*out = raw;
	return 0;
}

int cl_doc_str(
	struct cl_doc *d, const json_t *obj, const char *key, const char **out, struct cl_err *e)
{
	struct place p = in_map(d, obj, key);

	return read_str(&p, out, e);
}

int cl_doc_str_at(
	struct cl_doc *d, const json_t *arr, size_t index, const char **out, struct cl_err *e)
{
	struct place p = in_list(d, arr, index);

	return read_str(&p, out, e);
}

int cl_doc_map(struct cl_doc *d, const json_t *obj, const char *key, json_t **out, struct cl_err *e)
{
	struct place p = in_map(d, obj, key);

	if (p.v && !json_is_object(p.v))
		return wrong(&p, "a mapping", e);
	if (p.v)
		*out = p.v;
	return 0;
}

int cl_doc_list(
	struct cl_doc *d, const json_t *obj, const char *key, json_t **out, struct cl_err *e)
{
	struct place p = in_map(d, obj, key);

	if (p.v && !json_is_array(p.v))
		return wrong(&p, "a list", e);
	if (p.v)
		*out = p.v;
	return 0;
}

int cl_doc_strv(struct cl_doc *d, const json_t *obj, const char *key, size_t max,
	struct cl_strv *out, struct cl_err *e)
{
	json_t *list = NULL;
	const char *s;

	if (cl_doc_list(d, obj, key, &list, e))
		return -1;
	if (max && json_array_size(list) > max)
		return cl_doc_fail(d, obj, key, 0, CL_EDATA, e,
			"'%s' has %zu entries, more than the %zu allowed", key,
			json_array_size(list), max);
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (cl_doc_str_at(d, list, i, &s, e))
			return -1;
		cl_strv_add(out, s);
	}
	return 0;
}

bool cl_doc_line(const struct cl_doc *d, unsigned line, const char **out, size_t *len)
{
	const char *p = d->text, *end;

	if (!p || !line)
		return false;
	while (--line) {
		p = strchr(p, '\n');
		if (!p)
			return false;
		p++;
	}
	end = p + strcspn(p, "\r\n");
	*out = p;
	*len = (size_t)(end - p);
	return true;
}

char *cl_json_text(const json_t *j)
{
	char *s = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

	if (!s)
		abort();
	return s;
}
