/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/rundir.h"
#include "base/mem.h"
#include "work/lease/delivery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

void rundir_init(struct rundir *r, const char *base, const char *handle)
{
	r->base = cl_strdup(base);
	r->dir = cl_asprintf("%s/w/%s", base, handle);
	r->out = cl_asprintf("%s/out", r->dir);
	r->err = cl_asprintf("%s/err", r->dir);
	r->exit = cl_asprintf("%s/exit", r->dir);
	r->sock = cl_asprintf("%s/sock", r->dir);
	r->cid = cl_asprintf("%s/cid", r->dir);
	r->pid = cl_asprintf("%s/pid", r->dir);
	r->conmon_pid = cl_asprintf("%s/conmon", r->dir);
	r->stage = cl_asprintf("%s/stage", r->dir);
	r->job = cl_asprintf("%s/job", r->dir);
	r->lease = cl_asprintf("%s/lease", r->dir);
}

void rundir_release(struct rundir *r)
{
	char *all[] = {r->base, r->dir, r->out, r->err, r->exit, r->sock, r->cid, r->pid,
		r->conmon_pid, r->stage, r->job, r->lease};

	for (size_t i = 0; i < CL_ARRAY_LEN(all); i++)
		free(all[i]);
	memset(r, 0, sizeof(*r));
}

static int make_dir(const char *path, struct cl_err *e)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", path);
	return 0;
}

/* BASE and BASE/w belong to us alone; somebody else's folder there is not used. */
static int make_base(const struct rundir *r, struct cl_err *e)
{
	cleanup_free char *w = cl_asprintf("%s/w", r->base);
	const char *dirs[] = {r->base, w};
	struct stat st;

	for (size_t i = 0; i < 2; i++) {
		if (make_dir(dirs[i], e))
			return -1;
		if (lstat(dirs[i], &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
			(st.st_mode & 022)) {
			(void)cl_fail(
				e, CL_EDENIED, "'%s' is not a directory of ours alone", dirs[i]);
			return cl_fix(e, "remove '%s', or give it to uid %u with mode 0700",
				dirs[i], (unsigned)geteuid());
		}
	}
	return 0;
}

int rundir_make(const struct rundir *r, uid_t uid, struct cl_err *e)
{
	const char *fifos[] = {r->out, r->err};
	int fd;

	if (make_base(r, e))
		return -1;
	if (mkdir(r->dir, 0700))
		return cl_fail_sys(
			e, errno == EEXIST ? CL_EBUSY : CL_EOS, errno, "cannot make '%s'", r->dir);
	for (size_t i = 0; i < 2; i++)
		if (mkfifo(fifos[i], 0600) || lchown(fifos[i], uid, (gid_t)-1))
			return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", fifos[i]);
	fd = open(r->exit, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", r->exit);
	(void)close(fd);
	return make_dir(r->stage, e);
}

void rundir_remove(const struct rundir *r)
{
	int dirfd;
	DIR *d;
	const struct dirent *de;

	delivery_drop(r);
	/* A staging tmpfs sits in the shim's own mount namespace and goes with it, or for an
	 * engine's daemon here; what is mounted below it goes with it. */
	(void)umount2(r->stage, MNT_DETACH | UMOUNT_NOFOLLOW);
	(void)rmdir(r->stage);
	dirfd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	d = dirfd < 0 ? NULL : fdopendir(dirfd);
	while (d && (de = readdir(d)))
		(void)unlinkat(dirfd, de->d_name, 0);
	if (d)
		(void)closedir(d);
	(void)rmdir(r->dir);
}

int rundir_open_fifo(const char *path, int *reader, int *keeper, struct cl_err *e)
{
	cleanup_fd int rd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);

	if (rd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", path);
	*keeper = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (*keeper < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", path);
	/*
	 * A large pipe is fewer switches; more than this saves no more, and what is in it counts
	 * against the workload's memory. The system's limit may refuse, which is fine.
	 */
	(void)fcntl(*keeper, F_SETPIPE_SZ, 512 << 10);
	*reader = cl_steal_fd(&rd);
	return 0;
}

/* Reads a small file as a decimal number; -1 when there is none. */
static long number(const char *path)
{
	char text[24] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		(void)close(fd);
	if (n <= 0 || text[0] < '0' || text[0] > '9')
		return -1;
	return strtol(text, NULL, 10);
}

bool rundir_exit_status(const struct rundir *r, int *status)
{
	long v = number(r->exit);

	if (v < 0 || v > 255)
		return false;
	*status = (int)v;
	return true;
}

pid_t rundir_read_pid(const char *path)
{
	long v = number(path);

	return v > 0 && v <= 4194304 ? (pid_t)v : 0;
}
