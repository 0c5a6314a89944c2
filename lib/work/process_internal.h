/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CL_WORK_PROCESS_INTERNAL_H
#define CL_WORK_PROCESS_INTERNAL_H

#include "store/run.h"
#include "sys/cgroup.h"
#include "work/process.h"
#include "work/shim/shim.h"

#include <sys/stat.h>

/* One workload, from its spec or its row to its end. */
struct process {
	const struct process_ask *ask; /* NULL when adopting */
	char handle[STORE_HANDLE_ID];
	char *mark;    /* "CLOOP_HANDLE=c-..." */
	char *project; /* resolved */
	int project_fd;
	struct stat as; /* whom it runs as, with as_owner */
	struct cg cg;
	struct cg_oom oom;
	bool has_cg;
	pid_t supervisor; /* whose orphans are ours; 0: those of another one went to init */
};

/* process_check.c: true when we may make control groups here; *cg is opened. */
bool process_cgroup(struct cg *cg);

/* process_run.c: the driver's functions for the shim. */
extern const struct shim_driver process_driver;

#endif
