/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a live workload's things are: BASE/w/HANDLE (0700), on a file system that is
 * empty after a boot. BASE is /run/cloop for root. What must outlive a boot is in the
 * hub's directory.
 */
#ifndef CL_WORK_RUNDIR_H
#define CL_WORK_RUNDIR_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

#define RUNDIR_ROOT_BASE "/run/cloop"

struct rundir {
	char *base;                   /* "/run/cloop" */
	char *dir;                    /* "<base>/w/c-0123456789ab" */
	char *out, *err;              /* FIFOs of the workload's output */
	char *exit;                   /* cloop-init writes the exit status here */
	char *sock;                   /* the shim's control socket */
	char *cid, *pid, *conmon_pid; /* what the engine writes */
	char *stage;                  /* what is bound into the sandbox */
	char *job;                    /* what a later shim needs to adopt */
	char *lease;                  /* what the run was lent: work/lease/delivery.h */
};

/* The paths of a handle; nothing is touched. Release it. */
void rundir_init(struct rundir *r, const char *base, const char *handle);
void rundir_release(struct rundir *r);
#define cleanup_rundir __attribute__((cleanup(rundir_release)))

/*
 * Makes the folders, the FIFOs (owned by uid so that the workload can open /dev/stdout
 * again) and the exit file. CL_EOS; a leftover of the same handle is CL_EBUSY.
 */
int rundir_make(const struct rundir *r, uid_t uid, struct cl_err *e);
/* Removes all of it; what is absent or foreign is left. */
void rundir_remove(const struct rundir *r);

/*
 * Opens a FIFO for reading without waiting for a writer, and once more for both, so
 * that neither side sees an end while the other is away. Both are close-on-exec.
 */
int rundir_open_fifo(const char *path, int *reader, int *keeper, struct cl_err *e);

/* The status cloop-init wrote, 0-255; false when it has not. */
bool rundir_exit_status(const struct rundir *r, int *status);
/* A decimal number in a small file, such as a pid; 0 when there is none. */
pid_t rundir_read_pid(const char *path);

#endif
