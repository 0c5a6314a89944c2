/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Removing a tree of any depth with a handful of descriptors: a full directory inside
 * another one is first moved up to the root of the tree, so nothing recurses, no path
 * grows, and what cannot be removed is still inside the tree.
 */
#include "base/mem.h"
#include "sys/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rm {
	int top;                /* the root of the tree */
	unsigned long long tag; /* of our names in it */
	unsigned moved;         /* directories moved up so far */
};
#define RM_NAME 64

static void moved_name(const struct rm *r, unsigned n, char out[RM_NAME])
{
	(void)snprintf(out, RM_NAME, ".cloop-rm-%016llx-%u", r->tag, n);
}

static int open_dir(int dirfd, const char *name, int flags)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};

	return (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
}

/* A directory that its owner may not write keeps its entries from us too, unless root. */
static void make_writable(int dirfd, const char *name)
{
	cleanup_fd int fd = open_dir(dirfd, name, O_PATH);
	char link[40];

	if (fd < 0)
		return;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	(void)chmod(link, 0700);
}

static int failed(const char *name, int err, struct cl_err *e)
{
	if (err == EXDEV || err == EBUSY) {
		(void)cl_fail(e, CL_EBUSY, "cannot remove '%s': something is mounted there", name);
		return cl_fix(e, "unmount it (findmnt shows it), then try again");
	}
	return cl_fail_sys(e, CL_EOS, err, "cannot remove '%s'", name);
}

/* Removes one entry of the open directory, or moves it up when it is a full directory. */
static int remove_entry(struct rm *r, int fd, const char *name, struct cl_err *e)
{
	char up[RM_NAME];

	if (!unlinkat(fd, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return failed(name, errno, e);
	if (!unlinkat(fd, name, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
		return failed(name, errno, e);
	make_writable(fd, name);
	moved_name(r, r->moved, up);
	if (renameat(fd, name, r->top, up))
		return failed(name, errno, e);
	r->moved++;
	return 0;
}

static int empty_dir(struct rm *r, const char *name, struct cl_err *e)
{
	int fd = open_dir(r->top, name, O_RDONLY);
	const struct dirent *de;
	DIR *d;
	int rc = 0;

	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		rc = errno;
		if (fd >= 0)
			(void)close(fd);
		return rc == ENOENT ? 0 : failed(name, rc, e);
	}
	while (!rc && (errno = 0, de = readdir(d)))
		if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
			rc = remove_entry(r, dirfd(d), de->d_name, e);
	if (!rc && errno)
		rc = failed(name, errno, e);
	(void)closedir(d);
	return rc;
}

/* Empties and removes one directory of top; somebody may still be adding to it. */
static int remove_dir(struct rm *r, const char *name, struct cl_err *e)
{
	make_writable(r->top, name);
	for (int i = 0; i < 100; i++) {
		if (empty_dir(r, name, e))
			return -1;
		if (!unlinkat(r->top, name, AT_REMOVEDIR) || errno == ENOENT)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return failed(name, errno, e);
	}
	(void)cl_fail(e, CL_EBUSY, "cannot remove '%s': it is being written to", name);
	return cl_fix(e, "end what writes there ('fuser -v' names it) and try again");
}

/* One pass over the root; *found says whether there was anything in it. */
static int empty_root(struct rm *r, bool *found, struct cl_err *e)
{
	int fd = open_dir(r->top, ".", O_RDONLY), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;

	*found = false;
	if (!d) {
		rc = errno;
		if (fd >= 0)
			(void)close(fd);
		return failed(".", rc, e);
	}
	while (!rc && (errno = 0, de = readdir(d))) {
		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		*found = true;
		if (!unlinkat(r->top, de->d_name, 0) || errno == ENOENT)
			continue;
		rc = errno == EISDIR || errno == EPERM ? remove_dir(r, de->d_name, e)
						       : failed(de->d_name, errno, e);
	}
	if (!rc && errno)
		rc = failed(".", errno, e);
	(void)closedir(d);
	return rc;
}

#define RM_PASSES (1 << 20) /* more than any tree is deep: somebody is writing faster */

static int empty_tree(int top, const char *name, struct cl_err *e)
{
	struct rm r = {.top = top};
	bool found = true;

	if (getrandom(&r.tag, sizeof(r.tag), 0) != sizeof(r.tag))
		return cl_fail_sys(e, CL_EOS, errno, "cannot get random bytes");
	for (int i = 0; found && i < RM_PASSES; i++)
		if (empty_root(&r, &found, e))
			return cl_wrap(e, "removing '%s'", name);
	return 0;
}

/* Empties the directory that was opened as `top`, -1 for an error of that; then its name goes. */
static int rm_opened(int dirfd, const char *name, int top, struct cl_err *e)
{
	if (top < 0)
		return failed(name, errno, e);
	if (empty_tree(top, name, e))
		return -1;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) && errno != ENOENT)
		return failed(name, errno, e);
	return 0;
}

int sys_rmtree_of(int dirfd, const char *name, int tree, struct cl_err *e)
{
	cleanup_fd int top = -1;
	char link[40];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", tree);
	(void)chmod(link, 0700);
	top = open_dir(tree, ".", O_RDONLY);
	return rm_opened(dirfd, name, top, e);
}

int sys_rmtree(int dirfd, const char *name, struct cl_err *e)
{
	cleanup_fd int top = -1;

	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return cl_fail(e, CL_EBUG, "'%s' is not the name of a tree", name);
	if (!unlinkat(dirfd, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return failed(name, errno, e);
	make_writable(dirfd, name);
	top = open_dir(dirfd, name, O_RDONLY);
	return rm_opened(dirfd, name, top, e);
}
