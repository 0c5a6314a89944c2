/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/secret.h"
#include "base/mem.h"
#include "store/db.h"

#include <stddef.h>
#include <string.h>

#define COL(type, member)                                                   \
	{                                                                   \
#member, type, offsetof(struct store_secret, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_TEXT, id),
	COL(DB_TEXT, kind),
	COL(DB_TEXT, name),
	COL(DB_TEXT, key_id),
	COL(DB_TEXT, wrapped),
	COL(DB_TEXT, sealed),
	COL(DB_JSON, metadata),
	COL(DB_TEXT, owner),
	COL(DB_TIME, created_at),
	COL(DB_TEXT, created_by),
};
#undef COL
static const struct db_table table = {
	"secret", columns, CL_ARRAY_LEN(columns), sizeof(struct store_secret)};

void store_secret_release(struct store_secret *r)
{
	db_release(&table, r);
	*r = STORE_SECRET_INIT;
}

int store_secret_find(
	struct store *s, const char *ref, struct store_secret *out, bool *found, struct cl_err *e)
{
	if (db_find(s, &table, " WHERE id = :id", ref, out, found, e))
		return -1;
	return *found ? 0 : db_find(s, &table, " WHERE name = :id", ref, out, found, e);
}

int store_secret_insert(
	struct store *s, const struct store_secret *r, enum store_put *how, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_secret_row struct store_secret there = STORE_SECRET_INIT;
	cleanup_free char *primary = NULL;
	bool found;

	if (store_begin(s, &t, e) || store_key_primary(s, &primary, e) ||
		db_find(s, &table, " WHERE name = :id", r->name, &there, &found, e))
		return -1;
	*how = found ? STORE_TAKEN : STORE_MOVED;
	if (found || !primary || strcmp(primary, r->key_id) != 0)
		return 0;
	if (db_insert(s, &table, r, e) || store_commit(&t, e))
		return -1;
	*how = STORE_PUT;
	return 0;
}

int store_secret_each(struct store *s, store_secret_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " ORDER BY name");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	return DB_EACH(s, st, &table, fn, arg, e);
}

json_t *store_secret_json(const struct store_secret *r)
{
	static const char *const hidden[] = {"key_id", "wrapped", "sealed"};
	json_t *o = db_json(&table, r);

	for (size_t i = 0; i < CL_ARRAY_LEN(hidden); i++)
		(void)json_object_del(o, hidden[i]);
	return o;
}

/* ---- tombstones ---- */

#define COL(type, member)                                                      \
	{                                                                      \
#member, type, offsetof(struct store_tombstone, member), false \
	}
static const struct db_col stone_columns[] = {
	COL(DB_TEXT, secret_id),
	COL(DB_TEXT, name),
	COL(DB_TEXT, kind),
	COL(DB_TEXT, owner),
	COL(DB_TIME, deleted_at),
	COL(DB_TEXT, deleted_by),
	COL(DB_TEXT, cause),
	COL(DB_TEXT, reason),
};
#undef COL
static const struct db_table stones = {
	"tombstone", stone_columns, CL_ARRAY_LEN(stone_columns), sizeof(struct store_tombstone)};

void store_tombstone_release(struct store_tombstone *t)
{
	db_release(&stones, t);
	*t = (struct store_tombstone){0};
}

int store_secret_wipe(struct store *s, struct cl_err *e)
{
	s->wipes = true;
	return db_exec(s, "PRAGMA secure_delete = ON", e);
}

int store_secret_delete(
	struct store *s, const struct store_tombstone *stone, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;
	int64_t changed;

	*won = false;
	if (store_begin(s, &t, e) || db_prepare(s, "DELETE FROM secret WHERE id = :id", &st, e))
		return -1;
	db_text(st, ":id", stone->secret_id);
	if (db_done(s, st, &changed, e))
		return -1;
	if (!changed)
		return 0;
	if (db_insert(s, &stones, stone, e) || store_commit(&t, e))
		return -1;
	*won = true;
	return 0;
}

int store_tombstone_find(struct store *s, const char *ref, struct store_tombstone *out, bool *found,
	struct cl_err *e)
{
	return db_find(s, &stones,
		" WHERE secret_id = :id OR name = :id"
		" ORDER BY secret_id <> :id, deleted_at DESC LIMIT 1",
		ref, out, found, e);
}

int store_tombstone_forget(
	struct store *s, int64_t before, int64_t at, int64_t *n, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "DELETE FROM tombstone WHERE deleted_at < :before AND NOT EXISTS (SELECT 1"
		    " FROM \"grant\" g WHERE g.secret_id = tombstone.secret_id AND"
		    " (g.expires_at = 0 OR g.expires_at > :at))",
		    &st, e))
		return -1;
	db_int(st, ":before", before);
	db_int(st, ":at", at);
	return db_done(s, st, n, e);
}
