/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/part.h"
#include "base/doc.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "cli/cli.h"

#include <string.h>

static int failed(const char *program, const char *verb, const struct sys_run *r, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free char *first = sys_first_line(&r->err);

	if (!cl_doc_parse(&d, CL_DOC_JSON, program, r->err.p, r->err.len, NULL, e))
		return cl_err_from_json(d.root, e);
	return cl_fail(
		e, CL_EBUG, "%s %s ended with status %d: %s", program, verb, r->status, first);
}

int work_part_run(struct sys_run *r, char *const argv[], const char *verb, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling(argv[0]);

	r->spawn.path = path;
	r->spawn.argv = argv;
	r->spawn.new_session = true;
	if (sys_run(r, e))
		return -1;
	return r->status ? failed(argv[0], verb, r, e) : 0;
}

int work_part_ask(struct sys_run *r, char *const argv[], const char *verb, const char *text,
	json_t **out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	r->spawn.die_with_parent = true;
	r->input = text;
	r->input_len = strlen(text);
	if (work_part_run(r, argv, verb, e) ||
		cl_doc_parse(&d, CL_DOC_JSON, argv[0], r->out.p, r->out.len, NULL, e))
		return -1;
	*out = json_incref(d.root);
	return 0;
}
