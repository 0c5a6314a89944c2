/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/project.h"
#include "base/mem.h"
#include "store/db.h"
#include "sys/id.h"

#include <stddef.h>
#include <string.h>

#define COL(type, member)                                                    \
	{                                                                    \
#member, type, offsetof(struct store_project, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_TEXT, path),
	COL(DB_TEXT, name),
	COL(DB_TEXT, owner),
	COL(DB_TEXT, origin),
	COL(DB_TEXT, made),
	COL(DB_TIME, created_at),
	COL(DB_TEXT, created_by),
};
#undef COL
static const struct db_table table = {
	"project", columns, CL_ARRAY_LEN(columns), sizeof(struct store_project)};

/* Whether column `c` and :path are one directory, or one lies in the other; bytewise. */
#define OVERLAPS(c)                                                            \
	"(" c " = :path OR substr(" c ", 1, length(:path) + 1) = :path || '/'" \
	" OR substr(:path, 1, length(" c ") + 1) = " c " || '/')"

/* A run of the project at :path, or of a feature in it. */
#define OF_IT "(run.project = :path OR substr(run.project, 1, length(:path) + 1) = :path || '/')"

void store_project_release(struct store_project *p)
{
	db_release(&table, p);
	*p = STORE_PROJECT_INIT;
}

json_t *store_project_json(const struct store_project *p)
{
	json_t *o = db_json(&table, p);

	(void)json_object_del(o, "made");
	(void)json_object_set_new(o, "made_by_hub", json_boolean(p->made != NULL));
	return o;
}

int store_project_get(
	struct store *s, const char *path, struct store_project *out, bool *found, struct cl_err *e)
{
	return db_find(s, &table, " WHERE path = :id", path, out, found, e);
}

int store_project_each(struct store *s, store_project_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " ORDER BY path");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	return DB_EACH(s, st, &table, fn, arg, e);
}

static int add_path(const struct store_project *p, void *arg, struct cl_err *e)
{
	(void)e;
	cl_strv_add(arg, p->path);
	return 0;
}

int store_project_paths(struct store *s, struct cl_strv *out, struct cl_err *e)
{
	return store_project_each(s, add_path, out, e);
}

/* The path of a project or live claim that stands in the way; NULL: free. */
static int in_the_way(struct store *s, const char *path, bool mine, const char *token, int64_t now,
	char **holder, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	if (db_prepare(s,
		    "SELECT path FROM project WHERE " OVERLAPS(
			    "path") " AND NOT (:mine AND path ="
				    " :path) UNION ALL SELECT path FROM project_claim "
				    "WHERE " OVERLAPS("path") " AND expires_at > :now AND token IS "
							      "NOT :token LIMIT 1",
		    &st, e))
		return -1;
	db_text(st, ":path", path);
	db_int(st, ":mine", mine);
	db_text(st, ":token", token);
	db_int(st, ":now", now);
	if (db_step(s, st, &row, e))
		return -1;
	*holder = row ? cl_strdup(db_column(st, 0)) : NULL;
	return 0;
}

int store_project_add(struct store *s, const struct store_project *p, const char *token,
	int64_t now, bool *won, char **holder, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};

	if (store_begin(s, &t, e) || in_the_way(s, p->path, false, token, now, holder, e))
		return -1;
	*won = !*holder;
	if (*won && db_insert(s, &table, p, e))
		return -1;
	return store_commit(&t, e);
}

int store_project_live(struct store *s, const char *path, int64_t *n, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	if (db_prepare(s, "SELECT count(*) FROM run WHERE state <> 'finished' AND " OF_IT, &st, e))
		return -1;
	db_text(st, ":path", path);
	if (db_step(s, st, &row, e))
		return -1;
	*n = row ? sqlite3_column_int64(st, 0) : 0;
	return 0;
}

int store_project_delete(struct store *s, const char *path, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "DELETE FROM project WHERE path = :path AND NOT EXISTS (SELECT 1 FROM run"
		    " WHERE state <> 'finished' AND " OF_IT ")",
		    &st, e))
		return -1;
	db_text(st, ":path", path);
	return db_won(s, st, won, e);
}

/* ---- claims ---- */

static int insert_claim(struct store *s, const char *path, const char *by, int64_t now,
	const char *token, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL, *old = NULL;

	/* Those that have run out go: nobody holds them. */
	if (db_prepare(s, "DELETE FROM project_claim WHERE expires_at <= :now", &old, e))
		return -1;
	db_int(old, ":now", now);
	if (db_done(s, old, NULL, e))
		return -1;
	if (db_prepare(s,
		    "INSERT INTO project_claim (path, token, created_at, expires_at,"
		    " created_by) VALUES (:path, :token, :now, :until, :by)",
		    &st, e))
		return -1;
	db_text(st, ":path", path);
	db_text(st, ":token", token);
	db_int(st, ":now", now);
	db_int(st, ":until", now + STORE_CLAIM_MS);
	db_text(st, ":by", by);
	return db_done(s, st, NULL, e);
}

int store_claim(struct store *s, const char *path, bool mine, const char *by, int64_t now,
	char token[STORE_CLAIM_ID], bool *won, char **holder, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};

	if (sys_new_id("claim_", 24, token, STORE_CLAIM_ID, e) || store_begin(s, &t, e) ||
		in_the_way(s, path, mine, NULL, now, holder, e))
		return -1;
	*won = !*holder;
	if (*won && insert_claim(s, path, by, now, token, e))
		return -1;
	return store_commit(&t, e);
}

int store_claim_drop(struct store *s, const char *token, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, "DELETE FROM project_claim WHERE token = :token", &st, e))
		return -1;
	db_text(st, ":token", token);
	return db_done(s, st, NULL, e);
}
