/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pass of the janitors over what a hub has live (DECISIONS D13): adopt first, then
 * settle what can only be lost, then collect what belongs to nobody.
 */
#ifndef CL_WORK_SWEEP_H
#define CL_WORK_SWEEP_H

#include "base/buf.h"
#include "store/run.h"

/* What the pass is for, and what it did. */
struct sweep {
	const char *hub_dir;
	const char *state_path;
	const char *log_dir;
	const char *run_base;
	bool collect; /* also look for what ended workloads have left (slower) */
	/* out */
	size_t live, adopted, lost, collected;
	struct cl_strv notes; /* one line for each thing done */
};

/* Handles that are live with a dead shim are adopted; runs that never got anywhere end. */
int sweep_pass(struct sweep *s, struct cl_err *e);
void sweep_release(struct sweep *s);

/*
 * How long a run may be starting without a workload, and logs and blocked destinations are
 * kept. Milliseconds.
 */
#define SWEEP_STARTING_MS (5 * 60 * 1000LL)
#define SWEEP_LOGS_MS     (14 * 24 * 3600 * 1000LL)
#define SWEEP_BLOCKED_MS  (30 * 24 * 3600 * 1000LL)

#endif
