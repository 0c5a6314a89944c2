/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "store/db.h"
#include "store/run.h"
#include "sys/id.h"

#include <stddef.h>

#define COL(type, member)                                                   \
	{                                                                   \
#member, type, offsetof(struct store_handle, member), false \
	}
#define FIXED(type, member)                                                \
	{                                                                  \
#member, type, offsetof(struct store_handle, member), true \
	}

static const struct db_col columns[] = {
	FIXED(DB_TEXT, id),
	COL(DB_TEXT, run_id),
	COL(DB_TEXT, executor_id),
	COL(DB_TEXT, driver),
	COL(DB_TEXT, container),
	COL(DB_TEXT, external_id),
	COL(DB_TEXT, project),
	COL(DB_TEXT, image),
	COL(DB_TEXT, cgroup),
	COL(DB_TEXT, netns),
	COL(DB_TEXT, bridge),
	COL(DB_TEXT, nft_table),
	COL(DB_TEXT, network),
	FIXED(DB_INT, shim_pid),
	FIXED(DB_INT, shim_start),
	FIXED(DB_TEXT, boot_id),
	COL(DB_TEXT, runtime_dir),
	COL(DB_TIME, started_at),
	COL(DB_TIME, deadline),
	COL(DB_INT, disk_limit_mb),
	COL(DB_TEXT, disk_limit_source),
	COL(DB_INT, disk_baseline),
	COL(DB_JSON, disk_breach),
	FIXED(DB_TEXT, kill_cause),
	FIXED(DB_TEXT, state),
	FIXED(DB_TIME, ended_at),
	COL(DB_JSON, meta),
	COL(DB_TEXT, address),
	COL(DB_TEXT, address6),
	COL(DB_INT, unrecorded_before),
};
static const struct db_table table = {
	"handle", columns, CL_ARRAY_LEN(columns), sizeof(struct store_handle)};

int store_new_handle_id(char out[STORE_HANDLE_ID], struct cl_err *e)
{
	return sys_new_id("c-", 12, out, STORE_HANDLE_ID, e);
}

void store_handle_release(struct store_handle *h)
{
	db_release(&table, h);
	*h = STORE_HANDLE_INIT;
}

json_t *store_handle_json(const struct store_handle *h)
{
	return db_json(&table, h);
}

int store_handle_insert(struct store *s, const struct store_handle *h, struct cl_err *e)
{
	struct store_handle row = *h;
	char live[] = "live", none[] = "";

	if (!row.state)
		row.state = live;
	if (!row.boot_id)
		row.boot_id = none;
	return db_insert(s, &table, &row, e);
}

static int first(struct store *s, const char *tail, const char *id, struct store_handle *out,
	struct cl_err *e)
{
	bool found;

	if (db_find(s, &table, tail, id, out, &found, e))
		return -1;
	if (found)
		return 0;
	(void)cl_fail(e, CL_ENOTFOUND, "there is no handle of '%s'", id);
	return cl_fix(e, "'cloop runs list' shows what has run");
}

int store_handle_get(struct store *s, const char *id, struct store_handle *out, struct cl_err *e)
{
	cleanup_free char *whole = NULL;

	if (store_id(s, "handle", "handle", "c-", id, &whole, e))
		return -1;
	return first(s, " WHERE id = :id", whole, out, e);
}

int store_handle_of_run(
	struct store *s, const char *run_id, struct store_handle *out, struct cl_err *e)
{
	return first(s, " WHERE run_id = :id ORDER BY state = 'live' DESC, started_at DESC LIMIT 1",
		run_id, out, e);
}

int store_handle_set(
	struct store *s, const struct store_handle *h, const char *const *names, struct cl_err *e)
{
	return db_update(s, &table, h, h->id, names, e);
}

/* Runs an UPDATE of one row; *won says whether it found it in the state it asks for. */
int store_handle_claim(struct store *s, const char *id, const struct store_shim *old,
	const struct store_shim *now, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE handle SET shim_pid = :pid, shim_start = :start, boot_id = :boot "
		    "WHERE id = :id AND state = 'live' AND shim_pid = :old_pid "
		    "AND shim_start = :old_start AND boot_id = :old_boot",
		    &st, e))
		return -1;
	db_int(st, ":pid", now->pid);
	db_int(st, ":start", now->start);
	db_text(st, ":boot", now->boot_id ? now->boot_id : "");
	db_text(st, ":id", id);
	db_int(st, ":old_pid", old->pid);
	db_int(st, ":old_start", old->start);
	db_text(st, ":old_boot", old->boot_id ? old->boot_id : "");
	return db_won(s, st, won, e);
}

int store_handle_kill(
	struct store *s, const char *id, enum store_outcome cause, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE handle SET kill_cause = :cause "
		    "WHERE id = :id AND state = 'live' AND kill_cause IS NULL",
		    &st, e))
		return -1;
	db_text(st, ":cause", store_outcome_name(cause));
	db_text(st, ":id", id);
	return db_won(s, st, won, e);
}

int store_handle_end(struct store *s, const char *id, int64_t at, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE handle SET state = 'ended', ended_at = :at "
		    "WHERE id = :id AND state = 'live'",
		    &st, e))
		return -1;
	db_int(st, ":at", at);
	db_text(st, ":id", id);
	return db_won(s, st, won, e);
}

int store_handle_each(struct store *s, const char *executor_id, bool ended_too, store_handle_fn fn,
	void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_addf(&sql, " WHERE %s%s ORDER BY started_at, id", ended_too ? "1" : "state = 'live'",
		executor_id ? " AND executor_id = :executor" : "");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	if (executor_id)
		db_text(st, ":executor", executor_id);
	return DB_EACH(s, st, &table, fn, arg, e);
}

int store_handle_bases(struct store *s, struct cl_strv *out, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	if (db_prepare(s,
		    "SELECT DISTINCT substr(runtime_dir, 1, length(runtime_dir) - length(id) - 3) "
		    "FROM handle WHERE runtime_dir LIKE '/%/w/' || id ORDER BY 1",
		    &st, e))
		return -1;
	while (!db_step(s, st, &row, e)) {
		if (!row)
			return 0;
		cl_strv_add(out, (const char *)sqlite3_column_text(st, 0));
	}
	return -1;
}
