/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the name of an OCI runtime (containers) or of a runtime class (Kubernetes) says
 * about the kernel a workload gets: facts/executors.md 3. A name is a claim, which
 * preflight and the isolation probe test; an unknown name claims nothing.
 */
#ifndef CL_POLICY_RUNTIME_NAME_H
#define CL_POLICY_RUNTIME_NAME_H

#include "base/err.h"

#include <stdbool.h>

#define RN_MAX 64

/* All three ignore case and blanks around; NULL is the engine's default and claims nothing. */
bool rn_virtualized(const char *name);      /* Kata: a guest kernel behind a hypervisor */
bool rn_userspace_kernel(const char *name); /* gVisor: the Sentry serves system calls */
bool rn_kernel_isolated(const char *name);  /* either */

/*
 * The shape of a configured name: 1-64 of [A-Za-z0-9._-], no leading dash. It is looked
 * up in the engine's own table and is never a path. CL_ECONFIG.
 */
int rn_check(const char *name, struct cl_err *e);

/*
 * What there is to say of a name that the engine may well have registered: -1 with a message
 * and a fix (to be shown as a warning) when it looks like a slip of one that is well known.
 */
int rn_near(const char *name, struct cl_err *e);

#endif
