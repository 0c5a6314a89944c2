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
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " WHERE " HOLD_IS_OF("", "l.seq = :lease") " ORDER BY grant_id");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_int(st, ":lease", lease);
	return DB_EACH(s, st, &table, fn, arg, e);
}

/* Binds the row of one lease and one grant, runs the statement. */
static int one(struct store *s, sqlite3_stmt *st, int64_t lease, const char *grant_id, int64_t at,
	bool *won, struct cl_err *e)
{
	db_int(st, ":lease", lease);
	db_text(st, ":grant", grant_id);
	db_int(st, ":at", at);
	return db_won(s, st, won, e);
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

int store_hold_kill(struct store *s, const char *grant_id, const char *lease_id, int64_t at,
	int64_t *n, struct cl_err *e)
{
	/* Who lives may keep more of what it gave up than anybody can tell: in its memory. */
	cleanup_free char *sql = cl_asprintf(
		"UPDATE lease_grant SET state = 'taking', action = 'kill', asked_at = :at,"
		" answered_at = 0, result = NULL WHERE %s AND state <> 'superseded' AND action IS"
		" NOT 'kill' AND (state = 'taking' OR EXISTS (SELECT 1 FROM lease l JOIN handle x"
		" ON x.id = l.sandbox WHERE l.seq = lease_grant.lease AND x.state = 'live'))",
		grant_id ? "grant_id = :id" : HOLD_IS_OF("", LEASE_L_IS(":id")));
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, sql, &st, e))
		return -1;
	db_int(st, ":at", at);
	db_text(st, ":id", grant_id ? grant_id : lease_id);
	return db_done(s, st, n, e);
}

int store_lease_lapsed(struct store *s, int64_t most, struct cl_strv *ids, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;
	int rc;

	/* From the live ones, who are few. */
	if (db_prepare(s,
		    "SELECT l.id FROM handle x CROSS JOIN lease l ON l.sandbox = x.id WHERE"
		    " x.state = 'live' AND l.state = 'expired' AND EXISTS (SELECT 1 FROM " HOLDS_OF(
			    "l") " WHERE h.state = 'held') LIMIT :most",
		    &st, e))
		return -1;
	db_int(st, ":most", most);
	while (!(rc = db_step(s, st, &row, e)) && row)
		cl_strv_add(ids, db_column(st, 0));
	return rc;
}

int store_lease_ask(struct store *s, const char *id, int64_t at, int64_t *n, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE lease_grant SET state = 'taking', action = 'scrub', asked_at = :at"
		    " WHERE state = 'held' AND " HOLD_IS_OF("", LEASE_L_IS(":id")),
		    &st, e))
		return -1;
	db_int(st, ":at", at);
	db_text(st, ":id", id);
	return db_done(s, st, n, e);
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

/*
 * What was asked of GitHub for the one grant is had by the other now, where a lease stands on that; what
 * is being taken back stays with the one that it is taken back for, and is destroyed for it.
 */
static int succeed_tokens(
	struct store *s, const char *grant_id, const char *successor, struct cl_err *e)
{
	static const char *const moves[] = {
		"UPDATE token SET grant_id = :successor WHERE grant_id = :grant AND EXISTS (SELECT"
		" 1 FROM lease l JOIN lease_grant h ON h.lease = l.seq WHERE " LEASE_OF_TOKEN
		" AND l.state = 'live' AND h.grant_id = :successor AND h.state = 'held')",
		"UPDATE OR IGNORE app_token SET grant_id = :successor WHERE grant_id = :grant AND"
		" EXISTS (SELECT 1 FROM lease l JOIN lease_grant h ON h.lease = l.seq WHERE"
		" l.seq = app_token.lease AND l.state = 'live' AND h.grant_id = :successor"
		" AND h.state = 'held')"};

	for (size_t i = 0; i < CL_ARRAY_LEN(moves); i++) {
		cleanup_stmt sqlite3_stmt *st = NULL;

		if (db_prepare(s, moves[i], &st, e))
			return -1;
		db_text(st, ":successor", successor);
		db_text(st, ":grant", grant_id);
		if (db_done(s, st, NULL, e))
			return -1;
	}
	return 0;
}

/* The leases whose hold is the successor's now name it. */
static int succeed_names(
	struct store *s, const char *grant_id, const char *successor, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE lease SET grants = replace(grants, :grant, :successor) WHERE seq IN"
		    " (SELECT lease FROM lease_grant WHERE grant_id = :successor) AND NOT EXISTS"
		    " (SELECT 1 FROM lease_grant WHERE grant_id = :grant AND lease = lease.seq)",
		    &st, e))
		return -1;
	db_text(st, ":grant", grant_id);
	db_text(st, ":successor", successor);
	return db_done(s, st, NULL, e);
}

int store_grant_succeed(
	struct store *s, const char *grant_id, const char *successor, int64_t *n, struct cl_err *e)
{
	static const char live[] =
		" WHERE grant_id = :grant AND state = 'held' AND EXISTS (SELECT 1"
		" FROM lease WHERE seq = lease_grant.lease AND"
		" lease.state = 'live')";
	cleanup_free char *move =
		cl_asprintf("UPDATE OR IGNORE lease_grant SET grant_id = :successor%s", live);
	/* A lease that holds both already stands on the one. */
	cleanup_free char *retire =
		cl_asprintf("UPDATE lease_grant SET state = 'superseded'%s", live);
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *moving = NULL, *retiring = NULL;

	if (store_begin(s, &t, e) || db_prepare(s, move, &moving, e) ||
		db_prepare(s, retire, &retiring, e))
		return -1;
	db_text(moving, ":successor", successor);
	db_text(moving, ":grant", grant_id);
	db_text(retiring, ":grant", grant_id);
	return db_done(s, moving, n, e) || succeed_names(s, grant_id, successor, e) ||
			       db_done(s, retiring, NULL, e) ||
			       succeed_tokens(s, grant_id, successor, e) || store_commit(&t, e)
		       ? -1
		       : 0;
}

/* Ends the live leases among those whose seq `which` selects that hold nothing any more; st is theirs. */
static int end_empty(struct store *s, const char *which, const struct store_lease_end *end,
	sqlite3_stmt **st, struct cl_err *e)
{
	cleanup_free char *sql =
		cl_asprintf("UPDATE lease SET state = 'revoked', ended_at = :at, ended_by = :by,"
			    " reason = :reason WHERE state = 'live' AND seq IN (%s) AND NOT EXISTS"
			    " (SELECT 1 FROM " HOLDS_OF("lease") " WHERE h.state = 'held')",
			which);

	if (db_prepare(s, sql, st, e))
		return -1;
	db_int(*st, ":at", end->at);
	db_text(*st, ":by", end->by);
	db_text(*st, ":reason", end->reason);
	return 0;
}

/* Their holds stand side by side; the leases do not, and many of them are the sweep's to end. */
#define ENDED_AT_ONCE 64

int store_grant_take(struct store *s, const char *grant_id, const struct store_lease_end *end,
	int64_t *n, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *take = NULL, *empty = NULL;

	if (store_begin(s, &t, e) ||
		db_prepare(s,
			"UPDATE lease_grant SET state = 'taking', action = :action, asked_at = :at"
			" WHERE grant_id = :grant AND state = 'held' AND EXISTS (SELECT 1 FROM "
			"lease"
			" WHERE seq = lease_grant.lease AND lease.state = 'live')",
			&take, e))
		return -1;
	db_text(take, ":action", end->action);
	db_int(take, ":at", end->at);
	db_text(take, ":grant", grant_id);
	if (db_done(s, take, n, e))
		return -1;
	if (!*n || *n > ENDED_AT_ONCE)
		return store_commit(&t, e);
	if (end_empty(s,
		    "SELECT lease FROM lease_grant WHERE grant_id = :grant AND state = 'taking'"
		    " LIMIT :most",
		    end, &empty, e))
		return -1;
	db_text(empty, ":grant", grant_id);
	db_int(empty, ":most", ENDED_AT_ONCE);
	return db_done(s, empty, NULL, e) || store_commit(&t, e) ? -1 : 0;
}

int store_lease_emptied(struct store *s, int64_t at, const char *by, int64_t most, int64_t *after,
	int64_t *n, struct cl_err *e)
{
	static const char last_empty[] = LAST_PLACE(
		"SELECT DISTINCT k.lease AS seq FROM lease_grant k JOIN lease l ON l.seq = k.lease"
		" WHERE k.state = 'taking' AND k.lease > :after AND l.state = 'live' AND NOT EXISTS"
		" (SELECT 1 FROM " HOLDS_OF("l") " WHERE h.state = 'held')");
	const struct store_lease_end end = {
		.at = at, .by = by, .reason = "its grants were revoked"};
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *last = NULL, *st = NULL;
	int64_t to;

	if (store_begin(s, &t, e) || db_prepare(s, last_empty, &last, e) ||
		db_last_place(s, last, most, *after, &to, e) ||
		end_empty(s,
			"SELECT lease FROM lease_grant WHERE state = 'taking' AND lease > :after"
			" AND lease <= :to",
			&end, &st, e))
		return -1;
	db_int(st, ":after", *after);
	db_int(st, ":to", to);
	if (db_done(s, st, n, e))
		return -1;
	*after = to;
	return store_commit(&t, e);
}

int store_asked_each(struct store *s, int64_t most, store_asked_fn fn, void *arg, struct cl_err *e)
{
	cleanup_strv struct cl_strv ids = CL_STRV_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;
	int rc = 0;

	/* From the live ones, who are few, whatever else is asked for. */
	if (db_prepare(s,
		    "SELECT x.id FROM handle x WHERE x.state = 'live' AND EXISTS (SELECT 1 FROM"
		    " lease l CROSS JOIN lease_grant h ON h.lease = l.seq WHERE l.sandbox = x.id "
		    "AND"
		    " h.state = 'taking') LIMIT :most",
		    &st, e))
		return -1;
	db_int(st, ":most", most);
	while (!rc && !(rc = db_step(s, st, &row, e)) && row)
		cl_strv_add(&ids, db_column(st, 0));
	for (size_t i = 0; !rc && i < ids.n; i++)
		rc = fn(ids.v[i], arg, e);
	return rc;
}

/* ---- who has what ---- */

#define HOLDER(column, type, member)                                       \
	{                                                                  \
		column, type, offsetof(struct store_holder, member), false \
	}
static const struct db_col holder_columns[] = {
	HOLDER("h.grant_id", DB_TEXT, grant_id),
	HOLDER("g.secret_name", DB_TEXT, secret_name),
	HOLDER("g.kind", DB_TEXT, kind),
	HOLDER("l.id", DB_TEXT, lease_id),
	HOLDER("l.run_id", DB_TEXT, run_id),
	HOLDER("l.sandbox", DB_TEXT, sandbox),
	HOLDER("l.project", DB_TEXT, project),
	HOLDER("l.executor_id", DB_TEXT, executor_id),
	HOLDER("l.state", DB_TEXT, lease_state),
	HOLDER("h.lease", DB_INT, lease),
	HOLDER("l.created_at", DB_TIME, created_at),
	HOLDER("l.expires_at", DB_TIME, expires_at),
	HOLDER("h.how", DB_INT, how),
	HOLDER("h.state", DB_TEXT, state),
	HOLDER("h.action", DB_TEXT, action),
	HOLDER("h.result", DB_TEXT, result),
	HOLDER("h.asked_at", DB_TIME, asked_at),
	HOLDER("h.answered_at", DB_TIME, answered_at),
	HOLDER("r.state", DB_TEXT, run_state),
	HOLDER("x.state", DB_TEXT, handle_state),
};
#undef HOLDER
static const struct db_table holders = {
	"lease_grant h JOIN lease l ON l.seq = h.lease JOIN \"grant\" g ON g.id = h.grant_id"
	" LEFT JOIN run r ON r.id = l.run_id LEFT JOIN handle x ON x.id = l.sandbox",
	holder_columns, CL_ARRAY_LEN(holder_columns), sizeof(struct store_holder)};

int store_holder_each(struct store *s, const struct store_holder_filter *f, store_holder_fn fn,
	void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&holders, &sql);
	if (f->grant_id)
		cl_buf_adds(&sql, " WHERE h.grant_id = :grant AND"
				  " (h.state <> 'held' OR l.state = 'live')");
	else if (f->lease_id)
		cl_buf_adds(&sql, " WHERE " HOLD_IS_OF("h.", LEASE_L_IS(":lease")));
	else
		cl_buf_adds(&sql, " WHERE h.state = 'taking'");
	cl_buf_adds(&sql, " ORDER BY h.lease DESC LIMIT :limit");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	if (f->grant_id)
		db_text(st, ":grant", f->grant_id);
	else if (f->lease_id)
		db_text(st, ":lease", f->lease_id);
	db_int(st, ":limit", f->limit ? f->limit : -1);
	return DB_EACH(s, st, &holders, fn, arg, e);
}
