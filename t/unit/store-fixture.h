/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A store in a folder of its own, for the tests that need one. */
#ifndef T_UNIT_STORE_H
#define T_UNIT_STORE_H

#include "unit.h"
#include "base/mem.h"
#include "store/counter.h"
#include "store/journal.h"
#include "store/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wunused-function"

static char dir[64], path[80];

static void fresh(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/u-store-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	(void)snprintf(path, sizeof(path), "%s/state.db", dir);
}

static void gone(void)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
	char p[96];

	for (size_t i = 0; i < CL_ARRAY_LEN(ends); i++) {
		(void)snprintf(p, sizeof(p), "%s%s", path, ends[i]);
		(void)unlink(p);
	}
	(void)rmdir(dir);
}

static struct store *open_as(enum store_mode mode)
{
	struct store *s = NULL;
	struct cl_err e;

	if (store_open(path, mode, &s, &e))
		UNIT_FAIL("%s", e.msg);
	return s;
}

/* Statements from outside, as another program would run them. */
static void outside(const char *sql)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	if (sqlite3_open(path, &db) || sqlite3_exec(db, sql, NULL, NULL, &why))
		UNIT_FAIL("%s: %s", sql, why ? why : "cannot open");
	sqlite3_free(why);
	(void)sqlite3_close(db);
}

static int insert_run(struct store *s, const char *id, int64_t at, struct cl_err *e)
{
	struct store_run r = STORE_RUN_INIT;
	int rc;

	r.id = cl_strdup(id);
	r.project = cl_strdup("/srv/p");
	r.executor_id = cl_strdup("container");
	r.argv = cl_strdup("[\"make\",\"check\"]");
	r.harness = cl_strdup("make");
	r.uid = 1000;
	r.created_at = at;
	rc = store_run_insert(s, &r, e);
	store_run_release(&r);
	return rc;
}

static int insert_handle(struct store *s, const char *id, const char *run, struct cl_err *e)
{
	struct store_handle h = STORE_HANDLE_INIT;
	int rc;

	h.id = cl_strdup(id);
	h.run_id = run ? cl_strdup(run) : NULL;
	h.executor_id = cl_strdup("container");
	h.driver = cl_strdup("container");
	h.project = cl_strdup("/srv/p");
	h.started_at = 5;
	rc = store_handle_insert(s, &h, e);
	store_handle_release(&h);
	return rc;
}

static void expect_sound(void)
{
	cleanup_store struct store *s = open_as(STORE_RO);
	cleanup_strv struct cl_strv flaws = CL_STRV_INIT;
	struct cl_err e;

	CHECK_INT(store_check(s, &flaws, &e), 0);
	CHECK_INT(flaws.n, 0);
	for (size_t i = 0; i < flaws.n; i++)
		UNIT_FAIL("%s", flaws.v[i]);
}

static int count_run(const struct store_run *r, void *arg, struct cl_err *e)
{
	(void)r;
	(void)e;
	++*(int *)arg;
	return 0;
}

static int runs(struct store *s, const struct store_run_filter *f)
{
	struct cl_err e;
	int n = 0;

	CHECK_INT(store_run_each(s, f, count_run, &n, &e), 0);
	return n;
}

static int last_counter(
	const char *name, const char *label, int64_t value, void *arg, struct cl_err *e)
{
	(void)name;
	(void)label;
	(void)e;
	*(int64_t *)arg = value;
	return 0;
}

#endif
