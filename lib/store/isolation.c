/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/isolation.h"
#include "base/mem.h"
#include "store/db.h"

#include <stddef.h>

#define COL(type, member)                                                      \
	{                                                                      \
#member, type, offsetof(struct store_isolation, member), false \
	}

static const struct db_col columns[] = {
	COL(DB_TEXT, executor_id),
	COL(DB_TEXT, runtime),
	COL(DB_TEXT, verdict),
	COL(DB_TEXT, standing),
	COL(DB_TEXT, reason),
	COL(DB_JSON, evidence),
	COL(DB_JSON, reference),
	COL(DB_TEXT, engine_release),
	COL(DB_TEXT, runtime_path),
	COL(DB_TEXT, identity),
	COL(DB_TIME, taken_at),
	COL(DB_TIME, attempted_at),
	COL(DB_TEXT, failure),
};
static const struct db_table table = {
	"isolation_evidence", columns, CL_ARRAY_LEN(columns), sizeof(struct store_isolation)};

void store_isolation_release(struct store_isolation *r)
{
	db_release(&table, r);
	*r = STORE_ISOLATION_INIT;
}

int store_isolation_get(struct store *s, const char *executor_id, const char *runtime,
	struct store_isolation *out, bool *found, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " WHERE executor_id = :executor AND runtime = :runtime");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_text(st, ":executor", executor_id);
	db_text(st, ":runtime", runtime);
	if (db_step(s, st, found, e))
		return -1;
	if (*found)
		db_read(st, &table, out);
	return 0;
}

int store_isolation_put(struct store *s, const struct store_isolation *r, int64_t horizon,
	bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	cleanup_isolation struct store_isolation stays = STORE_ISOLATION_INIT;
	cleanup_txn struct store_txn t = {0};
	bool found;

	if (store_begin(s, &t, e) ||
		db_prepare(s,
			"DELETE FROM isolation_evidence WHERE executor_id = :executor AND "
			"runtime = :runtime AND (attempted_at <= :at OR attempted_at > :horizon)",
			&st, e))
		return -1;
	db_text(st, ":executor", r->executor_id);
	db_text(st, ":runtime", r->runtime);
	db_int(st, ":at", r->attempted_at);
	db_int(st, ":horizon", horizon);
	if (db_done(s, st, NULL, e) ||
		store_isolation_get(s, r->executor_id, r->runtime, &stays, &found, e))
		return -1;
	*won = !found;
	if (*won && db_insert(s, &table, r, e))
		return -1;
	return store_commit(&t, e);
}

int store_isolation_each(struct store *s, store_isolation_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " ORDER BY executor_id, runtime");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	return DB_EACH(s, st, &table, fn, arg, e);
}

json_t *store_isolation_json(const struct store_isolation *r)
{
	return db_json(&table, r);
}
