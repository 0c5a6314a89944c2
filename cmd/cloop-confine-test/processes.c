/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes of others, and what was inherited from whoever started us. */
#include "attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Calls fn for each process that another user owns, until one is reached. */
static void each_other(struct result *r, void (*fn)(struct result *, pid_t))
{
	DIR *d = opendir("/proc");
	const struct dirent *de;
	char path[300];
	struct stat st;

	skipped(r, "no process of another user is seen");
	while (d && r->outcome != REACHED && (de = readdir(d))) {
		pid_t pid = (pid_t)strtol(de->d_name, NULL, 10);

		(void)snprintf(path, sizeof(path), "/proc/%s", de->d_name);
		if (pid > 0 && !stat(path, &st) && st.st_uid != geteuid())
			fn(r, pid);
	}
	if (d)
		(void)closedir(d);
}

static void attach(struct result *r, pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, 0, 0)) {
		held_errno(r);
		return;
	}
	(void)ptrace(PTRACE_DETACH, pid, 0, 0);
	reached(r, "process %d of another user is traced", (int)pid);
}

static void may_signal(struct result *r, pid_t pid)
{
	if (kill(pid, 0))
		held_errno(r);
	else
		reached(r, "process %d of another user takes signals of ours", (int)pid);
}

static void read_environment(struct result *r, pid_t pid)
{
	char path[64], byte;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &byte, 1) == 1)
		reached(r, "the environment of process %d can be read", (int)pid);
	else
		held_errno(r);
	if (fd >= 0)
		(void)close(fd);
}

static void try_attach(struct result *r, const struct attempt *a)
{
	(void)a;
	each_other(r, attach);
}

static void try_signal(struct result *r, const struct attempt *a)
{
	(void)a;
	each_other(r, may_signal);
}

static void try_environment(struct result *r, const struct attempt *a)
{
	(void)a;
	each_other(r, read_environment);
}

/* A descriptor that was left open (CVE-2024-21626 began with one). */
static void inherited(struct result *r, const struct attempt *a)
{
	struct stat st;

	held(r, "there is none");
	for (int fd = 3; fd < 256; fd++)
		if (!fstat(fd, &st) && (st.st_mode & S_IFMT) == (mode_t)a->number)
			reached(r, "descriptor %d was left open: %s", fd, a->text);
}

/* Anybody who may trace or kill by number could hit the host's init. */
static void host_init(struct result *r, const struct attempt *a)
{
	char name[32] = "";
	int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);

	(void)a;
	if (fd >= 0 && read(fd, name, sizeof(name) - 1) > 0 && !strncmp(name, "systemd\n", 8))
		reached(r, "process 1 is the host's systemd");
	else
		held(r, "process 1 is the sandbox's");
}

static void priority(struct result *r, const struct attempt *a)
{
	(void)a;
	errno = 0;
	if (setpriority(PRIO_PROCESS, 0, -10))
		held_errno(r);
	else
		reached(r, "a better place in the host's queue was taken");
}

static void realtime(struct result *r, const struct attempt *a)
{
	int prio = 1;

	(void)a;
	if (syscall(SYS_sched_setscheduler, 0, 1 /* FIFO */, &prio))
		held_errno(r);
	else
		reached(r, "a real-time process is never interrupted");
}

static void raise_limit(struct result *r, const struct attempt *a)
{
	struct rlimit was, more;

	if (getrlimit((int)a->number, &was)) {
		held_errno(r);
		return;
	}
	if (was.rlim_max == RLIM_INFINITY) {
		reached(r, "the limit of %s is none", a->text);
		return;
	}
	more = (struct rlimit){was.rlim_max + 1, was.rlim_max + 1};
	if (setrlimit((int)a->number, &more))
		held_errno(r);
	else
		reached(r, "the limit of %s was raised", a->text);
}

const struct attempt attempts_processes[] = {
	{"host-init", "process 1 is not the host's", host_init, NULL, 0, 0},
	{"trace-others", "no process of another user is traced", try_attach, NULL, 0, 0},
	{"signal-others", "no process of another user is signalled", try_signal, NULL, 0, 0},
	{"environment-of-others", "no environment of another user is read", try_environment, NULL,
		0, 0},
	{"inherited-directory", "no directory of the host was left open", inherited, "a directory",
		S_IFDIR, 0},
	{"inherited-socket", "no socket of the host was left open", inherited, "a socket", S_IFSOCK,
		0},
	{"inherited-file", "no file of the host was left open", inherited, "a file", S_IFREG, 0},
	{"inherited-device", "no disk of the host was left open", inherited, "a block device",
		S_IFBLK, 0},
	{"priority", "the host's other processes keep their turn", priority, NULL, 0, SURFACE},
	{"realtime", "no process is made real-time", realtime, NULL, 0, SURFACE},
	{"core-limit", "no core goes to the host's handler", raise_limit, "core files", RLIMIT_CORE,
		0},
	{"file-limit", "the number of files stays limited", raise_limit, "open files",
		RLIMIT_NOFILE, 0},
	{0},
};
