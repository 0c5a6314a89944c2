/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sandbox_cmd.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void operands(const struct cl_ctx *c, struct cl_strv *out)
{
	cl_list(c, "project", out);
	for (size_t i = 0; i < c->noperands; i++)
		cl_strv_add(out, c->operands[i]);
	if (!out->n)
		cl_strv_add(out, ".");
}

static void report(const char *format, const struct sbx_target *t, size_t n)
{
	if (!strcmp(format, "sarif")) {
		sbx_report_sarif(t, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(format, "json"))
			sbx_report_json(&t[i]);
		else if (!strcmp(format, "github"))
			sbx_report_github(&t[i]);
		else
			sbx_report_text(&t[i]);
	}
}

/* 65 before 1 before 0. */
static int status(const struct sbx_target *t, size_t n, bool strict)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		if (t[i].invalid)
			return 65;
		if (strict && t[i].spec.nnotes)
			rc = 1;
	}
	return rc;
}

int sbx_check(struct cl_ctx *c, struct cl_err *e)
{
	const char *format = c->json ? "json" : cl_str_or(c, "format", "text");
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	struct sbx_target *t;
	size_t n = 0;
	int rc, unreadable = 0;

	if (c->json && cl_given(c, "format") && strcmp(cl_str(c, "format"), "json") != 0)
		return cl_usage(
			c, e, "--json and --format %s exclude each other", cl_str(c, "format"));
	operands(c, &names);
	t = cl_calloc(names.n, sizeof(*t));
	/* A file that cannot be read is told at once; the others are still checked. */
	for (size_t i = 0; i < names.n; i++) {
		t[n] = SBX_TARGET_INIT;
		if (!sbx_load(names.v[i], &t[n], e)) {
			n++;
			continue;
		}
		sbx_target_release(&t[n]);
		unreadable = cl_err_exit(e);
		if (names.n > 1)
			cl_err_print(c->spec->name, c->json, e);
	}
	report(format, t, n);
	rc = status(t, n, cl_flag(c, "strict"));
	for (size_t i = 0; i < n; i++)
		sbx_target_release(&t[i]);
	free(t);
	if (unreadable && names.n == 1)
		return -1;
	return unreadable ? unreadable : rc;
}
