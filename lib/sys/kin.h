/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that belong together where no cgroup says so: those that carry a mark in the
 * environment they were started with (proc_pid_environ(5)), and those that fell to a
 * supervisor that adopts orphans. A process that drops the mark and outlives its supervisor
 * is not found: that is the limit of it.
 */
#ifndef CL_SYS_KIN_H
#define CL_SYS_KIN_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * Kills each process that has the variable `mark` ("NAME=VALUE") in its environment, and with
 * `parent` (0: none) each child of that process but those that run our own executable, again
 * and again until there is none or timeout_ms is over. A process is only signalled through a
 * pidfd that was opened before it was looked at. Never ourselves. CL_EBUSY with the number of
 * those left.
 */
int sys_kin_kill(const char *mark, pid_t parent, int64_t timeout_ms, struct cl_err *e);

/* The values of the variable `name` over all processes, each once. */
int sys_kin_values(const char *name, struct cl_strv *out, struct cl_err *e);

#endif
