/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Workloads that are processes of this host: what cloop-exec-local runs for its users, and
 * cloop-supervise for drivers that have no supervisor of their own. cloop-init is the first
 * process; it, the pipes and the log are as for containers, so that output and exit status
 * outlive the supervisor.
 *
 * Who a workload is: pid, start time and boot id of its first process, written down before
 * anything of it runs, and a pidfd from then on. With a control group it is also all that is
 * in there; without one, what carries CLOOP_HANDLE or fell to its supervisor (sys/kin.h).
 */
#ifndef CL_WORK_PROCESS_H
#define CL_WORK_PROCESS_H

#include "work/spec.h"

struct process_ask {
	const struct work_spec *spec;
	const char *driver; /* of the handle's row */
	char *const *argv;  /* NULL-terminated; NULL: the spec's */
	/* As the project's owner with an environment of that account's and no new privileges; else
	 * as ourselves, with our own. */
	bool as_owner;
};

/* Starts it under a supervisor and prints its handle. */
int process_start(const struct process_ask *a, struct cl_err *e);

/* The verb `adopt`: {"handle","hub"} from standard input. */
int process_adopt(struct cl_err *e);

/* True when limits of memory, processors and processes would hold here. */
bool process_limits(void);

/*
 * What no process can be held to is refused, with the field as constraint: an image, setup,
 * mounts, a network that is off or filtered, limits without control groups.
 */
int process_check(const struct work_spec *s, struct cl_err *e);
/* Only the last of these: what the supervisor itself enforces. */
int process_check_limits(const struct work_spec *s, struct cl_err *e);

/*
 * Ends what the ended workloads of one driver have left running on this host, as
 * {kind, name, why} in `removed`, {kind, name, error} in `failed`.
 */
int process_reap(
	const char *hub, const char *driver, json_t *removed, json_t *failed, struct cl_err *e);

/* Variable by which the processes of a workload are known. */
#define PROCESS_MARK "CLOOP_HANDLE"

#endif
