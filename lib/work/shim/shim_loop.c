/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One poll(2) over everything that can happen to a workload. */
#include "work/shim/shim_internal.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define MONITOR_MS 20000 /* how long an engine may take to clean up behind a workload */

int shim_signal_init(struct shim *s, int sig, struct cl_err *e)
{
	return s->init_fd < 0 ? 0 : sys_pidfd_kill(s->init_fd, sig, e);
}

/* What is still in the pipes is read, then the pumps stop. */
static void finish_pumps(struct shim *s)
{
	if (s->out && !s->out_done)
		pump_finish(s->out);
	if (s->err && !s->err_done)
		pump_finish(s->err);
}

/* The workload is over: its status is `status`, as a shell has it, or -1 when nobody knows. */
static void ended(struct shim *s, int status)
{
	if (s->ended)
		return;
	s->ended = true;
	s->status = status;
	if (s->stdin_w >= 0)
		(void)close(cl_steal_fd(&s->stdin_w));
	/* Before anybody learns of it: the next run may want them. */
	shim_interfaces_back(s, NULL);
}

static void reap(struct shim *s)
{
	int st;
	pid_t pid;

	/* Helpers of a killed engine client are reparented to us too; they only need reaping. What
	   a thread of ours has started is that thread's to wait for. */
	while ((pid = waitpid(-1, &st, WNOHANG | __WNOTHREAD)) > 0) {
		if (pid != s->started.monitor || !pid)
			continue;
		s->monitor_known = true;
		ended(s, WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st));
	}
}

static void on_signal(struct shim *s)
{
	struct signalfd_siginfo si;

	while (read(s->sigfd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
			shim_stop(s, OUTCOME_KILLED, SHIM_GRACE_MS,
				"its supervisor was told to stop");
	}
	reap(s);
}

/*
 * The workload's first process ended. Its note says how, a moment before the monitor has
 * cleaned up and says the same; without a note (it was killed) the monitor is waited for,
 * and where there is none, nobody knows.
 */
static void on_init_end(struct shim *s)
{
	int status = -1;

	(void)close(cl_steal_fd(&s->init_fd));
	if (rundir_exit_status(&s->rd, &status)) {
		ended(s, status);
	} else if (!s->started.monitor) {
		ended(s, s->has_cause ? 128 + SIGKILL : -1);
	}
}

static void stop_writer(struct shim *s, int err)
{
	char why[120];

	(void)snprintf(why, sizeof(why),
		err == EPIPE || err == ECONNRESET ? "the reader of its output went away"
						  : "its output could not be written: %s",
		strerror(err));
	shim_stop(s, OUTCOME_KILLED, SHIM_GRACE_MS, why);
}

static void on_pump(struct shim *s)
{
	unsigned out = s->out ? pump_events(s->out) : 0, err = s->err ? pump_events(s->err) : 0;
	uint64_t n;

	(void)!read(s->notify, &n, sizeof(n));
	shim_lent_answered(s);
	shim_tokens_ended(s, false);
	s->out_done = s->out_done || (out & PUMP_DONE);
	s->err_done = s->err_done || (err & PUMP_DONE);
	/* As a pipe would have done: a reader that is gone ends the writer. */
	if ((out & PUMP_CLIENT_CLOSED) && !s->ended)
		stop_writer(s, pump_error(s->out));
	if (s->in && (pump_events(s->in) & PUMP_DONE)) {
		pump_free(s->in);
		s->in = NULL;
	}
}

static void on_memory(struct shim *s)
{
	if (s->driver->out_of_memory(s->arg))
		s->oom = true;
}

struct slot {
	int fd;
	void (*fn)(struct shim *s);
};

static int poll_all(struct shim *s, int timeout)
{
	const struct slot slots[] = {
		{s->sigfd, on_signal},
		{s->listen_fd, shim_accept},
		{s->notify, on_pump},
		{s->init_fd, on_init_end},
		{s->driver->memory_fd(s->arg), on_memory},
		{shim_watch_fd(s), shim_watch_ready},
		{shim_env_watch_fd(s), shim_env_read},
	};
	struct pollfd fds[CL_ARRAY_LEN(slots) + SHIM_CLIENTS];
	size_t n = CL_ARRAY_LEN(slots);

	for (size_t i = 0; i < n; i++)
		fds[i] = (struct pollfd){slots[i].fd, POLLIN, 0};
	for (size_t i = 0; i < SHIM_CLIENTS; i++)
		fds[n + i] = (struct pollfd){s->clients[i].fd, POLLIN, 0};
	if (poll(fds, n + SHIM_CLIENTS, timeout) < 0)
		return errno == EINTR ? 0 : -1;
	for (size_t i = 0; i < n; i++)
		if (fds[i].revents)
			slots[i].fn(s);
	for (size_t i = 0; i < SHIM_CLIENTS; i++)
		if (fds[n + i].revents && s->clients[i].fd == fds[n + i].fd)
			shim_client_ready(s, &s->clients[i]);
	return 0;
}

/* True when an attached client has still to get what the workload wrote. */
static bool output_pending(const struct shim *s)
{
	return !s->reading || !s->out_done || !s->err_done;
}

/*
 * A store that is busy for minutes must not cost the status: it is in nobody's memory but
 * ours. Whoever asks meanwhile gets an answer.
 */
static void settle(struct shim *s)
{
	int64_t until = sys_mono_ms() + SHIM_RECORD_MS;

	for (;;) {
		shim_record(s);
		if ((s->recorded && shim_end_row(s)) || sys_mono_ms() >= until || poll_all(s, 1000))
			return;
	}
}

void shim_loop(struct shim *s, bool asked)
{
	struct cl_err e;

	if (s->started.init && !s->started.init_start)
		s->init_fd = pidfd_open(s->started.init, 0);
	else if (s->started.init &&
		 sys_pidfd_open(s->started.init, s->started.init_start, &s->init_fd, &e))
		s->init_fd = -1;
	/* A quick workload has ended before the engine's client came back. */
	if (s->init_fd < 0)
		on_init_end(s);
	if (!asked)
		shim_kill(s, OUTCOME_KILLED, "the command that started it was gone before it ran");
	if (s->job.attached && asked)
		s->due.attach = sys_mono_ms() + SHIM_ATTACH_MS;
	else
		shim_start_reading(s, -1, -1);
	reap(s);
	/* The client of an ended workload may be slow; what is recorded does not wait for it. */
	while (!s->ended || output_pending(s)) {
		int64_t next, left;

		if (s->ended) {
			finish_pumps(s);
			if (sys_mono_ms() >= s->due.record)
				shim_record(s);
		}
		next = shim_watch_next(s);
		left = next - sys_mono_ms();
		if (poll_all(s, next ? (int)(left < 0 ? 0 : left > 60000 ? 60000 : left) : -1))
			break;
		shim_watch_due(s, sys_mono_ms());
	}
	shim_record(s);
	shim_tell_ended(s);
	/* The engine's own cleaning up comes first, or it would be found half done. */
	for (int64_t until = sys_mono_ms() + MONITOR_MS;
		s->started.monitor && !s->monitor_known && sys_mono_ms() < until;)
		if (poll_all(s, 1000))
			break;
	s->driver->collect(s->arg, s);
	shim_lent_end(s);
	settle(s);
}
