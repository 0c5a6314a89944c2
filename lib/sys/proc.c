/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/proc.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

char *sys_find_on(const char *path, const char *name)
{
	cleanup_strv struct cl_strv dirs = CL_STRV_INIT;

	if (strchr(name, '/'))
		return *name == '/' && executable(name) ? cl_strdup(name) : NULL;
	cl_split(path ? path : SYS_PATH, ':', &dirs);
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *p = NULL;

		/* An empty or relative entry means the current directory: not ours to run. */
		if (dirs.v[i][0] != '/')
			continue;
		p = cl_asprintf("%s/%s", dirs.v[i], name);
		if (executable(p))
			return cl_steal(&p);
	}
	return NULL;
}

char *sys_find_program(const char *name)
{
	return sys_find_on(NULL, name);
}

/*
 * What the child needs and must not allocate: it runs between fork and exec, where only
 * async-signal-safe calls are allowed.
 */
struct birth {
	const struct sys_spawn *s;
	const char *path;
	int report; /* our errno goes here when exec was not reached */
	pid_t parent;
	int *lifted; /* npass places */
};

/*
 * Moves the child's descriptors into place. All sources are first lifted above every
 * target, so that a swap (3 to 4 and 4 to 3) works and the report pipe is out of the way.
 */
static int place_fds(struct birth *b)
{
	const struct sys_spawn *s = b->s;
	int top = 2, std[3] = {s->in, s->out, s->err};

	for (size_t i = 0; i < s->npass; i++) {
		if (s->pass[i].as < 3) {
			errno = EINVAL;
			return -1;
		}
		if (s->pass[i].as > top)
			top = s->pass[i].as;
	}
	if (b->report <= top) {
		int up = fcntl(b->report, F_DUPFD_CLOEXEC, top + 1);

		if (up < 0)
			return -1;
		b->report = up;
	}
	for (int i = 0; i < 3; i++) {
		if (std[i] < 0)
			std[i] = open("/dev/null", i ? O_WRONLY : O_RDONLY);
		std[i] = fcntl(std[i], F_DUPFD_CLOEXEC, top + 1);
		if (std[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < s->npass; i++) {
		b->lifted[i] = fcntl(s->pass[i].fd, F_DUPFD_CLOEXEC, top + 1);
		if (b->lifted[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < s->npass; i++)
		if (dup2(b->lifted[i], s->pass[i].as) < 0)
			return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(std[i], i) < 0)
			return -1;
	return 0;
}

/* Marks everything close-on-exec from 3 on, then takes the mark from what was passed. */
static int close_others(const struct sys_spawn *s)
{
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC))
		return -1;
	for (size_t i = 0; i < s->npass; i++)
		if (fcntl(s->pass[i].as, F_SETFD, 0))
			return -1;
	return 0;
}

/*
 * By the system call: glibc's signal() does not touch its own signals 32 and 33, and
 * its posix_spawn() leaves them ignored in whatever started us.
 */
static void reset_signals(void)
{
	static const unsigned long by_default[8]; /* the kernel's struct sigaction, zeroed */
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, by_default, NULL, NSIG / 8);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A parent that ended before the request was made will send no signal any more. */
static int follow_parent(const struct birth *b)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -1;
	/* 0: the parent is outside our new process namespace. */
	if (getppid() && getppid() != b->parent) {
		errno = ESRCH;
		return -1;
	}
	return 0;
}

/* Nothing that the child executes gets more than that account has. */
static int become(const struct stat *owner)
{
	return setgroups(0, NULL) || setresgid(owner->st_gid, owner->st_gid, owner->st_gid) ||
			       setresuid(owner->st_uid, owner->st_uid, owner->st_uid) ||
			       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		       ? -1
		       : 0;
}

static void __attribute__((noreturn)) child(struct birth *b)
{
	static char *const bare_env[] = {(char *)"PATH=" SYS_PATH, NULL};
	const struct sys_spawn *s = b->s;
	int err;

	if ((!s->new_session || setsid() >= 0) && (!s->die_with_parent || !follow_parent(b)) &&
		(!s->cwd || !chdir(s->cwd)) && !place_fds(b) && !close_others(s) &&
		(!s->as || !become(s->as))) {
		reset_signals();
		(void)execve(b->path, s->argv, s->envp ? s->envp : bare_env);
	}
	err = errno;
	(void)!write(b->report, &err, sizeof(err));
	_exit(127);
}

/*
 * fork with every signal held back: a handler of ours must not run in the child, where
 * it would act on what the child shares with us.
 */
static pid_t give_birth(struct birth *b, int *err)
{
	sigset_t all, old;
	pid_t pid;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = fork();
	*err = errno;
	if (!pid)
		child(b);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return pid;
}

int sys_spawn(const struct sys_spawn *s, pid_t *pid, struct cl_err *e)
{
	cleanup_free char *path = sys_find_program(s->path);
	cleanup_free int *lifted = cl_calloc(s->npass, sizeof(*lifted));
	struct birth b = {.s = s, .path = path, .parent = getpid(), .lifted = lifted};
	int pipe_fd[2], err = 0;
	ssize_t n;

	if (!path) {
		(void)cl_fail(e, CL_EUNAVAIL, "program '%s' is not installed", s->path);
		return cl_fix(e, "install it where PATH or the path given finds it");
	}
	if (pipe2(pipe_fd, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	b.report = pipe_fd[1];
	*pid = give_birth(&b, &err);
	(void)close(pipe_fd[1]);
	if (*pid < 0) {
		(void)close(pipe_fd[0]);
		return cl_fail_sys(e, CL_EOS, err, "cannot start '%s'", path);
	}
	do
		n = read(pipe_fd[0], &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	(void)close(pipe_fd[0]);
	if (n == sizeof(err)) {
		while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
			;
		return cl_fail_sys(
			e, err == ENOENT ? CL_EUNAVAIL : CL_EOS, err, "cannot run '%s'", path);
	}
	return 0;
}

/* How a spawn of the process between us and init went. */
struct away {
	int failed;
	pid_t pid;
	uint64_t start;
	struct cl_err e; /* only where it failed */
};

static void __attribute__((noreturn)) go_between(const struct sys_spawn *s, int report)
{
	struct away a = {0};
	struct cl_err ignored;

	a.failed = sys_spawn(s, &a.pid, &a.e);
	/* Ours until we end, so that the pid is nobody else's yet. */
	if (!a.failed)
		(void)sys_proc_start(a.pid, &a.start, &ignored);
	(void)!write(report, &a, sizeof(a));
	_exit(0); /* lint: allow */
}

int sys_spawn_away(const struct sys_spawn *s, int *pidfd, struct cl_err *e)
{
	cleanup_fd int from = -1;
	struct cl_err gone;
	struct away a;
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	from = ends[0];
	pid = fork();
	if (!pid)
		go_between(s, ends[1]);
	(void)close(ends[1]);
	if (pid < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot start '%s'", s->path);
	do
		n = read(from, &a, sizeof(a));
	while (n < 0 && errno == EINTR);
	if (sys_wait(pid, &status, e))
		return -1;
	if (n != (ssize_t)sizeof(a))
		return cl_fail(e, CL_EOS, "what was to start '%s' ended too early", s->path);
	if (a.failed) {
		*e = a.e;
		return -1;
	}
	if (pidfd && sys_pidfd_open(a.pid, a.start, pidfd, &gone))
		*pidfd = -1;
	return 0;
}

int sys_wait(pid_t pid, int *status, struct cl_err *e)
{
	int st;

	while (waitpid(pid, &st, 0) < 0)
		if (errno != EINTR)
			return cl_fail_sys(
				e, CL_EOS, errno, "cannot wait for process %d", (int)pid);
	*status = WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
	return 0;
}

static void keep_last(struct cl_buf *buf, size_t max)
{
	if (buf->len <= max)
		return;
	memmove(buf->p, buf->p + buf->len - max, max);
	buf->len = max;
	buf->p[max] = '\0';
}

/*
 * Reads what is there into buf, keeping at most max bytes, or twice that for a tail, which
 * is cut at the end: moving max bytes for every read would be slow. False at end of file.
 */
static bool drain(int fd, struct cl_buf *buf, size_t max, bool tail)
{
	char tmp[65536];
	ssize_t n = read(fd, tmp, sizeof(tmp));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (!n)
		return false;
	if (!tail && (size_t)n > max - buf->len)
		n = (ssize_t)(max - buf->len);
	cl_buf_add(buf, tmp, (size_t)n);
	if (buf->secret)
		explicit_bzero(tmp, sizeof(tmp));
	if (tail && buf->len / 2 > max)
		keep_last(buf, max);
	return true;
}

struct pump {
	struct sys_run *r;
	int in, out, err; /* our ends; -1 when closed */
	int child;        /* a pidfd until the child has ended, then -1 */
	size_t fed, max;
};

static void shut(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void feed(struct pump *p)
{
	ssize_t n = write(p->in, (const char *)p->r->input + p->fed, p->r->input_len - p->fed);

	if (n > 0)
		p->fed += (size_t)n;
	if ((n < 0 && errno != EINTR && errno != EAGAIN) || p->fed == p->r->input_len)
		shut(&p->in);
}

/* Milliseconds for poll(): -1 for ever, never more than it can hold. */
static int wait_ms(int64_t deadline)
{
	int64_t left = deadline - sys_mono_ms();

	if (!deadline)
		return -1;
	return left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
}

/*
 * Moves bytes until the child and both its outputs have ended: one that closed its
 * outputs early still has a deadline and may still want its input. 0, or ETIME when the
 * time is over, ECANCELED when we are told to end, or what poll() said.
 */
static int pump_all(struct pump *p, int64_t deadline)
{
	bool tail = p->r->keep_tail;

	while (p->out >= 0 || p->err >= 0 || p->child >= 0) {
		struct pollfd fds[5] = {{p->in, POLLOUT, 0}, {p->out, POLLIN, 0},
			{p->err, POLLIN, 0}, {p->child, POLLIN, 0}, {p->r->stop, POLLIN, 0}};

		if (deadline && sys_mono_ms() >= deadline)
			return ETIME;
		if (poll(fds, 5, wait_ms(deadline)) < 0) {
			if (errno == EINTR)
				continue;
			return errno;
		}
		if (fds[4].revents)
			return ECANCELED;
		if (fds[0].revents)
			feed(p);
		if (fds[1].revents && !drain(p->out, &p->r->out, p->max, tail))
			shut(&p->out);
		if (fds[2].revents && !drain(p->err, &p->r->err, p->max, tail))
			shut(&p->err);
		if (fds[3].revents)
			shut(&p->child);
	}
	return 0;
}

/* Writing to a child that reads nothing must be an error here, not the end of us. */
static int pump_quietly(struct pump *p, int64_t deadline)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
	int rc;

	(void)sigaction(SIGPIPE, &ignore, &old);
	rc = pump_all(p, deadline);
	(void)sigaction(SIGPIPE, &old, NULL);
	if (p->r->keep_tail) {
		keep_last(&p->r->out, p->max);
		keep_last(&p->r->err, p->max);
	}
	return rc;
}

static int run_child(struct sys_run *r, struct pump *p, int child_end[3], struct cl_err *e)
{
	int64_t deadline = r->timeout_ms ? sys_mono_ms() + r->timeout_ms : 0;
	pid_t pid;
	int why;

	r->spawn.in = child_end[0];
	r->spawn.out = child_end[1];
	r->spawn.err = child_end[2];
	if (sys_spawn(&r->spawn, &pid, e))
		return -1;
	for (int i = 0; i < 3; i++)
		shut(&child_end[i]);
	p->child = (int)syscall(SYS_pidfd_open, pid, 0);
	why = p->child < 0 ? errno : pump_quietly(p, deadline);
	if (why) {
		(void)kill(pid, SIGKILL);
		if (r->spawn.new_session)
			(void)kill(-pid, SIGKILL);
	}
	shut(&p->child);
	if (sys_wait(pid, &r->status, e))
		return -1;
	if (why == ETIME) {
		(void)cl_fail(e, CL_EUNAVAIL, "'%s' did not finish within %lld ms", r->spawn.path,
			(long long)r->timeout_ms);
		return cl_fix(e, "try again; if it hangs by hand too, restart what it talks to");
	}
	if (why == ECANCELED)
		return cl_fail(e, CL_EUNAVAIL, "'%s' was given up", r->spawn.path);
	if (why)
		return cl_fail_sys(e, CL_EOS, why, "cannot watch '%s'", r->spawn.path);
	return 0;
}

int sys_run(struct sys_run *r, struct cl_err *e)
{
	size_t max = r->max_output ? r->max_output : (size_t)4 << 20;
	struct pump p = {.r = r, .in = -1, .out = -1, .err = -1, .child = -1, .max = max};
	int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, rc = -1;
	int child_end[3];

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || (r->input && pipe2(in, O_CLOEXEC))) {
		(void)cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	} else {
		if (r->input)
			(void)fcntl(in[1], F_SETFL, O_NONBLOCK);
		p.in = in[1];
		p.out = out[0];
		p.err = err[0];
		child_end[0] = in[0];
		child_end[1] = out[1];
		child_end[2] = err[1];
		in[0] = in[1] = out[0] = out[1] = err[0] = err[1] = -1;
		rc = run_child(r, &p, child_end, e);
		for (int i = 0; i < 3; i++)
			shut(&child_end[i]);
	}
	shut(&p.in);
	shut(&p.out);
	shut(&p.err);
	for (int i = 0; i < 2; i++) {
		shut(&in[i]);
		shut(&out[i]);
		shut(&err[i]);
	}
	return rc;
}

void sys_run_release(struct sys_run *r)
{
	cl_buf_release(&r->out);
	cl_buf_release(&r->err);
}

char *sys_first_line(const struct cl_buf *text)
{
	const char *p = text->p;

	p += strspn(p, " \t\r\n");
	return cl_strndup(p, strcspn(p, "\r\n"));
}

int sys_end_signals(struct cl_err *e)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return cl_fail_sys(e, CL_EOS, errno, "cannot block signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? cl_fail_sys(e, CL_EOS, errno, "cannot make a signalfd") : fd;
}

bool sys_told_to_end(int signals)
{
	struct pollfd p = {.fd = signals, .events = POLLIN};

	return signals >= 0 && poll(&p, 1, 0) > 0;
}
