/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files by descriptor: paths that somebody else wrote are opened with openat2(2), never
 * judged as text; what we write appears whole or not at all; what we delete is only ours.
 */
#ifndef CL_SYS_PATH_H
#define CL_SYS_PATH_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Opens `path` below dirfd with the flags of open(2) (O_CLOEXEC is added; no O_CREAT).
 * Links are followed as long as they stay below; "..", absolute paths, links that lead
 * out and /proc's magic links are CL_EREFUSED, a missing file is CL_ENOTFOUND, a kernel
 * without openat2 (before 5.6) CL_EUNAVAIL. Returns the descriptor, which the caller
 * closes, or -1.
 */
int sys_open_beneath(int dirfd, const char *path, int flags, struct cl_err *e);
/* The same, and no link at all is followed. */
int sys_open_nolinks(int dirfd, const char *path, int flags, struct cl_err *e);
/*
 * The same with dirfd as the root directory: links, absolute ones and ".." too, are followed as
 * if nothing were above it. Magic links are CL_EREFUSED here as well.
 */
int sys_open_in_root(int dirfd, const char *path, int flags, struct cl_err *e);

/*
 * Opens the directory that `path` means (O_PATH, links followed: the caller chose it) and
 * says what it really is: *real is its absolute path without links, owned. What stands
 * there later cannot change the descriptor. CL_ENOTFOUND, CL_EDATA when it is no
 * directory, CL_EDENIED, CL_EOS. Returns the descriptor or -1.
 */
int sys_resolve_dir(const char *path, char **real, struct cl_err *e);

/* Who owns a written file, and its exact mode (the umask does not count). */
struct sys_owner {
	uid_t uid; /* (uid_t)-1: ours */
	gid_t gid; /* (gid_t)-1: ours */
	mode_t mode;
};

/*
 * Replaces `name` (no '/') in dirfd with data[0..len): a temporary file beside it, fsync,
 * rename, fsync of the directory. A link that stands at `name` is replaced, not followed,
 * and another hard link of the old file keeps the old content. On failure the old file
 * is as it was. A process that is killed in between leaves ".NAME.<16 hex>".
 */
int sys_write_atomic(int dirfd, const char *name, const void *data, size_t len,
	const struct sys_owner *owner, struct cl_err *e);

/*
 * The same where nothing has that name yet; CL_EOS with sys EEXIST where something has. The file is
 * there whole or not at all, also when the process is killed; only where the file system knows no
 * files without a name (O_TMPFILE) can ".NAME.<16 hex>" be left of it.
 */
int sys_write_new(int dirfd, const char *name, const void *data, size_t len,
	const struct sys_owner *owner, struct cl_err *e);

/*
 * Makes the directory and its missing parents with exactly `mode`; what is already there
 * is left as it is, and must be a directory.
 */
int sys_mkdirs(const char *path, mode_t mode, struct cl_err *e);

/*
 * Makes directory `name` in dirfd as the account uid:gid would (setfsuid(2), for this thread
 * and this call alone; as ourselves where we are not root). Giving away what root has made is
 * no substitute: in between, whoever may rename there puts something else in its place.
 * -1 with errno, EEXIST among others.
 */
int sys_mkdirat_as(int dirfd, const char *name, mode_t mode, uid_t uid, gid_t gid);

/* Appends a whole small file to out; one larger than `max` is CL_EDATA. */
int sys_read_small(int dirfd, const char *path, size_t max, struct cl_buf *out, struct cl_err *e);
/* Writes text to an existing file in one write(2): /proc/sys, cgroup files. */
int sys_put(const char *path, const char *text, struct cl_err *e);

/*
 * Removes `name` (no '/') in dirfd with everything below it. No link is followed and no
 * mount is entered: a mount point is CL_EBUSY, and it and the top of the tree stay. Any
 * depth, a handful of descriptors. Absent is success.
 */
int sys_rmtree(int dirfd, const char *name, struct cl_err *e);

/*
 * The same for the directory that `tree` (O_PATH will do) is open on, known in dirfd as `name`:
 * whatever has that name by now, only what is in that very directory is removed, and of what has
 * the name at most an empty directory.
 */
int sys_rmtree_of(int dirfd, const char *name, int tree, struct cl_err *e);

#endif
