/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A rehearsal of taking back what a run is lent (DECISIONS C14): values that were made up for it
 * are lent to a real workload on an executor and revoked under it, and it is measured how long
 * each of them lives on. It works in a hub of its own, with a key of its own, so that nothing of
 * it was ever in the caller's; what is left of one that was killed goes with the next, or with a
 * sweep.
 */
#ifndef WORK_DRILL_H
#define WORK_DRILL_H

#include "base/doc.h"
#include "policy/config/config.h"

#include <signal.h>

#define DRILL_PARTS       5
#define DRILL_DEADLINE_MS 10000

struct drill_ask {
	const struct cl_doc *cfg; /* the document that x was read from */
	const struct cfg_executor *x;
	int64_t deadline_ms; /* how long each may live after it was revoked; 0: DRILL_DEADLINE_MS */
	const volatile sig_atomic_t *stop; /* given up soon after it is not 0; NULL: never */
};

/* One material. */
struct drill_part {
	const char *what;  /* "file", "helper", "kubeconfig", "registry", "env"; static */
	const char *where; /* for people; static */
	bool dead;         /* gone from the workload within the deadline */
	bool early;        /* already when something before it was revoked: more went than had to */
	int64_t ms;    /* from the revocation to the workload's seeing it; 0: early, -1: never */
	bool answered; /* and its holder said so: `revoked`, as for any lease */
};
struct drill_result {
	struct drill_part v[DRILL_PARTS]; /* in the order in which they were revoked */
	bool dead;                        /* all of them, and answered */
	int64_t worst_ms;                 /* of those that died */
};

/*
 * Takes a few seconds; the workload needs a `sh` in the executor's image, and gets no network.
 * 0: see out->dead. -1: there was nothing to measure: the executor could not run it, or (with a
 * constraint) its driver takes no credential.
 */
int drill_revoke(const struct drill_ask *a, struct drill_result *out, struct cl_err *e);

/* Ends and removes drills that were killed; returns how many. */
size_t drill_remove_dead(void);

#endif
