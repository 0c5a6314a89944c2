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

/* The const is jansson's; the memory is the caller's own. */
static void wipe_text(const char *s)
{
	if (s)
		explicit_bzero((void *)(uintptr_t)s, strlen(s));
}

void cl_json_wipe(json_t *j)
{
	const char *key;
	json_t *v;
	size_t i;

	wipe_text(json_string_value(j));
	json_object_foreach (j, key, v)
		cl_json_wipe(v);
	json_array_foreach (j, i, v)
		cl_json_wipe(v);
}

void cl_doc_release_secret(struct cl_doc *d)
{
	cl_json_wipe(d->root);
	for (size_t i = 0; i < d->npos; i++)
		wipe_text(d->pos[i].raw);
	if (d->text)
		explicit_bzero(d->text, d->len);
	cl_doc_release(d);
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
		(void)cl_fix(e, "make it smaller than that");
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

/* By parent, then a map's keys, then a list's indexes. */
static int by_place(const void *a, const void *b)
{
	const struct cl_doc_pos *x = a, *y = b;

	if (x->parent != y->parent)
		return (uintptr_t)x->parent < (uintptr_t)y->parent ? -1 : 1;
	if (x->key && y->key)
		return strcmp(x->key, y->key);
	if (!x->key != !y->key)
		return x->key ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Sorted once: a list of 65,000 numbers that are read as text asks 65,000 times. */
static const struct cl_doc_pos *find(
	struct cl_doc *d, const json_t *parent, const char *key, size_t index)
{
	struct cl_doc_pos want = {.parent = parent, .key = key, .index = key ? 0 : index};

	/* A JSON document is only walked for places once an error asks for one. */
	if (!d->npos && d->kind == CL_DOC_JSON && d->root)
		cl_doc_locate_json(d);
	if (!d->npos)
		return NULL;
	if (!d->sorted)
		qsort(d->pos, d->npos, sizeof(*d->pos), by_place);
	d->sorted = true;
	return bsearch(&want, d->pos, d->npos, sizeof(*d->pos), by_place);
}

size_t cl_doc_break(const struct cl_doc *d, const char *p)
{
	if (*p == '\n')
		return 1;
	if (d->kind == CL_DOC_JSON)
		return 0;
	if (*p == '\r')
		return p[1] == '\n' ? 2 : 1;
	if (cl_starts(p, "\xc2\x85"))
		return 2;
	return cl_starts(p, "\xe2\x80\xa8") || cl_starts(p, "\xe2\x80\xa9") ? 3 : 0;
}

void cl_doc_place(const struct cl_doc *d, size_t at, unsigned *line, unsigned *column)
{
	const char *p = d->text;

	*line = *column = 1;
	while (p < d->text + at && p < d->text + d->len) {
		size_t n = cl_doc_break(d, p);

		if (n) {
			++*line;
			*column = 1;
		} else if (((unsigned char)*p & 0xc0) != 0x80) {
			++*column;
		}
		p += n ? n : 1;
	}
}

char *cl_doc_excerpt(const char *text)
{
	size_t len = strlen(text), n = cl_utf8_cut(text, len, 80);

	return cl_asprintf("%.*s%s", (int)n, text, n < len ? "..." : "");
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

int cl_doc_closed(struct cl_doc *d, json_t *obj, const char *where, const char *const *known,
	size_t n, struct cl_err *e)
{
	const char *key, *near;
	json_t *v;

	if (obj && !json_is_object(obj)) {
		(void)cl_fail(e, CL_EDATA, "%s is %s, not a mapping",
			*where ? where : "the whole document", kind_of(obj));
		(void)cl_fix(e, "write a mapping of keys to values there");
		return *where ? -1 : cl_at(e, d->name, 1, 1);
	}
	json_object_foreach (obj, key, v) {
		cleanup_free char *shown = NULL;
		size_t i = 0;

		while (i < n && strcmp(known[i], key))
			i++;
		if (i < n)
			continue;
		shown = cl_doc_excerpt(key);
		(void)cl_fail(
			e, CL_EDATA, "unknown key '%s'%s%s", shown, *where ? " in " : "", where);
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

#define LABEL_SIZE 160
/* How a message calls a value. */
static const char *label(const struct place *p, char out[LABEL_SIZE])
{
	if (p->key)
		(void)snprintf(out, LABEL_SIZE, "'%s'", p->key);
	else
		(void)snprintf(out, LABEL_SIZE, "entry %zu of the list", p->index);
	return out;
}

static int wrong(const struct place *p, const char *want, struct cl_err *e)
{
	char name[LABEL_SIZE];

	if (json_is_string(p->v)) {
		cleanup_free char *shown = cl_doc_excerpt(json_string_value(p->v));

		(void)cl_fail(e, CL_EDATA, "%s is '%s', not %s", label(p, name), shown, want);
	} else {
		(void)cl_fail(e, CL_EDATA, "%s is %s, not %s", label(p, name), kind_of(p->v), want);
	}
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

static int in_range(const struct place *p, int64_t min, int64_t max, struct cl_err *e)
{
	(void)cl_fix(e, "write a whole number from %" PRId64 " to %" PRId64 " there", min, max);
	return at(p->d, p->parent, p->key, p->index, false, e);
}

static int read_int(const struct place *p, int64_t min, int64_t max, int64_t *out, struct cl_err *e)
{
	char name[LABEL_SIZE];
	const char *raw;
	bool plain;
	int64_t v;

	if (!p->v)
		return 0;
	raw = raw_text(p, &plain);
	if (!json_is_integer(p->v)) {
		/* A plain number that no 64 bits hold came through as a string. */
		if (plain && raw && cl_all_in(raw + strspn(raw, "+-"), CL_DIGITS))
			(void)cl_fail(e, CL_EDATA, "%s is %s, too large for 64 bits",
				label(p, name), raw);
		else
			return wrong(p, "a whole number", e);
		return in_range(p, min, max, e);
	}
	v = json_integer_value(p->v);
	if (v < min || v > max) {
		(void)cl_fail(e, CL_EDATA,
			"%s is %" PRId64 ", not between %" PRId64 " and %" PRId64, label(p, name),
			v, min, max);
		return in_range(p, min, max, e);
	}
	*out = v;
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
	if (max && json_array_size(list) > max) {
		(void)cl_doc_fail(d, obj, key, 0, CL_EDATA, e,
			"'%s' has %zu entries, more than the %zu allowed", key,
			json_array_size(list), max);
		return cl_fix(e, "take some of them out");
	}
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
	end = p + d->len;
	while (line > 1 && p < end) {
		size_t n = cl_doc_break(d, p);

		line -= n > 0;
		p += n ? n : 1;
	}
	if (line > 1)
		return false;
	*out = p;
	while (p < end && *p != '\r' && !cl_doc_break(d, p))
		p++;
	*len = (size_t)(p - *out);
	return true;
}

void cl_json_init(void)
{
	json_set_alloc_funcs(cl_malloc, free);
}

json_t *cl_json_string(const char *s)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	size_t len = strlen(s);
	json_t *j = json_stringn(s, len);

	/* Nearly always that is what it says. */
	if (j)
		return j;
	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = cl_utf8_next(s + i, len - i);
		cl_buf_add(&b, n ? s + i : "\xef\xbf\xbd", n ? n : 3);
	}
	j = json_stringn(b.p, b.len);
	if (!j)
		abort();
	return j;
}
