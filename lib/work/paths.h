/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a command that handles workloads takes from its environment, in one place. */
#ifndef CL_WORK_PATHS_H
#define CL_WORK_PATHS_H

#include "base/buf.h"
#include "store/run.h"
#include "sys/hub.h"
#include "work/rundir.h"

/* Where runtime folders are: CLOOP_RUN_DIR, else /run/cloop for root, else below
 * XDG_RUNTIME_DIR, else below /tmp with the uid. Owned. */
char *work_run_base(void);
/* That of a workload: where it was started, whatever the caller's is. Owned. */
char *work_base_of(const struct store_handle *h);
/*
 * The paths of a workload below that. One that has no row, or whose row does not say, is looked for
 * below else_base; NULL: the caller's own. Release *out.
 */
void work_rundir_of(struct store *s, const char *handle, const char *else_base, struct rundir *out);
/* The hub's folder of workload logs; owned. */
char *work_log_dir(const struct hub *h);
/*
 * The closed environment of drivers and engine clients: PATH as ours is fixed, and the
 * variables that say where an engine and its storage are, where those are set here. Add
 * to *out, NULL-terminated in out->v.
 */
void work_engine_env(struct cl_strv *out);

#endif
