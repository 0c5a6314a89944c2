/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the end of a workload means, and writing it down. */
#include "work/shim/shim_internal.h"
#include "base/mem.h"
#include "store/audit.h"
#include "store/counter.h"
#include "store/journal.h"
#include "sys/clock.h"
#include "work/blocked.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/*
 * facts/executors.md 6.10: out of memory first, then the cause we recorded before we
 * killed, then what the status says. A cause counts only when the status fits it: a
 * workload that ended by itself a moment before is not made a victim.
 */
static void judge(struct shim *s)
{
	int st = s->status;

	if (s->oom && st == 128 + SIGKILL && !s->killing) {
		s->outcome = OUTCOME_OOM;
		(void)snprintf(s->error, sizeof(s->error), "it used up its memory limit");
	} else if (s->has_cause && (st == 128 + SIGKILL || st == 128 + SIGTERM || st < 0)) {
		s->outcome = s->cause;
		(void)snprintf(s->error, sizeof(s->error), "%s", s->cause_text);
	} else if (st < 0) {
		s->outcome = OUTCOME_LOST;
		(void)snprintf(s->error, sizeof(s->error), "nobody saw how it ended");
	} else if (st > 128 && st <= 164) {
		s->outcome = OUTCOME_KILLED;
		(void)snprintf(s->error, sizeof(s->error), "signal %d ended it", st - 128);
	} else if (st >= 125 && st <= 127) {
		static const char *const why[] = {"it could not be run",
			"the command cannot be executed", "there is no such command"};

		s->outcome = OUTCOME_FAILED;
		(void)snprintf(s->error, sizeof(s->error), "%s", why[st - 125]);
	} else {
		s->outcome = OUTCOME_EXITED;
	}
}

int shim_record_start(struct shim *s, struct cl_err *e)
{
	static const char *const columns[] = {
		"external_id", "bridge", "address", "address6", "unrecorded_before", NULL};
	const struct store_handle *row = &s->job.row;
	bool won = true, first = !s->due.start;

	s->due.start = 0;
	if (!store_handle_set(s->store, row, columns, e) &&
		(!row->run_id || !store_run_started(
					 s->store, row->run_id, row->id, sys_now_ms(), &won, e))) {
		if (won)
			return 0;
		(void)cl_fail(e, CL_EUNAVAIL, "%s was given up while it was starting", row->run_id);
		return cl_fix(e, "run it again; if it is so each time, the machine is too slow");
	}
	if (first)
		shim_note(s, "store", "the start could not be recorded yet: %s", e->msg);
	s->due.start = sys_mono_ms() + 1000;
	return 0;
}

/*
 * What it was refused, before anybody learns that it has ended and before its network goes.
 * False when the store was busy.
 */
static bool settle_blocked(struct shim *s)
{
	struct cl_err e;

	if (s->settled || !blocked_settle(s->store, &s->job.row, s->job.run_base, &e)) {
		s->settled = true;
		return true;
	}
	if (e.code == CL_EBUSY)
		return false;
	shim_note(s, "egress", "what it was refused could not be recorded: %s", e.msg);
	s->settled = true;
	return true;
}

/* False when the store was busy. */
static bool write_down(struct shim *s)
{
	const struct store_handle *row = &s->job.row;
	const char *text = s->error[0] ? s->error : NULL;
	json_t *detail;
	struct store_audit_row audit = {
		"shim", "run.finish", "run", row->run_id, row->project, NULL};
	struct cl_err e;
	bool won = false;

	if (!settle_blocked(s))
		return false;
	if (!row->run_id)
		return true;
	if (s->due.start)
		(void)shim_record_start(s, &e);
	if (store_run_finished(
		    s->store, row->run_id, s->outcome, s->status, text, sys_now_ms(), &won, &e))
		return false;
	if (!won)
		return true;
	detail = json_pack(
		"{s:s, s:i}", "outcome", store_outcome_name(s->outcome), "exit_code", s->status);
	audit.detail = detail;
	(void)store_audit_add(s->store, sys_now_ms(), &audit, &e);
	(void)store_counter_add(
		s->store, "cloop_runs_total", store_outcome_name(s->outcome), 1, &e);
	if (text)
		(void)store_journal_add(s->store, sys_now_ms(), row->project, row->run_id,
			store_outcome_name(s->outcome), text, NULL, &e);
	json_decref(detail);
	return true;
}

void shim_record(struct shim *s)
{
	if (s->recorded)
		return;
	if (!s->judged && s->driver->out_of_memory(s->arg))
		s->oom = true;
	if (!s->judged)
		judge(s);
	s->judged = true;
	s->recorded = write_down(s);
	s->due.record = s->recorded ? 0 : sys_mono_ms() + 1000;
}

bool shim_end_row(struct shim *s)
{
	struct cl_err e;
	bool won;

	return !store_handle_end(s->store, s->job.row.id, sys_now_ms(), &won, &e);
}

json_t *shim_ended_json(const struct shim *s)
{
	json_t *j = json_pack("{s:s, s:s, s:i}", "state", "finished", "outcome",
		store_outcome_name(s->outcome), "exit_code", s->status);
	int lost = s->out ? pump_error(s->out) : 0;

	if (s->error[0])
		(void)json_object_set_new(j, "error", json_string(s->error));
	/* One that ended before it could be stopped for it. */
	else if (lost && lost != EPIPE && lost != ECONNRESET)
		(void)json_object_set_new(j, "output_error", json_string(strerror(lost)));
	return json_pack("{s:o}", "ended", j);
}
