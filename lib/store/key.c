/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/key.h"
#include "base/mem.h"
#include "store/db.h"

#include <stddef.h>
#include <string.h>

#define COL(type, member)                                                \
	{                                                                \
#member, type, offsetof(struct store_key, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_TEXT, id),
	COL(DB_TEXT, state),
	COL(DB_TEXT, method),
	COL(DB_TEXT, salt),
	COL(DB_TEXT, proof),
	COL(DB_TIME, created_at),
	COL(DB_TEXT, created_by),
	COL(DB_TIME, retired_at),
};
static const struct db_table table = {
	"sealing_key", columns, CL_ARRAY_LEN(columns), sizeof(struct store_key)};

void store_key_release(struct store_key *k)
{
	db_release(&table, k);
	*k = STORE_KEY_INIT;
}

int store_key_each(struct store *s, store_key_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " ORDER BY created_at, id");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	return DB_EACH(s, st, &table, fn, arg, e);
}

int store_key_get(
	struct store *s, const char *id, struct store_key *out, bool *found, struct cl_err *e)
{
	return db_find(s, &table, " WHERE id = :id", id, out, found, e);
}

int store_key_primary(struct store *s, char **id, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	*id = NULL;
	if (db_prepare(s, "SELECT id FROM sealing_key WHERE state = 'primary'", &st, e) ||
		db_step(s, st, &row, e))
		return -1;
	if (row)
		*id = cl_strdup(db_column(st, 0));
	return 0;
}

/* Runs an UPDATE or INSERT of one row; *won says whether it found what it asks for. */
int store_key_add(
	struct store *s, const struct store_key *k, const char *was, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_free char *now = NULL;

	*won = false;
	if (store_begin(s, &t, e) || store_key_primary(s, &now, e))
		return -1;
	if (strcmp(now ? now : "", was) != 0)
		return 0;
	if (db_exec(s, "UPDATE sealing_key SET state = 'active' WHERE state = 'primary'", e) ||
		db_insert(s, &table, k, e) || store_commit(&t, e))
		return -1;
	*won = true;
	return 0;
}

int store_key_promote(struct store *s, const char *id, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE sealing_key SET state = 'primary' WHERE id = :id AND state = 'active'"
		    " AND NOT EXISTS (SELECT 1 FROM sealing_key WHERE state = 'primary')",
		    &st, e))
		return -1;
	db_text(st, ":id", id);
	return db_won(s, st, won, e);
}

int store_key_retire(struct store *s, const char *id, int64_t at, bool *won, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	cl_buf_adds(&sql, "UPDATE sealing_key SET state = 'retired', salt = '', retired_at = :at"
			  " WHERE id = :id AND state = 'active'");
	for (int set = 0; set < STORE_NSETS; set++)
		cl_buf_addf(&sql, " AND NOT EXISTS (SELECT 1 FROM %s WHERE key_id = :id)",
			store_set_table((enum store_set)set));
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_text(st, ":id", id);
	db_int(st, ":at", at);
	return db_won(s, st, won, e);
}

int store_key_uses(struct store *s, const char *id, int64_t *n, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	cl_buf_adds(&sql, "SELECT 0");
	for (int set = 0; set < STORE_NSETS; set++)
		cl_buf_addf(&sql, " + (SELECT count(*) FROM %s WHERE key_id = :id)",
			store_set_table((enum store_set)set));
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_text(st, ":id", id);
	if (db_step(s, st, &row, e))
		return -1;
	*n = sqlite3_column_int64(st, 0);
	return 0;
}
