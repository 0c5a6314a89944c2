/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * docker (DECISIONS C6): the client is attached, and its status is the workload's. The
 * daemon forgets a container with its end, so the client is waited for by a process that
 * outlives the shim, holds a lock as long, and leaves the status in the exit file.
 */
#include "job.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_MS      10
#define NOBODY_KNOWS 125

/* The state that the engine has for the container, and its first process; false: none. */
static bool inspect(const struct job *j, bool *running, pid_t *init)
{
	const char *args[] = {
		"inspect", "--format", "{{.State.Status}} {{.State.Pid}}", j->name, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;
	const char *sp;

	r.timeout_ms = JOB_START_MS;
	if (engine_run(&j->engine, args, &r, &e) || r.status)
		return false;
	sp = strchr(r.out.p, ' ');
	*running = cl_starts(r.out.p, "running");
	*init = *running && sp ? (pid_t)strtol(sp + 1, NULL, 10) : 0;
	return true;
}

static void write_number(int fd, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d\n", n);

	(void)!pwrite(fd, text, (size_t)len, 0);
}

static void note_pid(const char *path, pid_t pid)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0)
		write_number(fd, pid);
}

/* Only what the watcher needs stays open in it: nothing of the shim's store or sockets. */
static void __attribute__((noreturn)) watch_client(pid_t client, int lock)
{
	struct cl_err e;
	int status = NOBODY_KNOWS;

	if (dup2(lock, 3) == 3)
		(void)close_range(4, ~0U, 0);
	if (sys_wait(client, &status, &e))
		status = NOBODY_KNOWS;
	write_number(3, status);
	_exit(status); /* lint: allow */
}

/* Forks the watcher, which starts the client; a failure of that comes back by the pipe. */
static int spawn_watched(
	const struct sys_spawn *s, const struct rundir *rd, pid_t *watcher, struct cl_err *e)
{
	cleanup_fd int lock = open(rd->exit, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	int said[2], failed = 0;
	ssize_t n;
	pid_t client;

	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) || pipe2(said, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot lock '%s'", rd->exit);
	*watcher = fork();
	if (!*watcher) {
		(void)setsid();
		(void)prctl(PR_SET_NAME, "cloop-watch", 0, 0, 0);
		if (sys_spawn(s, &client, e)) {
			failed = (int)e->code;
			(void)!write(said[1], &failed, sizeof(failed));
			_exit(NOBODY_KNOWS); /* lint: allow */
		}
		watch_client(client, lock);
	}
	(void)close(said[1]);
	n = *watcher < 0 ? 0 : read(said[0], &failed, sizeof(failed));
	(void)close(said[0]);
	if (*watcher < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot start a process");
	if (n != sizeof(failed))
		return 0;
	(void)waitpid(*watcher, NULL, 0);
	*watcher = 0;
	(void)cl_fail(e, (enum cl_code)failed, "'%s' cannot be executed", s->path);
	return cl_fix(e, "try it by hand: %s version", s->path);
}

bool job_child_ended(pid_t pid, int *status)
{
	siginfo_t si = {0};

	if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) || !si.si_pid)
		return false;
	*status = si.si_code == CLD_EXITED ? si.si_status : 128 + si.si_status;
	return true;
}

void job_peek(const char *fifo, char *text, size_t size)
{
	cleanup_fd int in = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	int copy[2];
	ssize_t n;

	*text = '\0';
	if (in < 0 || pipe2(copy, O_CLOEXEC))
		return;
	n = tee(in, copy[1], size - 1, SPLICE_F_NONBLOCK);
	if (n > 0)
		n = read(copy[0], text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	(void)close(copy[0]);
	(void)close(copy[1]);
}

/*
 * The client ended before the container was seen running: a quick workload, or none. The
 * client's refusals have its own statuses and begin with its name.
 */
static int judge_end(const struct job *j, const struct rundir *rd, int status, struct cl_err *e)
{
	char words[4096];

	if (status < 125 || status > 127)
		return 0;
	job_peek(rd->err, words, sizeof(words));
	if (!cl_starts(words, "docker: ") && !cl_starts(words, "Unable to find image"))
		return 0;
	(void)ct_classify(CT_DOCKER, "start the sandbox", status, words, j->image, e);
	return -1;
}

/* Cheaper than asking the daemon: nothing runs while the cgroup is empty. */
static bool may_run(const struct job *j)
{
	cleanup_free pid_t *pids = NULL;
	struct cl_err e;
	size_t n = 0;

	return !j->has_cg || (!cg_pids(&j->cg, j->handle, &pids, &n, &e) && n);
}

int job_start_docker(struct job *j, const struct rundir *rd, const struct cl_strv *argv,
	const struct shim_io *io, struct shim_started *out, struct cl_err *e)
{
	struct sys_spawn s = SYS_SPAWN_INIT;
	int64_t until;
	bool running;
	int status;

	s.path = j->engine.path;
	s.argv = argv->v;
	s.envp = j->engine.env.v;
	s.cwd = ENGINE_CWD;
	s.in = io->in;
	s.out = io->out;
	s.err = io->err;
	if (spawn_watched(&s, rd, &out->monitor, e))
		return -1;
	note_pid(rd->conmon_pid, out->monitor);
	for (until = sys_mono_ms() + JOB_START_MS; sys_mono_ms() < until; sys_sleep_ms(POLL_MS)) {
		if (may_run(j) && inspect(j, &running, &out->init) && running) {
			note_pid(rd->pid, out->init);
			return 0;
		}
		if (job_child_ended(out->monitor, &status))
			return judge_end(j, rd, status, e);
	}
	(void)kill(-out->monitor, SIGKILL);
	(void)cl_fail(e, CL_EUNAVAIL, "the engine did not start the sandbox within %d s",
		JOB_START_MS / 1000);
	return cl_fix(e, "look at what the engine is doing: systemctl status docker");
}

/* `wait` prints the status of a container that runs; -1 when there is none. */
static int engine_wait(const struct job *j)
{
	const char *args[] = {"wait", j->name, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;

	if (engine_run(&j->engine, args, &r, &e) || r.status || r.out.p[0] < '0' ||
		r.out.p[0] > '9')
		return -1;
	return (int)(strtol(r.out.p, NULL, 10) & 255);
}

/* A child of the new shim's that ends when the watcher does, with the status it left. */
static void __attribute__((noreturn)) follow(const struct job *j, const struct rundir *rd)
{
	int fd, status;

	(void)prctl(PR_SET_NAME, "cloop-watch", 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)close_range(3, ~0U, 0);
	fd = open(rd->exit, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	while (fd >= 0 && flock(fd, LOCK_EX) && errno == EINTR)
		;
	if (!rundir_exit_status(rd, &status))
		status = engine_wait(j);
	_exit(status < 0 ? NOBODY_KNOWS : status); /* lint: allow */
}

int job_follow(
	const struct job *j, const struct rundir *rd, struct shim_started *out, struct cl_err *e)
{
	out->monitor = fork();
	if (!out->monitor)
		follow(j, rd);
	return out->monitor < 0 ? cl_fail_sys(e, CL_EOS, errno, "cannot start a process") : 0;
}

int job_adopt_docker(
	struct job *j, const struct rundir *rd, struct shim_started *out, struct cl_err *e)
{
	cleanup_fd int fd = open(rd->exit, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool watched = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	pid_t watcher = rundir_read_pid(rd->conmon_pid), init = 0;
	bool running = false;

	if (fd >= 0)
		(void)flock(fd, LOCK_UN);
	/* Killed in the middle of a start: the client must not go on with it. The lock proves
	 * that the number is still the watcher's. */
	if (!out->init && !(inspect(j, &running, &init) && running)) {
		if (watched && watcher && !rundir_read_pid(rd->pid))
			(void)kill(-watcher, SIGKILL);
		if (!watched || !rundir_read_pid(rd->pid))
			return 0;
	}
	if (!out->init && running)
		j->init = out->init = init;
	if (!watched && !out->init)
		return 0;
	return job_follow(j, rd, out, e);
}
