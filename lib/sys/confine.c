/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/confine.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void confine_dir_release(struct confine_dir *d)
{
	cl_cleanup_free(&d->path);
	cl_cleanup_fd(&d->fd);
	confine_facts_release(&d->facts);
	*d = CONFINE_DIR_INIT;
}

static int open_path(int at, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_NO_MAGICLINKS | resolve};

	return (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
}

/* The path the kernel has for it. NULL when it was removed, or its path is too long. */
static char *kernel_path(int fd)
{
	char link[40], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n <= 0 || n == (ssize_t)sizeof(path) || path[0] != '/' || fstat(fd, &st) ||
		!st.st_nlink)
		return NULL;
	return cl_strndup(path, (size_t)n);
}

static int no_way(const char *path, int sys, struct cl_err *e)
{
	if (sys == EACCES || sys == EPERM)
		return cl_fail_sys(e, CL_EDENIED, sys, "cannot look at '%s'", path);
	if (sys == ENOTDIR) {
		(void)cl_fail(e, CL_EDATA, "'%s' is no directory, or one on its way is none", path);
		return cl_fix(e, "name the directory of the project");
	}
	if (sys == ELOOP) {
		(void)cl_fail(e, CL_EDATA, "'%s' goes through a link that is not followed", path);
		return cl_fix(e, "name the directory that the link leads to");
	}
	if (sys == ENAMETOOLONG) {
		(void)cl_fail(e, CL_EDATA, "'%.64s...' is too long for a path", path);
		return cl_fix(e, "go there with cd and name it by a shorter path");
	}
	return cl_fail_sys(e, CL_EOS, sys, "cannot resolve '%s'", path);
}

/* Nothing may stand at `name` in the directory: a link to nothing is not what would be made. */
static int check_vacant(int dir, const char *name, const char *path, struct cl_err *e)
{
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		(void)cl_fail(e, CL_EDATA, "'%s' goes through a link to nothing", path);
		return cl_fix(e, "make what the link leads to, or remove the link '%s'", name);
	}
	return errno == ENOENT ? 0 : no_way(path, errno, e);
}

/*
 * The path the kernel would open or make for `clean`: the deepest ancestor that exists,
 * its links followed, and the rest as it stands. *fd is -1 unless all of it exists.
 */
static int resolve(const char *clean, char **path, int *fd, struct cl_err *e)
{
	cleanup_free char *head = cl_strdup(clean), *real = NULL;
	cleanup_fd int at = -1;
	char *cut;

	while ((at = open_path(AT_FDCWD, head, O_DIRECTORY, 0)) < 0) {
		if (errno != ENOENT || !head[1])
			return no_way(clean, errno, e);
		cut = strrchr(head, '/');
		if (cut == head)
			cut++;
		*cut = '\0';
	}
	real = kernel_path(at);
	if (!real) {
		(void)cl_fail(e, CL_EDATA, "'%s' was removed, or its path is too long", head);
		return cl_fix(e, "name a directory that is there, by its whole path");
	}
	cut = head + strlen(head);
	if (clean[cut - head]) {
		const char *rest = clean + (cut - head);
		cleanup_free char *first = NULL;

		rest += *rest == '/';
		first = cl_strndup(rest, strcspn(rest, "/"));
		if (check_vacant(at, first, clean, e))
			return -1;
		*path = cl_asprintf("%s%s%s", real, real[1] ? "/" : "", rest);
		return 0;
	}
	*path = cl_steal(&real);
	*fd = cl_steal_fd(&at);
	return 0;
}

static int absolute(const char *dir, char **clean, struct cl_err *e)
{
	cleanup_free char *joined = NULL;
	char cwd[PATH_MAX];

	if (!*dir) {
		(void)cl_fail(e, CL_EDATA, "a project's directory cannot be ''");
		return cl_fix(e, "name the directory, or '.' for this one");
	}
	if (*dir == '/') {
		*clean = confine_clean(dir);
		return 0;
	}
	if (!getcwd(cwd, sizeof(cwd)) || *cwd != '/')
		return cl_fail_sys(e, CL_EOS, errno, "cannot tell the current directory");
	joined = cl_asprintf("%s/%s", cwd, dir);
	*clean = confine_clean(joined);
	return 0;
}

/* --- names --- */

/* "MAJOR:MINOR/path" of a path: the mount it lies on, and where on that file system. */
static void add_place(const struct mountinfo *m, const char *path, struct cl_strv *names)
{
	const struct mountinfo_line *on = NULL;
	const char *rest;

	for (size_t i = 0; i < m->n; i++)
		if (confine_within(m->v[i].point, path) &&
			(!on || strlen(m->v[i].point) > strlen(on->point)))
			on = &m->v[i];
	on = on ? mountinfo_at(m, on->point) : NULL;
	/* A root field like "net:[4026531840]" is no path. */
	if (!on || on->root[0] != '/')
		return;
	rest = path + (on->point[1] ? strlen(on->point) : 0);
	if (!strcmp(rest, "/"))
		rest = "";
	cl_strv_addf(names, "%u:%u%s%s", on->major, on->minor,
		on->root[1] || !*rest ? on->root : "", rest);
}

static void add_names(const struct mountinfo *m, const char *path, struct cl_strv *names)
{
	cl_strv_add(names, path);
	add_place(m, path, names);
}

/* Of something protected. What cannot be resolved keeps the name it was given. */
static void add_protected(const struct mountinfo *m, const char *given, struct cl_strv *names)
{
	cleanup_free char *clean = *given == '/' ? confine_clean(given) : NULL, *real = NULL;
	cleanup_fd int fd = -1;
	struct cl_err ignored;

	if (!clean)
		return;
	if (resolve(clean, &real, &fd, &ignored))
		real = cl_strdup(clean);
	add_names(m, real, names);
}

static void add_home(
	const struct confine_ask *ask, const struct mountinfo *m, struct confine_facts *f)
{
	struct passwd pw, *found = NULL;
	char text[4096];

	if (ask->home)
		add_protected(m, ask->home, &f->home);
	else if (!getpwuid_r(geteuid(), &pw, text, sizeof(text), &found) && found)
		add_protected(m, pw.pw_dir, &f->home);
}

static int gather(
	const struct confine_ask *ask, const char *path, struct confine_facts *f, struct cl_err *e)
{
	cleanup_mountinfo struct mountinfo m = MOUNTINFO_INIT;
	cleanup_strv struct cl_strv below = CL_STRV_INIT;

	if (mountinfo_read(&m, e))
		return -1;
	f->purpose = ask->purpose;
	f->manage = ask->manage;
	f->hub_entry = ask->hub_entry;
	add_names(&m, path, &f->names);
	/* An engine binds a directory with everything that is mounted in it. */
	mountinfo_below(&m, path, &below);
	for (size_t i = 0; i < below.n; i++)
		add_place(&m, below.v[i], &f->names);
	for (size_t i = 0; confine_system_trees[i]; i++)
		if (!access(confine_system_trees[i], F_OK))
			add_place(&m, confine_system_trees[i], &f->system);
	add_home(ask, &m, f);
	if (ask->hub)
		add_protected(&m, ask->hub, &f->hub);
	if (ask->root)
		add_protected(&m, ask->root, &f->root);
	f->projects = cl_calloc(ask->nprojects, sizeof(*f->projects));
	for (size_t i = 0; i < ask->nprojects; i++) {
		add_protected(&m, ask->projects[i], &f->projects[f->nprojects]);
		f->nprojects += f->projects[f->nprojects].n > 0;
	}
	return 0;
}

/* Where .cloop of the directory leads, if that is not provably inside it. An absolute link is
 * not: in the sandbox it leads elsewhere than here. */
static void look_at_state(int dir, struct confine_facts *f)
{
	char target[PATH_MAX];
	cleanup_fd int inside = -1;
	ssize_t n = readlinkat(dir, ".cloop", target, sizeof(target) - 1);

	if (n < 0)
		return;
	inside = open_path(dir, ".cloop", 0, RESOLVE_BENEATH);
	if (inside < 0)
		f->state_link = cl_strndup(target, (size_t)n);
}

/* The directory the rules are about: a feature is judged as its project. */
static int judged(const struct confine_ask *ask, const struct confine_dir *d, char **path, int *fd,
	struct cl_err *e)
{
	cleanup_free char *project =
		ask->purpose == CONFINE_RUN ? confine_feature_project(d->path) : NULL;

	if (project)
		return resolve(project, path, fd, e);
	*path = cl_strdup(d->path);
	*fd = d->fd < 0 ? -1 : fcntl(d->fd, F_DUPFD_CLOEXEC, 0);
	if (d->fd >= 0 && *fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot hold '%s'", d->path);
	return 0;
}

int confine_check(const struct confine_ask *ask, struct confine_dir *out, struct cl_err *e)
{
	cleanup_free char *clean = NULL, *path = NULL;
	cleanup_fd int fd = -1;

	if (absolute(ask->dir, &clean, e) || resolve(clean, &out->path, &out->fd, e))
		return -1;
	if (ask->purpose == CONFINE_RUN && out->fd < 0) {
		(void)cl_fail(e, CL_ENOTFOUND, "there is no directory '%s'", out->path);
		return cl_fix(
			e, "name the project's directory, or make it: mkdir -p '%s'", out->path);
	}
	if (judged(ask, out, &path, &fd, e) || gather(ask, path, &out->facts, e))
		return -1;
	/* What is refused by then needs no search, which could be of the whole host. */
	if (confine_judge_to(&out->facts, 3, &out->rule, e))
		return -1;
	if (fd >= 0)
		look_at_state(fd, &out->facts);
	confine_search_hubs(path, fd, out->facts.hub.n ? out->facts.hub.v[0] : NULL, CONFINE_DEPTH,
		CONFINE_BREADTH, &out->facts);
	return confine_judge(&out->facts, &out->rule, e);
}
