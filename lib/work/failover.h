/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs whose executor is lost (guide "Failover"; facts/hub.md 11). store/session.h decides, once
 * over all processes; what follows is here: the lost workload is ended, what it was lent is taken
 * back, and `cloop run --replaces` starts the run again wherever placement sends it, never on a
 * restricted executor or on the hub's own host (DECISIONS D8).
 *
 * Whoever dies on the way leaves a session that says how far it came, and the next pass goes on.
 */
#ifndef CL_WORK_FAILOVER_H
#define CL_WORK_FAILOVER_H

#include "policy/config/config.h"
#include "store/session.h"

/* How long a replacement may take to begin: nothing waits longer for one. Milliseconds. */
#define FAILOVER_MS (5 * 60 * 1000LL)
/* The session is being started again by somebody: others leave it alone that long. */
#define FAILOVER_TRY_MS (2 * 60 * 1000LL)

struct failover {
	const char *hub_dir, *run_base;
	const struct cfg *cfg; /* NULL: not known, and then nothing is claimed or started */
	const char *executor;  /* only of this one; NULL: of every one that is unreachable */
	int stop; /* of sys_end_signals: told to end, the pass begins nothing more; -1 */
	/* out */
	struct cl_strv notes;    /* one line for each thing done */
	struct cl_strv troubles; /* what could not be done; the pass went on */
};
#define FAILOVER_INIT \
	((struct failover){.stop = -1, .notes = CL_STRV_INIT, .troubles = CL_STRV_INIT})
void failover_release(struct failover *f);
#define cleanup_failover __attribute__((cleanup(failover_release)))

/* executors.failover.max_attempts: 0 to 10. cfg NULL: its default. */
int64_t failover_cap(const struct cfg *cfg);

/*
 * Claims what runs on executors that are unreachable, starts again what is requeued, and gives up
 * what nothing replaced within FAILOVER_MS. Waits for each start, a minute at most; one that takes
 * longer, or that is under way when the pass is told to end, goes on without it.
 */
void failover_pass(struct failover *f, struct store *s);

/*
 * requeued -> failed, with the journal's and the audit's rows: nothing replaces it, because of
 * `why`. *won: this caller did it.
 */
int failover_give_up(struct store *s, const struct store_session *r, int64_t before,
	const char *why, int64_t now, bool *won, struct cl_err *e);

#endif
