/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that carry the mark of a workload which is over: what ran on without a control
 * group when its supervisor was killed. Only what our own rows say is ended, and for longer
 * than a supervisor takes to clean up behind it; whatever is not certain is left alone.
 */
#include "work/process.h"
#include "base/mem.h"
#include "store/run.h"
#include "sys/clock.h"
#include "sys/kin.h"

#include <string.h>

#define GRACE_MS 60000 /* between the row's end and our turn */
#define KILL_MS  5000

/* True when the handle is of this driver, over, and nobody is at it any more. */
static bool is_over(struct store *store, const char *handle, const char *driver)
{
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;
	struct cl_err e;

	if (strlen(handle) != STORE_HANDLE_ID - 1 || store_handle_get(store, handle, &h, &e) ||
		strcmp(h.state, "ended") != 0 || strcmp(h.driver, driver) != 0)
		return false;
	/* A clock that was set back makes it young again, which errs towards leaving it. */
	return sys_now_ms() - h.ended_at >= GRACE_MS &&
	       !sys_same_process(
		       (pid_t)h.shim_pid, (uint64_t)h.shim_start, h.boot_id ? h.boot_id : "");
}

int process_reap(
	const char *hub, const char *driver, json_t *removed, json_t *failed, struct cl_err *e)
{
	cleanup_free char *state = cl_asprintf("%s/.cloop/state.db", hub);
	cleanup_strv struct cl_strv handles = CL_STRV_INIT;
	cleanup_store struct store *store = NULL;

	if (store_open(state, STORE_RO, &store, e) || sys_kin_values(PROCESS_MARK, &handles, e))
		return -1;
	for (size_t i = 0; i < handles.n; i++) {
		cleanup_free char *mark = cl_asprintf(PROCESS_MARK "=%s", handles.v[i]);

		if (!is_over(store, handles.v[i], driver))
			continue;
		if (sys_kin_kill(mark, 0, KILL_MS, e))
			(void)json_array_append_new(
				failed, json_pack("{s:s, s:s, s:s}", "kind", "process", "name",
						handles.v[i], "error", e->msg));
		else
			(void)json_array_append_new(
				removed, json_pack("{s:s, s:s, s:s}", "kind", "process", "name",
						 handles.v[i], "why", "its workload is over"));
	}
	return 0;
}
