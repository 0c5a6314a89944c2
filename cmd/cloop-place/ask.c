/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "place_cmd.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

/* A hundred thousand candidates with every key are less. */
#define MAX_BYTES ((size_t)256 << 20)

void place_ask_release(struct place_ask *a)
{
	pl_fixes_release(&a->fixes);
	pl_result_release(&a->result);
	pl_request_release(&a->request);
	cl_buf_release(&a->text);
}

int place_find(const struct place_ask *a, const char *id, size_t *which, struct cl_err *e)
{
	const struct pl_request *r = &a->request;
	cleanup_free const char **ids = cl_calloc(r->n + 1, sizeof(const char *));
	const char *near;

	for (*which = 0; *which < r->n; ++*which) {
		if (!strcmp(r->v[*which].executor_id, id))
			return 0;
		ids[*which] = r->v[*which].executor_id;
	}
	(void)cl_fail(e, CL_ENOTFOUND, "no candidate has the executor_id '%s'", id);
	near = cl_nearest(id, ids, r->n);
	return near ? cl_fix(e, "did you mean '%s'?", near)
		    : cl_fix(e, "'cloop place --all' lists the candidates of a request");
}

static int read_request(struct place_ask *a, const char *file, struct cl_err *e)
{
	if (!pl_request_read(strcmp(file, "-") != 0 ? file : "standard input", a->text.p,
		    a->text.len, &a->request, e))
		return 0;
	return e->fix[0] ? -1 : cl_fix(e, "write it as cloop-place(1) shows: man cloop-place");
}

int place_answer(struct cl_ctx *c, struct place_ask *a, struct cl_err *e)
{
	const char *file = cl_str_or(c, "request", "-"), *bound = cl_str(c, "bound");
	struct pl_request *r = &a->request;
	size_t which = 0;

	if (cl_read_file(file, MAX_BYTES, &a->text, e) || read_request(a, file, e) ||
		(bound && place_find(a, bound, &which, e)))
		return -1;
	pl_query_init(&a->query, &r->requirements, &r->policy);
	if (bound)
		pl_check(&a->query, r->v, r->n, which, &a->result);
	else
		pl_select(&a->query, r->v, r->n, r->nulls, &a->result);
	pl_fix(&a->query, r->v, r->n, &a->result, &a->fixes);
	return 0;
}
