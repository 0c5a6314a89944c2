/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The git worktrees below a project's .cloop/worktrees, from both sources that there are: the
 * folder itself, and what the repository has registered for it. A sandbox can write to both, so
 * they are read as files, beneath the project and through no link, and git is not asked.
 */
#ifndef CL_SYS_WORKTREE_H
#define CL_SYS_WORKTREE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define WORKTREES_DIR ".cloop/worktrees"
#define WORKTREES_MAX 10000

struct worktree {
	char *name;   /* below WORKTREES_DIR */
	char *admin;  /* its folder below .git/worktrees, or NULL: it is not registered */
	char *branch; /* "cloop/task-7-x", "" for a detached one or where it is not known */
	bool present; /* there is something of that name */
	bool plain;   /* a directory, or nothing */
	bool locked, readable;
	int64_t changed_at; /* the latest of all that there is of it, Unix milliseconds; 0: unknown */
};
struct worktrees {
	struct worktree *v;
	size_t n;
};
#define WORKTREES_INIT ((struct worktrees){NULL, 0})
void worktrees_release(struct worktrees *w);
#define cleanup_worktrees __attribute__((cleanup(worktrees_release)))

/*
 * By name. `project` is open on the directory, and `path` what it is called. One that has no
 * worktrees has none; CL_EOS for what cannot be read, CL_EDATA for more than WORKTREES_MAX.
 */
int worktrees_read(int project, const char *path, struct worktrees *out, struct cl_err *e);
/*
 * What there is now of one that was read before: out has one then, or none when nothing is there.
 */
int worktree_again(int project, const char *path, const struct worktree *w, struct worktrees *out,
	struct cl_err *e);
/*
 * Removes the directory, then its registration: no link is followed, no mount entered. What is
 * gone already is success.
 */
int worktree_remove(int project, const struct worktree *w, struct cl_err *e);

#endif
