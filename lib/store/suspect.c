/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workloads that went down with two executors (guide "the node-killer quarantine"). */
#include "base/mem.h"
#include "store/db.h"
#include "store/session.h"

#include <stddef.h>

#define COL(type, member)                                                    \
	{                                                                    \
#member, type, offsetof(struct store_suspect, member), false \
	}

static const struct db_col columns[] = {
	COL(DB_TEXT, project),
	COL(DB_TEXT, workload),
	COL(DB_TEXT, session_id),
	COL(DB_JSON, executors),
	COL(DB_TIME, lost_at),
};
/* Grouped by both, as the index has them. */
static const struct db_table table = {
	"(SELECT project, workload, (SELECT x.session_id FROM session_loss AS x "
	"WHERE x.project = l.project AND x.workload = l.workload "
	"ORDER BY x.lost_at DESC, x.session_id LIMIT 1) AS session_id, "
	"(SELECT json_group_array(id) FROM (SELECT DISTINCT x.executor_id AS id "
	"FROM session_loss AS x WHERE x.project = l.project AND x.workload = l.workload "
	"ORDER BY id)) AS executors, max(lost_at) AS lost_at "
	"FROM session_loss AS l GROUP BY project, workload "
	"HAVING count(DISTINCT executor_id) >= 2)",
	columns, CL_ARRAY_LEN(columns), sizeof(struct store_suspect)};

void store_suspect_release(struct store_suspect *r)
{
	db_release(&table, r);
	*r = STORE_SUSPECT_INIT;
}

json_t *store_suspect_json(const struct store_suspect *r)
{
	return db_json(&table, r);
}

static int each(struct store *s, const char *project, const char *workload, store_suspect_fn fn,
	void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_addf(&sql, "%s ORDER BY project, workload",
		project ? " WHERE project = :project AND workload = :workload" : "");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	if (project) {
		db_text(st, ":project", project);
		db_text(st, ":workload", workload);
	}
	return DB_EACH(s, st, &table, fn, arg, e);
}

int store_suspect_each(struct store *s, store_suspect_fn fn, void *arg, struct cl_err *e)
{
	return each(s, NULL, NULL, fn, arg, e);
}

struct found {
	struct store_suspect *out;
	bool *found;
};

static int take(const struct store_suspect *r, void *arg, struct cl_err *e)
{
	struct found *f = arg;

	(void)e;
	db_copy(&table, r, f->out);
	*f->found = true;
	return 0;
}

int store_suspect_find(struct store *s, const char *project, const char *workload,
	struct store_suspect *out, bool *found, struct cl_err *e)
{
	struct found f = {out, found};

	*found = false;
	return each(s, project, workload, take, &f, e);
}

int store_session_pardon(
	struct store *s, const char *project, const char *workload, int64_t *n, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "DELETE FROM session_loss WHERE project = :project AND workload = :workload",
		    &st, e))
		return -1;
	db_text(st, ":project", project);
	db_text(st, ":workload", workload);
	return db_done(s, st, n, e);
}
