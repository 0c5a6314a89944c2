/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Worktrees that a killed parallel run has left below a project's .cloop/worktrees: both what
 * `cloop worktree` shows and removes, and what the sweep collects.
 */
#ifndef CL_WORK_WORKTREE_H
#define CL_WORK_WORKTREE_H

#include "store/store.h"
#include "sys/worktree.h"

/* The branches that belong to such worktrees begin so. */
#define WORKTREE_BRANCHES "cloop/task-"

struct work_worktrees {
	int project;      /* open on its directory */
	const char *path; /* of it, resolved */
	int64_t min_age;  /* milliseconds; 0: WT_MIN_AGE_MS */
	struct worktrees all;
};
#define WORK_WORKTREES_INIT ((struct work_worktrees){.project = -1, .all = WORKTREES_INIT})
void work_worktrees_release(struct work_worktrees *w);
#define cleanup_work_worktrees __attribute__((cleanup(work_worktrees_release)))

/* Opens the directory `path`, which must not lead through a link, and reads what it has. */
int work_worktrees_read(const char *path, struct work_worktrees *out, struct cl_err *e);
/* True: left over. A store that cannot be asked spares all; *why as wt_stale. */
bool work_worktree_stale(struct store *s, const struct work_worktrees *w,
	const struct worktree *one, const char **why);
/*
 * Removes those that are left over, each judged again just before: their names, or why one could
 * not be, as lines. Branches are left. Stops when `until` (sys_mono_ms) is over; 0: never.
 */
void work_worktrees_prune(struct store *s, const struct work_worktrees *w, int64_t until,
	struct cl_strv *removed, struct cl_strv *troubles);
/* Deletes the branches of such worktrees that are merged and checked out nowhere, by name. */
int work_worktrees_branches(
	const struct work_worktrees *w, struct cl_strv *deleted, struct cl_err *e);

#endif
