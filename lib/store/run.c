/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/run.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/db.h"
#include "sys/id.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COL(type, member)                                                \
	{                                                                \
#member, type, offsetof(struct store_run, member), false \
	}
#define FIXED(type, member)                                             \
	{                                                               \
#member, type, offsetof(struct store_run, member), true \
	}

static const struct db_col columns[] = {
	FIXED(DB_TEXT, id),
	COL(DB_TEXT, project),
	COL(DB_TEXT, executor_id),
	COL(DB_TEXT, handle_id),
	COL(DB_JSON, argv),
	COL(DB_TEXT, harness),
	COL(DB_TEXT, task),
	COL(DB_INT, uid),
	COL(DB_BOOL, detached),
	FIXED(DB_TEXT, state),
	FIXED(DB_TEXT, outcome),
	FIXED(DB_OPT, exit_code),
	COL(DB_TEXT, error),
	COL(DB_TIME, created_at),
	COL(DB_TIME, started_at),
	FIXED(DB_TIME, finished_at),
	COL(DB_TIME, deadline),
	COL(DB_TEXT, image_requested),
	COL(DB_TEXT, image),
	COL(DB_TEXT, image_digest),
	COL(DB_BOOL, reproducible),
	COL(DB_TEXT, spec_sha256),
	COL(DB_TEXT, setup_sha256),
	COL(DB_JSON, egress),
	COL(DB_JSON, clamps),
	COL(DB_JSON, limits),
	COL(DB_JSON, blocked),
};
static const struct db_table table = {
	"run", columns, CL_ARRAY_LEN(columns), sizeof(struct store_run)};

static const char *const outcomes[OUTCOME_COUNT] = {
	[OUTCOME_EXITED] = "exited",
	[OUTCOME_FAILED] = "failed",
	[OUTCOME_KILLED] = "killed",
	[OUTCOME_TIMEOUT] = "timeout",
	[OUTCOME_DISK_LIMIT] = "disk_limit",
	[OUTCOME_DISK_FLOOR] = "disk_floor",
	[OUTCOME_OOM] = "oom",
	[OUTCOME_REVOKED] = "revoked",
	[OUTCOME_LOST] = "lost",
	[OUTCOME_REFUSED] = "refused",
};

const char *store_outcome_name(enum store_outcome o)
{
	if (o >= OUTCOME_COUNT)
		abort();
	return outcomes[o];
}

bool store_outcome_find(const char *name, enum store_outcome *out)
{
	for (size_t i = 0; i < OUTCOME_COUNT; i++) {
		if (strcmp(outcomes[i], name) != 0)
			continue;
		*out = (enum store_outcome)i;
		return true;
	}
	return false;
}

int store_new_run_id(char out[STORE_RUN_ID], struct cl_err *e)
{
	return sys_new_id("run_", 24, out, STORE_RUN_ID, e);
}

void store_run_release(struct store_run *r)
{
	db_release(&table, r);
	*r = STORE_RUN_INIT;
}

json_t *store_run_json(const struct store_run *r)
{
	return db_json(&table, r);
}

int store_run_insert(struct store *s, const struct store_run *r, struct cl_err *e)
{
	struct store_run row = *r;
	char starting[] = "starting";

	if (!row.state)
		row.state = starting;
	return db_insert(s, &table, &row, e);
}

int store_run_get(struct store *s, const char *id, struct store_run *out, struct cl_err *e)
{
	cleanup_free char *whole = NULL;
	bool found;

	if (store_id(s, "run", "run", "run_", id, &whole, e) ||
		db_find(s, &table, " WHERE id = :id", whole, out, &found, e))
		return -1;
	return found ? 0 : db_no_row("run", id, e);
}

int store_run_set(
	struct store *s, const struct store_run *r, const char *const *names, struct cl_err *e)
{
	return db_update(s, &table, r, r->id, names, e);
}

int store_run_started(struct store *s, const char *id, const char *handle_id, int64_t at, bool *won,
	struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	int64_t changed;

	if (db_prepare(s,
		    "UPDATE run SET state = 'running', handle_id = :handle, started_at = :at "
		    "WHERE id = :id AND state = 'starting'",
		    &st, e))
		return -1;
	db_text(st, ":handle", handle_id);
	db_int(st, ":at", at);
	db_text(st, ":id", id);
	if (db_done(s, st, &changed, e))
		return -1;
	*won = changed == 1;
	return 0;
}

int store_run_finished(struct store *s, const char *id, enum store_outcome outcome,
	int64_t exit_code, const char *error, int64_t at, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	int64_t changed;

	if (db_prepare(s,
		    "UPDATE run SET state = 'finished', outcome = :outcome, "
		    "exit_code = nullif(:code, -1), error = :error, finished_at = :at "
		    "WHERE id = :id AND state <> 'finished'",
		    &st, e))
		return -1;
	db_text(st, ":outcome", store_outcome_name(outcome));
	db_int(st, ":code", exit_code);
	db_text(st, ":error", error);
	db_int(st, ":at", at);
	db_text(st, ":id", id);
	if (db_done(s, st, &changed, e))
		return -1;
	*won = changed == 1;
	return 0;
}

/* Filters that are one column's equality; the order of `wanted` below. */
static const char *const equal[] = {"project", "executor_id", "state", "outcome", "task"};

static void where(const struct store_run_filter *f, const char *const *wanted, struct cl_buf *sql)
{
	cl_buf_adds(sql, " WHERE created_at >= :since");
	for (size_t i = 0; i < CL_ARRAY_LEN(equal); i++)
		if (wanted[i])
			cl_buf_addf(sql, " AND %s = :%s", equal[i], equal[i]);
	if (f->uid >= 0)
		cl_buf_adds(sql, " AND uid = :uid");
	if (f->live)
		cl_buf_adds(sql, " AND state <> 'finished'");
	cl_buf_adds(sql, " ORDER BY created_at DESC, id DESC LIMIT :limit");
}

int store_run_each(struct store *s, const struct store_run_filter *f, store_run_fn fn, void *arg,
	struct cl_err *e)
{
	const char *const wanted[] = {f->project, f->executor_id, f->state, f->outcome, f->task};
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	where(f, wanted, &sql);
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(equal); i++) {
		char name[24];

		(void)snprintf(name, sizeof(name), ":%s", equal[i]);
		if (wanted[i])
			db_text(st, name, wanted[i]);
	}
	if (f->uid >= 0)
		db_int(st, ":uid", f->uid);
	db_int(st, ":since", f->since);
	db_int(st, ":limit", f->limit ? f->limit : -1);
	return DB_EACH(s, st, &table, fn, arg, e);
}
