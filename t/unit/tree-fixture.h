/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees to measure, with du(1) as the reference. As root they lie on a tmpfs of our own, in a
 * mount namespace that ends with the test. */
#ifndef T_TREE_FIXTURE_H
#define T_TREE_FIXTURE_H

#include "base/mem.h"
#include "sys/diskwalk.h"
#include "sys/proc.h"
#include "unit.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64]; /* where the trees are made */

/* A new empty directory `top`; root gets a mount namespace, so that nothing outlives us. */
static inline void setup(void)
{
	static bool isolated;

	if (!geteuid() && !isolated) {
		CHECK_INT(unshare(CLONE_NEWNS), 0);
		CHECK_INT(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
		isolated = true;
	}
	(void)snprintf(top, sizeof(top), "/tmp/u-diskwalk-XXXXXX");
	CHECK(mkdtemp(top) != NULL);
	if (!geteuid())
		CHECK_INT(mount("none", top, "tmpfs", 0, "mode=755"), 0);
}

static inline int run(const char *const *argv, struct cl_buf *out)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;

	r.spawn.path = argv[0];
	r.spawn.argv = (char *const *)(const void *)argv;
	if (sys_run(&r, &e))
		return -1;
	if (out)
		cl_buf_add(out, r.out.p, r.out.len);
	return r.status;
}

static inline void teardown(void)
{
	if (!geteuid())
		CHECK_INT(umount2(top, MNT_DETACH), 0);
	CHECK_INT(run((const char *const[]){"rm", "-rf", top, NULL}, NULL), 0);
}

static inline char *under(const char *name)
{
	return cl_asprintf("%s/%s", top, name);
}

static inline void folder(const char *name)
{
	cleanup_free char *path = under(name);

	CHECK_INT(mkdir(path, 0755), 0);
}

static inline void file(const char *name, size_t bytes)
{
	cleanup_free char *path = under(name), *data = cl_calloc(1, bytes + 1);
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	memset(data, 'x', bytes);
	CHECK_INT(write(fd, data, bytes), bytes);
	CHECK_INT(fsync(fd), 0);
}

/* du in bytes, of one path below top. */
static inline int64_t du(const char *name)
{
	cleanup_free char *path = under(name);
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	CHECK_INT(run((const char *const[]){"du", "-s", "-B1", "--", path, NULL}, &out), 0);
	return strtoll(out.p, NULL, 10);
}

/* An hour: what a walk finds must not hang on how busy the machine is. */
static inline struct diskwalk_want want(void)
{
	return (struct diskwalk_want){.tree = top, .baseline = -1, .deadline_ms = 3600000};
}

static inline struct diskwalk_result walk(struct diskwalk_want w)
{
	struct diskwalk_result r = {0};
	struct cl_err e;
	int rc = diskwalk_run(&w, &r, &e);

	CHECK_INT(rc, 0);
	if (rc)
		printf("# %s\n", e.msg);
	return r;
}

/* Makes `levels` directories in each other, each with a file of 4 KiB. */
static inline void deep(int levels)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC), next;
	char page[4096] = "";

	for (int i = 0; i < levels; i++) {
		int f = openat(fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		if (f < 0 || write(f, page, sizeof(page)) != sizeof(page) || mkdirat(fd, "d", 0755))
			break;
		(void)close(f);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(fd);
		fd = next;
	}
	CHECK(fd >= 0);
	(void)close(fd);
}

#endif
