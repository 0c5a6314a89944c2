/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/path.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int openat2_retry(int dirfd, const char *path, int flags, unsigned resolve)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.resolve = resolve | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	/* EAGAIN: a rename elsewhere raced with a "..", and the kernel could not tell. */
	for (int i = 0; i < 128; i++) {
		fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			return fd;
	}
	return -1;
}

static int open_failed(const char *path, int err, struct cl_err *e)
{
	switch (err) {
	case EXDEV:
		(void)cl_fail(e, CL_EREFUSED, "'%s' leads out of its directory", path);
		return cl_fix(e, "name what lies inside, and make links in it relative");
	case ELOOP:
		(void)cl_fail(
			e, CL_EREFUSED, "'%s' goes through a link that is not allowed here", path);
		return cl_fix(e, "put a real file or directory in the place of the link");
	case ENOENT:
		(void)cl_fail(e, CL_ENOTFOUND, "'%s' does not exist", path);
		return cl_fix(e, "make it, or check how it is spelt");
	case ENOSYS:
		(void)cl_fail(
			e, CL_EUNAVAIL, "this kernel cannot open '%s' safely (no openat2)", path);
		return cl_fix(e, "run Linux 5.6 or later");
	case EACCES:
	case EPERM:
		return cl_fail_sys(e, CL_EDENIED, err, "cannot open '%s'", path);
	default:
		return cl_fail_sys(e, CL_EOS, err, "cannot open '%s'", path);
	}
}

int sys_open_beneath(int dirfd, const char *path, int flags, struct cl_err *e)
{
	int fd = openat2_retry(dirfd, path, flags, RESOLVE_BENEATH);

	return fd >= 0 ? fd : open_failed(path, errno, e);
}

int sys_open_nolinks(int dirfd, const char *path, int flags, struct cl_err *e)
{
	int fd = openat2_retry(dirfd, path, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

	return fd >= 0 ? fd : open_failed(path, errno, e);
}

int sys_open_in_root(int dirfd, const char *path, int flags, struct cl_err *e)
{
	int fd = openat2_retry(dirfd, path, flags, RESOLVE_IN_ROOT);

	return fd >= 0 ? fd : open_failed(path, errno, e);
}

static int no_path(const char *path, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA, "'%s' has no absolute path here", path);
	return cl_fix(e, "cd to a directory that is there, and name it by its whole path");
}

int sys_resolve_dir(const char *path, char **real, struct cl_err *e)
{
	cleanup_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char link[40], text[PATH_MAX];
	ssize_t n;

	if (fd < 0 && errno == ENOTDIR) {
		(void)cl_fail(e, CL_EDATA, "'%s' is not a directory", path);
		return cl_fix(e, "name a directory");
	}
	if (fd < 0)
		return open_failed(path, errno, e);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, text, sizeof(text) - 1);
	if (n < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot read '%s' for '%s'", link, path);
	text[n] = 0;
	/* "(unreachable)" and " (deleted)" are how the kernel says that there is no path. */
	if ((size_t)n == sizeof(text) - 1 || text[0] != '/')
		return no_path(path, e);
	*real = cl_strdup(text);
	return cl_steal_fd(&fd);
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A new file beside `name`; its own name is written to temp. */
static int open_temp(int dirfd, const char *name, char temp[NAME_MAX + 1])
{
	uint64_t r;
	int fd;

	for (int i = 0; i < 16; i++) {
		if (getrandom(&r, sizeof(r), 0) != sizeof(r))
			return -1;
		(void)snprintf(temp, NAME_MAX + 1, ".%.200s.%016llx", name, (unsigned long long)r);
		fd = openat(
			dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static int fill_temp(int fd, const void *data, size_t len, const struct sys_owner *o)
{
	if ((o->uid != (uid_t)-1 || o->gid != (gid_t)-1) && fchown(fd, o->uid, o->gid))
		return -1;
	return write_all(fd, data, len) || fchmod(fd, o->mode) || fsync(fd) ? -1 : 0;
}

int sys_write_atomic(int dirfd, const char *name, const void *data, size_t len,
	const struct sys_owner *owner, struct cl_err *e)
{
	char temp[NAME_MAX + 1];
	int fd, err = 0;

	if (!*name || strchr(name, '/'))
		return cl_fail(e, CL_EBUG, "'%s' is not the name of a file", name);
	fd = open_temp(dirfd, name, temp);
	if (fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot write beside '%s'", name);
	if (fill_temp(fd, data, len, owner))
		err = errno;
	if (close(fd) && !err)
		err = errno;
	if (!err && renameat(dirfd, temp, dirfd, name))
		err = errno;
	if (err) {
		(void)unlinkat(dirfd, temp, 0);
		return cl_fail_sys(e, CL_EOS, err, "cannot write '%s'", name);
	}
	/* Some filesystems cannot sync a directory; the rename stands all the same. */
	(void)fsync(dirfd);
	return 0;
}

/* The file behind fd gets a name, unless something has it. */
static int name_it(int fd, int dirfd, const char *temp, const char *name)
{
	char proc[40];

	if (*temp)
		return linkat(dirfd, temp, dirfd, name, 0);
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, proc, dirfd, name, AT_SYMLINK_FOLLOW);
}

int sys_write_new(int dirfd, const char *name, const void *data, size_t len,
	const struct sys_owner *owner, struct cl_err *e)
{
	cleanup_fd int fd = openat(dirfd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	char temp[NAME_MAX + 1] = "";
	int err = 0;

	if (!*name || strchr(name, '/'))
		return cl_fail(e, CL_EBUG, "'%s' is not the name of a file", name);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = open_temp(dirfd, name, temp);
	if (fd < 0)
		return cl_fail_sys(e, errno == EACCES ? CL_EDENIED : CL_EOS, errno,
			"cannot write beside '%s'", name);
	if (fill_temp(fd, data, len, owner) || name_it(fd, dirfd, temp, name))
		err = errno;
	if (*temp)
		(void)unlinkat(dirfd, temp, 0);
	if (err)
		return cl_fail_sys(e, CL_EOS, err, "cannot make '%s'", name);
	(void)fsync(dirfd);
	return 0;
}

/* Makes one directory; 0 when it is there afterwards. */
static int mkdir_one(const char *path, mode_t mode)
{
	struct stat st;

	if (!mkdir(path, mode))
		return chmod(path, mode);
	if (errno != EEXIST)
		return -1;
	if (stat(path, &st))
		return -1;
	if (S_ISDIR(st.st_mode))
		return 0;
	errno = ENOTDIR;
	return -1;
}

int sys_mkdirs(const char *path, mode_t mode, struct cl_err *e)
{
	cleanup_free char *p = cl_strdup(path);

	for (char *s = p + 1; *p && *s; s++) {
		if (*s != '/')
			continue;
		*s = 0;
		if (mkdir_one(p, mode))
			return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s' for '%s'", p, path);
		*s = '/';
	}
	if (mkdir_one(p, mode))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", path);
	return 0;
}

/* By the system calls: glibc's setgroups() would change every thread. */
static int be(uid_t uid, gid_t gid, int ngroups, const gid_t *groups)
{
	(void)setfsgid(gid);
	if (syscall(SYS_setgroups, ngroups, groups))
		return -1;
	(void)setfsuid(uid);
	/* Both answer with the id that was in force, and -1 changes nothing. */
	if ((uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid)
		return 0;
	errno = EPERM;
	return -1;
}

int sys_mkdirat_as(int dirfd, const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	gid_t groups[NGROUPS_MAX];
	int n, rc, err;

	if (geteuid())
		return mkdirat(dirfd, name, mode);
	n = (int)syscall(SYS_getgroups, NGROUPS_MAX, groups);
	if (n < 0)
		return -1;
	rc = be(uid, gid, 0, groups) ? -1 : mkdirat(dirfd, name, mode);
	err = errno;
	if (be(geteuid(), getegid(), n, groups))
		abort(); /* to go on as somebody else would be worse */
	errno = err;
	return rc;
}

int sys_read_small(int dirfd, const char *path, size_t max, struct cl_buf *out, struct cl_err *e)
{
	cleanup_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t start = out->len;
	ssize_t n;

	if (fd < 0)
		return open_failed(path, errno, e);
	do {
		n = read(fd, cl_buf_reserve(out, 4096), 4096);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "cannot read '%s'", path);
		out->len += (size_t)n;
		out->p[out->len] = 0;
		if (out->len - start > max) {
			(void)cl_fail(e, CL_EDATA, "'%s' is larger than %zu bytes", path, max);
			return cl_fix(e, "make it smaller");
		}
	} while (n != 0);
	return 0;
}

int sys_put(const char *path, const char *text, struct cl_err *e)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	size_t len = strlen(text);

	if (fd < 0)
		return open_failed(path, errno, e);
	if (write(fd, text, len) != (ssize_t)len)
		return cl_fail_sys(e, CL_EOS, errno, "cannot write '%s' to '%s'", text, path);
	return 0;
}
