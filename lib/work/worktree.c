/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/worktree.h"
#include "base/mem.h"
#include "policy/worktree.h"
#include "store/project.h"
#include "sys/clock.h"
#include "sys/git.h"
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void work_worktrees_release(struct work_worktrees *w)
{
	worktrees_release(&w->all);
	if (w->project >= 0)
		(void)close(w->project);
	*w = WORK_WORKTREES_INIT;
}

int work_worktrees_read(const char *path, struct work_worktrees *out, struct cl_err *e)
{
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	out->path = path;
	if (root < 0 || *path != '/' || !path[1])
		return cl_fail(e, CL_EDATA, "'%s' is no project", path);
	out->project = sys_open_nolinks(root, path + 1, O_RDONLY | O_DIRECTORY, e);
	return out->project < 0 ? -1 : worktrees_read(out->project, path, &out->all, e);
}

bool work_worktree_stale(struct store *s, const struct work_worktrees *w,
	const struct worktree *one, const char **why)
{
	struct wt_facts f = {.plain = one->plain,
		.readable = one->readable,
		.locked = one->locked,
		.live = true,
		.changed_at = one->changed_at,
		.now = sys_now_ms(),
		.min_age = w->min_age};
	struct cl_err ignored;
	int64_t n = 0;

	if (!store_project_live(s, w->path, &n, &ignored))
		f.live = n > 0;
	return wt_stale(&f, why);
}

/* Removes it as it is now: others may have taken minutes to go since all were read. */
static int remove_now(struct store *s, const struct work_worktrees *w, const struct worktree *seen,
	bool *gone, struct cl_err *e)
{
	cleanup_worktrees struct worktrees now = WORKTREES_INIT;
	const char *why;

	*gone = false;
	if (worktree_again(w->project, w->path, seen, &now, e))
		return -1;
	/* Two, or another: the registration is somebody else's by now. */
	if (now.n > 1 || (now.n && (strcmp(now.v[0].name, seen->name) != 0 ||
					   !work_worktree_stale(s, w, &now.v[0], &why))))
		return 0;
	*gone = true;
	return now.n ? worktree_remove(w->project, &now.v[0], e) : 0;
}

void work_worktrees_prune(struct store *s, const struct work_worktrees *w, int64_t until,
	struct cl_strv *removed, struct cl_strv *troubles)
{
	for (size_t i = 0; i < w->all.n && (!until || sys_mono_ms() < until); i++) {
		const struct worktree *one = &w->all.v[i];
		const char *why;
		struct cl_err e;
		bool gone;

		if (!work_worktree_stale(s, w, one, &why))
			continue;
		if (remove_now(s, w, one, &gone, &e))
			cl_strv_addf(troubles, "worktree %s: %s", one->name, e.msg);
		else if (gone)
			cl_strv_add(removed, one->name);
	}
}

int work_worktrees_branches(
	const struct work_worktrees *w, struct cl_strv *deleted, struct cl_err *e)
{
	cleanup_strv struct cl_strv merged = CL_STRV_INIT;

	if (sys_git_merged(w->project, "cloop/", &merged, e))
		return -1;
	for (size_t i = 0; i < merged.n; i++) {
		bool gone;

		if (strncmp(merged.v[i], WORKTREE_BRANCHES, strlen(WORKTREE_BRANCHES)) != 0)
			continue;
		if (sys_git_forget_branch(w->project, merged.v[i], &gone, e))
			return -1;
		if (gone)
			cl_strv_add(deleted, merged.v[i]);
	}
	return 0;
}
