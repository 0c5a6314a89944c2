/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One guardian a hub (DECISIONS D13): while anything is live it makes a pass of every
 * janitor each 30 seconds, and it leaves when nothing is. A lock file makes it one.
 */
#ifndef CL_WORK_GUARDIAN_H
#define CL_WORK_GUARDIAN_H

#include "base/err.h"

#include <stdbool.h>

/* The lock file below the hub's directory. */
#define GUARDIAN_LOCK ".cloop/guardian.lock"

/*
 * Makes sure that one runs for the hub: starts `cloop-sweep --guardian` as a process of its
 * own session with a closed environment, unless the lock is taken. `envp` is what it
 * needs to reach the engine (NULL-terminated, borrowed).
 */
int guardian_ensure(const char *hub_dir, char *const *envp, struct cl_err *e);
/* Takes the lock for this process until it ends: *got false when another has it. */
int guardian_lock(const char *hub_dir, bool *got, int *fd, struct cl_err *e);
/* The same with another lock file below the hub's directory. */
int work_lock(const char *hub_dir, const char *file, bool *got, int *fd, struct cl_err *e);

#endif
