/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store: who may open what, and rows out as they went in. */
#include "store-fixture.h"

static void expect_refused(enum store_mode mode, enum cl_code code, const char *piece)
{
	struct store *s = NULL;
	struct cl_err e;

	CHECK_INT(store_open(path, mode, &s, &e), -1);
	CHECK(!s);
	CHECK_INT(e.code, code);
	CHECK_HAS(e.msg, piece);
	store_close(s);
}

void test_store__absent(void)
{
	fresh();
	expect_refused(STORE_RO, CL_ECONFIG, "there is no state file");
	expect_refused(STORE_RW, CL_ECONFIG, "there is no state file");
	CHECK(access(path, F_OK) != 0);
	gone();
}

void test_store__made_private_and_idempotent(void)
{
	struct stat st;

	fresh();
	(void)umask(0);
	store_close(open_as(STORE_CREATE));
	(void)umask(022);
	CHECK(!stat(path, &st));
	CHECK_INT(st.st_mode & 0777, 0600);
	store_close(open_as(STORE_CREATE));
	store_close(open_as(STORE_RW));
	expect_sound();
	gone();
}

void test_store__empty_file_is_migrated(void)
{
	cleanup_fd int fd = -1;

	fresh();
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0);
	expect_refused(STORE_RO, CL_ECONFIG, "not a state file of cloop's");
	store_close(open_as(STORE_RW));
	expect_sound();
	gone();
}

void test_store__foreign_files(void)
{
	cleanup_free char *junk = cl_calloc(1, 8192);
	int fd;

	fresh();
	outside("CREATE TABLE mine (a)");
	expect_refused(STORE_RW, CL_ECONFIG, "not a state file of cloop's");
	expect_refused(STORE_CREATE, CL_ECONFIG, "not a state file of cloop's");
	gone();
	fresh();
	memset(junk, 'x', 8191);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	CHECK_INT(write(fd, junk, 8192), 8192);
	(void)close(fd);
	expect_refused(STORE_RW, CL_ECONFIG, "not a database");
	(void)unlink(path);
	CHECK(!mkdir(path, 0700));
	expect_refused(STORE_CREATE, CL_ECONFIG, "no regular file");
	(void)rmdir(path);
	CHECK(!symlink("/etc/passwd", path));
	expect_refused(STORE_CREATE, CL_ECONFIG, "no regular file");
	gone();
}

void test_store__newer_is_refused(void)
{
	fresh();
	store_close(open_as(STORE_CREATE));
	outside("PRAGMA user_version = 9999");
	expect_refused(STORE_RO, CL_ECONFIG, "has schema 9999");
	expect_refused(STORE_RW, CL_ECONFIG, "has schema 9999");
	gone();
}

void test_store__edited_history_is_refused(void)
{
	fresh();
	store_close(open_as(STORE_CREATE));
	outside("UPDATE schema_migration SET sha256 = 'other' WHERE number = 1");
	expect_refused(STORE_RO, CL_ECONFIG, "another migration 1");
	expect_refused(STORE_RW, CL_ECONFIG, "another migration 1");
	outside("DELETE FROM schema_migration");
	expect_refused(STORE_RW, CL_ECONFIG, "lists 0 migrations");
	gone();
}

void test_store__older_is_not_read(void)
{
	fresh();
	store_close(open_as(STORE_CREATE));
	outside("PRAGMA user_version = 0");
	expect_refused(STORE_RO, CL_ECONFIG, "has schema 0");
	gone();
}

void test_store__locked_is_busy(void)
{
	cleanup_store struct store *s = NULL;
	sqlite3 *db = NULL;
	struct store_txn t = {0};
	struct cl_err e;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(store_begin(s, &t, &e), -1);
	CHECK_INT(e.code, CL_EBUSY);
	CHECK(e.fix[0]);
	(void)sqlite3_close(db);
	CHECK_INT(store_begin(s, &t, &e), 0);
	store_rollback(&t);
	store_close(cl_steal(&s));
	gone();
}

/* A reader never waits for a writer, nor the other way round. */
void test_store__readers_beside_a_writer(void)
{
	cleanup_store struct store *w = NULL, *r = NULL;
	struct store_txn t = {0};
	struct store_run_filter f = STORE_RUN_FILTER_INIT;
	struct cl_err e;

	fresh();
	w = open_as(STORE_CREATE);
	r = open_as(STORE_RO);
	CHECK_INT(store_begin(w, &t, &e), 0);
	CHECK_INT(insert_run(w, "run_0123456789abcdef01234567", 1, &e), 0);
	CHECK_INT(runs(r, &f), 0);
	CHECK_INT(store_commit(&t, &e), 0);
	CHECK_INT(runs(r, &f), 1);
	CHECK_INT(insert_run(r, "run_0123456789abcdef01234568", 1, &e), -1);
	CHECK_INT(e.code, CL_EDENIED);
	store_close(cl_steal(&r));
	store_close(cl_steal(&w));
	gone();
}

void test_store__truncated(void)
{
	fresh();
	store_close(open_as(STORE_CREATE));
	outside("PRAGMA wal_checkpoint(TRUNCATE)"); /* a short log would make it whole again */
	CHECK(!truncate(path, 5000));
	expect_refused(STORE_RW, CL_ECONFIG, "malformed");
	gone();
}

void test_store__run_comes_back(void)
{
	cleanup_store struct store *s = NULL;
	cleanup_run_row struct store_run r = STORE_RUN_INIT;
	struct cl_err e;
	json_t *j;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(insert_run(s, "run_0123456789abcdef01234567", 1700000000123, &e), 0);
	CHECK_INT(store_run_get(s, "run_012345", &r, &e), 0);
	CHECK_STR(r.id, "run_0123456789abcdef01234567");
	CHECK_STR(r.state, "starting");
	CHECK_INT(r.exit_code, -1);
	CHECK(!r.task && !r.outcome && !r.detached);
	r.task = cl_strdup("build");
	r.limits = cl_strdup("{\"pids\":5}");
	r.deadline = 1700000100000;
	CHECK_INT(
		store_run_set(s, &r, (const char *const[]){"task", "limits", "deadline", NULL}, &e),
		0);
	store_run_release(&r);
	CHECK_INT(store_run_get(s, "0123456789abcdef01234567", &r, &e), 0);
	j = store_run_json(&r);
	CHECK_STR(json_string_value(json_object_get(j, "task")), "build");
	CHECK_INT(json_integer_value(json_object_get(json_object_get(j, "limits"), "pids")), 5);
	CHECK_STR(json_string_value(json_object_get(j, "created_at")), "2023-11-14T22:13:20Z");
	CHECK(json_is_null(json_object_get(j, "finished_at")));
	CHECK(json_is_null(json_object_get(j, "exit_code")));
	json_decref(j);
	store_close(cl_steal(&s));
	gone();
}

void test_store__ids(void)
{
	static const struct {
		const char *text;
		enum cl_code code;
	} bad[] = {
		{"", CL_EDATA},
		{"run_", CL_EDATA},
		{"run_aaaaa", CL_EDATA},
		{"aaaaa", CL_EDATA},
		{"run_AAAAAA", CL_EDATA},
		{"run_aaaaa%", CL_EDATA},
		{"run_aaaaa'", CL_EDATA},
		{"c-aaaaaa", CL_EDATA},
		{"run_aaaaaa", CL_EDATA}, /* of two */
		{"run_bbbbbb", CL_ENOTFOUND},
		{"run_aaaaaa0000000000000000011", CL_ENOTFOUND},
	};
	cleanup_store struct store *s = NULL;
	struct cl_err e;
	char *id = NULL;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(insert_run(s, "run_aaaaaa000000000000000001", 1, &e), 0);
	CHECK_INT(insert_run(s, "run_aaaaaa000000000000000002", 2, &e), 0);
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		CHECK_INT(store_id(s, "run", "run", "run_", bad[i].text, &id, &e), -1);
		if (e.code != bad[i].code)
			UNIT_FAIL("'%s': code %d: %s", bad[i].text, e.code, e.msg);
	}
	CHECK_INT(store_id(s, "run", "run", "run_", "run_aaaaaa000000000000000002", &id, &e), 0);
	CHECK_STR(id, "run_aaaaaa000000000000000002");
	free(id);
	/* The same one twice, and a state that is none. */
	CHECK_INT(insert_run(s, "run_aaaaaa000000000000000002", 2, &e), -1);
	store_close(cl_steal(&s));
	gone();
}

void test_store__run_states(void)
{
	static const char id[] = "run_0123456789abcdef01234567";
	cleanup_store struct store *s = NULL;
	cleanup_run_row struct store_run r = STORE_RUN_INIT;
	struct cl_err e;
	bool won = true;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(store_run_started(s, id, "c-0123456789ab", 10, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(insert_run(s, id, 1, &e), 0);
	CHECK_INT(store_run_started(s, id, "c-0123456789ab", 10, &won, &e), 0);
	CHECK(won);
	CHECK_INT(store_run_started(s, id, "c-ffffffffffff", 11, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_run_finished(s, id, OUTCOME_TIMEOUT, 137, "too long", 20, &won, &e), 0);
	CHECK(won);
	CHECK_INT(store_run_finished(s, id, OUTCOME_EXITED, 0, NULL, 21, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_run_started(s, id, "c-ffffffffffff", 22, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_run_get(s, id, &r, &e), 0);
	CHECK_STR(r.handle_id, "c-0123456789ab");
	CHECK_STR(r.outcome, "timeout");
	CHECK_STR(r.error, "too long");
	CHECK_INT(r.exit_code, 137);
	CHECK_INT(r.finished_at, 20);
	store_close(cl_steal(&s));
	gone();
}

static int count_and_write(const struct store_run *r, void *arg, struct cl_err *e)
{
	bool won;

	/* A callback may write: no snapshot is held while it runs. */
	return store_run_finished(arg, r->id, OUTCOME_LOST, -1, NULL, 9, &won, e) || !won;
}

void test_store__run_filters(void)
{
	cleanup_store struct store *s = NULL;
	struct store_run_filter f = STORE_RUN_FILTER_INIT;
	struct cl_err e;
	char id[40];

	fresh();
	s = open_as(STORE_CREATE);
	for (int i = 0; i < 5; i++) {
		(void)snprintf(id, sizeof(id), "run_%024x", i);
		CHECK_INT(insert_run(s, id, i + 1, &e), 0);
	}
	CHECK_INT(runs(s, &f), 5);
	f.limit = 2;
	CHECK_INT(runs(s, &f), 2);
	f = STORE_RUN_FILTER_INIT;
	f.since = 4;
	CHECK_INT(runs(s, &f), 2);
	f.project = "/srv/other' OR 1 --";
	CHECK_INT(runs(s, &f), 0);
	f = STORE_RUN_FILTER_INIT;
	f.uid = 0;
	CHECK_INT(runs(s, &f), 0);
	f = STORE_RUN_FILTER_INIT;
	f.live = true;
	CHECK_INT(runs(s, &f), 5);
	CHECK_INT(store_run_each(s, &f, count_and_write, s, &e), 0);
	CHECK_INT(runs(s, &f), 0);
	f.live = false;
	f.outcome = "lost";
	CHECK_INT(runs(s, &f), 5);
	store_close(cl_steal(&s));
	gone();
}

void test_store__outcomes(void)
{
	enum store_outcome o;

	for (int i = 0; i < OUTCOME_COUNT; i++) {
		CHECK(store_outcome_find(store_outcome_name((enum store_outcome)i), &o));
		CHECK_INT(o, i);
	}
	CHECK(!store_outcome_find("fine", &o));
}

static int no_handle(const struct store_handle *h, void *arg, struct cl_err *e)
{
	(void)h;
	(void)arg;
	(void)e;
	return 7;
}

void test_store__handles(void)
{
	static const struct store_shim nobody = {0, 0, ""}, first = {10, 100, "boot-1"},
				       second = {10, 101, "boot-1"};
	cleanup_store struct store *s = NULL;
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;
	struct cl_err e;
	bool won;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(insert_handle(s, "c-0123456789ab", "run_ffffffffffffffffffffffff", &e), -1);
	CHECK_INT(insert_run(s, "run_0123456789abcdef01234567", 1, &e), 0);
	CHECK_INT(insert_handle(s, "c-0123456789ab", "run_0123456789abcdef01234567", &e), 0);
	CHECK_INT(store_handle_claim(s, "c-0123456789ab", &first, &second, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_handle_claim(s, "c-0123456789ab", &nobody, &first, &won, &e), 0);
	CHECK(won);
	CHECK_INT(store_handle_claim(s, "c-0123456789ab", &nobody, &second, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_handle_claim(s, "c-0123456789ab", &first, &second, &won, &e), 0);
	CHECK(won);
	CHECK_INT(store_handle_kill(s, "c-0123456789ab", OUTCOME_DISK_LIMIT, &won, &e), 0);
	CHECK(won);
	CHECK_INT(store_handle_kill(s, "c-0123456789ab", OUTCOME_TIMEOUT, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_handle_of_run(s, "run_0123456789abcdef01234567", &h, &e), 0);
	CHECK_STR(h.kill_cause, "disk_limit");
	CHECK_INT(h.shim_start, 101);
	CHECK_INT(h.disk_baseline, -1);
	CHECK_INT(store_handle_each(s, "container", false, no_handle, NULL, &e), 7);
	CHECK_INT(store_handle_end(s, "c-0123456789ab", 9, &won, &e), 0);
	CHECK(won);
	CHECK_INT(store_handle_end(s, "c-0123456789ab", 9, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_handle_claim(s, "c-0123456789ab", &second, &first, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_handle_each(s, NULL, false, no_handle, NULL, &e), 0);
	CHECK_INT(store_handle_each(s, NULL, true, no_handle, NULL, &e), 7);
	store_close(cl_steal(&s));
	gone();
}

static int last_journal(const struct store_journal *j, void *arg, struct cl_err *e)
{
	(void)e;
	*(int64_t *)arg = *(int64_t *)arg * 10 + j->at;
	return 0;
}

void test_store__journal_and_counters(void)
{
	cleanup_store struct store *s = NULL;
	struct cl_err e;
	int64_t got = 0;

	fresh();
	s = open_as(STORE_CREATE);
	for (int64_t i = 1; i <= 4; i++)
		CHECK_INT(store_journal_add(
				  s, i, i < 4 ? "/a" : "/b", NULL, "note", "text", NULL, &e),
			0);
	CHECK_INT(store_journal_each(s, "/a", NULL, 0, 2, last_journal, &got, &e), 0);
	CHECK_INT(got, 23);
	got = 0;
	CHECK_INT(store_journal_each(s, NULL, NULL, 1, 0, last_journal, &got, &e), 0);
	CHECK_INT(got, 234);
	CHECK_INT(store_counter_add(s, "runs", "exited", 2, &e), 0);
	CHECK_INT(store_counter_add(s, "runs", "exited", 3, &e), 0);
	CHECK_INT(store_counter_each(s, "runs", last_counter, &got, &e), 0);
	CHECK_INT(got, 5);
	CHECK_INT(store_counter_add(s, "runs", "exited", INT64_MAX, &e), 0);
	CHECK_INT(store_counter_add(s, "runs", "exited", INT64_MAX, &e), 0);
	CHECK_INT(store_counter_each(s, NULL, last_counter, &got, &e), 0);
	CHECK_INT(got, INT64_MAX);
	CHECK_INT(store_counter_add(s, "runs", "exited", -1, &e), -1);
	store_close(cl_steal(&s));
	gone();
}

static off_t log_size(void)
{
	char log[96];
	struct stat st;

	(void)snprintf(log, sizeof(log), "%s-wal", path);
	return stat(log, &st) ? 0 : st.st_size;
}

static int commit_run(struct store *s, int i, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	char id[40];

	(void)snprintf(id, sizeof(id), "run_%024x", i);
	return store_begin(s, &t, e) || insert_run(s, id, i, e) || store_commit(&t, e) ? -1 : 0;
}

/* Who commits again and again lengthens the log; what others and the next find in it is whole. */
void test_store__a_log_of_full_length(void)
{
	cleanup_store struct store *s = NULL, *other = NULL;
	struct store_run_filter f = STORE_RUN_FILTER_INIT;
	struct cl_err e;
	off_t size;
	pid_t pid;
	int status = -1;

	fresh();
	store_close(open_as(STORE_CREATE));
	s = open_as(STORE_RW);
	CHECK_INT(commit_run(s, 1, &e), 0);
	CHECK(log_size() < 512 * 1024);
	store_close(cl_steal(&s));
	pid = fork();
	if (!pid) {
		s = open_as(STORE_RW);
		other = open_as(STORE_RW);
		for (int i = 2; i <= 40; i++)
			if (commit_run(i % 4 ? s : other, i, &e) || runs(other, &f) != i)
				_exit(1);
		_exit(log_size() < 1024 * 1024); /* and nothing is closed */
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	size = log_size();
	s = open_as(STORE_RW);
	CHECK_INT(runs(s, &f), 40);
	for (int i = 41; i <= 500; i++)
		CHECK_INT(commit_run(s, i, &e), 0);
	CHECK_INT(runs(s, &f), 500);
	CHECK_INT(log_size(), size); /* it was written over */
	store_close(cl_steal(&s));
	expect_sound();
	gone();
}

void test_store__transactions_nest(void)
{
	cleanup_store struct store *s = NULL;
	struct store_txn outer = {0}, inner = {0};
	struct store_run_filter f = STORE_RUN_FILTER_INIT;
	struct cl_err e;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(store_begin(s, &outer, &e), 0);
	CHECK_INT(insert_run(s, "run_0123456789abcdef01234567", 1, &e), 0);
	CHECK_INT(store_begin(s, &inner, &e), 0);
	store_rollback(&inner);
	CHECK_INT(store_commit(&outer, &e), -1);
	CHECK_INT(runs(s, &f), 0);
	CHECK_INT(store_begin(s, &outer, &e), 0);
	CHECK_INT(store_begin(s, &inner, &e), 0);
	CHECK_INT(insert_run(s, "run_0123456789abcdef01234567", 1, &e), 0);
	CHECK_INT(store_commit(&inner, &e), 0);
	CHECK_INT(store_commit(&outer, &e), 0);
	CHECK_INT(store_commit(&outer, &e), -1);
	CHECK_INT(runs(s, &f), 1);
	store_close(cl_steal(&s));
	gone();
}
