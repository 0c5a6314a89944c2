/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "sys/net/net_internal.h"
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

struct job {
	int fd;
	int (*fn)(void *arg, struct cl_err *e);
	void *arg;
	struct cl_err *e;
	int rc;
};

static void *run_job(void *arg)
{
	struct job *j = arg;

	if (j->fd < 0 ? unshare(CLONE_NEWNET) : setns(j->fd, CLONE_NEWNET)) {
		j->rc = cl_fail_sys(j->e, errno == EPERM ? CL_EDENIED : CL_EOS, errno,
			"cannot %s a network namespace", j->fd < 0 ? "make" : "enter");
		if (j->e->code == CL_EDENIED)
			(void)cl_fix(j->e, "run as root (CAP_SYS_ADMIN is needed)");
	} else {
		j->rc = j->fn(j->arg, j->e);
	}
	return NULL;
}

/* A thread, so that the caller never leaves its namespace, not even when this fails. */
int net_in_namespace(int fd, int (*fn)(void *arg, struct cl_err *e), void *arg, struct cl_err *e)
{
	struct job j = {.fd = fd, .fn = fn, .arg = arg, .e = e};
	sigset_t all, before;
	pthread_t t;
	int err;

	/* Signals are the caller's to handle, in its own threads. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&t, NULL, run_job, &j);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return cl_fail_sys(e, CL_EOS, err, "cannot start a thread");
	(void)pthread_join(t, NULL);
	return j.rc;
}

struct inside {
	int fd;
	struct sys_nl *nl;
};

static int open_inside(void *arg, struct cl_err *e)
{
	struct inside *in = arg;

	in->fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (in->fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '/proc/thread-self/ns/net'");
	/* lo is the first link of every namespace. */
	return sys_nl_open(in->nl, NETLINK_ROUTE, e) || net_link_up(in->nl, 1, e) ? -1 : 0;
}

int net_ns_bind(const struct net_dirs *d, const char *handle, int fd, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("%s/netns/%s", d->root, handle);
	cleanup_fd int file = openat(
		d->netns, handle, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	char from[40];

	if (file < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", path);
	(void)snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (mount(from, path, NULL, MS_BIND, NULL))
		return cl_fail_sys(e, errno == EPERM ? CL_EDENIED : CL_EOS, errno,
			"cannot bind a network namespace to '%s'", path);
	return 0;
}

int net_ns_make(
	const struct net_dirs *d, const char *handle, int *fd, struct sys_nl *nl, struct cl_err *e)
{
	struct inside in = {.fd = -1, .nl = nl};
	int rc = net_in_namespace(-1, open_inside, &in, e);

	*fd = in.fd;
	return rc ? rc : net_ns_bind(d, handle, in.fd, e);
}

int net_ns_remove(const struct net_dirs *d, const char *handle, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("%s/netns/%s", d->root, handle);

	/* EINVAL: a file that nothing is mounted on, left by a kill between the two. */
	while (!umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW))
		;
	if (errno != EINVAL && errno != ENOENT)
		return cl_fail_sys(e, CL_EOS, errno, "cannot unmount '%s'", path);
	if (unlinkat(d->netns, handle, 0) && errno != ENOENT)
		return cl_fail_sys(e, CL_EOS, errno, "cannot remove '%s'", path);
	return 0;
}

struct setting {
	const char *key, *value;
	bool optional;
};

static int write_setting(void *arg, struct cl_err *e)
{
	const struct setting *s = arg;
	cleanup_free char *path = cl_asprintf("/proc/sys/net/%s", s->key);

	if (!sys_put(path, s->value, e) || (s->optional && e->code == CL_ENOTFOUND))
		return 0;
	return cl_fix(
		e, "mount /proc/sys writable for this process, or set it to %s by hand", s->value);
}

int net_sysctl(int fd, const char *key, const char *value, bool optional, struct cl_err *e)
{
	struct setting s = {key, value, optional};

	return fd < 0 ? write_setting(&s, e) : net_in_namespace(fd, write_setting, &s, e);
}

int net_ns_routes_nothing(int fd, struct cl_err *e)
{
	return net_sysctl(fd, "ipv4/ip_forward", "0", true, e) ||
			       net_sysctl(fd, "ipv6/conf/all/forwarding", "0", true, e)
		       ? -1
		       : 0;
}

long net_sysctl_get(const char *key)
{
	cleanup_free char *path = cl_asprintf("/proc/sys/net/%s", key);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct cl_err e;

	if (sys_read_small(AT_FDCWD, path, 64, &text, &e))
		return -1;
	return *text.p >= '0' && *text.p <= '9' ? *text.p - '0' : -1;
}
