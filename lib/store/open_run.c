/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "store/db.h"
#include "store/session.h"

#include <stddef.h>

#define COL(type, member)                                                     \
	{                                                                     \
#member, type, offsetof(struct store_open_run, member), false \
	}

static const struct db_col columns[] = {
	COL(DB_TEXT, run_id),
	COL(DB_TEXT, executor_id),
	COL(DB_TEXT, project),
	COL(DB_TEXT, handle_id),
	COL(DB_TEXT, handle_state),
	COL(DB_TIME, created_at),
	COL(DB_TIME, handle_ended_at),
	COL(DB_BOOL, starting),
};
/* A run has one handle at most that is live; else its newest says how it stands. */
static const struct db_table table = {
	"(SELECT r.id AS run_id, r.executor_id, r.project, h.id AS handle_id, "
	"h.state AS handle_state, r.created_at, ifnull(h.ended_at, 0) AS handle_ended_at, "
	"r.state = 'starting' AS starting FROM run AS r LEFT JOIN handle AS h ON h.id = "
	"(SELECT id FROM handle WHERE run_id = r.id "
	"ORDER BY state = 'live' DESC, started_at DESC LIMIT 1) "
	"WHERE r.state <> 'finished')",
	columns, CL_ARRAY_LEN(columns), sizeof(struct store_open_run)};

int store_open_runs(struct store *s, store_open_run_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " ORDER BY created_at, run_id");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	return DB_EACH(s, st, &table, fn, arg, e);
}

int store_runs_lost(struct store *s, const struct cl_strv *runs, const struct cl_strv *why,
	size_t from, size_t to, int64_t at, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (store_begin(s, &t, e) ||
		db_prepare(s,
			"UPDATE run SET state = 'finished', outcome = 'lost', error = :why, "
			"finished_at = :at WHERE id = :id AND state <> 'finished'",
			&st, e))
		return -1;
	db_int(st, ":at", at);
	for (size_t i = from; i < to; i++) {
		int64_t changed = 0;

		db_text(st, ":id", runs->v[i]);
		db_text(st, ":why", why->v[i]);
		if (db_done(s, st, &changed, e))
			return -1;
		won[i - from] = changed == 1;
		(void)sqlite3_reset(st);
	}
	return store_commit(&t, e);
}
