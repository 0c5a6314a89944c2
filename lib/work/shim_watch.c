/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deadline, grace period, free space: what is due when, and what happens then. */
#include "work/shim_internal.h"
#include "sys/clock.h"

#include <signal.h>
#include <stdio.h>
#include <sys/statvfs.h>

/* Milliseconds of free space for others on the file system of `path`; -1 unknown. */
static int64_t free_mb(const char *path)
{
	struct statvfs v;

	if (statvfs(path, &v))
		return -1;
	return (int64_t)(v.f_bavail / 1024 * v.f_frsize / 1024);
}

void shim_watch_init(struct shim *s)
{
	if (s->job.min_free_mb > 0)
		s->due.floor = sys_mono_ms();
}

int shim_watch_fd(const struct shim *s)
{
	(void)s;
	return -1;
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
	int64_t mb = free_mb(s->job.row.project);

	s->due.floor = now + SHIM_FLOOR_MS;
	if (mb >= 0 && mb < s->job.min_free_mb)
		shim_kill(s, OUTCOME_DISK_FLOOR,
			"the file system of %s has %lld MB free, below the floor of %lld MB "
			"(orchestrator.min_free_disk_mb)",
			s->job.row.project, (long long)mb, (long long)s->job.min_free_mb);
}

/* The deadline is absolute and on the wall clock, so that it holds over a reboot of ours. */
static int64_t deadline_left(const struct shim *s)
{
	return s->job.row.deadline - sys_now_ms();
}

void shim_watch_due(struct shim *s, int64_t now)
{
	if (s->due.attach && now >= s->due.attach)
		shim_start_reading(s);
	if (s->ended)
		return;
	if (s->job.row.deadline && !s->killing && deadline_left(s) <= 0)
		shim_kill(s, OUTCOME_TIMEOUT, "its deadline passed");
	if (s->due.grace && now >= s->due.grace) {
		s->killing = true;
		send_signal(s, SIGKILL);
		s->due.grace = now + 5000;
	}
	if (s->due.floor && now >= s->due.floor && !s->killing)
		look_at_floor(s, now);
}

int64_t shim_watch_next(const struct shim *s)
{
	const int64_t due[] = {s->due.attach, s->ended ? 0 : s->due.grace,
		s->ended ? 0 : s->due.floor,
		s->ended || !s->job.row.deadline || s->killing ? 0
							       : sys_mono_ms() + deadline_left(s)};
	int64_t next = 0;

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		if (due[i] && (!next || due[i] < next))
			next = due[i];
	return next;
}
