/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One value of config.yaml by its row of the table. */
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/sandbox/ceiling.h"
#include "policy/config/config_internal.h"

#include <math.h>
#include <string.h>

static size_t most(const struct cfg_key *k)
{
	return k->items ? k->items : 256;
}

/* The error at parent[key], with the message that a check has put into *e. */
static json_t *here(
	struct cl_doc *d, const json_t *parent, const char *key, size_t index, struct cl_err *e)
{
	unsigned line, column;

	cl_doc_where(d, parent, key, index, false, &line, &column);
	(void)cl_at(e, d->name, line, column);
	return NULL;
}

static json_t *read_bool(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e)
{
	bool b = false;

	(void)k;
	return cl_doc_bool(d, parent, key, &b, e) ? NULL : json_boolean(b);
}

static json_t *read_int(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e)
{
	int64_t v = 0;

	if (cl_doc_int(d, parent, key, (int64_t)k->min, (int64_t)k->max, &v, e))
		return NULL;
	return json_integer(v);
}

static json_t *read_number(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e)
{
	double v = 0;
	char min[32], max[32];

	if (cl_doc_double(d, parent, key, &v, e))
		return NULL;
	cl_format_double(k->min, min);
	cl_format_double(k->max, max);
	if (v < k->min || v > k->max) {
		(void)cl_fail(e, CL_EDATA, "'%s' is not between %s and %s", key, min, max);
		(void)cl_fix(e, "write a number from %s to %s", min, max);
	} else if (fabs(v * 1000 - round(v * 1000)) > 1e-6) {
		(void)cl_fail(e, CL_EDATA, "'%s' has more than three decimals", key);
		(void)cl_fix(e, "round it to thousandths");
	} else {
		return v == floor(v) ? json_integer((json_int_t)v) : json_real(v);
	}
	return here(d, parent, key, 0, e);
}

static json_t *read_size(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e)
{
	const char *text = "";
	int64_t n;
	int rc;

	if (cl_doc_str(d, parent, key, &text, e))
		return NULL;
	if (!strcmp(k->unit, "MB")) {
		rc = sb_size_mb(text, key, &n, NULL, e);
		/* A ceiling of nothing is somebody's mistake, not "no ceiling". */
		if (!rc && !n && k->harm == CFG_HARM_ALL) {
			(void)cl_fail(e, CL_EDATA, "'%s' is 0, which is no limit", key);
			rc = cl_fix(e, "write a size such as 4g, or leave the key out");
		}
	} else {
		rc = *text ? cl_parse_size(text, CL_SIZE_BYTES, key, &n, e) : 0;
		if (!rc && *text && n < 0) {
			(void)cl_fail(e, CL_EDATA, "'%s' is negative", key);
			rc = cl_fix(e, "write a size such as 512m");
		}
	}
	return rc ? here(d, parent, key, 0, e) : json_string(text);
}

/* NUL-terminated text by the row's own grammar. */
static int check(const struct cfg_key *k, const char *text, struct cl_err *e)
{
	if (!k->check || !k->check(text, e))
		return 0;
	e->code = CL_EDATA;
	return -1;
}

static json_t *read_str(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e)
{
	const char *text = "";

	if (cl_doc_str(d, parent, key, &text, e))
		return NULL;
	return *text && check(k, text, e) ? here(d, parent, key, 0, e) : json_string(text);
}

static json_t *read_enum(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e)
{
	const char *text = "", *near;
	size_t n = 0;

	if (cl_doc_str(d, parent, key, &text, e))
		return NULL;
	while (k->values[n] && strcmp(k->values[n], text) != 0)
		n++;
	if (k->values[n] || (!*text && !k->def))
		return json_string(text);
	near = cl_nearest(text, k->values, n);
	(void)cl_fail(e, CL_EDATA, "'%s' is '%s', which is none of its values", key, text);
	if (near && *near) {
		(void)cl_fix(e, "did you mean '%s'?", near);
	} else {
		cleanup_free char *all =
			cl_join(k->values + !*k->values[0], n - !*k->values[0], ", ");

		(void)cl_fix(e, "one of: %s", all);
	}
	return here(d, parent, key, 0, e);
}

static json_t *read_list(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e)
{
	json_t *list = NULL, *out = json_array();
	int rc = cl_doc_list(d, parent, key, &list, e);

	if (!rc && json_array_size(list) > most(k)) {
		(void)cl_doc_fail(d, parent, key, 0, CL_EDATA, e,
			"'%s' has %zu entries, more than the %zu allowed", key,
			json_array_size(list), most(k));
		rc = cl_fix(e, "take some of them out");
	}
	for (size_t i = 0; !rc && i < json_array_size(list); i++) {
		const char *text = "";
		int64_t n = 0;

		/* A null is no entry: it would be a hole in a list that bounds something. */
		if (json_is_null(json_array_get(list, i))) {
			(void)cl_doc_fail(
				d, list, NULL, i, CL_EDATA, e, "'%s' has an empty entry", key);
			rc = cl_fix(e, "write the entry, or take it out");
		} else if (k->type == CFG_INTS) {
			rc = cl_doc_int_at(d, list, i, (int64_t)k->min, (int64_t)k->max, &n, e);
			(void)json_array_append_new(out, json_integer(n));
		} else {
			rc = cl_doc_str_at(d, list, i, &text, e);
			if (!rc && check(k, text, e)) {
				(void)here(d, list, NULL, i, e);
				rc = -1;
			}
			(void)json_array_append_new(out, json_string(text));
		}
	}
	if (!rc)
		return out;
	json_decref(out);
	return NULL;
}

static json_t *read_labels(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e)
{
	json_t *map = NULL, *out = json_object(), *v;
	int rc = cl_doc_map(d, parent, key, &map, e);
	const char *name;

	if (!rc && json_object_size(map) > most(k)) {
		(void)cl_doc_fail(d, parent, key, 0, CL_EDATA, e, "'%s' has more than %zu entries",
			key, most(k));
		rc = cl_fix(e, "take some of them out");
	}
	json_object_foreach (map, name, v) {
		cleanup_free char *pair = NULL;
		const char *text = "";

		if (rc)
			break;
		rc = cl_doc_str(d, map, name, &text, e);
		pair = cl_asprintf("%s=%s", name, text);
		if (!rc && check(k, pair, e)) {
			(void)here(d, map, name, 0, e);
			rc = -1;
		}
		(void)json_object_set_new(out, name, json_string(text));
	}
	if (!rc)
		return out;
	json_decref(out);
	return NULL;
}

static json_t *read_any(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e)
{
	json_t *map = NULL;

	(void)k;
	return cl_doc_map(d, parent, key, &map, e) ? NULL : json_incref(map);
}

typedef json_t *(*reader)(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e);

static const reader readers[] = {
	[CFG_BOOL] = read_bool,
	[CFG_INT] = read_int,
	[CFG_NUMBER] = read_number,
	[CFG_SIZE] = read_size,
	[CFG_STR] = read_str,
	[CFG_ENUM] = read_enum,
	[CFG_STRS] = read_list,
	[CFG_INTS] = read_list,
	[CFG_LABELS] = read_labels,
	[CFG_ANY] = read_any,
};

json_t *cfg_value_read(struct cl_doc *d, const json_t *parent, const char *key,
	const struct cfg_key *k, struct cl_err *e)
{
	cl_err_init(e);
	return readers[k->type](d, parent, key, k, e);
}

/* Most defaults are one plain word, which means what it says: every command reads them all. */
static json_t *plain_default(const struct cfg_key *k, const char *text)
{
	if (k->type == CFG_BOOL && !strcmp(text, "true"))
		return json_true();
	if (k->type == CFG_BOOL && !strcmp(text, "false"))
		return json_false();
	if (k->type == CFG_ENUM && cl_all_in(text, CL_LOWER "-"))
		return json_string(text);
	return NULL;
}

json_t *cfg_value_default(const struct cfg_key *k, const char *text)
{
	json_t *plain = text ? plain_default(k, text) : NULL;
	cleanup_free char *yaml = NULL;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	if (plain)
		return plain;
	if (!text)
		return k->type == CFG_STRS || k->type == CFG_INTS ? json_array() : NULL;
	yaml = cl_asprintf("v: %s\n", text);
	if (cl_doc_parse(&d, CL_DOC_YAML, "default", yaml, strlen(yaml), NULL, &e))
		return NULL;
	return cfg_value_read(&d, d.root, "v", k, &e);
}
