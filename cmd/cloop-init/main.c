/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first process inside a sandbox: it sets the environment, puts the standard
 * descriptors in place, runs the command, passes signals on, reaps, and leaves with the
 * command's status. Static, without the library, and with old system calls only: it has
 * to run under any image's libc, under runc, crun and gVisor, as any user.
 *
 *   cloop-init [--env FILE] [--stdin-fd N] [--stdout-fd N] [--stderr-fd N]
 *              [--status-fd N] [--go-fd N] [--go FIFO] -- COMMAND [ARG...]
 *
 * FILE holds NUL-terminated NAME=VALUE pairs; a FILE that is absent is an error, so that
 * a command never runs without the secrets it was promised. On --status-fd the command's
 * status is written as decimal text and a newline, before anything else ends. With --go-fd
 * nothing is started before a byte comes from there; when that end closes instead, its
 * supervisor died before it had written down what is about to run, and nothing runs. --go is the
 * same where no descriptor can be passed: a FIFO that its supervisor has open.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_REFUSED   125 /* ours, as container engines have it */
#define STATUS_CANNOT    126
#define STATUS_NOT_FOUND 127
#define MAX_ENV_FILE     (4 << 20)

struct options {
	const char *env;
	int std[3]; /* what becomes descriptor 0, 1 and 2; -1: as it is */
	int status; /* -1: none */
	int go;     /* -1: none */
	const char *go_file;
	char **command;
};

static void __attribute__((noreturn, format(printf, 1, 2))) refuse(const char *fmt, ...)
{
	va_list ap;

	(void)fputs("cloop-init: ", stderr);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	exit(STATUS_REFUSED);
}

static int parse_fd(const char *name, const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < 0 || n > INT_MAX)
		refuse("%s: '%s' is no descriptor", name, text);
	if (fcntl((int)n, F_GETFD) < 0)
		refuse("%s: descriptor %ld is not open", name, n);
	return (int)n;
}

static void parse(int argc, char **argv, struct options *o)
{
	static const char *const fd_names[] = {
		"--stdin-fd", "--stdout-fd", "--stderr-fd", "--status-fd", "--go-fd"};
	int *const fds[] = {&o->std[0], &o->std[1], &o->std[2], &o->status, &o->go};
	int i, k;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i += 2) {
		if (i + 1 >= argc)
			refuse("'%s' needs a value", argv[i]);
		if (!strcmp(argv[i], "--env")) {
			o->env = argv[i + 1];
			continue;
		}
		if (!strcmp(argv[i], "--go")) {
			o->go_file = argv[i + 1];
			continue;
		}
		for (k = 0; k < 5 && strcmp(argv[i], fd_names[k]); k++)
			;
		if (k == 5)
			refuse("unknown option '%s'", argv[i]);
		*fds[k] = parse_fd(fd_names[k], argv[i + 1]);
	}
	if (i + 1 >= argc)
		refuse("no command: usage: cloop-init [--env FILE] [--stdin-fd N] [--stdout-fd N] "
		       "[--stderr-fd N] [--status-fd N] [--go-fd N] [--go FIFO] -- COMMAND "
		       "[ARG...]");
	o->command = argv + i + 1;
}

/* The whole file, NUL-terminated beyond *len. */
static char *read_all(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *buf = malloc(MAX_ENV_FILE + 1);
	ssize_t n = 0;

	if (fd < 0)
		refuse("cannot open '%s': %s", path, strerror(errno));
	if (!buf)
		refuse("out of memory");
	for (*len = 0; *len < MAX_ENV_FILE; *len += (size_t)n) {
		n = read(fd, buf + *len, MAX_ENV_FILE - *len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			refuse("cannot read '%s': %s", path, strerror(errno));
		else if (!n)
			break;
	}
	if (*len == MAX_ENV_FILE)
		refuse("'%s' is larger than %d bytes", path, MAX_ENV_FILE);
	(void)close(fd);
	buf[*len] = '\0';
	return buf;
}

/* The values stay in `buf`, which lives as long as the process does. */
static void set_environment(const char *path)
{
	size_t len;
	char *buf = read_all(path, &len), *end = buf + len;

	for (char *p = buf; p < end; p += strlen(p) + 1) {
		const char *eq = strchr(p, '=');

		/* The text is not shown: it may be a secret. */
		if (!eq || eq == p)
			refuse("'%s': entry at byte %zu is not NAME=VALUE", path,
				(size_t)(p - buf));
		if (putenv(p))
			refuse("out of memory");
	}
}

/* An image that was committed from a container carries the name of that one. */
static void correct_hostname(void)
{
	static struct utsname u;

	if (getenv("HOSTNAME") && !uname(&u))
		(void)setenv("HOSTNAME", u.nodename, 1);
}

/* Sources are lifted first, so that none is overwritten before it was moved. */
static void place_fds(struct options *o)
{
	int lifted[3] = {-1, -1, -1};

	if (o->status >= 0) {
		int fd = fcntl(o->status, F_DUPFD_CLOEXEC, 10);

		if (fd < 0)
			refuse("--status-fd: %s", strerror(errno));
		if (o->status > 2)
			(void)close(o->status);
		o->status = fd;
	}
	for (int i = 0; i < 3; i++) {
		if (o->std[i] < 0)
			continue;
		lifted[i] = fcntl(o->std[i], F_DUPFD_CLOEXEC, 10);
		if (lifted[i] < 0)
			refuse("descriptor %d: %s", o->std[i], strerror(errno));
	}
	for (int i = 0; i < 3; i++)
		if (o->std[i] > 2)
			(void)close(o->std[i]);
	for (int i = 0; i < 3; i++) {
		if (lifted[i] < 0)
			continue;
		if (dup2(lifted[i], i) < 0)
			refuse("descriptor %d: %s", i, strerror(errno));
		(void)close(lifted[i]);
	}
}

/* Not ours to take: they cannot be blocked, or they say that this process is broken. */
static int passed_on(int sig)
{
	static const int not [] = {SIGCHLD, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL,
		SIGTRAP, SIGABRT, SIGSYS, SIGTTIN, SIGTTOU};

	for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
		if (sig == not [i])
			return 0;
	return 1;
}

static void __attribute__((noreturn)) become(char **command, const sigset_t *mask)
{
	int err;

	(void)setpgid(0, 0);
	if (isatty(0))
		(void)tcsetpgrp(0, getpid());
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			(void)signal(sig, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	(void)execvp(command[0], command);
	err = errno;
	(void)dprintf(
		2, "cloop-init: %s: %s\n", command[0], err == ENOENT ? "not found" : strerror(err));
	_exit(err == ENOENT || err == ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT);
}

static void say_status(int fd, int status)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", status);

	if (fd >= 0 && n > 0)
		(void)!write(fd, text, (size_t)n);
}

/*
 * What the command left running ends with it. As first process of a PID namespace that
 * is everybody else; outside of one it is only the command's own process group.
 */
static void end_the_rest(pid_t child)
{
	pid_t pid;

	(void)kill(getpid() == 1 ? -1 : -child, SIGKILL);
	if (getpid() != 1)
		return;
	do
		pid = waitpid(-1, NULL, 0);
	while (pid > 0 || (pid < 0 && errno == EINTR));
}

/* To the whole group, as a terminal does it: a shell in front must not keep it to itself. */
static void pass_on(pid_t child, int sig)
{
	if (kill(-child, sig) || getpgid(child) != child)
		(void)kill(child, sig);
}

static void wait_for_go(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		refuse("the supervisor went away before it said go");
	(void)close(fd);
}

/* Not waiting for a writer: where there is none, nobody will say go. */
static int open_go(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || fcntl(fd, F_SETFL, 0))
		refuse("cannot open '%s': %s", path, strerror(errno));
	return fd;
}

/* Returns the command's status once it has ended; passes on every signal until then. */
static int supervise(pid_t child, const sigset_t *waited)
{
	for (;;) {
		int sig = sigwaitinfo(waited, NULL), st;
		pid_t pid;

		if (sig < 0)
			continue;
		if (sig != SIGCHLD)
			pass_on(child, sig);
		while ((pid = waitpid(-1, &st, WNOHANG)) > 0)
			if (pid == child)
				return WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
	}
}

int main(int argc, char **argv)
{
	struct options o = {.std = {-1, -1, -1}, .status = -1, .go = -1};
	sigset_t waited, old;
	int status;
	pid_t child;

	parse(argc, argv, &o);
	/* The command runs as the same user: it must not read our memory or descriptors. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	place_fds(&o);
	if (o.go_file)
		o.go = open_go(o.go_file);
	if (o.go >= 0)
		wait_for_go(o.go);
	correct_hostname();
	if (o.env)
		set_environment(o.env);
	(void)sigemptyset(&waited);
	for (int sig = 1; sig < NSIG; sig++)
		if (passed_on(sig) || sig == SIGCHLD)
			(void)sigaddset(&waited, sig);
	(void)sigprocmask(SIG_BLOCK, &waited, &old);
	(void)signal(SIGTTOU, SIG_IGN);
	child = fork();
	if (child < 0)
		refuse("cannot start a process: %s", strerror(errno));
	if (!child)
		become(o.command, &old);
	(void)setpgid(child, child);
	/* Held by the command alone: its end, or its closing them, must be seen outside. */
	for (int fd = 0; fd < 3; fd++)
		(void)close(fd);
	status = supervise(child, &waited);
	say_status(o.status, status);
	end_the_rest(child);
	return status;
}
