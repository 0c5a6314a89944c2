/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which worktree is left over: each row of the table by itself. */
#include "policy/worktree.h"
#include "store-fixture.h"
#include "sys/path.h"
#include "work/worktree.h"

#define NOW INT64_C(1000000000000)

static const struct wt_facts left = {
	.plain = true, .readable = true, .changed_at = NOW - WT_MIN_AGE_MS, .now = NOW};

static void spared(struct wt_facts f, const char *want)
{
	const char *why;

	CHECK(!wt_stale(&f, &why));
	CHECK_STR(why, want);
}

void test_worktree__each_doubt_spares_it(void)
{
	struct wt_facts f = left;
	const char *why;

	CHECK(wt_stale(&f, &why));
	CHECK_STR(why, "left over");
	f.plain = false;
	spared(f, "it is no directory");
	f = left;
	f.readable = false;
	spared(f, "not all of it can be read");
	f = left;
	f.locked = true;
	spared(f, "it is locked");
	f = left;
	f.live = true;
	spared(f, "a run of the project is live");
}

void test_worktree__age(void)
{
	struct wt_facts f = left;
	const char *why;

	f.changed_at++;
	spared(f, "it is young");
	f.changed_at = 0;
	spared(f, "its age is not known");
	f.changed_at = -5;
	spared(f, "its age is not known");
	f.changed_at = NOW + 1;
	spared(f, "its age is not known");
	/* No least age at all is the default, not none: it would spare nothing. */
	f = left;
	f.min_age = 0;
	f.changed_at = NOW - 1;
	spared(f, "it is young");
	f.min_age = 1;
	CHECK(wt_stale(&f, &why));
	f.min_age = INT64_MAX;
	spared(f, "it is young");
}

/* ---- pruning ---- */

static void make_dir(const char *top, const char *name)
{
	cleanup_free char *at = cl_asprintf("%s/%s", top, name);

	CHECK_INT(mkdir(at, 0755), 0);
}

static void write_file(const char *top, const char *name, const char *text)
{
	cleanup_free char *at = cl_asprintf("%s/%s", top, name);
	FILE *f = fopen(at, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

static void make_old(const char *top, const char *name)
{
	static const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
	cleanup_free char *at = cl_asprintf("%s/%s", top, name);

	CHECK_INT(utimensat(AT_FDCWD, at, old, 0), 0);
}

/* One that has been read is judged by what there is of it when its turn comes. */
void test_worktree__what_changed_since_it_was_read_stays(void)
{
	static const char *const dirs[] = {".cloop", ".cloop/worktrees", ".cloop/worktrees/1",
		".cloop/worktrees/2", ".cloop/worktrees/3", ".git", ".git/worktrees",
		".git/worktrees/1"};
	cleanup_work_worktrees struct work_worktrees w = WORK_WORKTREES_INIT;
	cleanup_strv struct cl_strv removed = CL_STRV_INIT, troubles = CL_STRV_INIT;
	cleanup_free char *line = NULL;
	cleanup_store struct store *s = NULL;
	char top[] = "/tmp/u-worktree-XXXXXX";
	struct cl_err e;
	int tmp;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK(mkdtemp(top) != NULL);
	for (size_t i = 0; i < CL_ARRAY_LEN(dirs); i++)
		make_dir(top, dirs[i]);
	line = cl_asprintf("%s/.cloop/worktrees/1/.git\n", top);
	write_file(top, ".git/worktrees/1/gitdir", line);
	make_old(top, ".git/worktrees/1/gitdir");
	make_old(top, ".git/worktrees/1");
	for (size_t i = 2; i < 5; i++)
		make_old(top, dirs[i]);
	CHECK_INT(work_worktrees_read(top, &w, &e), 0);
	CHECK_INT(w.all.n, 3);
	write_file(top, ".git/worktrees/1/locked", "");
	make_old(top, ".git/worktrees/1");
	write_file(top, ".cloop/worktrees/2/new", "");
	work_worktrees_prune(s, &w, 0, &removed, &troubles);
	CHECK_INT(troubles.n, 0);
	CHECK_INT(removed.n, 1);
	CHECK_STR(removed.n ? removed.v[0] : "", "3");
	tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(sys_rmtree(tmp, top + strlen("/tmp/"), &e), 0);
	(void)close(tmp);
	gone();
}
