/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store under many processes, and under kill -9. */
#include "race.h"
#include "store-fixture.h"
#include "store/audit.h"

#define MANY 12

static int race_create(int n)
{
	struct store *s = NULL;
	struct cl_err e;

	(void)n;
	if (store_open(path, STORE_CREATE, &s, &e)) {
		(void)fprintf(stderr, "%s\n", e.msg);
		return 2;
	}
	store_close(s);
	return 1;
}

static int race_claim(int n)
{
	cleanup_store struct store *s = NULL;
	struct store_shim old = {0, 0, ""}, mine = {1000 + n, 1, "boot"};
	struct cl_err e;
	bool won;

	if (store_open(path, STORE_RW, &s, &e) ||
		store_handle_claim(s, "c-0123456789ab", &old, &mine, &won, &e))
		return 2;
	return won;
}

static int race_finish(int n)
{
	cleanup_store struct store *s = NULL;
	struct cl_err e;
	bool won;

	if (store_open(path, STORE_RW, &s, &e) ||
		store_run_finished(
			s, "run_0123456789abcdef01234567", OUTCOME_EXITED, n, NULL, 1, &won, &e))
		return 2;
	return won;
}

static int race_count(int n)
{
	cleanup_store struct store *s = NULL;
	struct store_audit_row row = {.actor = "uid:0", .action = "test.count"};
	struct cl_err e;

	(void)n;
	if (store_open(path, STORE_RW, &s, &e))
		return 2;
	for (int i = 0, did = 0; i < 60; i += did) {
		int rc = i % 3 == 0   ? store_counter_add(s, "c", "", 1, &e)
			 : i % 3 == 1 ? store_journal_add(s, i, "/p", NULL, "k", "t", NULL, &e)
				      : store_audit_add(s, i, &row, &e);

		/* SQLite's lock is not fair: a busy store has done nothing, and is tried again. */
		did = !rc;
		if (rc && e.code != CL_EBUSY) {
			(void)fprintf(stderr, "%s\n", e.msg);
			return 2;
		}
	}
	return 1;
}

void test_store__many_processes(void)
{
	cleanup_store struct store *s = NULL;
	struct store_chain chain = {0};
	struct cl_err e;
	int64_t got = 0;

	fresh();
	CHECK_INT(race(MANY, race_create), MANY);
	s = open_as(STORE_RW);
	CHECK_INT(insert_run(s, "run_0123456789abcdef01234567", 1, &e), 0);
	CHECK_INT(insert_handle(s, "c-0123456789ab", "run_0123456789abcdef01234567", &e), 0);
	store_close(cl_steal(&s));
	CHECK_INT(race(MANY, race_claim), 1);
	CHECK_INT(race(MANY, race_finish), 1);
	CHECK_INT(race(MANY, race_count), MANY);
	s = open_as(STORE_RW);
	CHECK_INT(store_counter_each(s, "c", last_counter, &got, &e), 0);
	CHECK_INT(got, MANY * 20);
	CHECK_INT(store_audit_verify(s, 0, NULL, &chain, &e), 0);
	CHECK(!chain.broken);
	CHECK_INT(chain.rows, MANY * 20);
	store_close(cl_steal(&s));
	expect_sound();
	gone();
}

/* A writer that says on `out` what it has done; each run has a handle in one transaction. */
static void write_forever(int out)
{
	struct store *s = NULL;
	struct cl_err e;

	if (store_open(path, STORE_RW, &s, &e))
		_exit(100);
	for (uint32_t i = 0;; i++) {
		struct store_txn t = {0};
		char run[40], handle[40];

		(void)snprintf(run, sizeof(run), "run_%024x", (unsigned)i);
		(void)snprintf(handle, sizeof(handle), "c-%012x", (unsigned)i);
		if (store_begin(s, &t, &e) || insert_run(s, run, i + 1, &e) ||
			insert_handle(s, handle, run, &e) || store_commit(&t, &e))
			_exit(101);
		(void)!write(out, &i, sizeof(i));
	}
}

void test_store__kill_loses_nothing_reported(void)
{
	for (int round = 0; round < 8; round++) {
		cleanup_store struct store *s = NULL;
		struct store_run_filter f = STORE_RUN_FILTER_INIT;
		uint32_t last = 0, i;
		int report[2], n;
		pid_t pid;

		fresh();
		store_close(open_as(STORE_CREATE));
		CHECK(!pipe(report));
		pid = fork();
		if (!pid)
			write_forever(report[1]);
		(void)close(report[1]);
		/* The kill falls wherever the writer is once it has reported that many. */
		for (i = 0; i < 5u + (uint32_t)round; i++)
			CHECK_INT(read(report[0], &last, sizeof(last)), sizeof(last));
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		while (read(report[0], &i, sizeof(i)) == (ssize_t)sizeof(i))
			last = i;
		(void)close(report[0]);
		s = open_as(STORE_RW);
		n = runs(s, &f);
		CHECK(n >= (int)last + 1 && n <= (int)last + 2);
		store_close(cl_steal(&s));
		expect_sound();
		gone();
	}
}
