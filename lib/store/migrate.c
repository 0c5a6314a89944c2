/* SPDX-License-Identifier: GPL-3.0-or-later */
/* share/schema/NNNN-name.sql, in order and once each (STYLE.md 15). */
#include "base/mem.h"
#include "store/db.h"

#include <string.h>

static const struct migration {
	int number;
	const char *name, *sha256, *sql;
} migrations[] = {
#include "schema.inc"
};

#define NEWEST ((int64_t)CL_ARRAY_LEN(migrations))

static int newer(struct store *s, int64_t version, struct cl_err *e)
{
	(void)cl_fail(e, CL_ECONFIG, "'%s' has schema %lld, and this cloop knows %lld at most",
		s->path, (long long)version, (long long)NEWEST);
	return cl_fix(e, "use the cloop that wrote it, or a later one");
}

/* The migrations that made the file must be the first `version` of ours, unaltered. */
static int same_history(struct store *s, int64_t version, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	int64_t n = 0;
	bool row;

	if (db_prepare(
		    s, "SELECT number, name, sha256 FROM schema_migration ORDER BY number", &st, e))
		return -1;
	for (;; n++) {
		if (db_step(s, st, &row, e))
			return -1;
		if (!row)
			break;
		if (n < version && sqlite3_column_int64(st, 0) == n + 1 &&
			!strcmp(db_column(st, 2), migrations[n].sha256))
			continue;
		(void)cl_fail(e, CL_ECONFIG,
			"'%s' was made by another migration %lld ('%s') than "
			"this cloop's",
			s->path, (long long)n + 1, db_column(st, 1));
		return cl_fix(e, "use the cloop that wrote it");
	}
	if (n != version) {
		(void)cl_fail(e, CL_ECONFIG, "'%s' says schema %lld and lists %lld migrations",
			s->path, (long long)version, (long long)n);
		return cl_fix(e, "bring back a copy of the file from before that was changed");
	}
	return 0;
}

static int apply(struct store *s, const struct migration *m, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_exec(s, m->sql, e))
		return cl_wrap(e, "migration %s", m->name);
	if (db_prepare(s, "INSERT INTO schema_migration VALUES (:number, :name, :sha256)", &st, e))
		return -1;
	db_int(st, ":number", m->number);
	db_text(st, ":name", m->name);
	db_text(st, ":sha256", m->sha256);
	return db_done(s, st, NULL, e);
}

static int bring_up(struct store *s, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	char pragma[120];
	int64_t version;

	/* Somebody else may have done it while we waited for the lock. */
	if (store_begin(s, &t, e) || db_number(s, "PRAGMA user_version", &version, e))
		return -1;
	if (version > NEWEST)
		return newer(s, version, e);
	if (!version && db_exec(s,
				"CREATE TABLE schema_migration (number INTEGER PRIMARY KEY,"
				"name TEXT NOT NULL, sha256 TEXT NOT NULL) STRICT",
				e))
		return -1;
	if (same_history(s, version, e))
		return -1;
	for (int64_t i = version; i < NEWEST; i++)
		if (apply(s, &migrations[i], e))
			return -1;
	(void)snprintf(pragma, sizeof(pragma),
		"PRAGMA user_version = %lld; PRAGMA application_id = %d", (long long)NEWEST,
		DB_APPLICATION_ID);
	return db_exec(s, pragma, e) || store_commit(&t, e) ? -1 : 0;
}

int db_migrate(struct store *s, bool write, struct cl_err *e)
{
	int64_t version;

	if (db_number(s, "PRAGMA user_version", &version, e))
		return -1;
	if (version > NEWEST)
		return newer(s, version, e);
	if (version == NEWEST)
		return same_history(s, version, e);
	if (write)
		return bring_up(s, e);
	(void)cl_fail(e, CL_ECONFIG, "'%s' has schema %lld, and reading it needs %lld", s->path,
		(long long)version, (long long)NEWEST);
	return cl_fix(e, "cloop hub bootstrap brings it up to date");
}
