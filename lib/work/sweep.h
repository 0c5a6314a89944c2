/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pass of the janitors over what a hub has (DECISIONS D13): adopt first, then settle what
 * can only be lost, then collect what belongs to nobody. Each janitor is a row of a table.
 * Passes may overlap, each other's included: what two could do at once is one conditional
 * UPDATE, and what is collected is asked for by its exact id in our own records.
 */
#ifndef CL_WORK_SWEEP_H
#define CL_WORK_SWEEP_H

#include "base/buf.h"
#include "base/doc.h"
#include "policy/config/config.h"
#include "store/run.h"

/* In the order in which they run. */
enum sweep_part {
	SWEEP_ADOPT,
	SWEEP_LEASES,
	SWEEP_SESSIONS,
	SWEEP_ORPHANS,
	SWEEP_STAGING,
	SWEEP_MOUNTS,
	SWEEP_NETWORKS,
	SWEEP_WORKTREES,
	SWEEP_EVIDENCE,
	SWEEP_IMAGES,
	SWEEP_NPARTS
};
#define SWEEP_BIT(p) (1U << (p))
#define SWEEP_ALL    (SWEEP_BIT(SWEEP_NPARTS) - 1)
/* What a command needs that waits for a workload. */
#define SWEEP_SETTLE (SWEEP_BIT(SWEEP_ADOPT) | SWEEP_BIT(SWEEP_SESSIONS))
/* What must not wait: a guardian does these at every pass, the others now and then. */
#define SWEEP_URGENT (SWEEP_SETTLE | SWEEP_BIT(SWEEP_LEASES))

const char *sweep_name(enum sweep_part p); /* "adopt" */
/* Names as bits; none at all is every part. CL_EUSAGE with all names. */
int sweep_parts(const struct cl_strv *names, unsigned *bits, struct cl_err *e);

/*
 * What a guardian does at `now`: everything, and *last is set, when every_ms have passed since
 * *last (0: never), else what must not wait. Milliseconds of sys_mono_ms.
 */
unsigned sweep_due(int64_t now, int64_t every_ms, int64_t *last);

/* What the pass is for, and what it did. */
struct sweep {
	const char *hub_dir;
	const char *state_path;
	const char *log_dir;
	const char *run_base;
	unsigned parts; /* bits of enum sweep_part */
	/* What is configured; NULL: not known, so that every executor counts as configured, and no
	 * driver is asked. */
	const struct cfg *cfg;
	const struct cl_doc *cfg_doc;
	/* out */
	size_t live, adopted, lost, collected;
	size_t waiting;          /* tokens that GitHub has not destroyed yet */
	struct cl_strv notes;    /* one line for each thing done */
	struct cl_strv troubles; /* what could not be done; the pass went on */
};

/* One pass. CL_EBUSY and the like only when the store could not be used at all. */
int sweep_pass(struct sweep *s, struct cl_err *e);
void sweep_release(struct sweep *s);

/* How long logs and blocked destinations are kept. Milliseconds. */
#define SWEEP_LOGS_MS    (14 * 24 * 3600 * 1000LL)
#define SWEEP_BLOCKED_MS (30 * 24 * 3600 * 1000LL)

/* Where `cloop executor test` puts its workload: sys/scratch.h. */
#define SMOKE_PREFIX "cloop-smoke."

#endif
