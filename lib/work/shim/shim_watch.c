/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deadline, grace period, free space: what is due when, and what happens then. */
#include "work/shim/shim_internal.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

void shim_watch_init(struct shim *s, bool adopting)
{
	const struct store_handle *row = &s->job.row;
	struct dw_sample start = {.at_ms = sys_mono_ms(), .bytes = s->job.disk_used};

	if (row->deadline)
		s->due.deadline = s->job.started_mono + (row->deadline - row->started_at);
	if (s->job.min_free_mb > 0)
		s->due.floor = sys_mono_ms();
	if (!row->disk_limit_mb)
		return;
	s->dw.limit = dw_limit_bytes(row->disk_limit_mb);
	if (!adopting && s->job.disk_used >= 0)
		dw_note_start(&s->dw, &start);
	s->due.disk = sys_mono_ms() + dw_wait_ms(&s->dw);
}

int shim_watch_fd(const struct shim *s)
{
	return s->walk ? diskwalk_fd(s->walk) : -1;
}

static void note_cause(struct shim *s, enum store_outcome cause, const char *text)
{
	struct cl_err e;
	bool won;

	if (s->has_cause)
		return;
	s->has_cause = true;
	s->cause = cause;
	(void)snprintf(s->cause_text, sizeof(s->cause_text), "%s", text);
	/* Before the signal: whoever adopts a workload killed halfway knows why. */
	(void)store_handle_kill(s->store, s->job.row.id, cause, &won, &e);
}

static void send_signal(struct shim *s, int sig)
{
	struct cl_err e;

	if (s->driver->signal(s->arg, s, sig, &e))
		shim_note(s, "signal", "signal %d could not be sent: %s", sig, e.msg);
}

void shim_kill(struct shim *s, enum store_outcome cause, const char *fmt, ...)
{
	char text[sizeof(s->cause_text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s->ended)
		return;
	note_cause(s, cause, text);
	s->killing = true;
	send_signal(s, SIGKILL);
	/* A kill that did not take is repeated. */
	s->due.grace = sys_mono_ms() + 5000;
}

void shim_stop(struct shim *s, enum store_outcome cause, int64_t grace_ms, const char *why)
{
	if (s->ended || s->killing)
		return;
	if (!grace_ms) {
		shim_kill(s, cause, "%s", why);
		return;
	}
	note_cause(s, cause, why);
	send_signal(s, SIGTERM);
	if (!s->due.grace || s->due.grace > sys_mono_ms() + grace_ms)
		s->due.grace = sys_mono_ms() + grace_ms;
}

static void look_at_floor(struct shim *s, int64_t now)
{
	struct cl_err e;
	int64_t mb;

	s->due.floor = now + SHIM_FLOOR_MS;
	if (!disk_free_mb(s->job.row.project, &mb, &e) && mb < s->job.min_free_mb)
		shim_kill(s, OUTCOME_DISK_FLOOR,
			"the file system of %s has %lld MB free, below the floor of %lld MB "
			"(orchestrator.min_free_disk_mb)",
			s->job.row.project, (long long)mb, (long long)s->job.min_free_mb);
}

static void start_walk(struct shim *s, int64_t now)
{
	struct diskwalk_want want = {
		.tree = s->job.row.project, .baseline = s->job.row.disk_baseline};
	struct cl_err e;

	s->due.disk = 0;
	if (!diskwalk_start(&want, &s->walk, &e))
		return;
	s->due.disk = now + DW_MAX_MS;
	shim_note(s, "disk_limit", "the workspace could not be measured: %s", e.msg);
}

/* Over the limit: recorded before the kill, so that whoever adopts knows why it died. */
static void breach(struct shim *s, int64_t bytes)
{
	static const char *const columns[] = {"disk_breach", NULL};
	struct store_handle *row = &s->job.row;
	long long used = (long long)((bytes + (1 << 20) - 1) >> 20);
	json_t *j = json_pack("{s:I, s:I, s:s, s:I}", "used_bytes", (json_int_t)bytes, "limit_mb",
		(json_int_t)row->disk_limit_mb, "source",
		row->disk_limit_source ? row->disk_limit_source : "", "at_ms",
		(json_int_t)sys_now_ms());
	struct cl_err e;

	free(row->disk_breach);
	row->disk_breach = cl_json_text(j);
	json_decref(j);
	(void)store_handle_set(s->store, row, columns, &e);
	shim_kill(s, OUTCOME_DISK_LIMIT,
		"the workspace holds %lld MB, over its disk limit of %lld MB (%s)", used,
		(long long)row->disk_limit_mb,
		row->disk_limit_source ? row->disk_limit_source : "");
}

void shim_watch_ready(struct shim *s)
{
	struct diskwalk_result r = {0};
	struct dw_sample sample;
	bool done = false;
	struct cl_err e;
	int rc = diskwalk_poll(s->walk, &done, &r, &e);

	if (!rc && !done)
		return;
	diskwalk_cancel(s->walk);
	s->walk = NULL;
	sample = (struct dw_sample){.at_ms = sys_mono_ms(),
		.bytes = r.bytes,
		.cost_ms = r.cost_ms,
		.partial = rc || r.partial};
	if (sample.partial && !s->dw.unknown)
		shim_note(s, "disk_limit", "the disk usage of the workspace is unknown%s%s",
			r.nunreadable ? ": cannot read " : "",
			r.nunreadable ? r.unreadable[0] : "");
	dw_note(&s->dw, &sample);
	s->due.disk = sys_mono_ms() + dw_wait_ms(&s->dw);
	if (!s->ended && !s->killing && dw_judge(s->dw.limit, r.bytes, sample.partial) == DW_OVER)
		breach(s, r.bytes);
}

void shim_watch_due(struct shim *s, int64_t now)
{
	struct cl_err e;

	if (s->due.attach && now >= s->due.attach)
		shim_start_reading(s, -1, -1);
	if (s->ended)
		return;
	if (s->due.start && now >= s->due.start && shim_record_start(s, &e))
		shim_kill(s, OUTCOME_KILLED, "%s", e.msg);
	if (s->due.deadline && now >= s->due.deadline && !s->killing)
		shim_kill(s, OUTCOME_TIMEOUT, "its deadline passed");
	if (s->due.grace && now >= s->due.grace) {
		s->killing = true;
		send_signal(s, SIGKILL);
		s->due.grace = now + 5000;
	}
	if (s->due.floor && now >= s->due.floor && !s->killing)
		look_at_floor(s, now);
	if (s->due.disk && now >= s->due.disk && !s->walk)
		start_walk(s, now);
	shim_lent_due(s, now);
}

int64_t shim_watch_next(const struct shim *s)
{
	const int64_t due[] = {s->due.attach, s->due.record, s->ended ? 0 : s->due.start,
		s->ended ? 0 : s->due.grace, s->ended ? 0 : s->due.floor,
		s->ended ? 0 : s->due.disk, s->ended || s->killing ? 0 : s->due.deadline,
		s->ended ? 0 : s->due.env, s->ended ? 0 : s->due.look, s->ended ? 0 : s->due.renew};
	int64_t next = 0;

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		if (due[i] && (!next || due[i] < next))
			next = due[i];
	return next;
}
