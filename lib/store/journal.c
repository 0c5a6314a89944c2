/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/journal.h"
#include "base/doc.h"
#include "base/mem.h"
#include "store/db.h"

#include <stddef.h>

#define COL(type, member)                                                    \
	{                                                                    \
#member, type, offsetof(struct store_journal, member), false \
	}

static const struct db_col columns[] = {
	COL(DB_INT, seq),
	COL(DB_TIME, at),
	COL(DB_TEXT, project),
	COL(DB_TEXT, run_id),
	COL(DB_TEXT, kind),
	COL(DB_TEXT, text),
	COL(DB_JSON, data),
};
static const struct db_table table = {
	"journal", columns, CL_ARRAY_LEN(columns), sizeof(struct store_journal)};

int store_journal_add(struct store *s, int64_t at, const char *project, const char *run_id,
	const char *kind, const char *text, const json_t *data, struct cl_err *e)
{
	cleanup_free char *json = data ? cl_json_text(data) : NULL;
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "INSERT INTO journal (at, project, run_id, kind, text, data) "
		    "VALUES (:at, :project, :run, :kind, :text, :data)",
		    &st, e))
		return -1;
	db_int(st, ":at", at);
	db_text(st, ":project", project);
	db_text(st, ":run", run_id);
	db_text(st, ":kind", kind);
	db_text(st, ":text", text);
	db_text(st, ":data", json);
	return db_done(s, st, NULL, e);
}

int store_journal_each(struct store *s, const char *project, const char *run_id, int64_t after,
	int64_t limit, store_journal_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	cl_buf_adds(&sql, "SELECT * FROM (");
	db_select(&table, &sql);
	cl_buf_addf(&sql, " WHERE seq > :after%s%s ORDER BY seq DESC LIMIT :limit) ORDER BY seq",
		project ? " AND project = :project" : "", run_id ? " AND run_id = :run" : "");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_int(st, ":after", after);
	db_int(st, ":limit", limit ? limit : -1);
	if (project)
		db_text(st, ":project", project);
	if (run_id)
		db_text(st, ":run", run_id);
	return DB_EACH(s, st, &table, fn, arg, e);
}

json_t *store_journal_json(const struct store_journal *j)
{
	return db_json(&table, j);
}
