/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/cgroup.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "sys/cgroup_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cg_check_handle(const char *handle, struct cl_err *e)
{
	if (!cl_all_in(handle, CL_LOWER CL_DIGITS "-") || strlen(handle) > 64)
		return cl_fail(e, CL_EBUG, "'%s' cannot name a cgroup", handle);
	return 0;
}

char *cg_path(const struct cg_hierarchy *h, const char *handle, const char *file)
{
	return cl_asprintf("%s" CG_PARENT "%s%s%s%s", h->dir, handle ? "/" : "",
		handle ? handle : "", file ? "/" : "", file ? file : "");
}

int cg_put(const char *path, const char *text)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0)
		return errno;
	/* A cgroup takes a value in one write or not at all. */
	return write(fd, text, len) == (ssize_t)len ? 0 : errno;
}

int cg_get(const char *path, struct cl_buf *out)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return errno;
	do {
		char *at = cl_buf_reserve(out, 4096);

		n = read(fd, at, 4096);
		if (n < 0 && errno != EINTR)
			return errno;
		if (n > 0)
			out->len += (size_t)n;
		out->p[out->len] = '\0';
	} while (n);
	return 0;
}

bool cg_field(const char *text, const char *key, uint64_t *out)
{
	size_t len = strlen(key);

	for (; text; text = strchr(text, '\n')) {
		struct cl_err ignored;
		cleanup_free char *value = NULL;

		text += *text == '\n';
		if (strncmp(text, key, len) || text[len] != ' ')
			continue;
		value = cl_strndup(text + len + 1, strcspn(text + len + 1, "\n"));
		return !cl_parse_u64(value, 0, UINT64_MAX, key, out, &ignored);
	}
	return false;
}

static bool has(const char *dir, const char *file)
{
	cleanup_free char *path = cl_asprintf("%s/%s", dir, file);

	return !access(path, F_OK);
}

/* Adds `dir` if it is the root of a hierarchy. A v2 root names its controllers in a file;
 * of v1 the tell-tale files are in every cgroup. */
static void probe(struct cg *c, const char *dir)
{
	struct cg_hierarchy h = {.v2 = has(dir, "cgroup.controllers")};
	cleanup_free char *list = cl_asprintf("%s/cgroup.controllers", dir);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	if (c->n == CG_MAX || !has(dir, "cgroup.procs"))
		return;
	if (h.v2) {
		cleanup_strv struct cl_strv names = CL_STRV_INIT;

		(void)cg_get(list, &text);
		text.p[strcspn(text.p, "\n")] = '\0';
		cl_split(text.p, ' ', &names);
		h.memory = cl_strv_has(&names, "memory");
		h.pids = cl_strv_has(&names, "pids");
		h.cpu = cl_strv_has(&names, "cpu");
	} else {
		h.memory = has(dir, "memory.limit_in_bytes");
		h.cpuset = has(dir, "cpuset.cpus");
		h.cpu = has(dir, "cpu.cfs_quota_us");
		/* The root cgroup has no pids.max and no freezer.state. */
		h.pids = cl_ends(dir, "/pids") || has(dir, "pids.current");
		h.freezer = strstr(strrchr(dir, '/'), "freezer") != NULL;
	}
	h.dir = cl_strdup(dir);
	c->h[c->n++] = h;
}

int cg_open(struct cg *c, const char *root, struct cl_err *e)
{
	struct dirent *entry;
	DIR *d;

	*c = CG_INIT;
	c->root = cl_strdup(root ? root : CG_ROOT);
	if (has(c->root, "cgroup.controllers")) {
		probe(c, c->root);
		return 0;
	}
	d = opendir(c->root);
	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return cl_fail_sys(e, CL_EOS, errno, "cannot read '%s'", c->root);
	while ((entry = readdir(d))) {
		cleanup_free char *dir = cl_asprintf("%s/%s", c->root, entry->d_name);
		struct stat st;

		/* "cpu" is often a link to "cpu,cpuacct": one hierarchy, not two. */
		if (entry->d_name[0] != '.' && !lstat(dir, &st) && S_ISDIR(st.st_mode))
			probe(c, dir);
	}
	(void)closedir(d);
	return 0;
}

void cg_release(struct cg *c)
{
	for (size_t i = 0; i < c->n; i++)
		cl_cleanup_free(&c->h[i].dir);
	cl_cleanup_free(&c->root);
	*c = CG_INIT;
}

const char *cg_layout(const struct cg *c)
{
	bool v1 = false, v2 = false;

	for (size_t i = 0; i < c->n; i++) {
		v1 |= !c->h[i].v2;
		v2 |= c->h[i].v2;
	}
	return v1 ? v2 ? "hybrid" : "v1" : v2 ? "v2" : "none";
}

const struct cg_hierarchy *cg_memory(const struct cg *c, struct cl_err *e)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->h[i].memory)
			return &c->h[i];
	(void)cl_fail(e, CL_EUNAVAIL, "no memory controller is mounted at '%s'", c->root);
	(void)cl_fix(e, "boot with cgroup_enable=memory, or mount the controller there");
	return NULL;
}

/* A new v1 cpuset has no CPUs and takes no process before it gets its parent's. */
static void inherit_cpuset(const char *dir)
{
	static const char *const files[] = {"cpuset.cpus", "cpuset.mems"};

	for (size_t i = 0; i < CL_ARRAY_LEN(files); i++) {
		cleanup_free char *own = cl_asprintf("%s/%s", dir, files[i]);
		cleanup_free char *above = cl_asprintf("%s/../%s", dir, files[i]);
		cleanup_buf struct cl_buf value = CL_BUF_INIT, parent = CL_BUF_INIT;

		if (!cg_get(own, &value) && !strcmp(value.p, "\n") && !cg_get(above, &parent))
			(void)cg_put(own, parent.p);
	}
}

/* Lends every controller of `dir` to its children; what it cannot lend shows when it is used. */
static void lend_controllers(const char *dir)
{
	cleanup_free char *from = cl_asprintf("%s/cgroup.controllers", dir);
	cleanup_free char *to = cl_asprintf("%s/cgroup.subtree_control", dir);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	(void)cg_get(from, &text);
	text.p[strcspn(text.p, "\n")] = '\0';
	cl_split(text.p, ' ', &names);
	for (size_t i = 0; i < names.n; i++) {
		cleanup_free char *word = cl_asprintf("+%s", names.v[i]);

		if (names.v[i][0])
			(void)cg_put(to, word);
	}
}

int cg_make_in(const struct cg_hierarchy *h, const char *handle, const char *below, bool *made)
{
	cleanup_free char *parent = cg_path(h, NULL, NULL), *dir = cg_path(h, handle, below);

	/* The last one out removes /cloop: again then. */
	for (int tries = 0; tries < 16; tries++) {
		if (mkdir(parent, 0755) && errno != EEXIST)
			return errno;
		if (h->v2) {
			lend_controllers(h->dir);
			lend_controllers(parent);
		}
		if (h->cpuset)
			inherit_cpuset(parent);
		*made = !mkdir(dir, 0755);
		if (!*made && errno == ENOENT && !below)
			continue;
		if (!*made && errno != EEXIST)
			return errno;
		if (h->cpuset)
			inherit_cpuset(dir);
		return 0;
	}
	return ENOENT;
}

static int cannot(const struct cg_hierarchy *h, const char *handle, int sys, struct cl_err *e)
{
	bool denied = sys == EACCES || sys == EPERM || sys == EROFS;

	(void)cl_fail_sys(e, denied ? CL_EDENIED : CL_EOS, sys,
		"cannot make the cgroup '" CG_PARENT "/%s' in '%s'", handle, h->dir);
	if (denied)
		return cl_fix(e, "run as root, with '%s' mounted writable", h->dir);
	return -1;
}

/* Takes back what one call made in the first n hierarchies. */
static void unmake(const struct cg *c, const char *handle, const bool *made, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cleanup_free char *dir = cg_path(&c->h[i], handle, NULL);
		cleanup_free char *parent = cg_path(&c->h[i], NULL, NULL);

		if (made[i] && !rmdir(dir))
			(void)rmdir(parent);
	}
}

int cg_create(const struct cg *c, const char *handle, struct cl_err *e)
{
	bool made[CG_MAX] = {false};

	if (cg_check_handle(handle, e))
		return -1;
	if (!c->n) {
		(void)cl_fail(e, CL_EUNAVAIL, "no cgroup hierarchy is mounted at '%s'", c->root);
		return cl_fix(e, "mount cgroup2 there: mount -t cgroup2 cgroup2 %s", c->root);
	}
	for (size_t i = 0; i < c->n; i++) {
		int sys = cg_make_in(&c->h[i], handle, NULL, &made[i]);

		if (!sys)
			continue;
		unmake(c, handle, made, i);
		return cannot(&c->h[i], handle, sys, e);
	}
	return 0;
}

int cg_put_process(const struct cg_hierarchy *h, const char *handle, const char *below, pid_t pid,
	struct cl_err *e)
{
	cleanup_free char *name = cl_asprintf("%s/cgroup.procs", below);
	cleanup_free char *procs = cg_path(h, handle, name);
	char text[16];
	bool made;
	int sys = cg_make_in(h, handle, below, &made);

	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	if (!sys)
		sys = cg_put(procs, text);
	if (sys)
		return cl_fail_sys(e, sys == ESRCH ? CL_ENOTFOUND : CL_EOS, sys,
			"cannot put process %d into '%s'", (int)pid, procs);
	return 0;
}

int cg_add(const struct cg *c, const char *handle, pid_t pid, struct cl_err *e)
{
	if (cg_check_handle(handle, e))
		return -1;
	for (size_t i = 0; i < c->n; i++) {
		const struct cg_hierarchy *h = &c->h[i];

		if ((!h->memory || h->v2) && cg_put_process(h, handle, "helpers", pid, e))
			return -1;
	}
	return 0;
}

int cg_lend_memory(const struct cg *c, pid_t pid, struct cl_err *e)
{
	const struct cg_hierarchy *h = cg_memory(c, e);
	cleanup_free char *procs = NULL;
	char text[16];
	int sys;

	if (!h)
		return -1;
	if (h->v2)
		return 0;
	procs = cl_asprintf("%s" CG_PARENT "/cgroup.procs", h->dir);
	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	sys = cg_put(procs, text);
	if (sys && sys != ESRCH)
		return cl_fail_sys(
			e, CL_EOS, sys, "cannot put process %d into '%s'", (int)pid, procs);
	return 0;
}

/* One limit: on v1 a rise must lift the one with swap first, a fall must lower it last. */
static int put_v1(const struct cg_hierarchy *h, const char *handle, const char *text)
{
	cleanup_free char *limit = cg_path(h, handle, "memory.limit_in_bytes");
	cleanup_free char *both = cg_path(h, handle, "memory.memsw.limit_in_bytes");
	bool swap = !access(both, F_OK);
	int sys = cg_put(limit, text);

	if (sys == EINVAL && swap) {
		sys = cg_put(both, text);
		return sys ? sys : cg_put(limit, text);
	}
	return sys || !swap ? sys : cg_put(both, text);
}

static int put_v2(const struct cg_hierarchy *h, const char *handle, const char *text)
{
	cleanup_free char *limit = cg_path(h, handle, "memory.max");
	cleanup_free char *swap = cg_path(h, handle, "memory.swap.max");
	int sys = cg_put(limit, text);

	/* Absent where the kernel counts no swap. */
	if (!sys && !access(swap, F_OK))
		sys = cg_put(swap, "0");
	return sys;
}

int cg_set_memory(const struct cg *c, const char *handle, int64_t bytes, struct cl_err *e)
{
	const struct cg_hierarchy *h;
	char text[24];
	int sys;

	if (cg_check_handle(handle, e))
		return -1;
	h = cg_memory(c, e);
	if (!h)
		return -1;
	if (bytes <= 0)
		return cl_fail(e, CL_EBUG, "a memory limit of %lld bytes", (long long)bytes);
	(void)snprintf(text, sizeof(text), "%lld", (long long)bytes);
	sys = h->v2 ? put_v2(h, handle, text) : put_v1(h, handle, text);
	if (!sys)
		return 0;
	if (sys == ENOENT && h->v2) {
		(void)cl_fail(e, CL_EUNAVAIL,
			"the memory controller of '%s' is not lent to '" CG_PARENT "/%s'", h->dir,
			handle);
		return cl_fix(e,
			"move the processes out of the root cgroup, then: "
			"echo +memory > %s/cgroup.subtree_control",
			h->dir);
	}
	return cl_fail_sys(e, CL_EOS, sys, "cannot limit the memory of '" CG_PARENT "/%s' to %s",
		handle, text);
}
