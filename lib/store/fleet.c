/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/fleet.h"
#include "base/mem.h"
#include "store/db.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COL(of, type, member)                                     \
	{                                                         \
#member, type, offsetof(struct of, member), false \
	}
static const struct db_col binding_columns[] = {
	COL(store_binding, DB_TEXT, project),
	COL(store_binding, DB_TEXT, executor_id),
	COL(store_binding, DB_TIME, created_at),
	COL(store_binding, DB_TEXT, created_by),
	COL(store_binding, DB_TEXT, signature),
};
static const struct db_table bindings = {"executor_binding", binding_columns,
	CL_ARRAY_LEN(binding_columns), sizeof(struct store_binding)};
static const struct db_col label_columns[] = {
	COL(store_labels, DB_TEXT, executor_id),
	COL(store_labels, DB_JSON, labels),
	COL(store_labels, DB_TIME, created_at),
	COL(store_labels, DB_TEXT, created_by),
	COL(store_labels, DB_TEXT, signature),
};
static const struct db_table labels = {
	"executor_labels", label_columns, CL_ARRAY_LEN(label_columns), sizeof(struct store_labels)};
#undef COL

void store_binding_release(struct store_binding *b)
{
	db_release(&bindings, b);
	*b = STORE_BINDING_INIT;
}

void store_labels_release(struct store_labels *l)
{
	db_release(&labels, l);
	*l = STORE_LABELS_INIT;
}

/* Deletes by one key; *was: there was a row. */
static int delete_row(struct store *s, const char *sql, const char *id, bool *was, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	int64_t n;

	if (db_prepare(s, sql, &st, e))
		return -1;
	db_text(st, ":id", id);
	if (db_done(s, st, &n, e))
		return -1;
	*was = n > 0;
	return 0;
}

/* ---- bindings ---- */

int store_binding_get(struct store *s, const char *project, struct store_binding *out, bool *found,
	struct cl_err *e)
{
	return db_find(s, &bindings, " WHERE project = :id", project, out, found, e);
}

int store_binding_delete(struct store *s, const char *project, bool *was, struct cl_err *e)
{
	return delete_row(s, "DELETE FROM executor_binding WHERE project = :id", project, was, e);
}

int store_binding_put(struct store *s, const struct store_binding *b, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	bool was;

	if (store_begin(s, &t, e) || store_binding_delete(s, b->project, &was, e))
		return -1;
	return db_insert(s, &bindings, b, e) || store_commit(&t, e) ? -1 : 0;
}

int store_binding_each(
	struct store *s, const char *executor, store_binding_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&bindings, &sql);
	cl_buf_adds(&sql, " WHERE :id IS NULL OR executor_id = :id ORDER BY project");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_text(st, ":id", executor);
	return DB_EACH(s, st, &bindings, fn, arg, e);
}

/* ---- labels ---- */

int store_labels_get(struct store *s, const char *executor, struct store_labels *out, bool *found,
	bool *undone, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row, said, cleared;

	/* The first of the keys, which are in their order: nothing that somebody typed is before it. */
	if (db_prepare(s,
		    "SELECT l.executor_id, l.labels, l.created_at, l.created_by, l.signature, a.at,"
		    " substr(a.detail, 1, 13) = '{\"after\":null' FROM (SELECT :id AS id) x"
		    " LEFT JOIN executor_labels l ON l.executor_id = x.id"
		    " LEFT JOIN audit a ON a.seq = (SELECT max(seq) FROM audit"
		    " WHERE entity_id = x.id AND action = 'executor.labels')",
		    &st, e))
		return -1;
	db_text(st, ":id", executor);
	if (db_step(s, st, &row, e))
		return -1;
	*found = sqlite3_column_type(st, 0) != SQLITE_NULL;
	if (*found)
		db_read(st, &labels, out);
	said = sqlite3_column_type(st, (int)labels.ncols) != SQLITE_NULL;
	cleared = said && sqlite3_column_int(st, (int)labels.ncols + 1);
	*undone = *found ? said && (cleared || sqlite3_column_int64(st, (int)labels.ncols) !=
						       out->created_at)
			 : said && !cleared;
	return 0;
}

int store_labels_delete(struct store *s, const char *executor, bool *was, struct cl_err *e)
{
	return delete_row(
		s, "DELETE FROM executor_labels WHERE executor_id = :id", executor, was, e);
}

int store_labels_put(
	struct store *s, const struct store_labels *l, const char *was, bool *won, struct cl_err *e)
{
	static const char insert[] =
		"INSERT INTO executor_labels (executor_id, labels, created_at, created_by, "
		"signature)"
		" VALUES (:id, :labels, :at, :by, :signature) ON CONFLICT DO NOTHING";
	static const char update[] =
		"UPDATE executor_labels SET labels = :labels, created_at = :at, created_by = :by,"
		" signature = :signature WHERE executor_id = :id AND signature = :was";
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, was ? update : insert, &st, e))
		return -1;
	db_text(st, ":id", l->executor_id);
	db_text(st, ":labels", l->labels);
	db_int(st, ":at", l->created_at);
	db_text(st, ":by", l->created_by);
	db_text(st, ":signature", l->signature);
	if (was)
		db_text(st, ":was", was);
	return db_won(s, st, won, e);
}

/* ---- access ---- */

int store_access_add(struct store *s, const char *executor, const char *entry, const char *by,
	int64_t at, bool *changed, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "INSERT INTO executor_access (executor_id, entry, created_at, created_by)"
		    " VALUES (:id, :entry, :at, :by) ON CONFLICT DO NOTHING",
		    &st, e))
		return -1;
	db_text(st, ":id", executor);
	db_text(st, ":entry", entry);
	db_int(st, ":at", at);
	db_text(st, ":by", by);
	return db_won(s, st, changed, e);
}

int store_access_remove(
	struct store *s, const char *executor, const char *entry, bool *changed, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, "DELETE FROM executor_access WHERE executor_id = :id AND entry = :entry",
		    &st, e))
		return -1;
	db_text(st, ":id", executor);
	db_text(st, ":entry", entry);
	return db_won(s, st, changed, e);
}

int store_access_list(struct store *s, const char *executor, struct cl_strv *out, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	if (db_prepare(s,
		    "SELECT entry FROM executor_access WHERE executor_id = :id ORDER BY entry", &st,
		    e))
		return -1;
	db_text(st, ":id", executor);
	for (;;) {
		if (db_step(s, st, &row, e))
			return -1;
		if (!row)
			return 0;
		cl_strv_add(out, db_column(st, 0));
	}
}

/* ---- ceilings ---- */

static const char *const amounts[SB_NRESOURCES] = {
	[SB_CPU] = ":cpu", [SB_MEMORY] = ":memory", [SB_DISK] = ":disk", [SB_PIDS] = ":pids"};

int store_ceiling_get(struct store *s, enum sb_source level, const char *subject,
	struct sb_limits *out, bool *found, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	*out = (struct sb_limits){{0}};
	if (db_prepare(s,
		    "SELECT cpu_milli, memory_mb, disk_mb, pids FROM ceiling"
		    " WHERE level = :level AND subject = :id",
		    &st, e))
		return -1;
	db_text(st, ":level", sb_source_name(level));
	db_text(st, ":id", subject);
	if (db_step(s, st, found, e))
		return -1;
	for (int i = 0; *found && i < SB_NRESOURCES; i++)
		out->v[i] = sqlite3_column_int64(st, i);
	return 0;
}

static int forget_ceiling(
	struct store *s, enum sb_source level, const char *subject, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, "DELETE FROM ceiling WHERE level = :level AND subject = :id", &st, e))
		return -1;
	db_text(st, ":level", sb_source_name(level));
	db_text(st, ":id", subject);
	return db_done(s, st, NULL, e);
}

int store_ceiling_put(struct store *s, enum sb_source level, const char *subject,
	const struct sb_limits *l, const char *by, int64_t at, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool any = false;

	if (level == SB_FLEET)
		abort();
	for (int i = 0; i < SB_NRESOURCES; i++)
		any = any || l->v[i];
	if (!any)
		return forget_ceiling(s, level, subject, e);
	if (db_prepare(s,
		    "INSERT OR REPLACE INTO ceiling (level, subject, cpu_milli, memory_mb, disk_mb,"
		    " pids, created_at, created_by)"
		    " VALUES (:level, :id, :cpu, :memory, :disk, :pids, :at, :by)",
		    &st, e))
		return -1;
	db_text(st, ":level", sb_source_name(level));
	db_text(st, ":id", subject);
	for (int i = 0; i < SB_NRESOURCES; i++)
		db_int(st, amounts[i], l->v[i]);
	db_int(st, ":at", at);
	db_text(st, ":by", by);
	return db_done(s, st, NULL, e);
}
