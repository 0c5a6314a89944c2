/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/blocked.h"
#include "base/mem.h"
#include "store/db.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COL(type, member)                                                    \
	{                                                                    \
#member, type, offsetof(struct store_blocked, member), false \
	}

static const struct db_col columns[] = {
	COL(DB_TEXT, handle_id),
	COL(DB_TEXT, run_id),
	COL(DB_TEXT, project),
	COL(DB_TEXT, executor_id),
	COL(DB_TEXT, source),
	COL(DB_TEXT, destination),
	COL(DB_INT, proto),
	COL(DB_INT, port),
	COL(DB_INT, packets),
	COL(DB_INT, bytes),
	COL(DB_TIME, first_at),
	COL(DB_TIME, last_at),
};
static const struct db_table table = {
	"blocked", columns, CL_ARRAY_LEN(columns), sizeof(struct store_blocked)};

void store_blocked_release(struct store_blocked_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		db_release(&table, &l->v[i]);
	free(l->v);
	*l = STORE_BLOCKED_INIT;
}

static int by_number(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

int store_blocked_cmp(const struct store_blocked *a, const struct store_blocked *b)
{
	int rc = strcmp(a->handle_id, b->handle_id);

	if (!rc)
		rc = strcmp(a->destination, b->destination);
	if (!rc)
		rc = by_number(a->proto, b->proto);
	return rc ? rc : by_number(a->port, b->port);
}

void store_blocked_join(struct store_blocked *into, const struct store_blocked *other)
{
	if (other->packets > into->packets)
		into->packets = other->packets;
	if (other->bytes > into->bytes)
		into->bytes = other->bytes;
	if (other->first_at < into->first_at)
		into->first_at = other->first_at;
	if (other->last_at > into->last_at)
		into->last_at = other->last_at;
}

/* As store_blocked_join has it. */
static int upsert(
	struct store *s, sqlite3_stmt *st, const struct store_blocked *r, struct cl_err *e)
{
	(void)sqlite3_reset(st);
	db_text(st, ":handle", r->handle_id);
	db_text(st, ":run", r->run_id);
	db_text(st, ":project", r->project);
	db_text(st, ":executor", r->executor_id);
	db_text(st, ":source", r->source);
	db_text(st, ":destination", r->destination);
	db_int(st, ":proto", r->proto);
	db_int(st, ":port", r->port);
	db_int(st, ":packets", r->packets);
	db_int(st, ":bytes", r->bytes);
	db_int(st, ":first", r->first_at);
	db_int(st, ":last", r->last_at);
	return db_done(s, st, NULL, e);
}

/* The newest of one workload stay. */
static int trim(struct store *s, const char *handle, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "DELETE FROM blocked WHERE handle_id = :handle AND (destination, proto, port) "
		    "IN "
		    "(SELECT destination, proto, port FROM blocked WHERE handle_id = :handle "
		    "ORDER BY last_at DESC, destination, proto, port LIMIT -1 OFFSET :max)",
		    &st, e))
		return -1;
	db_text(st, ":handle", handle);
	db_int(st, ":max", STORE_BLOCKED_EACH);
	return db_done(s, st, NULL, e);
}

int store_blocked_merge(struct store *s, const struct store_blocked_list *rows, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	cleanup_txn struct store_txn t = {0};

	if (!rows->n)
		return 0;
	if (store_begin(s, &t, e) ||
		db_prepare(s,
			"INSERT INTO blocked VALUES (:handle, :run, :project, :executor, :source, "
			":destination, :proto, :port, :packets, :bytes, :first, :last) "
			"ON CONFLICT DO UPDATE SET packets = max(packets, excluded.packets), "
			"bytes = max(bytes, excluded.bytes), "
			"first_at = min(first_at, excluded.first_at), "
			"last_at = max(last_at, excluded.last_at)",
			&st, e))
		return -1;
	for (size_t i = 0; i < rows->n; i++)
		if (upsert(s, st, &rows->v[i], e))
			return -1;
	return trim(s, rows->v[0].handle_id, e) || store_commit(&t, e) ? -1 : 0;
}

int store_blocked_read(struct store *s, const char *run_id, const char *handle_id,
	const char *project, struct store_blocked_list *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	db_select(&table, &sql);
	cl_buf_addf(&sql, " WHERE 1%s%s%s ORDER BY last_at, handle_id, destination, proto, port",
		run_id ? " AND run_id = :run" : "", handle_id ? " AND handle_id = :handle" : "",
		project ? " AND project = :project" : "");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	if (run_id)
		db_text(st, ":run", run_id);
	if (handle_id)
		db_text(st, ":handle", handle_id);
	if (project)
		db_text(st, ":project", project);
	for (;;) {
		if (db_step(s, st, &row, e))
			return -1;
		if (!row)
			return 0;
		out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*out->v));
		out->v[out->n] = (struct store_blocked){0};
		db_read(st, &table, &out->v[out->n++]);
	}
}

/* Deletes by one statement with :n; adds how many to *gone. */
static int delete_some(struct store *s, const char *sql, int64_t n, int64_t *gone, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	int64_t changed;

	if (db_prepare(s, sql, &st, e))
		return -1;
	db_int(st, ":n", n);
	if (db_done(s, st, &changed, e))
		return -1;
	*gone += changed;
	return 0;
}

int store_blocked_expire(struct store *s, int64_t before, int64_t *gone, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};

	*gone = 0;
	if (store_begin(s, &t, e) ||
		delete_some(s, "DELETE FROM blocked WHERE last_at < :n", before, gone, e) ||
		delete_some(s,
			"DELETE FROM blocked WHERE last_at < (SELECT last_at FROM blocked "
			"ORDER BY last_at DESC LIMIT 1 OFFSET :n - 1)",
			STORE_BLOCKED_ALL, gone, e))
		return -1;
	return store_commit(&t, e);
}
