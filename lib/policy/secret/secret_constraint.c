/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/secret/secret_constraint.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>

void sec_constraints_release(struct sec_constraints *c)
{
	for (int l = 0; l < SEC_NLISTS; l++)
		cl_strv_release(&c->list[l]);
	*c = SEC_CONSTRAINTS_INIT;
}

struct sec_constraints sec_constraints_copy(const struct sec_constraints *c)
{
	struct sec_constraints to = {.writable = c->writable};

	for (int l = 0; l < SEC_NLISTS; l++)
		for (size_t i = 0; i < c->list[l].n; i++)
			cl_strv_add(&to.list[l], c->list[l].v[i]);
	return to;
}

static int invalid(struct cl_err *e)
{
	return cl_slug(e, "invalid_constraint");
}

static int add_one(struct sec_constraints *c, enum sec_list l, const char *text, struct cl_err *e)
{
	cleanup_free char *entry = cl_trim_dup(text);
	struct cl_strv *to = &c->list[l];

	if (!*entry) {
		(void)cl_fail(e, CL_EDATA, "%s has an empty entry", sec_lists[l].flag);
		(void)invalid(e);
		return cl_fix(e, "leave the flag out, or write '*' for everything");
	}
	if (cl_strv_has(to, entry))
		return 0;
	if (to->n == sec_lists[l].max) {
		(void)cl_fail(e, CL_EDATA, "%s has more than %zu entries", sec_lists[l].flag,
			sec_lists[l].max);
		(void)invalid(e);
		return cl_fix(e, "use patterns with '*', or make several grants");
	}
	cl_strv_add(to, entry);
	return 0;
}

int sec_constraints_add(
	struct sec_constraints *c, enum sec_list l, const char *text, struct cl_err *e)
{
	cleanup_strv struct cl_strv parts = CL_STRV_INIT;

	cl_split(text, ',', &parts);
	for (size_t i = 0; i < parts.n; i++)
		if (add_one(c, l, parts.v[i], e))
			return -1;
	return 0;
}

int sec_constraints_read(
	struct cl_doc *d, json_t *obj, struct sec_constraints *out, struct cl_err *e)
{
	const char *known[SEC_NLISTS + 1];

	for (int l = 0; l < SEC_NLISTS; l++)
		known[l] = sec_lists[l].key;
	known[SEC_NLISTS] = "writable";
	if (cl_doc_closed(d, obj, "constraints", known, SEC_NLISTS + 1, e) ||
		cl_doc_bool(d, obj, "writable", &out->writable, e))
		return invalid(e);
	for (int l = 0; l < SEC_NLISTS; l++) {
		cleanup_strv struct cl_strv entries = CL_STRV_INIT;

		if (cl_doc_strv(d, obj, sec_lists[l].key, 0, &entries, e))
			return invalid(e);
		for (size_t i = 0; i < entries.n; i++)
			if (add_one(out, (enum sec_list)l, entries.v[i], e))
				return -1;
	}
	return 0;
}

json_t *sec_constraints_json(const struct sec_constraints *c)
{
	json_t *j = json_object();

	for (int l = 0; l < SEC_NLISTS; l++) {
		json_t *a;

		if (!c->list[l].n)
			continue;
		a = json_array();
		for (size_t i = 0; i < c->list[l].n; i++)
			(void)json_array_append_new(a, cl_json_string(c->list[l].v[i]));
		(void)json_object_set_new(j, sec_lists[l].key, a);
	}
	if (c->writable)
		(void)json_object_set_new(j, "writable", json_true());
	return j;
}

char *sec_constraints_canonical(const struct sec_constraints *c)
{
	json_t *j = sec_constraints_json(c);
	char *text = cl_json_text(j);

	json_decref(j);
	return text;
}

void sec_constraints_summary(const struct sec_constraints *c, struct cl_buf *out)
{
	size_t start = out->len;

	for (int l = 0; l < SEC_NLISTS; l++) {
		cleanup_strv struct cl_strv sorted = CL_STRV_INIT;

		if (!c->list[l].n)
			continue;
		for (size_t i = 0; i < c->list[l].n; i++)
			cl_strv_add(&sorted, c->list[l].v[i]);
		cl_strv_sort(&sorted);
		for (size_t i = 0; i < sorted.n; i++) {
			if (i)
				cl_buf_addc(out, '|');
			else
				cl_buf_addf(out, "%s%s=", out->len > start ? " " : "",
					sec_lists[l].label);
			cl_buf_adds(out, sorted.v[i]);
		}
	}
	if (c->writable)
		cl_buf_adds(out, out->len > start ? " writable" : "writable");
	if (out->len == start)
		cl_buf_adds(out, "none");
}
