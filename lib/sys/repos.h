/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The git repositories below a granted root: facts/secrets.md 3.1. */
#ifndef SYS_REPOS_H
#define SYS_REPOS_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/stat.h>

#define SYS_REPO_ID 48
/* Which directory it is, for who opens it again: its device and inode, as text. */
void sys_repo_id(const struct stat *st, char out[SYS_REPO_ID]);
/*
 * Direct children of `root` that are repositories (a .git, or HEAD and objects), by name;
 * paths.v[i] is what names.v[i] really is, without links, and ids.v[i] (ids may be NULL) its
 * sys_repo_id. Names that begin with a dot, links
 * that lead out of the root and what is no directory are passed over. A root that is itself a
 * repository is the only one, under its own name. CL_ENOTFOUND, CL_EDATA, CL_EDENIED, CL_EOS.
 */
int sys_repos(const char *root, struct cl_strv *names, struct cl_strv *paths, struct cl_strv *ids,
	struct cl_err *e);

#endif
