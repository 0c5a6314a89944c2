/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CLOOP_RUN_EVIDENCE_H
#define CLOOP_RUN_EVIDENCE_H

#include "run.h"
#include "work/isolation.h"

/* What a candidate's evidence points to; zero is none. */
struct run_evidence {
	struct store_isolation row;
	char at[32];
};
void run_evidence_release(struct run_evidence *v);

/*
 * Puts the evidence of executor x into its candidate, where the run asks for an isolation that x
 * claims. With `take`, evidence that is missing or no longer holds is taken now, which starts a
 * sandbox; a probe that cannot run leaves the claim unverified.
 */
int run_evidence(struct cl_ctx *c, const struct run_plan *p, const struct pl_query *q,
	const struct cfg_executor *x, bool take, struct run_evidence *v,
	struct pl_candidate *candidate, struct cl_err *e);

#endif
