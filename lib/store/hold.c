/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The grants that leases stand on, and how they are taken back. */
#include "base/mem.h"
#include "store/db.h"
#include "store/lease.h"

#include <stddef.h>

#define COL(type, member)                                                 \
	{                                                                 \
#member, type, offsetof(struct store_hold, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_TEXT, grant_id),
	COL(DB_INT, lease),
	COL(DB_INT, how),
	COL(DB_TEXT, state),
	COL(DB_TEXT, action),
	COL(DB_TIME, asked_at),
	COL(DB_TIME, answered_at),
	COL(DB_JSON, result),
};
#undef COL
static const struct db_table table = {
	"lease_grant", columns, CL_ARRAY_LEN(columns), sizeof(struct store_hold)};

void store_hold_release(struct store_hold *h)
{
	db_release(&table, h);
	*h = STORE_HOLD_INIT;
}

int store_hold_each(struct store *s, int64_t lease, store_hold_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_rows struct db_rows rows = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;
	int rc = 0;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " WHERE lease = :lease ORDER BY grant_id");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_int(st, ":lease", lease);
	if (db_collect(s, st, &table, &rows, e))
		return -1;
	for (size_t i = 0; !rc && i < rows.n; i++)
		rc = fn(db_row_at(&rows, i), arg, e);
	return rc;
}

/* Binds the row of one lease and one grant, runs the statement. */
static int one(struct store *s, sqlite3_stmt *st, int64_t lease, const char *grant_id, int64_t at,
	bool *won, struct cl_err *e)
{
	int64_t n;

	db_int(st, ":lease", lease);
	db_text(st, ":grant", grant_id);
	db_int(st, ":at", at);
	if (db_done(s, st, &n, e))
		return -1;
	*won = n == 1;
	return 0;
}

int store_hold_take(struct store *s, int64_t lease, const char *grant_id, const char *action,
	int64_t at, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE lease_grant SET state = 'taking', action = :action, asked_at = :at"
		    " WHERE lease = :lease AND grant_id = :grant AND state = 'held'",
		    &st, e))
		return -1;
	db_text(st, ":action", action);
	return one(s, st, lease, grant_id, at, won, e);
}

int store_hold_answer(struct store *s, int64_t lease, const char *grant_id, const char *state,
	const char *result, int64_t at, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE lease_grant SET state = :state, result = :result, answered_at = :at"
		    " WHERE lease = :lease AND grant_id = :grant AND state IN ('taking', 'failed')",
		    &st, e))
		return -1;
	db_text(st, ":state", state);
	db_text(st, ":result", result);
	return one(s, st, lease, grant_id, at, won, e);
}

int store_hold_succeed(struct store *s, int64_t lease, const char *grant_id, const char *successor,
	int64_t at, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *add = NULL, *old = NULL;
	bool retired;

	/* Of two holds that end in one successor the second finds it there. */
	if (store_begin(s, &t, e) ||
		db_prepare(s,
			"INSERT INTO lease_grant (grant_id, lease, how, state)"
			" SELECT g.id, h.lease, h.how, 'held' FROM \"grant\" g, lease_grant h"
			" WHERE g.id = :successor AND g.revoked_at = 0 AND"
			" (g.expires_at = 0 OR g.expires_at > :at) AND"
			" h.lease = :lease AND h.grant_id = :grant AND h.state = 'held'"
			" ON CONFLICT DO UPDATE SET how = how | excluded.how",
			&add, e) ||
		db_prepare(s,
			"UPDATE lease_grant SET state = 'superseded', answered_at = :at"
			" WHERE lease = :lease AND grant_id = :grant AND state = 'held'",
			&old, e))
		return -1;
	db_text(add, ":successor", successor);
	if (one(s, add, lease, grant_id, at, won, e) ||
		(*won && one(s, old, lease, grant_id, at, &retired, e)))
		return -1;
	return store_commit(&t, e);
}

int store_grant_take(struct store *s, const char *grant_id, const struct store_lease_end *end,
	int64_t *n, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *take = NULL, *over = NULL;

	if (store_begin(s, &t, e) ||
		db_prepare(s,
			"UPDATE lease_grant SET state = 'taking', action = :action, asked_at = :at"
			" WHERE grant_id = :grant AND state = 'held' AND EXISTS (SELECT 1 FROM "
			"lease"
			" WHERE seq = lease_grant.lease AND lease.state = 'live')",
			&take, e) ||
		db_prepare(s,
			"UPDATE lease SET state = 'revoked', ended_at = :at, ended_by = :by,"
			" reason = :reason WHERE state = 'live' AND seq IN"
			" (SELECT lease FROM lease_grant WHERE grant_id = :grant AND"
			" state = 'taking') AND NOT EXISTS (SELECT 1 FROM lease_grant h WHERE"
			" h.lease = lease.seq AND h.state = 'held')",
			&over, e))
		return -1;
	db_text(take, ":action", end->action);
	db_int(take, ":at", end->at);
	db_text(take, ":grant", grant_id);
	db_int(over, ":at", end->at);
	db_text(over, ":by", end->by);
	db_text(over, ":reason", end->reason);
	db_text(over, ":grant", grant_id);
	if (db_done(s, take, n, e) || db_done(s, over, NULL, e))
		return -1;
	return store_commit(&t, e);
}
