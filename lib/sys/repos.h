/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The git repositories below a granted root: facts/secrets.md 3.1. */
#ifndef SYS_REPOS_H
#define SYS_REPOS_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Direct children of `root` that are repositories (a .git, or HEAD and objects), by name;
 * paths.v[i] is what names.v[i] really is, without links. Names that begin with a dot, links
 * that lead out of the root and what is no directory are passed over. A root that is itself a
 * repository is the only one, under its own name. CL_ENOTFOUND, CL_EDATA, CL_EDENIED, CL_EOS.
 */
int sys_repos(const char *root, struct cl_strv *names, struct cl_strv *paths, struct cl_err *e);

#endif
