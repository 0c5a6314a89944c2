/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "sys/cgroup.h"
#include "sys/cgroup_internal.h"
#include "sys/clock.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Adds the directories of `dir`; one that has just gone has none. */
static int children(const char *dir, struct cl_strv *out)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	if (!d)
		return errno == ENOENT || errno == ENODEV ? 0 : errno;
	while ((entry = readdir(d))) {
		cleanup_free char *path = NULL;
		struct stat st;

		/* A cgroup holds dozens of files; those need not be looked at. */
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
			(entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		path = cl_asprintf("%s/%s", dir, entry->d_name);
		if (!lstat(path, &st) && S_ISDIR(st.st_mode))
			cl_strv_add(out, path);
	}
	(void)closedir(d);
	return 0;
}

int cg_tree(
	const struct cg_hierarchy *h, const char *handle, struct cl_strv *dirs, struct cl_err *e)
{
	cleanup_free char *top = cg_path(h, handle, NULL);

	if (access(top, F_OK))
		return 0;
	cl_strv_add(dirs, top);
	for (size_t i = 0; i < dirs->n; i++) {
		int sys = children(dirs->v[i], dirs);

		if (sys)
			return cl_fail_sys(e, CL_EOS, sys, "cannot read '%s'", dirs->v[i]);
	}
	return 0;
}

int cg_list(const struct cg *c, struct cl_strv *handles, struct cl_err *e)
{
	for (size_t i = 0; i < c->n; i++) {
		cleanup_free char *parent = cg_path(&c->h[i], NULL, NULL);
		cleanup_strv struct cl_strv dirs = CL_STRV_INIT;
		int sys = children(parent, &dirs);

		if (sys)
			return cl_fail_sys(e, CL_EOS, sys, "cannot read '%s'", parent);
		for (size_t k = 0; k < dirs.n; k++) {
			const char *name = strrchr(dirs.v[k], '/') + 1;
			struct cl_err ignored;

			if (!cg_check_handle(name, &ignored))
				cl_strv_add(handles, name);
		}
	}
	cl_strv_sort(handles);
	cl_strv_uniq(handles);
	return 0;
}

struct pids {
	pid_t *v;
	size_t n, cap;
};

static void add_pids(struct pids *p, char *text)
{
	for (char *line = text, *end; *line; line = end) {
		struct cl_err ignored;
		uint64_t pid;

		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		/* 0 stands for a process of another pid namespace; to kill it is to kill ourselves. */
		if (cl_parse_u64(line, 1, INT32_MAX, "pid", &pid, &ignored))
			continue;
		p->v = cl_grow(p->v, &p->cap, p->n + 1, sizeof(*p->v));
		p->v[p->n++] = (pid_t)pid;
	}
}

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static int collect(const struct cg *c, const char *handle, struct pids *p, struct cl_err *e)
{
	for (size_t i = 0; i < c->n; i++) {
		cleanup_strv struct cl_strv dirs = CL_STRV_INIT;

		if (cg_tree(&c->h[i], handle, &dirs, e))
			return -1;
		for (size_t k = 0; k < dirs.n; k++) {
			cleanup_free char *file = cl_asprintf("%s/cgroup.procs", dirs.v[k]);
			cleanup_buf struct cl_buf text = CL_BUF_INIT;
			int sys = cg_get(file, &text);

			/* Gone meanwhile; or threaded (v2), then its domain above lists it. */
			if (sys == ENOENT || sys == ENODEV || sys == EOPNOTSUPP)
				continue;
			if (sys)
				return cl_fail_sys(e, CL_EOS, sys, "cannot read '%s'", file);
			add_pids(p, text.p);
		}
	}
	return 0;
}

int cg_pids(const struct cg *c, const char *handle, pid_t **pids, size_t *n, struct cl_err *e)
{
	struct pids p = {0};
	size_t kept = 0;

	*pids = NULL;
	*n = 0;
	if (cg_check_handle(handle, e))
		return -1;
	if (collect(c, handle, &p, e)) {
		free(p.v);
		return -1;
	}
	if (p.n)
		qsort(p.v, p.n, sizeof(*p.v), by_number);
	for (size_t i = 0; i < p.n; i++)
		if (!kept || p.v[kept - 1] != p.v[i])
			p.v[kept++] = p.v[i];
	*pids = p.v;
	*n = kept;
	return 0;
}

/* Whether /proc/PID/cgroup places the process in the tree in any hierarchy. */
static bool is_member(pid_t pid, const char *handle)
{
	cleanup_free char *file = cl_asprintf("/proc/%d/cgroup", (int)pid);
	cleanup_free char *want = cl_asprintf(CG_PARENT "/%s", handle);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	size_t len = strlen(want);

	if (cg_get(file, &text))
		return false;
	for (const char *p = text.p; (p = strstr(p, want)); p += len)
		if (p[len] == '/' || p[len] == '\n' || !p[len])
			return true;
	return false;
}

/* Through a pidfd, opened before the membership is looked at: a pid that was used again
 * in between belongs to somebody else. */
static void kill_member(pid_t pid, const char *handle)
{
	cleanup_fd int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct cl_err ignored;

	if (fd >= 0 && is_member(pid, handle))
		(void)sys_pidfd_kill(fd, SIGKILL, &ignored);
}

/* True when it was there to be written. */
static bool put_in(
	const struct cg_hierarchy *h, const char *handle, const char *file, const char *text)
{
	cleanup_free char *path = cg_path(h, handle, file);

	return !cg_put(path, text);
}

/* Stops forks for good; what came before a failure here is caught by looking again. */
static bool stop_forks(const struct cg *c, const char *handle)
{
	bool stopped = false;

	for (size_t i = 0; i < c->n; i++)
		if (c->h[i].pids)
			stopped |= put_in(&c->h[i], handle, "pids.max", "0");
	return stopped;
}

static void freeze(const struct cg *c, const char *handle, const char *state)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->h[i].freezer)
			(void)put_in(&c->h[i], handle, "freezer.state", state);
}

static int survivors(const char *handle, const pid_t *pids, size_t n, struct cl_err *e)
{
	cleanup_buf struct cl_buf list = CL_BUF_INIT;

	for (size_t i = 0; i < n && i < 8; i++)
		cl_buf_addf(&list, "%s%d", i ? ", " : "", (int)pids[i]);
	if (n > 8)
		cl_buf_adds(&list, ", ...");
	(void)cl_fail(e, CL_EBUSY, "%zu process%s of '%s' outlive%s SIGKILL: %s", n,
		n == 1 ? "" : "es", handle, n == 1 ? "s" : "", list.p);
	return cl_fix(e, "see what they wait for: cat /proc/%d/wchan", (int)pids[0]);
}

int cg_kill(const struct cg *c, const char *handle, int64_t timeout_ms, struct cl_err *e)
{
	int64_t deadline = sys_mono_ms() + timeout_ms, pause = 1;

	if (cg_check_handle(handle, e))
		return -1;
	for (;; sys_sleep_ms(pause), pause = pause < 20 ? pause * 2 : 20) {
		cleanup_free pid_t *pids = NULL;
		bool frozen = !stop_forks(c, handle);
		size_t n;

		if (frozen)
			freeze(c, handle, "FROZEN");
		for (size_t i = 0; i < c->n; i++)
			if (c->h[i].v2)
				(void)put_in(&c->h[i], handle, "cgroup.kill", "1");
		if (cg_pids(c, handle, &pids, &n, e))
			return -1;
		for (size_t i = 0; i < n; i++)
			kill_member(pids[i], handle);
		/* Always: whoever was frozen by an earlier, interrupted call could not die else. */
		freeze(c, handle, "THAWED");
		if (!n)
			return 0;
		if (sys_mono_ms() >= deadline)
			return survivors(handle, pids, n, e);
	}
}

static int in_use(const char *dir, struct cl_err *e)
{
	(void)cl_fail(e, CL_EBUSY, "the cgroup '%s' is still in use", dir);
	return cl_fix(e, "end the processes that are in %s/cgroup.procs, then 'cloop sweep'", dir);
}

/* Children first. The kernel needs a moment to let go of those that have just died. */
static int remove_tree(const struct cg_hierarchy *h, const char *handle, struct cl_err *e)
{
	int64_t deadline = sys_mono_ms() + 2000;

	for (;;) {
		cleanup_strv struct cl_strv dirs = CL_STRV_INIT;
		int sys = 0;

		if (cg_tree(h, handle, &dirs, e))
			return -1;
		for (size_t i = dirs.n; i-- > 0;)
			if (rmdir(dirs.v[i]) && errno != ENOENT)
				sys = errno;
		if (!sys)
			return 0;
		if (sys != EBUSY && sys != ENOTEMPTY)
			return cl_fail_sys(e, CL_EOS, sys, "cannot remove '%s'", dirs.v[0]);
		if (sys_mono_ms() >= deadline)
			return in_use(dirs.v[0], e);
		sys_sleep_ms(5);
	}
}

int cg_remove(const struct cg *c, const char *handle, struct cl_err *e)
{
	cleanup_free pid_t *pids = NULL;
	size_t n;

	if (cg_pids(c, handle, &pids, &n, e))
		return -1;
	if (n) {
		(void)cl_fail(e, CL_EBUSY,
			"the cgroup '" CG_PARENT "/%s' still holds %zu process%s", handle, n,
			n == 1 ? "" : "es");
		return cl_fix(e, "stop the workload first: cloop runs stop %s", handle);
	}
	for (size_t i = 0; i < c->n; i++) {
		cleanup_free char *parent = cg_path(&c->h[i], NULL, NULL);

		if (remove_tree(&c->h[i], handle, e))
			return -1;
		(void)rmdir(parent);
	}
	return 0;
}
