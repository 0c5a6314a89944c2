/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/specfile.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Opens `path` beneath dir, whatever the links in it say; -1 with errno. */
static int open_beneath(int dir, const char *path, unsigned long long flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -1;

	/* openat2(2): EAGAIN when a rename elsewhere made ".." uncertain; worth another try. */
	for (int i = 0; i < 16; i++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

static int open_dir(const char *dir, int *fd, struct cl_err *e)
{
	*fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*fd >= 0)
		return 0;
	(void)cl_fail_sys(e, CL_ENOTFOUND, errno, "project '%s' cannot be opened", dir);
	return cl_fix(e, "name the project's directory");
}

/* A file that is there and cannot be a spec. */
static int unusable(struct cl_err *e, const char *name, const char *why, const char *fix)
{
	(void)cl_fail(e, CL_EDATA, "%s %s", name, why);
	(void)cl_slug(e, SYS_SPEC_UNREADABLE);
	(void)cl_fix(e, "%s", fix);
	return cl_at(e, name, 0, 0);
}

static int unreadable(struct cl_err *e, const char *name, int err)
{
	if (err == EXDEV || err == ELOOP)
		return unusable(e, name, "is, or lies behind, a link that leads out of the project",
			"put the file itself there");
	if (err == ENOENT)
		return unusable(e, name, "is a link to nothing", "put the file itself there");
	if (err == ENOTDIR)
		return unusable(e, name, "cannot be there: .cloop is no directory",
			"make .cloop a directory");
	(void)cl_fail_sys(e, CL_EUNAVAIL, err, "%s cannot be read", name);
	(void)cl_slug(e, SYS_SPEC_UNREADABLE);
	(void)cl_fix(e, "make the file readable for the user that runs cloop");
	return cl_at(e, name, 0, 0);
}

/*
 * True when nothing at all stands at the place. A dangling link is something: taking it for
 * "no spec" would drop the limits that somebody meant to set.
 */
static bool nothing_there(int dir)
{
	cleanup_fd int cloop = -1;
	struct stat st;

	if (fstatat(dir, ".cloop", &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT;
	cloop = open_beneath(dir, ".cloop", O_PATH | O_DIRECTORY);
	return cloop >= 0 && fstatat(cloop, "sandbox.yaml", &st, AT_SYMLINK_NOFOLLOW) &&
	       errno == ENOENT;
}

/* Reads at most one byte more than a spec may have. */
static int read_all(int fd, const char *name, struct cl_buf *out, struct cl_err *e)
{
	while (out->len <= SB_MAX_BYTES) {
		size_t room = SB_MAX_BYTES + 1 - out->len;
		ssize_t n = read(fd, cl_buf_reserve(out, room), room);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return unreadable(e, name, errno);
		if (!n)
			return 0;
		out->len += (size_t)n;
	}
	return unusable(e, name, "holds more than 65536 bytes", "make the file smaller");
}

static int read_spec(int dir, const char *name, struct cl_buf *out, bool *found, struct cl_err *e)
{
	/* A FIFO must not make us wait for its writer. */
	cleanup_fd int fd = open_beneath(dir, SB_FILE, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	int err = errno;
	struct stat st;

	*found = fd >= 0;
	if (fd < 0)
		return err == ENOENT && nothing_there(dir) ? 0 : unreadable(e, name, err);
	if (fstat(fd, &st))
		return unreadable(e, name, errno);
	if (!S_ISREG(st.st_mode))
		return unusable(e, name, S_ISDIR(st.st_mode) ? "is a directory" : "is no file",
			"put a file there, or nothing");
	return read_all(fd, name, out, e);
}

/* How messages name the file: as short as the caller named the project. */
static char *name_of(const char *dir)
{
	size_t len = strlen(dir);

	if (!strcmp(dir, "."))
		return cl_strdup(SB_FILE);
	return cl_asprintf("%s%s" SB_FILE, dir, len && dir[len - 1] == '/' ? "" : "/");
}

int sys_spec_load(
	const char *dir, struct cl_doc *d, struct sb_spec *out, bool *found, struct cl_err *e)
{
	cleanup_free char *name = name_of(dir);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_fd int fd = -1;

	*found = false;
	if (open_dir(dir, &fd, e) || read_spec(fd, name, &text, found, e))
		return -1;
	return *found ? sb_read(name, text.p, text.len, d, out, e) : 0;
}

static int mount_out(
	const char *dir, const struct sb_spec *s, size_t i, const char *file, struct cl_err *e)
{
	const struct sb_mount *m = &s->mounts[i];
	cleanup_free char *path = cl_asprintf("%s/%s", dir, m->source);
	cleanup_free char *real = realpath(path, NULL);

	if (real)
		(void)cl_fail(e, CL_EDATA,
			"mounts[%zu].source '%s' leads to '%s' through a link that leaves the "
			"workspace",
			i, m->source, real);
	else
		(void)cl_fail(e, CL_EDATA,
			"mounts[%zu].source '%s' is a link that leaves the workspace", i,
			m->source);
	(void)cl_fix(e, "mount a path in the workspace; a link inside it must be relative");
	(void)cl_slug(e, SB_INVALID);
	(void)cl_rule(e, "mounts");
	return cl_at(e, file, m->line, m->column);
}

int sys_spec_mounts(const char *dir, const struct sb_spec *s, const char *file, struct cl_err *e)
{
	cleanup_fd int fd = -1;

	if (!s->nmounts)
		return 0;
	if (open_dir(dir, &fd, e))
		return -1;
	for (size_t i = 0; i < s->nmounts; i++) {
		const char *source = s->mounts[i].source;
		cleanup_fd int at = open_beneath(fd, source, O_PATH);

		if (at >= 0 || errno == ENOENT)
			continue;
		if (errno == EXDEV || errno == ELOOP)
			return mount_out(dir, s, i, file, e);
		(void)cl_fail_sys(e, errno == ENOTDIR ? CL_EDATA : CL_EUNAVAIL, errno,
			"mounts[%zu].source '%s' cannot be opened", i, source);
		if (e->code == CL_EDATA)
			(void)cl_slug(e, SB_INVALID);
		(void)cl_rule(e, "mounts");
		(void)cl_fix(e, "name a path in the workspace that can be reached");
		return cl_at(e, file, s->mounts[i].line, s->mounts[i].column);
	}
	return 0;
}

/* Opens, or makes, the directory `name` in parent; -1 with errno. */
static int enter(int root, int parent, const char *path, const char *name, uid_t uid, gid_t gid)
{
	int fd = open_beneath(root, path, O_PATH);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	/* A dangling link stays what it is: it is not followed here, and the open fails again. */
	if (sys_mkdirat_as(parent, name, 0755, uid, gid) && errno != EEXIST)
		return -1;
	return openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int sys_spec_make_source(int workspace, const char *source, uid_t uid, gid_t gid, struct cl_err *e)
{
	cleanup_fd int parent = open_beneath(workspace, ".", O_PATH | O_DIRECTORY);
	cleanup_free char *path = cl_strdup(source);
	char *name = path;

	for (;;) {
		char *slash = strchr(name, '/');
		int next;

		if (slash)
			*slash = '\0';
		next = parent < 0 ? -1 : enter(workspace, parent, path, name, uid, gid);
		if (next < 0) {
			(void)cl_fail_sys(e, CL_EREFUSED, errno,
				"'%s' of the workspace is not there and cannot be made", source);
			return cl_fix(e,
				"make that directory as the workspace's owner, or mount another "
				"one");
		}
		(void)close(parent);
		parent = next;
		if (!slash)
			return 0;
		*slash = '/';
		name = slash + 1;
	}
}

void sys_spec_setup_files(const char *dir, struct cl_doc *d, struct sb_spec *s)
{
	const json_t *list = json_object_get(d->root, "setup");
	cleanup_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; fd >= 0 && i < s->setup.n; i++) {
		cleanup_strv struct cl_strv words = CL_STRV_INIT;

		sb_setup_words(s->setup.v[i], &words);
		for (size_t k = 0; k < words.n; k++) {
			cleanup_fd int at = open_beneath(fd, words.v[k], O_PATH);
			struct sb_note *n;

			if (at < 0)
				continue;
			n = sb_note(d, s, "setup-file", "setup", list, NULL, i,
				"setup[%zu] names '%s' of the project, but setup runs without the "
				"workspace",
				i, words.v[k]);
			n->fix = cl_strdup("write what it needs into the command, or build an "
					   "image and name it in image");
			break;
		}
	}
}
