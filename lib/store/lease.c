/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/lease.h"
#include "base/mem.h"
#include "store/db.h"

#include <stddef.h>
#include <string.h>

#define COL(type, member)                                                  \
	{                                                                  \
#member, type, offsetof(struct store_lease, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_INT, seq),
	COL(DB_TEXT, id),
	COL(DB_TEXT, run_id),
	COL(DB_TEXT, sandbox),
	COL(DB_TEXT, project),
	COL(DB_TEXT, executor_id),
	COL(DB_TEXT, labels),
	COL(DB_TEXT, actor),
	COL(DB_TIME, created_at),
	COL(DB_TIME, expires_at),
	COL(DB_TIME, renewed_at),
	COL(DB_TEXT, state),
	COL(DB_TIME, ended_at),
	COL(DB_TEXT, ended_by),
	COL(DB_TEXT, reason),
};
#undef COL
static const struct db_table table = {
	"lease", columns, CL_ARRAY_LEN(columns), sizeof(struct store_lease)};

void store_lease_release(struct store_lease *l)
{
	db_release(&table, l);
	*l = STORE_LEASE_INIT;
}

json_t *store_lease_json(const struct store_lease *l)
{
	json_t *o = db_json(&table, l);

	(void)json_object_del(o, "seq");
	return o;
}

/* A grant that may be lent at that moment. */
#define ACTIVE "revoked_at = 0 AND (expires_at = 0 OR expires_at > :at)"

static int all_active(struct store *s, const struct store_hold *h, size_t n, int64_t at,
	bool *active, struct cl_err *e)
{
	*active = true;
	for (size_t i = 0; *active && i < n; i++) {
		cleanup_stmt sqlite3_stmt *st = NULL;

		if (db_prepare(s, "SELECT 1 FROM \"grant\" WHERE id = :id AND " ACTIVE, &st, e))
			return -1;
		db_text(st, ":id", h[i].grant_id);
		db_int(st, ":at", at);
		if (db_step(s, st, active, e))
			return -1;
	}
	return 0;
}

/* Not won where a lease of that place is there: of the same moment, and drawn alike. */
static int insert_row(struct store *s, const struct store_lease *l, const char *grants, bool *won,
	struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "INSERT INTO lease (seq, id, run_id, sandbox, project, executor_id, labels,"
		    " actor, created_at, expires_at, state, grants) VALUES (:seq, :id, :run,"
		    " :sandbox, :project, :executor, :labels, :actor, :created, :expires, 'live',"
		    " :grants)"
		    " ON CONFLICT (seq) DO NOTHING",
		    &st, e))
		return -1;
	db_int(st, ":seq", l->seq);
	db_text(st, ":id", l->id);
	db_text(st, ":run", l->run_id);
	db_text(st, ":sandbox", l->sandbox);
	db_text(st, ":project", l->project);
	db_text(st, ":executor", l->executor_id);
	db_text(st, ":labels", l->labels);
	db_text(st, ":actor", l->actor);
	db_int(st, ":created", l->created_at);
	db_int(st, ":expires", l->expires_at);
	db_text(st, ":grants", grants);
	return db_won(s, st, won, e);
}

/* Ids of grants, as lease.grants has them: none has anything that JSON would write otherwise. */
static void grants_text(const struct store_hold *holds, size_t n, struct cl_buf *out)
{
	cl_buf_addc(out, '[');
	for (size_t i = 0; i < n; i++) {
		cl_buf_adds(out, i ? ",\"" : "\"");
		cl_buf_adds(out, holds[i].grant_id);
		cl_buf_addc(out, '"');
	}
	cl_buf_addc(out, ']');
}

static int insert_hold(
	struct store *s, int64_t lease, const char *grant_id, int64_t how, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "INSERT INTO lease_grant (grant_id, lease, how, state)"
		    " VALUES (:grant, :lease, :how, 'held')",
		    &st, e))
		return -1;
	db_text(st, ":grant", grant_id);
	db_int(st, ":lease", lease);
	db_int(st, ":how", how);
	return db_done(s, st, NULL, e);
}

int store_lease_insert(struct store *s, struct store_lease *l, const struct store_hold *holds,
	size_t n, bool *won, struct cl_err *e)
{
	cleanup_buf struct cl_buf grants = CL_BUF_INIT;
	cleanup_txn struct store_txn t = {0};

	l->seq = store_lease_seq(l->id);
	if (!l->seq)
		return cl_fail(e, CL_EBUG, "no id of a lease");
	grants_text(holds, n, &grants);
	if (store_begin(s, &t, e) || all_active(s, holds, n, l->created_at, won, e) ||
		(*won && insert_row(s, l, grants.p, won, e)))
		return -1;
	for (size_t i = 0; *won && i < n; i++)
		if (insert_hold(s, l->seq, holds[i].grant_id, holds[i].how, e))
			return -1;
	return store_commit(&t, e);
}

int store_lease_get(struct store *s, const char *id, struct store_lease *out, struct cl_err *e)
{
	cleanup_free char *whole = NULL;
	bool found;

	/* A part of an id is looked for in all of them. */
	if (!store_lease_seq(id) && store_id(s, "lease", "lease", "lease_", id, &whole, e))
		return -1;
	if (db_find(s, &table, " WHERE " LEASE_IS(":id"), whole ? whole : id, out, &found, e))
		return -1;
	return found ? 0 : db_no_row("lease", id, e);
}

int store_lease_bind(
	struct store *s, const char *id, const char *sandbox, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE lease SET sandbox = :sandbox"
		    " WHERE " LEASE_IS(":id") " AND state = 'live' AND sandbox IS NULL",
		    &st, e))
		return -1;
	db_text(st, ":sandbox", sandbox);
	db_text(st, ":id", id);
	return db_won(s, st, won, e);
}

int store_lease_renew(struct store *s, const struct store_lease *l, const struct store_hold *holds,
	size_t n, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (store_begin(s, &t, e) || all_active(s, holds, n, l->renewed_at, won, e) ||
		db_prepare(s,
			"UPDATE lease SET expires_at = :expires, renewed_at = :at, labels = :labels"
			" WHERE " LEASE_IS(":id") " AND state = 'live' AND expires_at > :at",
			&st, e))
		return -1;
	db_int(st, ":expires", l->expires_at);
	db_int(st, ":at", l->renewed_at);
	db_text(st, ":labels", l->labels);
	db_text(st, ":id", l->id);
	if (*won && db_won(s, st, won, e))
		return -1;
	return store_commit(&t, e);
}

static void bind_end(sqlite3_stmt *st, const struct store_lease_end *end)
{
	db_text(st, ":state", end->state);
	db_int(st, ":at", end->at);
	db_text(st, ":by", end->by);
	db_text(st, ":reason", end->reason);
}

/* What the lease of that id still holds is asked back, or is gone. */
static int end_holds(
	struct store *s, const char *id, const struct store_lease_end *end, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    end->action ? "UPDATE lease_grant SET state = 'taking', action = :action,"
				  " asked_at = :at WHERE state = 'held' AND " HOLD_IS_OF(
					  "", LEASE_L_IS(":id"))
				: "UPDATE lease_grant SET state = 'taken', answered_at = :at"
				  " WHERE state IN ('held', 'taking', 'failed') AND " HOLD_IS_OF(
					  "", LEASE_L_IS(":id")),
		    &st, e))
		return -1;
	if (end->action)
		db_text(st, ":action", end->action);
	db_int(st, ":at", end->at);
	db_text(st, ":id", id);
	return db_done(s, st, NULL, e);
}

int store_lease_end(struct store *s, const char *id, const struct store_lease_end *end, bool *won,
	struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (store_begin(s, &t, e) ||
		db_prepare(s,
			"UPDATE lease SET state = :state, ended_at = :at, ended_by = :by,"
			" reason = :reason WHERE " LEASE_IS(":id") " AND state = 'live'",
			&st, e))
		return -1;
	bind_end(st, end);
	db_text(st, ":id", id);
	/* A holder that is over has nothing left, whatever ended its lease before. */
	if (db_won(s, st, won, e) || ((*won || !end->action) && end_holds(s, id, end, e)))
		return -1;
	return store_commit(&t, e);
}

int db_last_place(struct store *s, sqlite3_stmt *st, int64_t most, int64_t after, int64_t *to,
	struct cl_err *e)
{
	bool row;

	db_int(st, ":most", most);
	db_int(st, ":after", after);
	if (db_step(s, st, &row, e))
		return -1;
	*to = row ? sqlite3_column_int64(st, 0) : 0;
	return 0;
}

/* Those of the live ones that lapsed. */
#define LAPSED "seq >= " NEXT_LIVE " AND state = 'live' AND expires_at <= :at"

static int last_lapsed(
	struct store *s, int64_t at, int64_t most, int64_t after, int64_t *to, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, LAST_PLACE("SELECT seq FROM lease WHERE " LAPSED), &st, e))
		return -1;
	db_int(st, ":at", at);
	return db_last_place(s, st, most, after, to, e);
}

int store_lease_expire(struct store *s, int64_t at, const char *by, int64_t most, int64_t *after,
	int64_t *n, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;
	int64_t to;

	if (store_begin(s, &t, e) || last_lapsed(s, at, most, *after, &to, e) ||
		db_prepare(s,
			"UPDATE lease SET state = 'expired', ended_at = :at, ended_by = :by"
			" WHERE " LAPSED " AND seq <= :to",
			&st, e))
		return -1;
	db_int(st, ":at", at);
	db_text(st, ":by", by);
	db_int(st, ":after", *after);
	db_int(st, ":to", to);
	if (db_done(s, st, n, e))
		return -1;
	*after = to;
	return store_commit(&t, e);
}

int store_lease_raise_floor(struct store *s, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE lease_floor SET seq = n.seq FROM (SELECT coalesce("
		    "(SELECT seq FROM lease WHERE state = 'live' AND seq >= " LIVE_FROM
		    " ORDER BY seq LIMIT 1), (SELECT max(seq) FROM lease)) AS seq) n"
		    " WHERE n.seq > lease_floor.seq",
		    &st, e))
		return -1;
	return db_done(s, st, NULL, e);
}

/* Over: the run is finished, or its sandbox has ended. */
#define ORPHANS                                                          \
	"SELECT l.seq FROM lease l LEFT JOIN run r ON r.id = l.run_id"   \
	" LEFT JOIN handle h ON h.id = l.sandbox WHERE l.state = 'live'" \
	" AND l.seq >= " NEXT_LIVE " AND (r.state = 'finished' OR h.state = 'ended')"

static int end_orphans(struct store *s, sqlite3_stmt *st, int64_t at, int64_t after, int64_t to,
	int64_t *n, struct cl_err *e)
{
	db_int(st, ":at", at);
	db_int(st, ":after", after);
	db_int(st, ":to", to);
	return db_done(s, st, n, e);
}

int store_lease_orphans(struct store *s, int64_t at, const char *by, int64_t most, int64_t *after,
	int64_t *n, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *last = NULL, *holds = NULL, *leases = NULL;
	int64_t to;

	if (store_begin(s, &t, e) || db_prepare(s, LAST_PLACE(ORPHANS), &last, e) ||
		db_last_place(s, last, most, *after, &to, e) ||
		db_prepare(s,
			"UPDATE lease_grant SET state = 'taken', answered_at = :at"
			" WHERE state IN ('held', 'taking', 'failed') AND " HOLD_IS_OF(
				"", "l.seq IN (" ORPHANS " AND l.seq <= :to)"),
			&holds, e) ||
		db_prepare(s,
			"UPDATE lease SET state = 'released', ended_at = :at, ended_by = :by,"
			" reason = 'its run was over' WHERE seq IN (" ORPHANS " AND l.seq <= :to)",
			&leases, e))
		return -1;
	db_text(leases, ":by", by);
	if (end_orphans(s, holds, at, *after, to, NULL, e) ||
		end_orphans(s, leases, at, *after, to, n, e))
		return -1;
	*after = to;
	return store_commit(&t, e);
}

#define FORGOTTEN                                                                           \
	" WHERE seq IN (SELECT seq FROM lease WHERE state <> 'live' AND ended_at < :before" \
	" AND NOT EXISTS (SELECT 1 FROM lease_grant h WHERE h.lease = lease.seq AND"        \
	" h.state = 'taking') ORDER BY ended_at LIMIT :most)"

int store_lease_forget(struct store *s, int64_t before, int64_t most, int64_t *n, struct cl_err *e)
{
	/* The trigger fails of names that are no list; no trigger may ask whether they are one. */
	static const char *const acts[] = {"UPDATE lease SET grants = '[]'" FORGOTTEN
					   " AND NOT json_valid(grants)",
		"DELETE FROM lease" FORGOTTEN};
	cleanup_txn struct store_txn t = {0};

	if (store_begin(s, &t, e))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(acts); i++) {
		cleanup_stmt sqlite3_stmt *st = NULL;

		if (db_prepare(s, acts[i], &st, e))
			return -1;
		db_int(st, ":before", before);
		db_int(st, ":most", most);
		if (db_done(s, st, n, e))
			return -1;
	}
	return store_commit(&t, e);
}

static const char *which(const struct store_lease_filter *f)
{
	if (f->ended_too)
		return "1";
	if (f->tokens_too)
		return "seq IN (SELECT seq FROM lease WHERE state = 'live' AND seq >= " LIVE_FROM
		       " UNION SELECT lease_seq(lease_id) FROM token)";
	/* Those of one are few, and have an index. */
	return f->run_id || f->sandbox || f->grant_id ? "state = 'live'"
						      : "state = 'live' AND seq >= " LIVE_FROM;
}

int store_lease_each(struct store *s, const struct store_lease_filter *f, store_lease_fn fn,
	void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_addf(&sql, " WHERE %s%s%s%s ORDER BY seq DESC LIMIT :limit", which(f),
		f->run_id ? " AND run_id = :run" : "", f->sandbox ? " AND sandbox = :sandbox" : "",
		f->grant_id ? " AND seq IN (SELECT lease FROM lease_grant WHERE grant_id = :grant)"
			    : "");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	if (f->run_id)
		db_text(st, ":run", f->run_id);
	if (f->sandbox)
		db_text(st, ":sandbox", f->sandbox);
	if (f->grant_id)
		db_text(st, ":grant", f->grant_id);
	db_int(st, ":limit", f->limit ? f->limit : -1);
	return DB_EACH(s, st, &table, fn, arg, e);
}
