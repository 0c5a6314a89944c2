/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/err_json.h"
#include "base/mem.h"

#include <limits.h>
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

static const char *text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

/* A line or column; what is no such number is unknown. */
static unsigned place(const json_t *j, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(j, key));

	return n > 0 && n <= UINT_MAX ? (unsigned)n : 0;
}

/* Through the same functions as every error, so that the texts are masked on this way too. */
int cl_err_from_json(const json_t *j, struct cl_err *e)
{
	const json_t *in = json_object_get(j, "error");
	const char *kind, *code, *message;
	enum cl_code c;

	if (!in)
		in = j;
	kind = text(in, "kind");
	code = text(in, "code");
	message = text(in, "message");
	c = *kind || *code ? cl_code_of(*kind ? kind : code) : CL_EBUG;
	/* An error that calls itself fine must not become the exit status 0. */
	(void)cl_fail(
		e, c == CL_OK ? CL_EBUG : c, "%s", *message ? message : "failed without a reason");
	if (*code && strcmp(code, cl_err_slug(e)) != 0)
		(void)cl_slug(e, code);
	(void)cl_fix(e, "%s", text(in, "remediation"));
	(void)cl_constraint(e, text(in, "constraint"));
	(void)cl_rule(e, text(in, "rule"));
	return cl_at(e, text(in, "file"), place(in, "line"), place(in, "column"));
}
