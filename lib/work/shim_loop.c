/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One poll(2) over everything that can happen to a workload. */
#include "work/shim_internal.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* The workload is over: its status is `status`, as a shell has it, or -1 when nobody knows. */
static void ended(struct shim *s, int status)
{
	if (s->ended)
		return;
	s->ended = true;
	s->status = status;
	if (s->stdin_w >= 0)
		(void)close(cl_steal_fd(&s->stdin_w));
	if (s->reading) {
		if (s->out)
			pump_finish(s->out);
		if (s->err)
			pump_finish(s->err);
	}
}

static void reap(struct shim *s)
{
	int st;
	pid_t pid;

	/* Helpers of a killed engine client are reparented to us too; they only need reaping. */
	while ((pid = waitpid(-1, &st, WNOHANG)) > 0) {
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

/* The first process of an adopted workload ended: only cloop-init's note knows how. */
static void on_init_end(struct shim *s)
{
	int status = -1;

	(void)close(cl_steal_fd(&s->init_fd));
	if (s->started.monitor)
		return; /* its monitor will say */
	if (!rundir_exit_status(&s->rd, &status) && s->has_cause)
		status = 128 + SIGKILL;
	ended(s, status);
}

static void on_pump(struct shim *s)
{
	unsigned out = s->out ? pump_events(s->out) : 0, err = s->err ? pump_events(s->err) : 0;
	uint64_t n;

	(void)!read(s->notify, &n, sizeof(n));
	s->out_done = s->out_done || (out & PUMP_DONE);
	s->err_done = s->err_done || (err & PUMP_DONE);
	/* As a pipe would have done: a reader that is gone ends the writer. */
	if ((out & PUMP_CLIENT_CLOSED) && !s->ended)
		shim_stop(s, OUTCOME_KILLED, SHIM_GRACE_MS, "the reader of its output went away");
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
		{shim_watch_fd(s), NULL},
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
		if (fds[i].revents && slots[i].fn)
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

void shim_loop(struct shim *s)
{
	struct cl_err e;

	if (s->started.init)
		s->init_fd = pidfd_open(s->started.init, 0);
	if (!s->started.monitor && s->init_fd < 0)
		on_init_end(s);
	if (s->job.attached)
		s->due.attach = sys_mono_ms() + SHIM_ATTACH_MS;
	else
		shim_start_reading(s);
	reap(s);
	/* The client of an ended workload may be slow; what is recorded does not wait for it. */
	while (!s->ended || output_pending(s)) {
		int64_t now = sys_mono_ms(), next = shim_watch_next(s), left = next - now;

		if (poll_all(s, next ? (int)(left < 0 ? 0 : left > 60000 ? 60000 : left) : -1))
			break;
		shim_watch_due(s, sys_mono_ms());
		if (s->ended && !s->settled)
			shim_settle(s);
		if (s->ended && s->reading && s->out && s->err) {
			pump_finish(s->out);
			pump_finish(s->err);
		}
	}
	if (!s->settled)
		shim_settle(s);
	shim_tell_ended(s);
	(void)e;
}
