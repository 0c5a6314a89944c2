/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/lease/delivery.h"
#include "base/mem.h"
#include "base/text.h"
#include "seal/mem.h"
#include "sys/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

static const char *const dirs[] = {"files", "cloop", "spare"};

/* ---- writing and taking away ---- */

/* What is written is all there or an error: a token that was cut off is none. */
static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int put(int dir, const char *name, mode_t mode, uid_t uid, gid_t gid,
	const struct delivery_text *text, struct cl_err *e)
{
	cleanup_fd int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || write_all(fd, text->p, text->len) || (!geteuid() && fchown(fd, uid, gid)) ||
		fchmod(fd, mode))
		return cl_fail_sys(e, CL_EOS, errno, "cannot deliver '%s'", name);
	return 0;
}

/* Memory is given back with what stood in it, so that is overwritten first. */
static void overwrite(int fd)
{
	static const char zeros[4096];
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	for (off_t at = 0; at < st.st_size; at += (off_t)sizeof(zeros))
		if (pwrite(fd, zeros, sizeof(zeros), at) < 0)
			return;
}

static void wipe_file(int dir, const char *name, bool keep)
{
	cleanup_fd int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0)
		overwrite(fd);
	if (fd >= 0 && keep)
		(void)!ftruncate(fd, 0);
	if (!keep)
		(void)unlinkat(dir, name, 0);
}

/*
 * Nothing that we deliver has a folder in it, and nobody else can write there; one that is there
 * all the same is not to keep a value. A tree deeper or larger than this goes with the tmpfs.
 */
#define WIPE_DEPTH   16
#define WIPE_ENTRIES 65536

static size_t wipe_below(int dir, unsigned depth, size_t *left);

/* A folder on this file system and no link; false: it is none, or may not be entered. */
static bool wipe_folder(int dir, const char *name, unsigned depth, size_t *left, size_t *n)
{
	cleanup_fd int fd = -1;
	struct stat st, here;
	struct cl_err ignored;

	if (!depth)
		return false;
	fd = sys_open_nolinks(dir, name, O_RDONLY | O_DIRECTORY, &ignored);
	if (fd < 0 || fstat(fd, &st) || fstat(dir, &here) || st.st_dev != here.st_dev)
		return false;
	*n += wipe_below(fd, depth - 1, left);
	(void)unlinkat(dir, name, AT_REMOVEDIR);
	return true;
}

/* Wipes every file below; returns how many there were. */
static size_t wipe_below(int dir, unsigned depth, size_t *left)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;
	size_t n = 0;

	while (d && *left && (de = readdir(d))) {
		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		(*left)--;
		if (wipe_folder(dir, de->d_name, depth, left, &n))
			continue;
		wipe_file(dir, de->d_name, false);
		n++;
	}
	if (d)
		(void)closedir(d);
	return n;
}

static size_t wipe_dir(int dir)
{
	size_t left = WIPE_ENTRIES;

	return wipe_below(dir, WIPE_DEPTH, &left);
}

static int open_dir(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static int open_lease(const struct rundir *rd)
{
	return open_dir(AT_FDCWD, rd->lease);
}

static size_t wipe_named(int lease, const char *name)
{
	cleanup_fd int fd = open_dir(lease, name);

	return fd < 0 ? 0 : wipe_dir(fd);
}

/* ---- judging ---- */

static bool name_ok(const char *name)
{
	return *name && *name != '.' && strlen(name) <= 128 && cl_all_in(name, CL_ALNUM "._-");
}

static int refuse_name(const char *name, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "'%.140s' is no name of a file that a lease delivers", name);
	return cl_constraint(e, "secret_files");
}

static int judge_files(const struct delivery *d, size_t *total, struct cl_err *e)
{
	for (size_t i = 0; i < d->nfiles; i++) {
		const struct delivery_file *f = &d->files[i];

		if (!name_ok(f->name))
			return refuse_name(f->name, e);
		if (f->mode != 0600 && f->mode != 0700) {
			(void)cl_fail(e, CL_EREFUSED, "file '%s' has mode %04o, not 0600 or 0700",
				f->name, (unsigned)f->mode);
			return cl_constraint(e, "secret_files");
		}
		*total += f->data.len + 4096;
	}
	return 0;
}

static int judge(const struct delivery *d, struct cl_err *e)
{
	size_t total = 0;

	if (judge_files(d, &total, e))
		return -1;
	for (size_t i = 0; i < d->nenv; i++) {
		const struct delivery_env *v = &d->env[i];

		if (!*v->name || strchr(v->name, '=') || memchr(v->value.p, '\0', v->value.len)) {
			(void)cl_fail(e, CL_EREFUSED, "variable '%.80s' cannot be set", v->name);
			return cl_constraint(e, "secret_env");
		}
		total += strlen(v->name) + v->value.len + 2;
	}
	for (size_t i = 0; i < d->nredact; i++)
		total += d->redact[i].len + sizeof(size_t);
	/* A renewal needs the room of every file again. */
	if (d->nfiles <= DELIVERY_FILES && total <= DELIVERY_MAX / 4)
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "%zu files and %zu bytes are more than a run can be lent",
		d->nfiles, total);
	(void)cl_constraint(e, "secret_files");
	return cl_fix(e, "revoke grants that this run does not need: 'cloop secret grants' lists "
			 "them");
}

/* ---- making ---- */

/* tmpfs(5): noswap is known since Linux 6.4. */
static int mount_lease(const struct rundir *rd, struct cl_err *e)
{
	static const char *const more[] = {",noswap", ""};
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	for (size_t i = 0; i < CL_ARRAY_LEN(more); i++) {
		cleanup_free char *data = cl_asprintf("mode=0700,size=%u,nr_inodes=%u%s",
			DELIVERY_MAX, 4 * DELIVERY_FILES, more[i]);

		if (!mount("cloop", rd->lease, "tmpfs", flags, data))
			return 0;
		if (errno != EINVAL)
			break;
	}
	return cl_fail_sys(e, CL_EOS, errno, "cannot mount '%s'", rd->lease);
}

static int need_memory(int fd, const struct rundir *rd, struct cl_err *e)
{
	struct statfs fs;

	if (!fstatfs(fd, &fs) && fs.f_type == TMPFS_MAGIC)
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "'%s' is on a disk, where no secret may stand", rd->lease);
	(void)cl_constraint(e, "secret_files");
	return cl_fix(e, "set CLOOP_RUN_DIR to a folder of your own on a tmpfs, such as "
			 "$XDG_RUNTIME_DIR/cloop");
}

static int put_env(int dir, const struct delivery *d, uid_t uid, gid_t gid, struct cl_err *e)
{
	cleanup_seal struct seal_buf b = SEAL_BUF_INIT;
	size_t size = 0;

	for (size_t i = 0; i < d->nenv; i++)
		size += strlen(d->env[i].name) + d->env[i].value.len + 2;
	if (seal_buf_make(&b, size, e))
		return -1;
	for (size_t i = 0; i < d->nenv; i++) {
		const struct delivery_env *v = &d->env[i];
		size_t n = strlen(v->name);

		memcpy(b.p + b.len, v->name, n);
		b.p[b.len + n] = '=';
		if (v->value.len)
			memcpy(b.p + b.len + n + 1, v->value.p, v->value.len);
		b.len += n + v->value.len + 2; /* the NUL is there */
	}
	return put(
		dir, "env", 0600, uid, gid, &(struct delivery_text){(const char *)b.p, b.len}, e);
}

static bool noted(const struct seal_buf *b, const struct delivery_text *value)
{
	for (size_t at = 0, len; b->len - at >= sizeof(len); at += len) {
		memcpy(&len, b->p + at, sizeof(len));
		at += sizeof(len);
		if (len > b->len - at)
			return false;
		if (len == value->len && (!len || !memcmp(b->p + at, value->p, len)))
			return true;
	}
	return false;
}

/*
 * Notes values: each as its length and its bytes. One that every renewal brings is noted once, or
 * the notes of a long run would fill the room of its files.
 */
static int note_values(int lease, const struct delivery *d, struct cl_err *e)
{
	cleanup_fd int fd =
		openat(lease, "redact", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	cleanup_seal struct seal_buf b = SEAL_BUF_INIT;

	if (fd >= 0 && seal_read_fd(fd, "redact", DELIVERY_MAX, &b, e))
		return -1;
	for (size_t i = 0; fd >= 0 && i < d->nredact; i++) {
		size_t len = d->redact[i].len;

		if (noted(&b, &d->redact[i]))
			continue;
		if (write_all(fd, (const char *)&len, sizeof(len)) ||
			write_all(fd, d->redact[i].p, len))
			return cl_fail_sys(e, CL_EOS, errno, "cannot note what to take out");
	}
	return fd < 0 ? cl_fail_sys(e, CL_EOS, errno, "cannot note what to take out") : 0;
}

static int fill(int lease, const struct delivery *d, uid_t uid, gid_t gid, struct cl_err *e)
{
	cleanup_fd int files = -1, init = -1;

	for (size_t i = 0; i < CL_ARRAY_LEN(dirs); i++)
		if (mkdirat(lease, dirs[i], 0700))
			return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", dirs[i]);
	files = open_dir(lease, "files");
	init = open_dir(lease, "cloop");
	if (files < 0 || init < 0 || fchmod(init, 0755) || (!geteuid() && fchown(files, uid, gid)))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make the lease's folders");
	if (put(lease, "id", 0600, geteuid(), getegid(),
		    &(struct delivery_text){d->id, strlen(d->id)}, e) ||
		note_values(lease, d, e) || put_env(init, d, uid, gid, e))
		return -1;
	for (size_t i = 0; i < d->nfiles; i++)
		if (put(files, d->files[i].name, d->files[i].mode, uid, gid, &d->files[i].data, e))
			return -1;
	return 0;
}

int delivery_make(
	const struct rundir *rd, const struct delivery *d, uid_t uid, gid_t gid, struct cl_err *e)
{
	cleanup_fd int lease = -1;

	if (judge(d, e))
		return -1;
	if (mkdir(rd->lease, 0700))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", rd->lease);
	if (!geteuid() && mount_lease(rd, e)) {
		(void)rmdir(rd->lease);
		return -1;
	}
	lease = open_lease(rd);
	if (lease < 0)
		(void)cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", rd->lease);
	if (lease >= 0 && !need_memory(lease, rd, e) && !fill(lease, d, uid, gid, e))
		return 0;
	if (lease >= 0)
		(void)close(cl_steal_fd(&lease));
	delivery_drop(rd);
	return -1;
}

/* ---- renewing ---- */

/* True when the file holds exactly this. */
static bool holds(int dir, const char *name, const struct delivery_text *text)
{
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char buf[4096];
	size_t at = 0;
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0) {
		if ((size_t)n > text->len - at || memcmp(buf, text->p + at, (size_t)n) != 0)
			break;
		at += (size_t)n;
	}
	explicit_bzero(buf, sizeof(buf));
	return fd >= 0 && n == 0 && at == text->len;
}

static const struct delivery_file *find(const struct delivery *d, const char *name)
{
	for (size_t i = 0; i < d->nfiles; i++)
		if (!strcmp(d->files[i].name, name))
			return &d->files[i];
	return NULL;
}

/*
 * The two change places in one step, so that a reader has the one or the other whole. What was
 * there stays in the spare folder for whoever has it open, and is overwritten the next time.
 */
static int replace(int files, int spare, const struct delivery_file *f, struct cl_err *e)
{
	struct stat st;

	if (fstatat(files, f->name, &st, AT_SYMLINK_NOFOLLOW))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at '%s'", f->name);
	wipe_file(spare, f->name, false);
	if (put(spare, f->name, f->mode, st.st_uid, st.st_gid, &f->data, e))
		return -1;
	if (syscall(SYS_renameat2, spare, f->name, files, f->name, RENAME_EXCHANGE))
		return cl_fail_sys(e, CL_EOS, errno, "cannot replace '%s'", f->name);
	return 0;
}

static int only_known(int files, const struct delivery *d, struct cl_err *e)
{
	struct stat st;

	for (size_t i = 0; i < d->nfiles; i++) {
		if (!fstatat(files, d->files[i].name, &st, AT_SYMLINK_NOFOLLOW) &&
			S_ISREG(st.st_mode))
			continue;
		(void)cl_fail(e, CL_EREFUSED, "'%s' was not delivered to this run before",
			d->files[i].name);
		(void)cl_constraint(e, "secret_files");
		return cl_fix(e, "run it again: a new run gets what is granted now");
	}
	return 0;
}

/* Removes what the lease has no more. */
static size_t take_back(int files, int spare, const struct delivery *d)
{
	int fd = openat(files, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;
	size_t n = 0;

	while (dir && (de = readdir(dir))) {
		if (*de->d_name == '.' || find(d, de->d_name))
			continue;
		wipe_file(files, de->d_name, false);
		wipe_file(spare, de->d_name, false);
		n++;
	}
	if (dir)
		(void)closedir(dir);
	return n;
}

/*
 * What is run reads the files beside it, and must not read one that is another grant's by now: what
 * changes gives no answer while the others change.
 */
static int silence(int files, int spare, const struct delivery_file *f, struct cl_err *e)
{
	static const char nothing[] = "#!/bin/sh\nexit 0\n";
	struct delivery_file silent = *f;

	silent.data = (struct delivery_text){nothing, sizeof(nothing) - 1};
	return replace(files, spare, &silent, e);
}

/* One pass over those that changed: `run` says which. */
static int put_changed(int files, int spare, const struct delivery *d, bool run,
	int (*put_one)(int, int, const struct delivery_file *, struct cl_err *), struct cl_err *e)
{
	for (size_t i = 0; i < d->nfiles; i++)
		if (((d->files[i].mode & 0100) != 0) == run &&
			!holds(files, d->files[i].name, &d->files[i].data) &&
			put_one(files, spare, &d->files[i], e))
			return -1;
	return 0;
}

int delivery_renew(
	const struct rundir *rd, const struct delivery *d, size_t *removed, struct cl_err *e)
{
	cleanup_fd int lease = open_lease(rd), files = -1, spare = -1;

	*removed = 0;
	if (lease >= 0) {
		files = open_dir(lease, "files");
		spare = open_dir(lease, "spare");
	}
	if (files < 0 || spare < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", rd->lease);
	if (judge(d, e) || only_known(files, d, e) || note_values(lease, d, e))
		return -1;
	*removed = take_back(files, spare, d);
	return put_changed(files, spare, d, true, silence, e) ||
			       put_changed(files, spare, d, false, replace, e) ||
			       put_changed(files, spare, d, true, replace, e)
		       ? -1
		       : 0;
}

/* ---- the end ---- */

/* True when one of the pairs sets the name of `pair`. */
static bool sets(const struct seal_buf *b, const char *pair)
{
	size_t name = strcspn(pair, "=") + 1;
	const char *p = (const char *)b->p, *end = p + b->len;

	for (; p < end; p += strlen(p) + 1)
		if (!strncmp(p, pair, name))
			return true;
	return false;
}

int delivery_env_add(const struct rundir *rd, const char *pairs, size_t len, const char *fallback,
	struct cl_err *e)
{
	cleanup_fd int lease = open_lease(rd), init = lease < 0 ? -1 : open_dir(lease, "cloop");
	cleanup_seal struct seal_buf b = SEAL_BUF_INIT;
	cleanup_fd int fd = -1;

	if (init >= 0)
		fd = openat(init, "env", O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s/cloop/env'", rd->lease);
	if (seal_read_fd(fd, "env", DELIVERY_MAX, &b, e))
		return -1;
	if (write_all(fd, pairs, len) ||
		(!sets(&b, fallback) && write_all(fd, fallback, strlen(fallback) + 1)))
		return cl_fail_sys(e, CL_EOS, errno, "cannot deliver the variables");
	return 0;
}

void delivery_env_read(const struct rundir *rd)
{
	cleanup_fd int lease = open_lease(rd), init = lease < 0 ? -1 : open_dir(lease, "cloop");

	if (init >= 0)
		wipe_file(init, "env", true);
}

size_t delivery_scrub(const struct rundir *rd)
{
	cleanup_fd int lease = open_lease(rd);
	size_t n;

	if (lease < 0)
		return 0;
	delivery_env_read(rd);
	n = wipe_named(lease, "files");
	(void)wipe_named(lease, "spare");
	return n;
}

void delivery_drop(const struct rundir *rd)
{
	cleanup_fd int lease = open_lease(rd);

	if (lease < 0)
		return;
	for (size_t i = 0; i < CL_ARRAY_LEN(dirs); i++) {
		(void)wipe_named(lease, dirs[i]);
		(void)unlinkat(lease, dirs[i], AT_REMOVEDIR);
	}
	(void)wipe_dir(lease);
	(void)close(cl_steal_fd(&lease));
	(void)umount2(rd->lease, MNT_DETACH | UMOUNT_NOFOLLOW);
	(void)rmdir(rd->lease);
}

bool delivery_there(const struct rundir *rd)
{
	cleanup_fd int lease = open_lease(rd);

	return lease >= 0 && !faccessat(lease, "id", F_OK, AT_SYMLINK_NOFOLLOW);
}

static int recall_values(const struct seal_buf *b,
	void (*value)(void *arg, const char *p, size_t len), void *arg, struct cl_err *e)
{
	for (size_t at = 0, len; at < b->len; at += len) {
		if (b->len - at < sizeof(len))
			return cl_fail(e, CL_EDATA, "what to take out is cut off");
		memcpy(&len, b->p + at, sizeof(len));
		at += sizeof(len);
		if (len > b->len - at)
			return cl_fail(e, CL_EDATA, "what to take out is cut off");
		value(arg, (const char *)b->p + at, len);
	}
	return 0;
}

int delivery_recall(const struct rundir *rd, char **id,
	void (*value)(void *arg, const char *p, size_t len), void *arg, struct cl_err *e)
{
	cleanup_fd int lease = open_lease(rd), fd = -1;
	cleanup_seal struct seal_buf b = SEAL_BUF_INIT;
	cleanup_buf struct cl_buf name = CL_BUF_INIT;

	if (lease >= 0)
		fd = openat(lease, "redact", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", rd->lease);
	if (sys_read_small(lease, "id", 128, &name, e) ||
		seal_read_fd(fd, "redact", DELIVERY_MAX, &b, e) || recall_values(&b, value, arg, e))
		return -1;
	*id = cl_buf_detach(&name);
	return 0;
}
