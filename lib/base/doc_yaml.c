/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/doc_internal.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct reader {
	yaml_parser_t parser;
	struct cl_doc *d;
	const struct cl_doc_limits *l;
	struct cl_err *e;
	size_t nodes;
};

static int fail_at(struct reader *r, const yaml_mark_t *m, const char *msg, const char *fix)
{
	(void)cl_fail(r->e, CL_EDATA, "%s", msg);
	(void)cl_fix(r->e, "%s", fix);
	return cl_at(r->e, r->d->name, (unsigned)m->line + 1, (unsigned)m->column + 1);
}

/* Bytes that libyaml's reader refused: it knows an offset, its parser a mark further on. */
static int reader_error(struct reader *r, const char *problem)
{
	const yaml_parser_t *p = &r->parser;
	unsigned line, column;

	cl_doc_place(r->d, p->problem_offset, &line, &column);
	if (p->problem_value >= 0)
		(void)cl_fail(r->e, CL_EDATA, "not YAML: %s (0x%02x)", problem,
			(unsigned)p->problem_value);
	else
		(void)cl_fail(r->e, CL_EDATA, "not YAML: %s", problem);
	(void)cl_fix(r->e, "save the file as plain UTF-8 text");
	return cl_at(r->e, r->d->name, line, column);
}

/*
 * True when what stands between the start of the mark's line and the mark holds a tab, or
 * the mark itself is on one: the usual reason for an error that speaks of something else.
 */
static bool tab_before(const struct reader *r, const yaml_mark_t *m)
{
	size_t len, chars = 0;
	const char *s;

	if (!cl_doc_line(r->d, (unsigned)m->line + 1, &s, &len))
		return false;
	for (size_t i = 0; i < len && chars <= m->column; i++) {
		if (s[i] == '\t')
			return true;
		if (s[i] != ' ' && s[i] != '-')
			return false;
		chars++;
	}
	return false;
}

static int syntax_error(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	const char *problem = p->problem ? p->problem : "cannot be read";
	const yaml_mark_t *m = &p->problem_mark;

	if (p->error == YAML_READER_ERROR)
		return reader_error(r, problem);
	if (tab_before(r, m)) {
		(void)cl_fail(r->e, CL_EDATA, "not YAML: a tab cannot indent or separate here");
		(void)cl_fix(r->e, "use blanks");
	} else {
		(void)cl_fail(r->e, CL_EDATA, "not YAML: %s%s%s", problem, p->context ? ", " : "",
			p->context ? p->context : "");
		(void)cl_fix(r->e, "mend the YAML at that place");
	}
	return cl_at(r->e, r->d->name, (unsigned)m->line + 1, (unsigned)m->column + 1);
}

static int next(struct reader *r, yaml_event_t *ev)
{
	if (!yaml_parser_parse(&r->parser, ev))
		return syntax_error(r);
	return 0;
}

/* The core schema's integer: [-+]?[0-9]+, 0o[0-7]+, 0x[0-9a-fA-F]+ (YAML 1.2, 10.3.2). */
static json_t *core_int(const char *s)
{
	const char *digits = s + (*s == '-' || *s == '+');
	long long v;
	char *end;

	errno = 0;
	if (cl_all_in(digits, CL_DIGITS))
		v = strtoll(s, &end, 10);
	else if (cl_starts(s, "0o") && cl_all_in(s + 2, "01234567"))
		v = strtoll(s + 2, &end, 8);
	else if (cl_starts(s, "0x") && cl_all_in(s + 2, CL_DIGITS "abcdefABCDEF"))
		v = strtoll(s + 2, &end, 16);
	else
		return NULL;
	return errno ? json_string(s) : json_integer(v);
}

/* [-+]? ( \.[0-9]+ | [0-9]+(\.[0-9]*)? ) ([eE][-+]?[0-9]+)? */
static json_t *core_float(const char *s)
{
	const char *p = s + (*s == '-' || *s == '+');
	size_t whole = strspn(p, CL_DIGITS), frac = 0, exp;
	double v;

	p += whole;
	if (*p == '.') {
		frac = strspn(++p, CL_DIGITS);
		p += frac;
	}
	if (!whole && !frac)
		return NULL;
	if (*p == 'e' || *p == 'E') {
		p += 1 + (p[1] == '-' || p[1] == '+');
		exp = strspn(p, CL_DIGITS);
		if (!exp)
			return NULL;
		p += exp;
	}
	if (*p)
		return NULL;
	v = strtod(s, NULL);
	/* Infinity is no number of ours: jansson refuses it and NULL reads as text. */
	return json_real(v);
}

static json_t *core_scalar(const char *s)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
	static const char *const trues[] = {"true", "True", "TRUE"};
	static const char *const falses[] = {"false", "False", "FALSE"};
	json_t *v;

	for (size_t i = 0; i < CL_ARRAY_LEN(nulls); i++)
		if (!strcmp(s, nulls[i]))
			return json_null();
	for (size_t i = 0; i < CL_ARRAY_LEN(trues); i++) {
		if (!strcmp(s, trues[i]))
			return json_true();
		if (!strcmp(s, falses[i]))
			return json_false();
	}
	v = core_int(s);
	if (!v)
		v = core_float(s);
	return v ? v : json_string(s);
}

static int read_node(
	struct reader *r, yaml_event_t *ev, unsigned depth, struct cl_doc_pos *pos, json_t **out);

/* Refuses what S1 leaves out of a node: anchors and tags. */
static int plain_node(struct reader *r, const yaml_event_t *ev)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (ev->type == YAML_SCALAR_EVENT) {
		anchor = ev->data.scalar.anchor;
		tag = ev->data.scalar.tag;
	} else if (ev->type == YAML_MAPPING_START_EVENT) {
		anchor = ev->data.mapping_start.anchor;
		tag = ev->data.mapping_start.tag;
	} else if (ev->type == YAML_SEQUENCE_START_EVENT) {
		anchor = ev->data.sequence_start.anchor;
		tag = ev->data.sequence_start.tag;
	}
	if (ev->type == YAML_ALIAS_EVENT)
		return fail_at(
			r, &ev->start_mark, "YAML aliases are not accepted", "write the value out");
	if (anchor)
		return fail_at(r, &ev->start_mark, "YAML anchors are not accepted",
			"remove the '&name' and write values out where they are used");
	if (tag)
		return fail_at(
			r, &ev->start_mark, "YAML tags are not accepted", "remove the '!tag'");
	return 0;
}

static int read_scalar(
	struct reader *r, const yaml_event_t *ev, struct cl_doc_pos *pos, json_t **out)
{
	const char *s = (const char *)ev->data.scalar.value;
	bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (strlen(s) != ev->data.scalar.length)
		return fail_at(r, &ev->start_mark, "a NUL byte in a value", "remove it");
	*out = plain ? core_scalar(s) : json_string(s);
	if (!*out)
		return fail_at(r, &ev->start_mark, "not UTF-8", "save the file as UTF-8 text");
	if (pos) {
		pos->raw = cl_strdup(s);
		pos->plain = plain;
	}
	return 0;
}

/* Reads one key's scalar; *key is owned by the caller. */
static int read_key(struct reader *r, const yaml_event_t *ev, const json_t *obj, char **key)
{
	if (plain_node(r, ev))
		return -1;
	if (ev->type != YAML_SCALAR_EVENT)
		return fail_at(r, &ev->start_mark,
			"a key must be a single word, not a mapping or a list",
			"write the key as text");
	if (strlen((char *)ev->data.scalar.value) != ev->data.scalar.length)
		return fail_at(r, &ev->start_mark, "a NUL byte in a key", "remove it");
	if (!strcmp((char *)ev->data.scalar.value, "<<") &&
		ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return fail_at(r, &ev->start_mark, "YAML merge keys are not accepted",
			"write the keys out");
	if (json_object_get(obj, (char *)ev->data.scalar.value)) {
		cleanup_free char *shown = cl_doc_excerpt((char *)ev->data.scalar.value);

		(void)cl_fail(r->e, CL_EDATA, "duplicate key '%s'", shown);
		(void)cl_fix(r->e, "keep one of the two");
		return cl_at(r->e, r->d->name, (unsigned)ev->start_mark.line + 1,
			(unsigned)ev->start_mark.column + 1);
	}
	*key = cl_strdup((char *)ev->data.scalar.value);
	return 0;
}

/* One "key: value" whose key event is *ev. */
static int read_pair(struct reader *r, yaml_event_t *ev, unsigned depth, json_t *obj)
{
	yaml_mark_t key_mark = ev->start_mark;
	struct cl_doc_pos pos = {.parent = obj};
	cleanup_free char *key = NULL;
	json_t *v = NULL;
	yaml_event_t val;
	int rc;

	if (read_key(r, ev, obj, &key) || next(r, &val))
		return -1;
	pos.key_line = (unsigned)key_mark.line + 1;
	pos.key_column = (unsigned)key_mark.column + 1;
	pos.line = (unsigned)val.start_mark.line + 1;
	pos.column = (unsigned)val.start_mark.column + 1;
	rc = read_node(r, &val, depth, &pos, &v);
	yaml_event_delete(&val);
	if (rc) {
		free(pos.raw);
		return -1;
	}
	if (json_object_set_new(obj, key, v)) {
		free(pos.raw);
		return fail_at(r, &key_mark, "a key is not UTF-8", "save the file as UTF-8 text");
	}
	/* The tree's own copy of the key outlives ours. */
	pos.key = json_object_iter_key(json_object_iter_at(obj, key));
	*cl_doc_pos_add(r->d, obj, NULL, 0) = pos;
	return 0;
}

static int read_map(struct reader *r, unsigned depth, json_t *obj)
{
	for (;;) {
		yaml_event_t ev;
		int rc = 0;
		bool end;

		if (next(r, &ev))
			return -1;
		end = ev.type == YAML_MAPPING_END_EVENT;
		if (!end)
			rc = read_pair(r, &ev, depth, obj);
		yaml_event_delete(&ev);
		if (rc || end)
			return rc;
	}
}

static int read_list(struct reader *r, unsigned depth, json_t *arr)
{
	for (size_t i = 0;; i++) {
		struct cl_doc_pos pos = {.parent = arr, .index = i};
		yaml_event_t ev;
		json_t *v = NULL;
		int rc = 0;
		bool end;

		if (next(r, &ev))
			return -1;
		end = ev.type == YAML_SEQUENCE_END_EVENT;
		pos.line = (unsigned)ev.start_mark.line + 1;
		pos.column = (unsigned)ev.start_mark.column + 1;
		if (!end)
			rc = read_node(r, &ev, depth, &pos, &v);
		yaml_event_delete(&ev);
		if (rc || end) {
			free(pos.raw);
			return rc;
		}
		(void)json_array_append_new(arr, v);
		*cl_doc_pos_add(r->d, arr, NULL, i) = pos;
	}
}

/* Reads the node that starts with *ev; pos may be NULL. */
static int read_node(
	struct reader *r, yaml_event_t *ev, unsigned depth, struct cl_doc_pos *pos, json_t **out)
{
	json_t *j;
	int rc;

	if (plain_node(r, ev))
		return -1;
	if (++r->nodes > r->l->nodes)
		return fail_at(r, &ev->start_mark, "too many values in one document",
			"make the file smaller");
	if (ev->type == YAML_SCALAR_EVENT)
		return read_scalar(r, ev, pos, out);
	if (depth >= r->l->depth)
		return fail_at(r, &ev->start_mark, "nested too deep", "flatten the document");
	if (ev->type == YAML_MAPPING_START_EVENT) {
		j = json_object();
		rc = read_map(r, depth + 1, j);
	} else {
		j = json_array();
		rc = read_list(r, depth + 1, j);
	}
	if (rc)
		json_decref(j);
	else
		*out = j;
	return rc;
}

/* Reads the stream: nothing, or one document. */
static int read_stream(struct reader *r)
{
	for (;;) {
		yaml_event_t ev;
		int rc = 0;
		bool end = false;

		if (next(r, &ev))
			return -1;
		switch (ev.type) {
		case YAML_STREAM_END_EVENT:
			end = true;
			break;
		case YAML_DOCUMENT_START_EVENT:
			if (ev.data.document_start.tag_directives.start !=
				ev.data.document_start.tag_directives.end)
				rc = fail_at(r, &ev.start_mark, "YAML tags are not accepted",
					"remove the %TAG line");
			else if (r->nodes)
				rc = fail_at(r, &ev.start_mark, "a second document",
					"keep one document in the file");
			break;
		case YAML_SCALAR_EVENT:
		case YAML_ALIAS_EVENT:
		case YAML_MAPPING_START_EVENT:
		case YAML_SEQUENCE_START_EVENT:
			rc = read_node(r, &ev, 0, NULL, &r->d->root);
			break;
		case YAML_NO_EVENT:
		case YAML_STREAM_START_EVENT:
		case YAML_DOCUMENT_END_EVENT:
		case YAML_SEQUENCE_END_EVENT:
		case YAML_MAPPING_END_EVENT:
		default:
			break;
		}
		yaml_event_delete(&ev);
		if (rc || end)
			return rc;
	}
}

int cl_doc_parse_yaml(struct cl_doc *d, const struct cl_doc_limits *l, struct cl_err *e)
{
	struct reader r = {.d = d, .l = l, .e = e};
	int rc;

	if (!yaml_parser_initialize(&r.parser))
		abort();
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)d->text, d->len);
	rc = read_stream(&r);
	yaml_parser_delete(&r.parser);
	if (!rc && d->root && json_is_null(d->root)) {
		json_decref(d->root);
		d->root = NULL;
	}
	return rc;
}
