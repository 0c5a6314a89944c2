/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which hub, and whether a directory may be one (DECISIONS D2). */
#include "sys/hub.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/hub_internal.h"
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT_HUBS "/etc/cloop/hubs"
#define ROOT_DIR  "/var/lib/cloop"
#define LIST_MAX  65536

void hub_release(struct hub *h)
{
	free(h->dir);
	free(h->marker);
	free(h->config);
	free(h->state);
	free(h->id);
	free(h->mark);
	*h = HUB_INIT;
}

/* $XDG_x, else $HOME/fallback (XDG base directories: a relative one is as good as unset). */
static char *xdg(const char *dir, const char *home, const char *fallback)
{
	if (dir && dir[0] == '/')
		return cl_strdup(dir);
	if (home && home[0] == '/')
		return cl_asprintf("%s/%s", home, fallback);
	return NULL;
}

char *hub_list_file(const struct hub_ask *ask)
{
	cleanup_free char *dir = NULL;

	if (ask->hubs && *ask->hubs)
		return cl_strdup(ask->hubs);
	if (!ask->uid)
		return cl_strdup(ROOT_HUBS);
	dir = xdg(ask->xdg_config, ask->home, ".config");
	return dir ? cl_asprintf("%s/cloop/hubs", dir) : NULL;
}

char *hub_default_dir(const struct hub_ask *ask)
{
	cleanup_free char *dir = NULL;

	if (!ask->uid)
		return cl_strdup(ROOT_DIR);
	dir = xdg(ask->xdg_state, ask->home, ".local/state");
	return dir ? cl_asprintf("%s/cloop", dir) : NULL;
}

int hub_trusted(int fd, const char *path, uid_t uid, bool dir, struct cl_err *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at '%s'", path);
	if (dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode)) {
		(void)cl_fail(
			e, CL_ECONFIG, "'%s' is no %s", path, dir ? "directory" : "regular file");
		return cl_fix(e, "move it away, and look who put it there");
	}
	if (st.st_uid != 0 && st.st_uid != uid) {
		(void)cl_fail(e, CL_ECONFIG,
			"'%s' belongs to uid %u, neither root nor the caller (uid %u)", path,
			st.st_uid, uid);
		return cl_fix(
			e, "name a hub of your own with -C, or make one: cloop hub bootstrap");
	}
	if (st.st_mode & 022) {
		(void)cl_fail(e, CL_ECONFIG, "others may write to '%s' (mode %04o)", path,
			st.st_mode & 07777);
		/* /tmp and its like are everybody's, and are to stay so. */
		if (st.st_mode & S_ISVTX)
			return cl_fix(e, "name a directory of your own with -C");
		return cl_fix(e, "chmod go-w '%s'", path);
	}
	return 0;
}

int hub_read(int dirfd, const char *name, const char *path, uid_t uid, size_t max,
	struct cl_buf *out, struct cl_err *e)
{
	cleanup_fd int fd =
		openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 && errno == ELOOP) {
		(void)cl_fail(e, CL_ECONFIG, "'%s' is a symbolic link", path);
		return cl_fix(e, "put the file itself there");
	}
	if (fd < 0) {
		(void)cl_fail_sys(e, errno == ENOENT ? CL_ENOTFOUND : CL_EDENIED, errno,
			"cannot open '%s'", path);
		return -1;
	}
	if (hub_trusted(fd, path, uid, false, e))
		return -1;
	for (;;) {
		ssize_t n = read(fd, cl_buf_reserve(out, 4096), 4096);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "cannot read '%s'", path);
		if (!n)
			return 0;
		out->len += (size_t)n;
		out->p[out->len] = '\0';
		if (out->len > max) {
			(void)cl_fail(e, CL_ECONFIG, "'%s' holds more than %zu bytes", path, max);
			return cl_fix(e, "make it smaller");
		}
	}
}

int hub_list(const struct hub_ask *ask, struct cl_strv *out, struct cl_err *e)
{
	cleanup_free char *path = hub_list_file(ask);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_strv struct cl_strv lines = CL_STRV_INIT;

	if (!path)
		return 0;
	if (hub_read(AT_FDCWD, path, path, ask->uid, LIST_MAX, &text, e))
		return e->code == CL_ENOTFOUND ? 0 : -1;
	cl_split(text.p, '\n', &lines);
	for (size_t i = 0; i < lines.n; i++)
		if (lines.v[i][0] == '/')
			cl_strv_add(out, lines.v[i]);
	return 0;
}

static bool exists(const char *dir, const char *below)
{
	cleanup_free char *path = cl_asprintf("%s/%s", strcmp(dir, "/") ? dir : "", below);
	struct stat st;

	return !lstat(path, &st);
}

/* What makes a directory a project: only runs and their authors write these. */
static const char *const project_marks[] = {".cloop/sandbox.yaml", ".cloop/sandbox-run.json"};

static int in_project(const char *dir, const char *at, const char *mark, struct cl_err *e)
{
	(void)cl_fail(e, CL_ECONFIG, "'%s' lies in the project '%s' (it has %s)", dir, at, mark);
	return cl_fix(e, "keep the hub out of every project: cloop -C DIR hub bootstrap");
}

int hub_place(const struct hub_ask *ask, const char *dir, bool found, struct cl_err *e)
{
	cleanup_free char *at = cl_strdup(dir);
	cleanup_strv struct cl_strv list = CL_STRV_INIT;
	const char *git = NULL;

	for (;;) {
		char *slash;

		for (size_t i = 0; i < CL_ARRAY_LEN(project_marks); i++)
			if (exists(at, project_marks[i]))
				return in_project(dir, at, project_marks[i], e);
		if (!git && exists(at, ".git"))
			git = strcmp(at, dir) ? "a directory above" : "it";
		slash = strrchr(at, '/');
		if (!slash || !strcmp(at, "/"))
			break;
		slash[slash == at] = '\0';
	}
	if (!git || !found)
		return 0;
	/* A clone can bring a marker and a configuration along; only its user can list it. */
	if (hub_list(ask, &list, e))
		return -1;
	if (cl_strv_has(&list, dir))
		return 0;
	(void)cl_fail(e, CL_ECONFIG,
		"'%s' may have come with a repository (%s has .git), and is in no "
		"list of yours",
		dir, git);
	at = (free(at), hub_list_file(ask));
	return cl_fix(
		e, "if you made it, add the line '%s' to %s", dir, at ? at : "your list of hubs");
}

char *hub_marker_value(const char *text, const char *key)
{
	cleanup_strv struct cl_strv lines = CL_STRV_INIT;

	cl_split(text, '\n', &lines);
	for (size_t i = 0; i < lines.n; i++) {
		cleanup_free char *value =
			cl_starts(lines.v[i], key) ? cl_trim_dup(lines.v[i] + strlen(key)) : NULL;

		/* A line that was emptied by hand is not the one that was added since. */
		if (value && *value)
			return cl_steal(&value);
	}
	return cl_strdup("");
}

static int take_mark(const char *text, const char *path, char **out, struct cl_err *e)
{
	*out = hub_marker_value(text, HUB_MARK_KEY);
	if (!**out || (strlen(*out) <= 16 && cl_all_in(*out, CL_LOWER CL_DIGITS)))
		return 0;
	(void)cl_fail(
		e, CL_ECONFIG, "'%s': " HUB_MARK_KEY "%.40s cannot be part of a name", path, *out);
	return cl_fix(e, "write up to 16 lower-case letters and digits there");
}

char *hub_network_id(const char *mark, const char *executor)
{
	return *mark ? cl_asprintf("%s-%s", executor, mark) : cl_strdup(executor);
}

int hub_open(const char *dir, uid_t uid, int *top, int *inner, struct cl_err *e)
{
	cleanup_free char *below = cl_asprintf("%s/.cloop", dir);
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	*top = open(dir, flags);
	if (*top < 0)
		return cl_fail_sys(e, errno == EACCES ? CL_EDENIED : CL_ECONFIG, errno,
			"cannot open the directory '%s'", dir);
	if (hub_trusted(*top, dir, uid, true, e))
		return -1;
	*inner = openat(*top, ".cloop", flags);
	if (*inner >= 0)
		return hub_trusted(*inner, below, uid, true, e);
	if (errno == ENOENT)
		return cl_fail_sys(e, CL_ENOTFOUND, errno, "cannot open '%s'", below);
	return cl_fail_sys(e, errno == EACCES ? CL_EDENIED : CL_ECONFIG, errno,
		"cannot open the directory '%s'", below);
}

void hub_names(struct hub *h, const char *dir)
{
	h->dir = cl_strdup(dir);
	h->marker = cl_asprintf("%s/.cloop/hub.env", dir);
	h->config = cl_asprintf("%s/.cloop/config.yaml", dir);
	h->state = cl_asprintf("%s/.cloop/state.db", dir);
}

static int not_a_hub(const char *dir, struct cl_err *e)
{
	(void)cl_fail(e, CL_ECONFIG, "'%s' is no hub's directory: it has no .cloop/hub.env", dir);
	(void)cl_slug(e, "no_hub");
	return cl_fix(e, "cloop -C '%s' hub bootstrap", dir);
}

int hub_check(const struct hub_ask *ask, const char *dir, struct hub *out, struct cl_err *e)
{
	cleanup_free char *real = realpath(dir, NULL);
	cleanup_buf struct cl_buf marker = CL_BUF_INIT;
	cleanup_fd int top = -1, inner = -1;

	if (!real) {
		if (errno == ENOENT)
			return not_a_hub(dir, e);
		return cl_fail_sys(e, CL_ECONFIG, errno, "cannot resolve '%s'", dir);
	}
	hub_release(out);
	hub_names(out, real);
	if (hub_open(real, ask->uid, &top, &inner, e) ||
		hub_read(inner, "hub.env", out->marker, ask->uid, LIST_MAX, &marker, e))
		return e->code == CL_ENOTFOUND ? not_a_hub(real, e) : -1;
	if (hub_place(ask, real, true, e))
		return -1;
	out->id = hub_marker_value(marker.p, HUB_ID_KEY);
	return take_mark(marker.p, out->marker, &out->mark, e);
}

int hub_mark(const char *dir, uid_t uid, char **out, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("%s/.cloop/hub.env", dir);
	cleanup_buf struct cl_buf marker = CL_BUF_INIT;
	cleanup_fd int top = -1, inner = -1;

	*out = NULL;
	if (!hub_open(dir, uid, &top, &inner, e) &&
		!hub_read(inner, "hub.env", path, uid, LIST_MAX, &marker, e))
		return take_mark(marker.p, path, out, e);
	if (e->code != CL_ENOTFOUND)
		return -1;
	*out = cl_strdup("");
	return 0;
}

static int none(const char *dir, struct cl_err *e)
{
	(void)cl_fail(e, CL_ECONFIG,
		"there is no hub: none was named with -C or CLOOP_DIR, the "
		"current directory is in no list of hubs, and '%s' is none",
		dir ? dir : "the default place");
	(void)cl_slug(e, "no_hub");
	return cl_fix(e, "name one with -C DIR, or make one: cloop hub bootstrap");
}

static bool listed(const struct hub_ask *ask, const char *dir, struct cl_err *e, int *rc)
{
	cleanup_strv struct cl_strv list = CL_STRV_INIT;

	*rc = hub_list(ask, &list, e);
	return !*rc && cl_strv_has(&list, dir);
}

int hub_find(const struct hub_ask *ask, struct hub *out, struct cl_err *e)
{
	cleanup_free char *cwd = ask->cwd ? realpath(ask->cwd, NULL) : NULL;
	cleanup_free char *dir = hub_default_dir(ask);
	int rc = 0;

	if (ask->dir) {
		rc = hub_check(ask, ask->dir, out, e);
		out->why = "-C or CLOOP_DIR";
		return rc;
	}
	if (cwd && listed(ask, cwd, e, &rc)) {
		rc = hub_check(ask, cwd, out, e);
		out->why = "the current directory";
		return rc;
	}
	if (rc)
		return -1;
	if (!dir || !exists(dir, ".cloop/hub.env"))
		return none(dir, e);
	rc = hub_check(ask, dir, out, e);
	out->why = "the default";
	return rc;
}

int hub_config(const struct hub *h, uid_t uid, struct cl_doc *d, struct cfg *c, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_fd int top = -1, inner = -1;

	if (hub_open(h->dir, uid, &top, &inner, e))
		return -1;
	if (hub_read(inner, "config.yaml", h->config, uid, 1 << 20, &text, e) &&
		e->code != CL_ENOTFOUND)
		return -1;
	if (cl_doc_parse(d, CL_DOC_YAML, h->config, text.p, text.len, NULL, e)) {
		e->code = CL_ECONFIG;
		return -1;
	}
	return cfg_read(d, c, e);
}

int hub_own_read(const struct hub *h, const char *name, uid_t uid, size_t max, struct cl_buf *out,
	struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("%s/.cloop/%s", h->dir, name);
	cleanup_fd int top = -1, inner = -1;

	return hub_open(h->dir, uid, &top, &inner, e) ||
			       hub_read(inner, name, path, uid, max, out, e)
		       ? -1
		       : 0;
}

int hub_own_write(const struct hub *h, const char *name, uid_t uid, const struct cl_buf *text,
	struct cl_err *e)
{
	const struct sys_owner owner = {(uid_t)-1, (gid_t)-1, 0644};
	cleanup_fd int top = -1, inner = -1;

	return hub_open(h->dir, uid, &top, &inner, e) ||
			       sys_write_atomic(inner, name, text->p, text->len, &owner, e)
		       ? -1
		       : 0;
}
