/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/proc.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

/* Moves the child's descriptors into place. Sources are first lifted above every target. */
static int place_fds(const struct sys_spawn *s, int report)
{
	int top = report, std[3] = {s->in, s->out, s->err};

	for (size_t i = 0; i < s->npass; i++)
		if (s->pass[i].as > top)
			top = s->pass[i].as;
	if (top < 3)
		top = 3;
	for (int i = 0; i < 3; i++) {
		if (std[i] < 0)
			std[i] = open("/dev/null", i ? O_WRONLY : O_RDONLY);
		std[i] = fcntl(std[i], F_DUPFD_CLOEXEC, top + 1);
		if (std[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < s->npass; i++) {
		int lifted = fcntl(s->pass[i].fd, F_DUPFD_CLOEXEC, top + 1);

		if (lifted < 0 || s->pass[i].as == report || dup2(lifted, s->pass[i].as) < 0)
			return -1;
	}
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
		if (s->pass[i].as > 2 && fcntl(s->pass[i].as, F_SETFD, 0))
			return -1;
	return 0;
}

static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void __attribute__((noreturn)) child(const struct sys_spawn *s, const char *path, int report)
{
	static char *const bare_env[] = {(char *)"PATH=" SYS_PATH, NULL};
	int err;

	/* The report pipe must not sit where a passed descriptor goes. */
	report = fcntl(report, F_DUPFD_CLOEXEC, 200);
	if (report >= 0 && (!s->new_session || setsid() >= 0) &&
		(!s->die_with_parent || !prctl(PR_SET_PDEATHSIG, SIGKILL)) &&
		(!s->cwd || !chdir(s->cwd)) && !place_fds(s, report) && !close_others(s)) {
		reset_signals();
		(void)execve(path, s->argv, s->envp ? s->envp : bare_env);
	}
	err = errno;
	(void)!write(report, &err, sizeof(err));
	_exit(127);
}

int sys_spawn(const struct sys_spawn *s, pid_t *pid, struct cl_err *e)
{
	cleanup_free char *path = sys_find_program(s->path);
	int pipe_fd[2], err = 0;
	ssize_t n;

	if (!path)
		return cl_fail(e, CL_EUNAVAIL, "program '%s' is not installed", s->path);
	if (pipe2(pipe_fd, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	*pid = fork();
	if (*pid < 0) {
		err = errno;
		(void)close(pipe_fd[0]);
		(void)close(pipe_fd[1]);
		return cl_fail_sys(e, CL_EOS, err, "cannot start '%s'", path);
	}
	if (!*pid)
		child(s, path, pipe_fd[1]);
	(void)close(pipe_fd[1]);
	do
		n = read(pipe_fd[0], &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	(void)close(pipe_fd[0]);
	if (n == sizeof(err)) {
		(void)waitpid(*pid, NULL, 0);
		return cl_fail_sys(
			e, err == ENOENT ? CL_EUNAVAIL : CL_EOS, err, "cannot run '%s'", path);
	}
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

/* Reads what is there into buf, keeping at most max bytes. False at end of file. */
static bool drain(int fd, struct cl_buf *buf, size_t max, bool tail)
{
	char tmp[65536];
	ssize_t n = read(fd, tmp, sizeof(tmp));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (!n)
		return false;
	if (!tail && buf->len + (size_t)n > max)
		n = (ssize_t)(max - buf->len);
	cl_buf_add(buf, tmp, (size_t)n);
	if (tail && buf->len > max) {
		memmove(buf->p, buf->p + buf->len - max, max);
		buf->len = max;
		buf->p[max] = '\0';
	}
	return true;
}

struct pump {
	struct sys_run *r;
	int in, out, err; /* our ends; -1 when closed */
	size_t fed;
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

/* Moves bytes until both outputs end. False when the time is over. */
static bool pump_all(struct pump *p, int64_t deadline)
{
	size_t max = p->r->max_output ? p->r->max_output : (size_t)4 << 20;

	while (p->out >= 0 || p->err >= 0) {
		struct pollfd fds[3] = {
			{p->in, POLLOUT, 0}, {p->out, POLLIN, 0}, {p->err, POLLIN, 0}};
		int64_t left = deadline ? deadline - sys_mono_ms() : -1;

		if (deadline && left <= 0)
			return false;
		if (poll(fds, 3, (int)(left > 1000000 ? 1000000 : left)) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents)
			feed(p);
		if (fds[1].revents && !drain(p->out, &p->r->out, max, p->r->keep_tail))
			shut(&p->out);
		if (fds[2].revents && !drain(p->err, &p->r->err, max, p->r->keep_tail))
			shut(&p->err);
	}
	return true;
}

static int run_child(struct sys_run *r, struct pump *p, int child_end[3], struct cl_err *e)
{
	int64_t deadline = r->timeout_ms ? sys_mono_ms() + r->timeout_ms : 0;
	void (*old)(int);
	bool in_time;
	pid_t pid;

	r->spawn.in = child_end[0];
	r->spawn.out = child_end[1];
	r->spawn.err = child_end[2];
	if (sys_spawn(&r->spawn, &pid, e))
		return -1;
	for (int i = 0; i < 3; i++)
		shut(&child_end[i]);
	old = signal(SIGPIPE, SIG_IGN);
	in_time = pump_all(p, deadline);
	(void)signal(SIGPIPE, old);
	if (!in_time)
		(void)kill(pid, SIGKILL);
	if (sys_wait(pid, &r->status, e))
		return -1;
	if (!in_time)
		return cl_fail(e, CL_EUNAVAIL, "'%s' did not finish within %lld ms", r->spawn.path,
			(long long)r->timeout_ms);
	return 0;
}

int sys_run(struct sys_run *r, struct cl_err *e)
{
	struct pump p = {.r = r, .in = -1, .out = -1, .err = -1};
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
