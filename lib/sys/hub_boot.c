/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making a hub's directory, piece by piece and each piece whole. */
#include "base/b64.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/hub_internal.h"
#include "sys/id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_dirs(const char *dir, mode_t mode, bool *made, struct cl_err *e)
{
	cleanup_free char *path = cl_strdup(dir);

	for (char *p = path + 1;; p++) {
		char c = *p;

		if (c && c != '/')
			continue;
		*p = '\0';
		if (!mkdir(path, mode))
			*made = true;
		else if (errno != EEXIST)
			return cl_fail_sys(e, errno == EACCES ? CL_EDENIED : CL_EOS, errno,
				"cannot make the directory '%s'", path);
		*p = c;
		if (!c)
			return 0;
	}
}

static int write_all(int fd, const char *path, const char *text, struct cl_err *e)
{
	size_t len = strlen(text);

	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "cannot write '%s'", path);
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd) ? cl_fail_sys(e, CL_EOS, errno, "cannot write '%s'", path) : 0;
}

/*
 * dirfd/name with this text: whole under another name first, then moved into place.
 * `replace` false: one that is there stays, and *made is false. The caller holds the
 * directory's lock, so a leftover of somebody who was killed can be removed.
 */
static int put_file(int dirfd, const char *path, const char *text, mode_t mode, bool replace,
	bool *made, struct cl_err *e)
{
	const char *name = strrchr(path, '/') + 1;
	cleanup_free char *temp = cl_asprintf(".%s.new", name);
	cleanup_fd int fd = -1;
	int rc;

	*made = false;
	if (!replace && !faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	(void)unlinkat(dirfd, temp, 0);
	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return cl_fail_sys(
			e, errno == EACCES ? CL_EDENIED : CL_EOS, errno, "cannot make '%s'", path);
	rc = fchmod(fd, mode) ? cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", path)
			      : write_all(fd, path, text, e);
	if (!rc && (renameat(dirfd, temp, dirfd, name) || fsync(dirfd)))
		rc = cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", path);
	if (rc) {
		(void)unlinkat(dirfd, temp, 0);
		return -1;
	}
	*made = true;
	return 0;
}

/*
 * True when the caller has another hub: executors of one id would share a bridge and a packet
 * filter with it if the names were the same.
 */
static int second(const struct hub_ask *ask, const char *dir, bool *is, struct cl_err *e)
{
	cleanup_strv struct cl_strv list = CL_STRV_INIT;

	*is = false;
	if (hub_list(ask, &list, e))
		return -1;
	for (size_t i = 0; i < list.n; i++) {
		cleanup_free char *marker = cl_asprintf("%s/.cloop/hub.env", list.v[i]);

		if (strcmp(list.v[i], dir) != 0 && !access(marker, F_OK))
			*is = true;
	}
	return 0;
}

#define MARKER_MAX 65536
#define MARK_REMARK                                                                         \
	"# Networks and packet filters of this hub have this in their names, for there is " \
	"another "                                                                          \
	"hub.\n"

static int put_marker(const struct hub_ask *ask, int inner, const struct hub *h, struct hub_boot *b,
	struct cl_err *e)
{
	cleanup_free char *text = NULL;
	char id[32];
	bool marked;

	if (sys_new_id("hub_", 24, id, sizeof(id), e) || second(ask, h->dir, &marked, e))
		return -1;
	text = cl_asprintf("# This file marks a hub's directory; without it there is none.\n"
			   "# Environment of the hub's daemons goes here, one NAME=VALUE a line, "
			   "and never a key.\n" HUB_ID_KEY "%s\n"
			   "%s%s%.6s%s",
		id, marked ? MARK_REMARK : "", marked ? HUB_MARK_KEY : "", marked ? id + 4 : "",
		marked ? "\n" : "");
	return put_file(inner, h->marker, text, 0600, false, &b->made_marker, e);
}

void hub_boot_release(struct hub_boot *b)
{
	free(b->key_file);
	*b = (struct hub_boot){0};
}

/* 32 random bytes, as DECISIONS K1 has them. */
static int put_key(int top, const char *path, struct hub_boot *b, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_SECRET;
	unsigned char key[32];

	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return cl_fail_sys(e, CL_EOS, errno, "cannot get random bytes");
	cl_b64_encode(CL_B64_URL, key, sizeof(key), &text);
	cl_buf_addc(&text, '\n');
	explicit_bzero(key, sizeof(key));
	return put_file(top, path, text.p, 0600, false, &b->made_key, e);
}

/*
 * The root key, if the configuration names it where we would put it. A key is never made
 * where something is sealed: it would open nothing, and hide that the right one is missing.
 */
static int put_root_key(const struct hub_ask *ask, int top, const struct hub *h, struct hub_boot *b,
	struct cl_err *e)
{
	cleanup_free char *ours = cl_asprintf("%s/" HUB_KEY_FILE, h->dir);
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_cfg struct cfg c = CFG_INIT;
	struct cl_err ignored;

	/* One that cannot be read is refused wherever it is used. */
	if (hub_config(h, ask->uid, &d, &c, &ignored) || !c.key_file)
		return 0;
	b->key_file = cl_steal(&c.key_file);
	if (!b->sealed && !strcmp(b->key_file, ours) && put_key(top, ours, b, e))
		return -1;
	b->key_there = !access(b->key_file, F_OK);
	return 0;
}

/* Adds the directory to the caller's list of hubs, under a lock on the list's folder. */
static int put_list(
	const struct hub_ask *ask, const char *dir, struct hub_boot *b, struct cl_err *e)
{
	cleanup_free char *path = hub_list_file(ask), *folder = NULL;
	cleanup_strv struct cl_strv list = CL_STRV_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_fd int fd = -1;
	bool ignored;

	/* Without HOME there is no list, and the hub is found by -C alone. */
	if (!path)
		return 0;
	folder = cl_strndup(path, (size_t)(strrchr(path, '/') - path));
	if (make_dirs(folder, ask->uid ? 0700 : 0755, &ignored, e))
		return -1;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX))
		return cl_fail_sys(e, CL_EOS, errno, "cannot lock '%s'", folder);
	if (hub_list(ask, &list, e))
		return -1;
	if (cl_strv_has(&list, dir))
		return 0;
	if (hub_read(AT_FDCWD, path, path, ask->uid, 65536, &text, e) && e->code != CL_ENOTFOUND)
		return -1;
	if (text.len && text.p[text.len - 1] != '\n')
		cl_buf_addc(&text, '\n');
	cl_buf_addf(&text, "%s\n", dir);
	return put_file(fd, path, text.p, 0644, true, &b->listed, e);
}

/* hub_place for a directory that may not be there yet: its nearest parent that is. */
static int place_above(const struct hub_ask *ask, const char *dir, struct cl_err *e)
{
	cleanup_free char *at = cl_strdup(dir), *real = NULL;

	while (!(real = realpath(at, NULL))) {
		char *slash = strrchr(at, '/');

		if (!slash || slash == at)
			return 0;
		*slash = '\0';
	}
	return hub_place(ask, real, false, e);
}

/* The resolved directory of the hub to be, made where it is missing; owned. */
static char *make_place(const struct hub_ask *ask, struct hub_boot *b, struct cl_err *e)
{
	cleanup_free char *dir = ask->dir ? cl_strdup(ask->dir) : hub_default_dir(ask),
			  *real = NULL;
	cleanup_free char *whole = NULL;

	if (!dir) {
		(void)cl_fail(e, CL_ECONFIG,
			"where the hub goes is not known: neither HOME nor "
			"XDG_STATE_HOME is an absolute path");
		(void)cl_fix(e, "name a directory: cloop -C DIR hub bootstrap");
		return NULL;
	}
	whole = dir[0] == '/' ? cl_strdup(dir)
			      : cl_asprintf("%s/%s", ask->cwd ? ask->cwd : ".", dir);
	/* Judged before anything is made: a refusal leaves nothing behind. */
	if (place_above(ask, whole, e) || make_dirs(whole, 0700, &b->made_dir, e))
		return NULL;
	real = realpath(whole, NULL);
	if (!real) {
		(void)cl_fail_sys(e, CL_EOS, errno, "cannot resolve '%s'", whole);
		return NULL;
	}
	if (strpbrk(real, "\n\r")) {
		(void)cl_fail(e, CL_ECONFIG, "a hub's directory has no line breaks in its name");
		(void)cl_fix(e, "choose another directory");
		return NULL;
	}
	return cl_steal(&real);
}

/* *old: there was a .cloop before us. */
static int open_place(const char *dir, uid_t uid, int *top, int *inner, bool *old, struct cl_err *e)
{
	cleanup_free char *below = cl_asprintf("%s/.cloop", dir);

	*old = !hub_open(dir, uid, top, inner, e);
	if (*old)
		return 0;
	if (e->code != CL_ENOTFOUND)
		return -1;
	if (mkdirat(*top, ".cloop", 0700) && errno != EEXIST)
		return cl_fail_sys(e, errno == EACCES ? CL_EDENIED : CL_EOS, errno,
			"cannot make the directory '%s'", below);
	(void)close(*top);
	*top = -1;
	return hub_open(dir, uid, top, inner, e);
}

int hub_bootstrap(const struct hub_ask *ask, struct hub_boot *b,
	int (*state)(const char *path, struct hub_boot *b, struct cl_err *e), struct hub *out,
	struct cl_err *e)
{
	cleanup_free char *dir = NULL, *config = NULL;
	cleanup_fd int top = -1, inner = -1;
	bool old;

	cl_err_init(e);
	dir = make_place(ask, b, e);
	if (!dir)
		return -1;
	/* What was there already may have come with a clone; what we make has not. */
	if (open_place(dir, ask->uid, &top, &inner, &old, e) || hub_place(ask, dir, old, e))
		return -1;
	if (flock(inner, LOCK_EX))
		return cl_fail_sys(e, CL_EOS, errno, "cannot lock '%s/.cloop'", dir);
	hub_release(out);
	hub_names(out, dir);
	config = hub_template(b, dir, ask->uid == 0);
	if (put_file(inner, out->config, config, 0600, false, &b->made_config, e) ||
		state(out->state, b, e) || put_root_key(ask, top, out, b, e) ||
		put_marker(ask, inner, out, b, e) || put_list(ask, dir, b, e))
		return -1;
	return hub_check(ask, dir, out, e);
}

/* The directory's lock is held: nobody else writes it. */
static int add_mark(int inner, const struct hub *h, uid_t uid, char **out, struct cl_err *e)
{
	cleanup_buf struct cl_buf marker = CL_BUF_INIT;
	cleanup_free char *id = NULL;
	bool made;

	if (hub_read(inner, "hub.env", h->marker, uid, MARKER_MAX, &marker, e))
		return -1;
	*out = hub_marker_value(marker.p, HUB_MARK_KEY);
	if (**out)
		return 0;
	id = hub_marker_value(marker.p, HUB_ID_KEY);
	if (!cl_starts(id, "hub_") || strlen(id) < 4 + 6 ||
		!cl_all_in(id + 4, CL_LOWER CL_DIGITS)) {
		(void)cl_fail(e, CL_ECONFIG, "'%s' has no " HUB_ID_KEY " to tell hubs apart by",
			h->marker);
		return cl_fix(e,
			"write " HUB_MARK_KEY ", and up to 16 lower-case letters and digits, "
			"there");
	}
	free(*out);
	*out = cl_asprintf("%.6s", id + 4);
	if (marker.len && marker.p[marker.len - 1] != '\n')
		cl_buf_addc(&marker, '\n');
	cl_buf_addf(&marker, MARK_REMARK HUB_MARK_KEY "%s\n", *out);
	return put_file(inner, h->marker, marker.p, 0600, true, &made, e);
}

int hub_take_mark(const char *dir, uid_t uid, char **out, struct cl_err *e)
{
	cleanup_fd int top = -1, inner = -1;
	struct hub h = HUB_INIT;
	int rc;

	*out = NULL;
	if (hub_open(dir, uid, &top, &inner, e))
		return -1;
	if (flock(inner, LOCK_EX))
		return cl_fail_sys(e, CL_EOS, errno, "cannot lock '%s/.cloop'", dir);
	hub_names(&h, dir);
	rc = add_mark(inner, &h, uid, out, e);
	hub_release(&h);
	if (rc) {
		free(*out);
		*out = NULL;
	}
	return rc;
}
