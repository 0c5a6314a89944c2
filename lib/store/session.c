/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/session.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "store/db.h"
#include "store/run.h"
#include "sys/id.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COL(type, member)                                                    \
	{                                                                    \
#member, type, offsetof(struct store_session, member), false \
	}

static const struct db_col columns[] = {
	COL(DB_TEXT, id),
	COL(DB_TEXT, run_id),
	COL(DB_TEXT, executor_id),
	COL(DB_TEXT, project),
	COL(DB_TEXT, workload),
	COL(DB_BOOL, isolated),
	COL(DB_TEXT, claim_token),
	COL(DB_TEXT, state),
	COL(DB_INT, attempt),
	COL(DB_TEXT, requeued_from),
	COL(DB_TEXT, replaced_by),
	COL(DB_TEXT, reason),
	COL(DB_TIME, started_at),
	COL(DB_TIME, updated_at),
	COL(DB_TIME, ended_at),
	COL(DB_TIME, tried_at),
};
static const struct db_table table = {
	"session", columns, CL_ARRAY_LEN(columns), sizeof(struct store_session)};

void store_session_release(struct store_session *r)
{
	db_release(&table, r);
	*r = STORE_SESSION_INIT;
}

void store_session_copy(const struct store_session *from, struct store_session *to)
{
	db_copy(&table, from, to);
}

json_t *store_session_json(const struct store_session *r)
{
	json_t *j = db_json(&table, r);

	/* Whoever has it decides: it is nobody's to read. */
	(void)json_object_del(j, "claim_token");
	return j;
}

char *store_workload(const char *task, const char *argv)
{
	char hex[65];

	if (task && *task)
		return cl_asprintf("task:%s", task);
	cl_sha256_hex(argv, strlen(argv), hex);
	return cl_asprintf("argv:%s", hex);
}

static int new_token(char out[STORE_SESSION_TOKEN], struct cl_err *e)
{
	return sys_new_id("claim_", 24, out, STORE_SESSION_TOKEN, e);
}

/* Two workloads in one project are worse than none. */
static int lives_on(struct store *s, const char *run_id, bool *out, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, "SELECT 1 FROM handle WHERE run_id = :id AND state = 'live' LIMIT 1", &st,
		    e))
		return -1;
	db_text(st, ":id", run_id);
	return db_step(s, st, out, e);
}

/*
 * The one that is replaced: requeued, and nobody's yet. The attempt of the new one is read in the
 * same transaction, which nobody writes beside.
 */
static int replace(struct store *s, struct store_session *r, struct cl_err *e)
{
	cleanup_session struct store_session old = STORE_SESSION_INIT;
	bool lives = false;

	if (store_session_get(s, r->requeued_from, &old, e) || lives_on(s, old.run_id, &lives, e))
		return -1;
	if (lives) {
		(void)cl_fail(e, CL_EBUSY, "the workload of %s, which is lost, has not ended yet",
			old.run_id);
		return cl_fix(e, "try again after: cloop runs stop %s", old.run_id);
	}
	if (strcmp(old.state, "requeued") != 0 || old.replaced_by) {
		(void)cl_fail(e, CL_EREFUSED, "the session %s is %s: it is not to be started again",
			old.id, old.state);
		(void)cl_constraint(e, "session");
		return cl_fix(e, "nothing: somebody else has decided what becomes of it");
	}
	r->attempt = old.attempt + 1;
	return 0;
}

static int mark_replaced(struct store *s, const struct store_session *r, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE session SET state = 'replaced', replaced_by = :new, updated_at = :at, "
		    "ended_at = :at WHERE id = :id AND state = 'requeued' AND replaced_by IS NULL",
		    &st, e))
		return -1;
	db_text(st, ":new", r->id);
	db_int(st, ":at", r->started_at);
	db_text(st, ":id", r->requeued_from);
	return db_done(s, st, NULL, e);
}

int store_session_open(struct store *s, struct store_session *r, struct cl_err *e)
{
	char id[STORE_SESSION_ID], token[STORE_SESSION_TOKEN];
	cleanup_txn struct store_txn t = {0};

	if (sys_new_id("ses_", 24, id, sizeof(id), e) || new_token(token, e))
		return -1;
	free(r->id);
	free(r->claim_token);
	free(r->state);
	r->id = cl_strdup(id);
	r->claim_token = cl_strdup(token);
	r->state = cl_strdup("running");
	r->updated_at = r->started_at;
	if (store_begin(s, &t, e) || (r->requeued_from && replace(s, r, e)) ||
		db_insert(s, &table, r, e) || (r->requeued_from && mark_replaced(s, r, e)))
		return -1;
	return store_commit(&t, e);
}

int store_session_get(struct store *s, const char *id, struct store_session *out, struct cl_err *e)
{
	cleanup_free char *whole = NULL;
	bool found;

	if (store_id(s, "session", "session", "ses_", id, &whole, e) ||
		db_find(s, &table, " WHERE id = :id", whole, out, &found, e))
		return -1;
	return found ? 0 : db_no_row("session", id, e);
}

int store_session_of_run(struct store *s, const char *run_id, struct store_session *out,
	bool *found, struct cl_err *e)
{
	return db_find(s, &table, " WHERE run_id = :id", run_id, out, found, e);
}

int store_session_each(struct store *s, const char *state, const char *executor, int64_t limit,
	store_session_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	/* A state that is bound is no help to the planner, who would read all sessions. */
	cl_buf_addf(&sql, " WHERE state = '%s'%s ORDER BY started_at, id LIMIT :limit", state,
		executor ? " AND executor_id = :executor" : "");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_int(st, ":limit", limit ? limit : -1);
	if (executor)
		db_text(st, ":executor", executor);
	return DB_EACH(s, st, &table, fn, arg, e);
}

/*
 * The decision. Everything that it depends on is read by the statement itself, so that nobody can
 * decide on what has changed since it looked: the token, the state, the attempt and the
 * executors that this workload was lost with, this one included.
 */
static int decide(struct store *s, const char *id, const char *token, int64_t cap, const char *why,
	int64_t now, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	char fresh[STORE_SESSION_TOKEN];
	int64_t changed;

	if (new_token(fresh, e) ||
		db_prepare(s,
			"UPDATE session SET claim_token = :fresh, reason = :why, updated_at = "
			":now, "
			"state = CASE "
			"WHEN (SELECT count(DISTINCT x) FROM (SELECT l.executor_id AS x "
			"FROM session_loss AS l WHERE l.project = session.project "
			"AND l.workload = session.workload "
			"UNION SELECT session.executor_id)) >= 2 THEN 'quarantined' "
			"WHEN attempt > :cap THEN 'failover_exhausted' "
			"ELSE 'requeued' END "
			"WHERE id = :id AND claim_token = :token AND state = 'running'",
			&st, e))
		return -1;
	db_text(st, ":fresh", fresh);
	db_text(st, ":why", why);
	db_int(st, ":now", now);
	db_int(st, ":cap", cap);
	db_text(st, ":id", id);
	db_text(st, ":token", token);
	if (db_done(s, st, &changed, e))
		return -1;
	*won = changed == 1;
	return 0;
}

/* What follows from it: the loss, the end of a session that is not started again, the run's end. */
static int settle(struct store *s, const char *id, const char *why, int64_t now, struct cl_err *e)
{
	static const struct {
		const char *sql;
		bool why;
	} steps[] = {
		{"INSERT INTO session_loss SELECT id, project, workload, executor_id, :now "
		 "FROM session WHERE id = :id",
			false},
		{"UPDATE session SET ended_at = :now WHERE id = :id AND state <> 'requeued'",
			false},
		{"UPDATE run SET state = 'finished', outcome = 'lost', error = :why, "
		 "finished_at = :now WHERE id = (SELECT run_id FROM session WHERE id = :id) "
		 "AND state <> 'finished'",
			true},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(steps); i++) {
		cleanup_stmt sqlite3_stmt *st = NULL;

		if (db_prepare(s, steps[i].sql, &st, e))
			return -1;
		db_text(st, ":id", id);
		db_int(st, ":now", now);
		if (steps[i].why)
			db_text(st, ":why", why);
		if (db_done(s, st, NULL, e))
			return -1;
	}
	return 0;
}

static const struct {
	const char *state;
	enum store_claim is;
} verdicts[] = {{"requeued", CLAIM_REQUEUED}, {"failover_exhausted", CLAIM_EXHAUSTED},
	{"quarantined", CLAIM_QUARANTINED}};

int store_session_claim(struct store *s, const char *id, const char *token, int64_t cap,
	const char *why, int64_t now, enum store_claim *out, struct cl_err *e)
{
	cleanup_session struct store_session r = STORE_SESSION_INIT;
	cleanup_txn struct store_txn t = {0};
	bool won = false;

	*out = CLAIM_LOST;
	if (store_begin(s, &t, e) || decide(s, id, token, cap, why, now, &won, e))
		return -1;
	if (!won)
		return 0;
	if (settle(s, id, why, now, e) || store_session_get(s, id, &r, e) || store_commit(&t, e))
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(verdicts); i++)
		if (!strcmp(verdicts[i].state, r.state))
			*out = verdicts[i].is;
	return 0;
}

int store_session_give_up(struct store *s, const char *id, int64_t before, const char *why,
	int64_t now, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	int64_t changed;

	if (db_prepare(s,
		    "UPDATE session SET state = 'failed', reason = :why, updated_at = :now, "
		    "ended_at = :now WHERE id = :id AND state = 'requeued' AND updated_at < "
		    ":before",
		    &st, e))
		return -1;
	db_text(st, ":why", why);
	db_int(st, ":now", now);
	db_text(st, ":id", id);
	db_int(st, ":before", before);
	if (db_done(s, st, &changed, e))
		return -1;
	*won = changed == 1;
	return 0;
}

int store_session_take_on(
	struct store *s, const char *id, int64_t before, int64_t now, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE session SET tried_at = :now WHERE id = :id AND state = 'requeued' "
		    "AND tried_at < :before",
		    &st, e))
		return -1;
	db_int(st, ":now", now);
	db_text(st, ":id", id);
	db_int(st, ":before", before);
	return db_won(s, st, won, e);
}

int store_session_reopen(struct store *s, const char *run_id, int64_t cap, const char *why,
	int64_t now, bool *won, struct cl_err *e)
{
	static const char sql[] =
		"UPDATE session SET state = 'requeued', replaced_by = NULL, reason = :why, "
		"attempt = attempt + 1, updated_at = :now, ended_at = 0, tried_at = 0 "
		"WHERE state = 'replaced' AND attempt < :cap AND id = (SELECT n.requeued_from "
		"FROM session AS n JOIN run AS r ON r.id = n.run_id WHERE n.run_id = :run "
		"AND n.state = 'running' AND r.state = 'starting') "
		"AND NOT EXISTS (SELECT 1 FROM handle WHERE run_id = :run)";
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool ended = false;

	if (store_begin(s, &t, e) || db_prepare(s, sql, &st, e))
		return -1;
	db_text(st, ":why", why);
	db_int(st, ":now", now);
	db_int(st, ":cap", cap);
	db_text(st, ":run", run_id);
	if (db_won(s, st, won, e))
		return -1;
	if (!*won)
		return 0;
	return store_run_finished(s, run_id, OUTCOME_LOST, -1, why, now, &ended, e) ||
			       store_commit(&t, e)
		       ? -1
		       : 0;
}
