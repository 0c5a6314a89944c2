/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/begin.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/cli.h"
#include "sys/clock.h"
#include "sys/diskwalk.h"

static char *dup_or_null(const char *s)
{
	return s && *s ? cl_strdup(s) : NULL;
}

void work_begin_row(const struct work_spec *s, const char *driver, const char *handle,
	const char *project, const struct rundir *rd, struct shim_job *sj)
{
	struct store_handle *row = &sj->row;

	row->id = cl_strdup(handle);
	row->run_id = dup_or_null(s->run_id);
	row->executor_id = cl_strdup(s->executor->id);
	row->driver = cl_strdup(driver);
	row->project = cl_strdup(project);
	row->runtime_dir = cl_strdup(rd->dir);
	row->started_at = sys_now_ms();
	sj->started_mono = sys_mono_ms();
	row->deadline = s->timeout_ms ? row->started_at + s->timeout_ms : 0;
	row->disk_limit_mb = s->limits.v[SB_DISK];
	row->disk_limit_source = dup_or_null(s->disk_source);
	sj->pick = (struct sec_pick){
		s->has_devices ? &s->devices : NULL, s->has_interfaces ? &s->interfaces : NULL};
}

/*
 * facts 6.13: a workspace that is over its limit already does not start, and one that is
 * below the free-space floor would be stopped at once.
 */
int work_check_disk(
	const struct work_spec *s, const char *project, struct shim_job *sj, struct cl_err *e)
{
	struct diskwalk_want want = {.tree = project,
		.baseline = -1,
		.start = true,
		.deadline_ms = DW_START_DEADLINE_MS,
		.state_deadline_ms = DW_STATE_DEADLINE_MS};
	struct diskwalk_result r;
	int64_t mb = 0;

	sj->disk_used = -1;
	sj->row.disk_baseline = -1;
	if (s->min_free_mb > 0 && !disk_free_mb(project, &mb, e) && mb < s->min_free_mb) {
		(void)cl_fail(e, CL_EREFUSED,
			"the file system of '%s' has %lld MB free, below the floor of %lld MB",
			project, (long long)mb, (long long)s->min_free_mb);
		(void)cl_constraint(e, "disk_floor");
		return cl_fix(e, "free some space, or lower orchestrator.min_free_disk_mb");
	}
	if (!s->limits.v[SB_DISK])
		return 0;
	if (diskwalk_run(&want, &r, e))
		return cl_wrap(e, "the workspace cannot be measured");
	if (dw_check_start(project, r.bytes, r.partial, s->limits.v[SB_DISK], s->disk_source, e))
		return -1;
	sj->disk_used = r.partial ? -1 : r.bytes;
	sj->row.disk_baseline = r.state;
	return 0;
}

void work_print_handle(const struct store_handle *h, json_t *lease)
{
	char at[32];

	cl_format_time(h->started_at / 1000, at);
	cl_take_json(json_pack("{s:s, s:s, s:s, s:s, s:O*}", "handle_id", h->id, "executor_id",
		h->executor_id, "external_id", h->external_id ? h->external_id : "", "started_at",
		at, "lease", lease));
}
