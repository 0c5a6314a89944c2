/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/part.h"
#include "base/doc.h"
#include "base/err_json.h"
#include "base/mem.h"

int work_part_failed(
	const char *program, const char *verb, const struct sys_run *r, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free char *first = sys_first_line(&r->err);

	if (!cl_doc_parse(&d, CL_DOC_JSON, program, r->err.p, r->err.len, NULL, e))
		return cl_err_from_json(d.root, e);
	return cl_fail(
		e, CL_EBUG, "%s %s ended with status %d: %s", program, verb, r->status, first);
}
