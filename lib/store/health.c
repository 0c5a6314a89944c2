/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/health.h"
#include "base/mem.h"
#include "store/db.h"

#include <stddef.h>
#include <string.h>

#define COL(type, member)                                                   \
	{                                                                   \
#member, type, offsetof(struct store_health, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_TEXT, executor_id),
	COL(DB_TEXT, state),
	COL(DB_TEXT, reason),
	COL(DB_INT, failures),
	COL(DB_TIME, last_seen),
	COL(DB_TIME, last_probe),
	COL(DB_TIME, next_probe),
	COL(DB_TIME, changed_at),
	COL(DB_TEXT, changed_by),
	COL(DB_INT, version),
};
#undef COL
static const struct db_table table = {
	"executor_health", columns, CL_ARRAY_LEN(columns), sizeof(struct store_health)};

void store_health_release(struct store_health *h)
{
	db_release(&table, h);
	*h = STORE_HEALTH_INIT;
}

json_t *store_health_json(const struct store_health *h)
{
	return db_json(&table, h);
}

int store_health_get(struct store *s, const char *executor, struct store_health *out, bool *found,
	struct cl_err *e)
{
	return db_find(s, &table, " WHERE executor_id = :id", executor, out, found, e);
}

static void bind_row(sqlite3_stmt *st, const struct store_health *h)
{
	db_text(st, ":id", h->executor_id);
	db_text(st, ":state", h->state);
	db_text(st, ":reason", h->reason);
	db_int(st, ":failures", h->failures);
	db_int(st, ":last_seen", h->last_seen);
	db_int(st, ":last_probe", h->last_probe);
	db_int(st, ":next_probe", h->next_probe);
	db_int(st, ":changed_at", h->changed_at);
	db_text(st, ":changed_by", h->changed_by);
}

int store_health_put(struct store *s, const struct store_health *h, bool *won, struct cl_err *e)
{
	static const char insert[] =
		"INSERT INTO executor_health (executor_id, state, reason, failures, last_seen,"
		" last_probe, next_probe, changed_at, changed_by, version)"
		" VALUES (:id, :state, :reason, :failures, :last_seen, :last_probe, :next_probe,"
		" :changed_at, :changed_by, 1) ON CONFLICT DO NOTHING";
	static const char update[] =
		"UPDATE executor_health SET state = :state, reason = :reason,"
		" failures = :failures, last_seen = :last_seen, last_probe = :last_probe,"
		" next_probe = :next_probe, changed_at = :changed_at, changed_by = :changed_by,"
		" version = version + 1 WHERE executor_id = :id AND version = :version";
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, h->version ? update : insert, &st, e))
		return -1;
	bind_row(st, h);
	if (h->version)
		db_int(st, ":version", h->version);
	return db_won(s, st, won, e);
}

int store_health_claim(struct store *s, const char *executor, int64_t version, bool due,
	int64_t now, int64_t until, bool *won, struct cl_err *e)
{
	static const char insert[] =
		"INSERT INTO executor_health (executor_id, state, reason, failures, last_seen,"
		" last_probe, next_probe, changed_at, changed_by, version)"
		" VALUES (:id, 'ready', '', 0, 0, 0, :until, :now, 'probe', 1)"
		" ON CONFLICT DO NOTHING";
	static const char update[] =
		"UPDATE executor_health SET next_probe = :until, version = version + 1"
		" WHERE executor_id = :id AND version = :version"
		" AND (NOT :due OR next_probe <= :now)";
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, version ? update : insert, &st, e))
		return -1;
	db_text(st, ":id", executor);
	db_int(st, ":now", now);
	db_int(st, ":until", until);
	if (version) {
		db_int(st, ":version", version);
		db_int(st, ":due", due);
	}
	return db_won(s, st, won, e);
}

int store_health_each(struct store *s, store_health_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " ORDER BY executor_id");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	return DB_EACH(s, st, &table, fn, arg, e);
}

/* ---- load ---- */

/* One row a workload. Both halves are answered by the indices of what is live. */
#define LOAD                                                                         \
	"SELECT executor_id FROM handle WHERE state = 'live' UNION ALL SELECT"       \
	" executor_id FROM run WHERE state <> 'finished' AND state = 'starting' AND" \
	" created_at > :since AND NOT EXISTS (SELECT 1 FROM handle WHERE run_id = run.id)"

int store_load_each(struct store *s, int64_t now, store_load_fn fn, void *arg, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;
	int rc = 0;

	if (db_prepare(s, LOAD, &st, e))
		return -1;
	db_int(st, ":since", now - STORE_STARTING_MS);
	for (;;) {
		if (db_step(s, st, &row, e))
			return -1;
		if (!row)
			return 0;
		rc = fn(db_column(st, 0), arg, e);
		if (rc)
			return rc;
	}
}

struct count {
	const char *executor;
	int64_t n;
};

static int count_one(const char *executor, void *arg, struct cl_err *e)
{
	struct count *c = arg;

	(void)e;
	c->n += !strcmp(executor, c->executor);
	return 0;
}

int store_load(struct store *s, const char *executor, int64_t now, int64_t *n, struct cl_err *e)
{
	struct count c = {executor, 0};
	int rc = store_load_each(s, now, count_one, &c, e);

	*n = c.n;
	return rc;
}
