/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fleet's tables: each invariant is one statement, whoever else writes. */
#include "race.h"
#include "store-fixture.h"
#include "store/audit.h"
#include "store/fleet.h"
#include "store/health.h"
#include "store/project.h"
#include "policy/place/access.h"
#include "work/access.h"

#include <pwd.h>

static struct store_project project_at(char *where)
{
	static char name[] = "p", owner[] = "ada", origin[] = "added", by[] = "uid:0";

	return (struct store_project){.path = where,
		.name = name,
		.owner = owner,
		.origin = origin,
		.created_at = 1,
		.created_by = by};
}

/* 1: registered, 0: something stands in the way. */
static int add(struct store *s, const char *where, const char *token, int64_t now)
{
	cleanup_free char *copy = cl_strdup(where), *holder = NULL;
	const struct store_project p = project_at(copy);
	struct cl_err e;
	bool won = false;

	if (store_project_add(s, &p, token, now, &won, &holder, &e))
		UNIT_FAIL("%s", e.msg);
	CHECK(won == !holder);
	return won;
}

void test_project__nothing_overlaps(void)
{
	static const struct {
		const char *path;
		int want;
	} rows[] = {{"/srv/a", 1}, {"/srv/a", 0}, {"/srv/a/b", 0}, {"/srv", 0}, {"/srv/ab", 1},
		{"/srv/A", 1}, {"/srv/a.b", 1}, {"/srv/a%", 1}, {"/srv/_", 1},
		{"/srv/a\xc3\xa9", 1}, {"/srv/a\xc3", 1}, {"/srv/a\xc3/x", 0},
		{"/srv/a\xff\xfe", 1}, {"/srv/a\xff\xfe/b", 0}, {"/srv/a\xff", 1}};
	cleanup_strv struct cl_strv paths = CL_STRV_INIT;
	struct store *s;
	struct cl_err e;

	fresh();
	s = open_as(STORE_CREATE);
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++)
		if (add(s, rows[i].path, NULL, 1) != rows[i].want)
			UNIT_FAIL("row %zu: '%s'", i, rows[i].path);
	CHECK_INT(store_project_paths(s, &paths, &e), 0);
	CHECK_INT(paths.n, 10);
	store_close(s);
	gone();
}

void test_project__claims(void)
{
	cleanup_free char *holder = NULL, *other = NULL;
	char token[STORE_CLAIM_ID], second[STORE_CLAIM_ID];
	struct store *s;
	struct cl_err e;
	bool won;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(store_claim(s, "/srv/a/b", false, "x", 1000, token, &won, &holder, &e), 0);
	CHECK(won && !holder);
	CHECK_INT(store_claim(s, "/srv/a", false, "x", 1000, second, &won, &other, &e), 0);
	CHECK(!won);
	CHECK_STR(other, "/srv/a/b");
	CHECK_INT(add(s, "/srv/a/b/c", NULL, 1000), 0);
	CHECK_INT(add(s, "/srv/a/b", second, 1000), 0);
	CHECK_INT(add(s, "/srv/a/b", token, 1000), 1);
	/* Its own claim is in nobody's way once it has run out, or was dropped. */
	CHECK_INT(add(s, "/srv/a/b/c", NULL, 1000 + STORE_CLAIM_MS), 0);
	CHECK_INT(store_claim_drop(s, token, &e), 0);
	store_close(s);
	gone();
}

void test_project__live_runs_hold_it(void)
{
	struct store *s;
	struct cl_err e;
	int64_t n;
	bool won;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(add(s, "/srv/p", NULL, 1), 1);
	CHECK_INT(insert_run(s, "run_0123456789abcdef01234567", 1, &e), 0);
	CHECK_INT(store_project_live(s, "/srv/p", &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_INT(store_project_live(s, "/srv/pp", &n, &e), 0);
	CHECK_INT(n, 0);
	CHECK_INT(store_project_delete(s, "/srv/p", &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_run_finished(
			  s, "run_0123456789abcdef01234567", OUTCOME_EXITED, 0, NULL, 2, &won, &e),
		0);
	CHECK_INT(store_project_delete(s, "/srv/p", &won, &e), 0);
	CHECK(won);
	CHECK_INT(store_project_delete(s, "/srv/p", &won, &e), 0);
	CHECK(!won);
	store_close(s);
	gone();
}

/* ---- labels ---- */

static void put_labels(struct store *s, const char *id, const char *was, int64_t at)
{
	char labels[] = "{}", by[] = "x", signature[32];
	cleanup_free char *copy = cl_strdup(id);
	const struct store_labels l = {copy, labels, at, by, signature};
	struct cl_err e;
	bool won;

	(void)snprintf(signature, sizeof(signature), "at %lld", (long long)at);
	if (store_labels_put(s, &l, was, &won, &e))
		UNIT_FAIL("%s", e.msg);
	CHECK(won);
}

/* after NULL: they were cleared. */
static void say_labels(
	struct store *s, const char *action, const char *id, const char *after, int64_t at)
{
	json_t *detail = after ? json_pack("{s:s}", "after", after) : json_pack("{s:n}", "after");
	const struct store_audit_row row = {"x", action, "executor", id, NULL, detail};
	struct cl_err e;

	if (store_audit_add(s, at, &row, &e))
		UNIT_FAIL("%s", e.msg);
	json_decref(detail);
}

/* "none", "none, undone", "at TIME", "at TIME, undone" */
static void expect_labels(struct store *s, const char *id, const char *want)
{
	cleanup_label_row struct store_labels l = STORE_LABELS_INIT;
	char got[48];
	struct cl_err e;
	bool found, undone;

	if (store_labels_get(s, id, &l, &found, &undone, &e))
		UNIT_FAIL("%s", e.msg);
	CHECK(!found || !strcmp(l.executor_id, id));
	(void)snprintf(
		got, sizeof(got), "%s%s", found ? l.signature : "none", undone ? ", undone" : "");
	CHECK_STR(got, want);
}

void test_fleet__labels_and_what_the_trail_says(void)
{
	struct store *s;
	struct cl_err e;
	bool was;

	fresh();
	s = open_as(STORE_CREATE);
	expect_labels(s, "box", "none");
	/* Nobody has said anything: of the first row there is none to be told from. */
	put_labels(s, "box", NULL, 5);
	expect_labels(s, "box", "at 5");
	say_labels(s, "executor.labels", "box", "new", 5);
	expect_labels(s, "box", "at 5");
	say_labels(s, "executor.labels", "bench", "new", 6);
	say_labels(s, "executor.cordon", "box", "new", 7);
	expect_labels(s, "box", "at 5");
	expect_labels(s, "bench", "none, undone");
	put_labels(s, "box", "at 5", 9);
	expect_labels(s, "box", "at 9, undone");
	say_labels(s, "executor.labels", "box", "new", 9);
	expect_labels(s, "box", "at 9");
	/* An older one, and one of no time at all, which is a row too. */
	put_labels(s, "box", "at 9", 5);
	expect_labels(s, "box", "at 5, undone");
	put_labels(s, "box", "at 5", 0);
	expect_labels(s, "box", "at 0, undone");
	CHECK_INT(store_labels_delete(s, "box", &was, &e), 0);
	CHECK(was);
	expect_labels(s, "box", "none, undone");
	say_labels(s, "executor.labels", "box", NULL, 10);
	expect_labels(s, "box", "none");
	put_labels(s, "box", NULL, 10);
	expect_labels(s, "box", "at 10, undone");
	store_close(s);
	gone();
}

/* ---- many processes ---- */

#define MANY 10

/* Half of them above the others. */
static int race_add(int n)
{
	cleanup_store struct store *s = NULL;
	struct cl_err e;

	if (store_open(path, STORE_RW, &s, &e))
		return 2;
	return add(s, n % 2 ? "/srv/x" : "/srv/x/y", NULL, 1);
}

static int race_probe(int n)
{
	cleanup_store struct store *s = NULL;
	struct cl_err e;
	bool won;

	(void)n;
	if (store_open(path, STORE_RW, &s, &e) ||
		store_health_claim(s, "box", 0, true, 1000, 2000, &won, &e))
		return 2;
	return won;
}

static int race_state(int n)
{
	cleanup_store struct store *s = NULL;
	char id[] = "box", state[] = "cordoned", reason[16], by[] = "x";
	struct store_health h = {.executor_id = id,
		.state = state,
		.reason = reason,
		.changed_by = by,
		.version = 1};
	struct cl_err e;
	bool won;

	(void)snprintf(reason, sizeof(reason), "%d", n);
	if (store_open(path, STORE_RW, &s, &e) || store_health_put(s, &h, &won, &e))
		return 2;
	return won;
}

#define CHANGES 300

/* Labels that change all the time, each with its word in the trail. */
static void change_labels(void)
{
	cleanup_store struct store *s = open_as(STORE_RW);
	char was[32];
	struct cl_err e;

	for (int i = 1; i <= CHANGES; i++) {
		cleanup_txn struct store_txn t = {0};

		(void)snprintf(was, sizeof(was), "at %d", i - 1);
		if (store_begin(s, &t, &e))
			_exit(1);
		put_labels(s, "box", i > 1 ? was : NULL, i);
		say_labels(s, "executor.labels", "box", "new", i);
		if (store_commit(&t, &e))
			_exit(1);
	}
}

/* Who looks meanwhile takes none of them for one that was put back. */
void test_fleet__labels_that_change_are_not_undone(void)
{
	cleanup_label_row struct store_labels l = STORE_LABELS_INIT;
	struct store *s;
	struct cl_err e;
	bool found, undone;
	int status = -1;
	pid_t pid;

	fresh();
	store_close(open_as(STORE_CREATE));
	(void)fflush(stdout);
	pid = fork();
	if (!pid) {
		change_labels();
		_exit(0);
	}
	s = open_as(STORE_RW);
	while (!waitpid(pid, &status, WNOHANG)) {
		store_labels_release(&l);
		CHECK_INT(store_labels_get(s, "box", &l, &found, &undone, &e), 0);
		CHECK(!undone);
	}
	CHECK_INT(status, 0);
	store_labels_release(&l);
	CHECK_INT(store_labels_get(s, "box", &l, &found, &undone, &e), 0);
	CHECK(found && !undone);
	CHECK_INT(l.created_at, CHANGES);
	store_close(s);
	gone();
}

void test_fleet__many_processes(void)
{
	cleanup_health struct store_health h = STORE_HEALTH_INIT;
	struct store *s;
	struct cl_err e;
	bool found;

	fresh();
	store_close(open_as(STORE_CREATE));
	CHECK_INT(race(MANY, race_add), 1);
	CHECK_INT(race(MANY, race_probe), 1);
	CHECK_INT(race(MANY, race_probe), 0);
	CHECK_INT(race(MANY, race_state), 1);
	s = open_as(STORE_RW);
	CHECK_INT(store_health_get(s, "box", &h, &found, &e), 0);
	CHECK(found);
	CHECK_STR(h.state, "cordoned");
	CHECK_INT(h.version, 2);
	store_close(s);
	expect_sound();
	gone();
}

void test_fleet__load(void)
{
	struct store *s;
	struct cl_err e;
	int64_t n;
	bool won;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(insert_run(s, "run_0123456789abcdef01234567", 1000, &e), 0);
	CHECK_INT(store_load(s, "container", 2000, &n, &e), 0);
	CHECK_INT(n, 1);
	/* With its workload it is one, not two, however long ago it began. */
	CHECK_INT(insert_handle(s, "c-0123456789ab", "run_0123456789abcdef01234567", &e), 0);
	CHECK_INT(store_load(s, "container", 2000, &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_INT(store_load(s, "container", 1000 + STORE_STARTING_MS, &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_INT(store_load(s, "other", 2000, &n, &e), 0);
	CHECK_INT(n, 0);
	CHECK_INT(store_handle_end(s, "c-0123456789ab", 3000, &won, &e), 0);
	CHECK_INT(store_load(s, "container", 2000, &n, &e), 0);
	CHECK_INT(n, 0);
	/* One that never got a workload counts for a while. */
	CHECK_INT(insert_run(s, "run_0123456789abcdef01234568", 1000, &e), 0);
	CHECK_INT(store_load(s, "container", 999 + STORE_STARTING_MS, &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_INT(store_load(s, "container", 1000 + STORE_STARTING_MS, &n, &e), 0);
	CHECK_INT(n, 0);
	store_close(s);
	gone();
}

void test_fleet__ceilings(void)
{
	struct sb_limits l = {{1500, 0, 0, 64}}, none = {{0}}, got;
	struct store *s;
	struct cl_err e;
	bool found;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(store_ceiling_put(s, SB_EXECUTOR, "box", &l, "x", 1, &e), 0);
	CHECK_INT(store_ceiling_get(s, SB_EXECUTOR, "box", &got, &found, &e), 0);
	CHECK(found && !memcmp(&got, &l, sizeof(l)));
	CHECK_INT(store_ceiling_get(s, SB_PROJECT, "box", &got, &found, &e), 0);
	CHECK(!found && !memcmp(&got, &none, sizeof(none)));
	CHECK_INT(store_ceiling_put(s, SB_EXECUTOR, "box", &none, "x", 1, &e), 0);
	CHECK_INT(store_ceiling_get(s, SB_EXECUTOR, "box", &got, &found, &e), 0);
	CHECK(!found);
	store_close(s);
	gone();
}

/* As a uid without an account: what is to be typed must be an entry that a list takes. */
static int refused_without_account(struct store *s)
{
	cleanup_free char *entry = NULL;
	struct cl_err e, ignored;
	const char *add;

	if (setuid(4242) || !work_access_check(s, "box", &e))
		return 1;
	add = strstr(e.fix, "--add ");
	return !e.fix[0] || (add && access_parse(add + strlen("--add "), &entry, &ignored));
}

void test_access__no_account(void)
{
	struct store *s;
	struct cl_err e;
	bool won;
	int status = -1;
	pid_t pid;

	if (geteuid() || getpwuid(4242))
		return;
	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(store_access_add(s, "box", "user:ada", "x", 1, &won, &e), 0);
	(void)fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(refused_without_account(s));
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	store_close(s);
	gone();
}
