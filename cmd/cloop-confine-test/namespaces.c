/* SPDX-License-Identifier: GPL-3.0-or-later */
/* New namespaces, which open much of the kernel, and those of others. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static void leave(struct result *r, const struct attempt *a)
{
	if (unshare((int)a->number))
		held_errno(r);
	else
		reached(r, "a new %s namespace was made", a->text);
}

/* Root of a namespace of its own may do to it whatever the kernel lets root do. */
static void own_root(struct result *r, const struct attempt *a)
{
	if (unshare(CLONE_NEWUSER | (int)a->number))
		held_errno(r);
	else
		reached(r, "root in a new user namespace, with a new %s namespace", a->text);
}

/* What a system call made that answers as fork(2). */
static void made(struct result *r, long pid)
{
	if (!pid)
		_exit(0);
	if (pid < 0) {
		held_errno(r);
		return;
	}
	(void)waitpid((pid_t)pid, NULL, 0);
	reached(r, "a process in a new user namespace was made");
}

static void old_clone(struct result *r, const struct attempt *a)
{
	long pid = syscall(SYS_clone, (unsigned long)a->number | SIGCHLD, 0, 0, 0, 0);

	made(r, pid);
}

static void new_clone(struct result *r, const struct attempt *a)
{
	unsigned long long args[8] = {(unsigned long long)a->number, 0, 0, 0, SIGCHLD};
	long pid = syscall(SYS_clone3, args, sizeof(args));

	made(r, pid);
}

/* Into a namespace of the first process's, where that is not ours. */
static void join(struct result *r, const struct attempt *a)
{
	char own[64], theirs[64], mine[64];
	ssize_t n, m;
	int fd;

	(void)snprintf(own, sizeof(own), "/proc/self/ns/%s", a->text);
	(void)snprintf(theirs, sizeof(theirs), "/proc/1/ns/%s", a->text);
	fd = open(theirs, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		held_errno(r);
		return;
	}
	n = readlink(own, mine, sizeof(mine));
	m = readlink(theirs, own, sizeof(own));
	if (n > 0 && n == m && !memcmp(mine, own, (size_t)n)) {
		held(r, "it is our own");
		return;
	}
	if (setns(fd, 0))
		held_errno(r);
	else
		reached(r, "the %s namespace of process 1 was joined", a->text);
}

#define NEW(name, flag)                                                                      \
	{                                                                                    \
		"new-" name, "no new " name " namespace is made", leave, name, flag, SURFACE \
	}
#define ROOT(name, flag)                                                                         \
	{                                                                                        \
		"root-and-" name, "nobody becomes root of a " name " namespace", own_root, name, \
			flag, SURFACE                                                            \
	}
#define JOIN(name)                                                                              \
	{                                                                                       \
		"join-" name, "no " name " namespace of the host's is joined", join, name, 0, 0 \
	}

const struct attempt attempts_namespaces[] = {
	NEW("user", CLONE_NEWUSER),
	NEW("mount", CLONE_NEWNS),
	NEW("network", CLONE_NEWNET),
	NEW("pid", CLONE_NEWPID),
	NEW("uts", CLONE_NEWUTS),
	NEW("ipc", CLONE_NEWIPC),
	NEW("cgroup", CLONE_NEWCGROUP),
	NEW("time", CLONE_NEWTIME),
	ROOT("mount", CLONE_NEWNS),
	ROOT("network", CLONE_NEWNET),
	ROOT("pid", CLONE_NEWPID),
	{"clone-user", "clone(2) makes no user namespace", old_clone, NULL, CLONE_NEWUSER, SURFACE},
	{"clone3-user", "clone3(2), whose flags no filter sees, makes none", new_clone, NULL,
		CLONE_NEWUSER, SURFACE},
	JOIN("mnt"),
	JOIN("net"),
	JOIN("pid"),
	JOIN("uts"),
	JOIN("ipc"),
	JOIN("user"),
	JOIN("cgroup"),
	{0},
};
