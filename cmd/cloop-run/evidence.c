/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the isolation probe found of an executor, where a run relies on it. */
#include "run.h"
#include "evidence.h"

void run_evidence_release(struct run_evidence *v)
{
	store_isolation_release(&v->row);
}

/* Only what is asked for and claimed is evidence needed of. */
static bool relies(const struct pl_query *q, const struct pl_candidate *c)
{
	return pl_asked(q, PL_EVIDENCE) &&
	       (c->caps.bits & (CAP_BIT(CAP_VIRTUALIZED) | CAP_BIT(CAP_KERNEL_ISOLATED)));
}

int run_evidence(struct cl_ctx *c, const struct run_plan *p, const struct pl_query *q,
	const struct cfg_executor *x, bool take, struct run_evidence *v,
	struct pl_candidate *candidate, struct cl_err *e)
{
	const struct isolation_ask ask = {
		.store = p->store, .hub_dir = p->hub.dir, .doc = &p->cfg_doc, .executor = x};
	const char *due = NULL;
	struct iso_answer answer;
	bool found = false;

	if (!relies(q, candidate))
		return 0;
	store_isolation_release(&v->row);
	if (isolation_read(&ask, &v->row, &found, e))
		return -1;
	if (isolation_due(&ask, found ? &v->row : NULL, &due) && take) {
		store_isolation_release(&v->row);
		cl_say(c, "probing the isolation of %s: %s", x->id, due);
		if (isolation_take(&ask, 0, &v->row, &answer, e))
			return -1;
		found = true;
		due = NULL;
	}
	if (found)
		isolation_apply(&v->row, due, v->at, candidate);
	return 0;
}
