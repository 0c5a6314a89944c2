/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the start of a workload is made of, whatever kind it is. */
#ifndef CL_WORK_BEGIN_H
#define CL_WORK_BEGIN_H

#include "work/shim/shim.h"
#include "work/spec.h"

/*
 * What the row of sj says of a workload of any kind, from now on; its driver adds what is its
 * own: container, network, cgroup, meta.
 */
void work_begin_row(const struct work_spec *s, const char *driver, const char *handle,
	const char *project, const struct rundir *rd, struct shim_job *sj);
/*
 * Sets disk_used and row.disk_baseline of sj from the workspace at `project`. CL_EREFUSED with
 * constraint disk_floor or disk_limit when it is too full to start.
 */
int work_check_disk(
	const struct work_spec *s, const char *project, struct shim_job *sj, struct cl_err *e);
/*
 * {handle_id, executor_id, external_id, started_at, lease}: what `start` answers. `lease` as
 * shim_start has it, borrowed.
 */
void work_print_handle(const struct store_handle *h, json_t *lease);

#endif
