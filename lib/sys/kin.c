/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/kin.h"
#include "base/mem.h"
#include "base/num.h"
#include "sys/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ENVIRON (8 << 20)

/* What /proc/PID/environ holds; false where it cannot be read, which is no answer. */
static bool environment(pid_t pid, struct cl_buf *out)
{
	cleanup_free char *path = cl_asprintf("/proc/%d/environ", (int)pid);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	out->len = 0;
	while (fd >= 0 && n > 0 && out->len < MAX_ENVIRON) {
		n = read(fd, cl_buf_reserve(out, 16384), 16384);
		out->len += n > 0 ? (size_t)n : 0;
	}
	return fd >= 0 && n == 0;
}

/* The entry that starts with `prefix`, or NULL; entries end with NUL. */
static const char *entry(struct cl_buf *env, const char *prefix)
{
	size_t len = strlen(prefix);
	const char *p, *end;

	if (!env->len)
		return NULL;
	cl_buf_addc(env, '\0');
	end = env->p + env->len - 1;
	for (p = env->p; p < end; p += strlen(p) + 1)
		if (!strncmp(p, prefix, len))
			return p;
	return NULL;
}

static bool runs_ours(pid_t pid)
{
	cleanup_free char *path = cl_asprintf("/proc/%d/exe", (int)pid);
	struct stat a, b;

	return !stat(path, &a) && !stat("/proc/self/exe", &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static bool is_kin(pid_t pid, const char *mark, pid_t parent, struct cl_buf *env)
{
	struct sys_proc_stat st;
	struct cl_err ignored;
	const char *found;

	if (sys_proc_stat(pid, &st, &ignored) || st.state == 'Z' || st.state == 'X')
		return false;
	if (parent && st.ppid == parent && !runs_ours(pid))
		return true;
	found = environment(pid, env) ? entry(env, mark) : NULL;
	return found && !strcmp(found, mark);
}

/* Calls fn for each pid that there is. */
static int each(void (*fn)(pid_t pid, void *arg), void *arg, struct cl_err *e)
{
	DIR *d = opendir("/proc");
	const struct dirent *de;

	if (!d)
		return cl_fail_sys(e, CL_EOS, errno, "cannot list the processes");
	while ((de = readdir(d))) {
		struct cl_err ignored;
		uint64_t pid;

		if (!cl_parse_u64(de->d_name, 1, 4194304, "pid", &pid, &ignored) &&
			(pid_t)pid != getpid())
			fn((pid_t)pid, arg);
	}
	(void)closedir(d);
	return 0;
}

struct hunt {
	const char *mark;
	pid_t parent;
	size_t found;
	struct cl_buf env;
};

static void kill_one(pid_t pid, void *arg)
{
	cleanup_fd int fd = pidfd_open(pid, 0);
	struct hunt *h = arg;
	struct cl_err ignored;

	if (fd < 0 || !is_kin(pid, h->mark, h->parent, &h->env))
		return;
	h->found++;
	(void)sys_pidfd_kill(fd, SIGKILL, &ignored);
}

int sys_kin_kill(const char *mark, pid_t parent, int64_t timeout_ms, struct cl_err *e)
{
	struct hunt h = {.mark = mark, .parent = parent, .env = CL_BUF_INIT};
	int64_t until = sys_mono_ms() + timeout_ms;
	int rc;

	for (;;) {
		h.found = 0;
		rc = each(kill_one, &h, e);
		if (rc || !h.found || sys_mono_ms() >= until)
			break;
		sys_sleep_ms(10);
	}
	cl_buf_release(&h.env);
	if (rc || !h.found)
		return rc;
	return cl_fail(e, CL_EBUSY, "%zu processes with %s do not end", h.found, mark);
}

struct census {
	const char *prefix;
	struct cl_strv *out;
	struct cl_buf env;
};

static void note_value(pid_t pid, void *arg)
{
	struct census *c = arg;
	const char *found = environment(pid, &c->env) ? entry(&c->env, c->prefix) : NULL;

	if (found && !cl_strv_has(c->out, found + strlen(c->prefix)))
		cl_strv_add(c->out, found + strlen(c->prefix));
}

int sys_kin_values(const char *name, struct cl_strv *out, struct cl_err *e)
{
	cleanup_free char *prefix = cl_asprintf("%s=", name);
	struct census c = {.prefix = prefix, .out = out, .env = CL_BUF_INIT};
	int rc = each(note_value, &c, e);

	cl_buf_release(&c.env);
	return rc;
}
