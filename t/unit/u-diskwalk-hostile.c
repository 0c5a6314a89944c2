/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring a tree whose owner would rather not be measured. */
#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"
#include "sys/diskwalk.h"
#include "sys/diskwalk_internal.h"
#include "tree-fixture.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Walks the whole of a deep tree with `limit` descriptors. */
static void walk_deep(int levels, rlim_t limit)
{
	struct rlimit old, few;
	struct diskwalk_result r;

	setup();
	deep(levels);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = limit;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
	r = walk(want());
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &old), 0);
	CHECK(!r.partial);
	CHECK(r.bytes >= (int64_t)levels * 4096);
	CHECK(r.entries >= (uint64_t)levels * 2);
	teardown();
}

void test_depth__hundred_thousand(void)
{
	walk_deep(geteuid() ? 3000 : 100000, 64);
}

/* Fewer than it likes to keep: it lets go of those above. */
void test_depth__few_descriptors(void)
{
	walk_deep(2000, 20);
}

/* Wide and deep enough that directories are closed and found again in the middle. */
void test_depth__resumes_where_it_was(void)
{
	cleanup_free char *path = cl_strdup("d0");

	setup();
	for (int level = 0; level < 80; level++) {
		cleanup_free char *next = cl_asprintf("%s/d%d", path, level + 1);

		folder(path);
		if (level % 8 == 0)
			for (int i = 0; i < 40; i++) {
				cleanup_free char *wide = cl_asprintf("%s/w%d", path, i);

				folder(wide);
			}
		free(path);
		path = cl_steal(&next);
	}
	CHECK_INT(walk(want()).bytes, du("."));
	teardown();
}

void test_unreadable__named(void)
{
	int status = 0;
	pid_t pid;

	setup();
	CHECK_INT(chmod(top, 0755), 0);
	for (int i = 0; i < 5; i++) {
		cleanup_free char *name = cl_asprintf("locked%d", i), *path = under(name);

		folder(name);
		CHECK_INT(chmod(path, 0), 0);
	}
	(void)fflush(stdout);
	pid = fork();
	if (!pid) {
		struct diskwalk_result r;

		unit_failures = 0;
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(2);
		r = walk(want());
		CHECK(r.partial && !r.missed && !r.changed);
		CHECK_INT(r.nunreadable, 5);
		for (int i = 0; i < DW_NAMED; i++)
			CHECK(cl_starts(r.unreadable[i], "locked"));
		CHECK(strcmp(r.unreadable[0], r.unreadable[1]) != 0);
		CHECK_INT(dw_judge(1 << 20, r.bytes, r.partial), DW_UNKNOWN);
		CHECK_INT(dw_judge(0, r.bytes + 1, r.partial), DW_OVER);
		(void)fflush(stdout);
		_exit(unit_failures != 0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	for (int i = 0; i < 5; i++) {
		cleanup_free char *name = cl_asprintf("locked%d", i), *path = under(name);

		CHECK_INT(chmod(path, 0700), 0);
	}
	teardown();
}

void test_deadline__partial_is_a_bound(void)
{
	struct diskwalk_result r = {0}, all;
	atomic_bool cancelled = false;
	struct walk w = {.cancelled = &cancelled, .result = &r};
	struct walk_what what = {.label = ""};
	int64_t bytes = 0;

	setup();
	for (int i = 0; i < 3 * DW_CHECK_ENTRIES; i++) {
		cleanup_free char *name = cl_asprintf("%d", i);

		file(name, 1);
	}
	all = walk(want());
	/* The clock is looked at every so often: a deadline long past ends the first round. */
	w.deadline = sys_mono_ms() - 1;
	CHECK(!walk_tree(&w, open(top, O_RDONLY | O_CLOEXEC), &what, &bytes));
	CHECK(r.partial && r.missed);
	CHECK_INT(r.entries, DW_CHECK_ENTRIES);
	CHECK(bytes > 0 && bytes < all.bytes);
	/* A cancellation is no miss. */
	r = (struct diskwalk_result){0};
	w.deadline = INT64_MAX;
	atomic_store(&cancelled, true);
	CHECK(!walk_tree(&w, open(top, O_RDONLY | O_CLOEXEC), &what, &bytes));
	CHECK(!r.partial && !r.missed);
	inodes_release(&w.seen);
	teardown();
}

/* .cloop that takes too long: left out, without blurring the rest. */
void test_deadline__state_alone(void)
{
	struct diskwalk_want w = want();
	struct diskwalk_result r;

	setup();
	folder(".cloop");
	for (int i = 0; i < 2 * DW_CHECK_ENTRIES; i++) {
		cleanup_free char *name = cl_asprintf(".cloop/%d", i);

		file(name, 1);
	}
	file("tree", 300 << 10);
	w.start = true;
	w.state_deadline_ms = -1;
	r = walk(w);
	CHECK_INT(r.state, -1);
	CHECK(!r.partial && !r.missed);
	CHECK_INT(r.bytes, du(".") - du(".cloop"));
	teardown();
}

static atomic_bool stop_moving;

/* Moves directories and files about, deep ones above all, as long as it is let. */
static void *mover(void *arg)
{
	const char *deepest = arg;

	for (unsigned i = 0; !atomic_load(&stop_moving); i++) {
		cleanup_free char *from = under(i % 2 ? "moved" : deepest);
		cleanup_free char *to = under(i % 2 ? deepest : "moved");
		cleanup_free char *big = under(i % 2 ? "a-big" : "z/big");
		cleanup_free char *other = under(i % 2 ? "z/big" : "a-big");

		(void)rename(from, to);
		(void)rename(big, other);
	}
	return NULL;
}

void test_moves__never_counted_twice(void)
{
	cleanup_free char *path = cl_strdup("d"), *half = NULL;
	int64_t all;
	pthread_t t;

	setup();
	folder("z");
	file("z/big", 8 << 20);
	for (int i = 0; i < 90; i++) {
		cleanup_free char *next = cl_asprintf("%s/d", path);
		cleanup_free char *in = cl_asprintf("%s/file", path);

		folder(path);
		file(in, 300 << 10);
		if (i == 45)
			half = cl_strdup(path);
		free(path);
		path = cl_steal(&next);
	}
	all = du(".");
	atomic_store(&stop_moving, false);
	CHECK_INT(pthread_create(&t, NULL, mover, half), 0);
	for (int i = 0; i < 300; i++) {
		struct diskwalk_result r = walk(want());

		CHECK(r.bytes <= all + 4096);
		CHECK(!r.missed && !r.nunreadable);
	}
	atomic_store(&stop_moving, true);
	CHECK_INT(pthread_join(t, NULL), 0);
	CHECK_INT(walk(want()).bytes, du("."));
	teardown();
}
