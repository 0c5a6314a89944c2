/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file as git has it at a revision, and branches that are merged. The repository may be somebody else's work: its
 * configuration, hooks, filters and alternates are never acted upon, nothing is fetched,
 * and root reads it as its owner.
 */
#ifndef CL_SYS_GIT_H
#define CL_SYS_GIT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/*
 * Appends the file `path` (from the top of the work tree) at `rev` to out, at most max
 * bytes. The repository is that of the current directory: the nearest .git above it, which
 * must be a directory of the caller's own or, for root, of whoever owns the current
 * directory. CL_EDATA for a rev or path that git could take for something else and for a
 * file that is too large, CL_ENOTFOUND when there is no repository, revision or (slug
 * "git_no_file") file in it,
 * CL_EDENIED for a repository that leads elsewhere or belongs to others, CL_EUNAVAIL
 * without git.
 */
int sys_git_file(
	const char *rev, const char *path, size_t max, struct cl_buf *out, struct cl_err *e);

/*
 * For the repository whose .git is in the directory that `dir` is open on, under the same rules:
 * the local branches whose name begins with `below` ("cloop/") and whose work is in HEAD, added
 * to out without "refs/heads/".
 */
int sys_git_merged(int dir, const char *below, struct cl_strv *out, struct cl_err *e);
/* git branch -d: *gone false where git keeps it, because it is not merged or is checked out. */
int sys_git_forget_branch(int dir, const char *name, bool *gone, struct cl_err *e);

#endif
