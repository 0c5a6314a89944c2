/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/worktree.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADMIN_DIR ".git/worktrees"
#define SMALL     ((size_t)8192)
/* What the project is called in a sandbox, where its worktrees were made. */
#define INSIDE "/workspace"

void worktrees_release(struct worktrees *w)
{
	for (size_t i = 0; i < w->n; i++) {
		free(w->v[i].name);
		free(w->v[i].admin);
		free(w->v[i].branch);
	}
	free(w->v);
	*w = WORKTREES_INIT;
}

static struct worktree *find(struct worktrees *w, const char *name)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->v[i].name, name))
			return &w->v[i];
	return NULL;
}

static struct worktree *add(struct worktrees *w, const char *name)
{
	w->v = cl_realloc(w->v, (w->n + 1) * sizeof(*w->v));
	w->v[w->n] = (struct worktree){
		.name = cl_strdup(name), .branch = cl_strdup(""), .plain = true, .readable = true};
	return &w->v[w->n++];
}

/* The later of what is known; a time that cannot be read makes the whole unknown. */
static void note_time(struct worktree *w, int dir, const char *name, bool needed)
{
	struct stat st;
	int64_t at;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		w->readable = w->readable && !needed && errno == ENOENT;
		return;
	}
	at = (int64_t)st.st_mtim.tv_sec * 1000;
	if (at > w->changed_at)
		w->changed_at = at;
}

/* ---- the folder ---- */

/* A descriptor, or -1: with CL_ENOTFOUND where there is none. */
static int open_dir(int project, const char *path, struct cl_err *e)
{
	return sys_open_nolinks(project, path, O_RDONLY | O_DIRECTORY, e);
}

static int too_many(struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA, "there are more than %d worktrees", WORKTREES_MAX);
	return cl_fix(e, "remove them by hand: git worktree remove");
}

/* Calls fn with every name in the folder; takes the descriptor. */
static int each(int fd, int (*fn)(int dir, const char *name, void *arg, struct cl_err *e),
	void *arg, struct cl_err *e)
{
	DIR *d = fdopendir(fd);
	struct dirent *entry;
	size_t n = 0;
	int rc = 0;

	if (!d) {
		(void)close(fd);
		return cl_fail_sys(e, CL_EOS, errno, "cannot read a folder of worktrees");
	}
	while (!rc && (errno = 0, entry = readdir(d))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		rc = ++n > WORKTREES_MAX ? too_many(e) : fn(dirfd(d), entry->d_name, arg, e);
	}
	if (!rc && errno)
		rc = cl_fail_sys(e, CL_EOS, errno, "cannot read a folder of worktrees");
	(void)closedir(d);
	return rc;
}

static int take_entry(int dir, const char *name, void *arg, struct cl_err *e)
{
	struct worktree *w = add(arg, name);
	cleanup_fd int fd = -1;
	struct stat st;

	(void)e;
	w->present = true;
	w->plain = !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
	note_time(w, dir, name, true);
	fd = w->plain ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (fd >= 0)
		note_time(w, fd, ".git", false);
	w->readable = w->readable && (fd >= 0 || !w->plain);
	return 0;
}

/* ---- what is registered ---- */

struct registered {
	struct worktrees *all;
	const char *project;
};

/* The one line of a small file; owned, NULL where it cannot be read. */
static char *line_of(int dir, const char *name)
{
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char text[SMALL];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0 || n == (ssize_t)sizeof(text) - 1)
		return NULL;
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	return cl_strdup(text);
}

/* "NAME" of ROOT/.cloop/worktrees/NAME/.git; owned, NULL for what is elsewhere. */
static char *name_below(const char *gitdir, const char *root)
{
	size_t n = strlen(root);
	const char *rest, *slash;

	if (strncmp(gitdir, root, n) != 0 ||
		strncmp(gitdir + n, "/" WORKTREES_DIR "/", strlen("/" WORKTREES_DIR "/")) != 0)
		return NULL;
	rest = gitdir + n + strlen("/" WORKTREES_DIR "/");
	slash = strchr(rest, '/');
	if (!slash || strcmp(slash, "/.git") != 0 || slash == rest || !strncmp(rest, "./", 2) ||
		!strncmp(rest, "../", 3))
		return NULL;
	return cl_strndup(rest, (size_t)(slash - rest));
}

static void take_branch(struct worktree *w, int admin)
{
	static const char head[] = "ref: refs/heads/";
	cleanup_free char *line = line_of(admin, "HEAD");

	if (!line || !cl_starts(line, head))
		return;
	free(w->branch);
	w->branch = cl_strdup(line + strlen(head));
}

static int take_admin(int dir, const char *name, void *arg, struct cl_err *e)
{
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	static const char *const touched[] = {"HEAD", "index", "logs", "gitdir"};
	cleanup_free char *gitdir = NULL, *which = NULL;
	struct registered *r = arg;
	struct worktree *w;
	struct stat st;

	(void)e;
	gitdir = fd >= 0 ? line_of(fd, "gitdir") : NULL;
	which = gitdir ? name_below(gitdir, r->project) : NULL;
	if (gitdir && !which)
		which = name_below(gitdir, INSIDE);
	/* The operator's own, or nothing that is understood. */
	if (!which)
		return 0;
	w = find(r->all, which);
	if (!w)
		w = add(r->all, which);
	/* Two that claim one directory: it is not known which is meant. */
	w->readable = w->readable && !w->admin;
	free(w->admin);
	w->admin = cl_strdup(name);
	w->locked =
		w->locked || !fstatat(fd, "locked", &st, AT_SYMLINK_NOFOLLOW) || errno != ENOENT;
	take_branch(w, fd);
	note_time(w, dir, name, true);
	for (size_t i = 0; i < CL_ARRAY_LEN(touched); i++)
		note_time(w, fd, touched[i], false);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct worktree *)a)->name, ((const struct worktree *)b)->name);
}

int worktrees_read(int project, const char *path, struct worktrees *out, struct cl_err *e)
{
	struct registered r = {out, path};
	int fd = open_dir(project, WORKTREES_DIR, e);

	if (fd < 0 && e->code != CL_ENOTFOUND)
		return -1;
	if (fd >= 0 && each(fd, take_entry, out, e))
		return -1;
	fd = open_dir(project, ADMIN_DIR, e);
	if (fd >= 0 && each(fd, take_admin, &r, e))
		return -1;
	/* A .git that is a file or a link: what is locked stands where we do not look. */
	for (size_t i = 0; fd < 0 && e->code != CL_ENOTFOUND && i < out->n; i++)
		out->v[i].readable = false;
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_name);
	return 0;
}

int worktree_again(int project, const char *path, const struct worktree *w, struct worktrees *out,
	struct cl_err *e)
{
	cleanup_fd int folder = open_dir(project, WORKTREES_DIR, e), admin = -1;
	struct registered r = {out, path};
	struct stat st;

	if (folder < 0 && e->code != CL_ENOTFOUND)
		return -1;
	if (folder >= 0 && !fstatat(folder, w->name, &st, AT_SYMLINK_NOFOLLOW) &&
		take_entry(folder, w->name, out, e))
		return -1;
	if (!w->admin)
		return 0;
	admin = open_dir(project, ADMIN_DIR, e);
	if (admin < 0)
		return e->code == CL_ENOTFOUND ? 0 : -1;
	return take_admin(admin, w->admin, &r, e);
}

/* ---- removing ---- */

static int remove_in(int project, const char *folder, const char *name, struct cl_err *e)
{
	cleanup_fd int dir = open_dir(project, folder, e);

	if (dir < 0)
		return e->code == CL_ENOTFOUND ? 0 : -1;
	return sys_rmtree(dir, name, e);
}

int worktree_remove(int project, const struct worktree *w, struct cl_err *e)
{
	if (w->present && remove_in(project, WORKTREES_DIR, w->name, e))
		return -1;
	return w->admin ? remove_in(project, ADMIN_DIR, w->admin, e) : 0;
}
