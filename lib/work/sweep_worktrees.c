/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Worktrees that nobody works in any more, of every project that is registered. */
#include "work/sweep_internal.h"
#include "base/mem.h"
#include "store/project.h"
#include "sys/clock.h"
#include "work/worktree.h"

/* What one pass may take; the next goes on (facts/executors.md 6.14). Milliseconds. */
#define BOUND_MS (2 * 60 * 1000LL)

static void collect(struct sweep *s, struct store *store, const char *path, int64_t until)
{
	cleanup_work_worktrees struct work_worktrees w = WORK_WORKTREES_INIT;
	cleanup_strv struct cl_strv removed = CL_STRV_INIT, troubles = CL_STRV_INIT;
	struct cl_err e;

	/* A project that is not there, or that leads elsewhere now, has nothing of ours. */
	if (work_worktrees_read(path, &w, &e))
		return;
	work_worktrees_prune(store, &w, until, &removed, &troubles);
	for (size_t i = 0; i < removed.n; i++)
		sweep_did(s, "removed the worktree %s of %s", removed.v[i], path);
	for (size_t i = 0; i < troubles.n; i++)
		cl_strv_addf(&s->troubles, "%s: %s", path, troubles.v[i]);
	s->collected += removed.n;
}

void sweep_worktrees(struct sweep *s, struct store *store)
{
	cleanup_strv struct cl_strv paths = CL_STRV_INIT;
	int64_t until = sys_mono_ms() + BOUND_MS;
	struct cl_err e;

	if (store_project_paths(store, &paths, &e))
		sweep_trouble(s, "worktrees", &e);
	for (size_t i = 0; i < paths.n && sys_mono_ms() < until; i++)
		collect(s, store, paths.v[i], until);
}
