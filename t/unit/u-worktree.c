/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which worktree is left over: each row of the table by itself. */
#include "policy/worktree.h"
#include "unit.h"

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
