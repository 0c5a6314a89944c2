/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/err_json.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static json_t *text_or_replacement(const char *s)
{
	json_t *j = json_string(s);

	return j ? j : json_string("(not UTF-8)");
}

json_t *cl_err_json(const struct cl_err *e)
{
	const struct {
		const char *key, *text;
	} rows[] = {{"remediation", e->fix}, {"constraint", e->constraint}, {"rule", e->rule},
		{"file", e->file}};
	json_t *j = json_object();

	(void)json_object_set_new(j, "code", json_string(cl_err_slug(e)));
	(void)json_object_set_new(j, "kind", json_string(cl_err_kind(e)));
	(void)json_object_set_new(j, "message", text_or_replacement(e->msg));
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++)
		if (rows[i].text[0])
			(void)json_object_set_new(
				j, rows[i].key, text_or_replacement(rows[i].text));
	if (e->line)
		(void)json_object_set_new(j, "line", json_integer(e->line));
	if (e->column)
		(void)json_object_set_new(j, "column", json_integer(e->column));
	return json_pack("{s:o}", "error", j);
}

static void take(const json_t *j, const char *key, char *out, size_t size)
{
	const char *s = json_string_value(json_object_get(j, key));

	if (s)
		(void)snprintf(out, size, "%s", s);
}

int cl_err_from_json(const json_t *j, struct cl_err *e)
{
	const json_t *in = json_object_get(j, "error");
	const char *kind, *code;

	if (!in)
		in = j;
	kind = json_string_value(json_object_get(in, "kind"));
	code = json_string_value(json_object_get(in, "code"));
	(void)cl_fail(e,
		kind   ? cl_code_of(kind)
		: code ? cl_code_of(code)
		       : CL_EBUG,
		"%s", "failed without a reason");
	if (code && strcmp(code, cl_err_slug(e)) != 0)
		(void)cl_slug(e, code);
	take(in, "message", e->msg, sizeof(e->msg));
	take(in, "remediation", e->fix, sizeof(e->fix));
	take(in, "constraint", e->constraint, sizeof(e->constraint));
	take(in, "rule", e->rule, sizeof(e->rule));
	take(in, "file", e->file, sizeof(e->file));
	e->line = (unsigned)json_integer_value(json_object_get(in, "line"));
	e->column = (unsigned)json_integer_value(json_object_get(in, "column"));
	return -1;
}
