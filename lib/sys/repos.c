/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/repos.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool has(int dir, const char *name)
{
	return !faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

static bool is_repo(int dir)
{
	return has(dir, ".git") || (has(dir, "HEAD") && has(dir, "objects"));
}

/* Strictly below: "/srv/src" does not hold "/srv/src-other", nor itself. */
static bool inside(const char *root, const char *path)
{
	size_t len = strlen(root);

	return !strncmp(path, root, len) && path[len] == '/';
}

void sys_repo_id(const struct stat *st, char out[SYS_REPO_ID])
{
	(void)snprintf(out, SYS_REPO_ID, "%llx:%llx", (unsigned long long)st->st_dev,
		(unsigned long long)st->st_ino);
}

/* Of the very directory that was judged. */
static bool add_id(int fd, struct cl_strv *ids)
{
	char id[SYS_REPO_ID];
	struct stat st;

	if (!ids)
		return true;
	if (fstat(fd, &st))
		return false;
	sys_repo_id(&st, id);
	cl_strv_add(ids, id);
	return true;
}

static void consider(const char *root, const char *name, struct cl_strv *names,
	struct cl_strv *paths, struct cl_strv *ids)
{
	cleanup_free char *path = cl_asprintf("%s/%s", root, name), *real = NULL;
	struct cl_err e;
	cleanup_fd int fd = sys_resolve_dir(path, &real, &e);

	if (fd < 0 || !inside(root, real) || !is_repo(fd) || !add_id(fd, ids))
		return;
	cl_strv_add(names, name);
	cl_strv_add(paths, real);
}

int sys_repos(const char *root, struct cl_strv *names, struct cl_strv *paths, struct cl_strv *ids,
	struct cl_err *e)
{
	cleanup_free char *real = NULL;
	cleanup_fd int fd = sys_resolve_dir(root, &real, e);
	cleanup_strv struct cl_strv found = CL_STRV_INIT;
	const struct dirent *de;
	DIR *d;

	if (fd < 0)
		return -1;
	if (is_repo(fd)) {
		if (!add_id(fd, ids))
			return cl_fail_sys(e, CL_EOS, errno, "cannot look at '%s'", real);
		cl_strv_add(names, strrchr(real, '/') + 1);
		cl_strv_add(paths, real);
		return 0;
	}
	d = opendir(real);
	if (!d)
		return cl_fail_sys(e, errno == EACCES ? CL_EDENIED : CL_EOS, errno,
			"cannot read the directory '%s'", real);
	while ((de = readdir(d)))
		if (de->d_name[0] != '.')
			cl_strv_add(&found, de->d_name);
	(void)closedir(d);
	cl_strv_sort(&found);
	for (size_t i = 0; i < found.n; i++)
		consider(real, found.v[i], names, paths, ids);
	return 0;
}
