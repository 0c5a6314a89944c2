/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that are sealed, whatever table they are in, and the history of moving them. */
#include "base/mem.h"
#include "store/db.h"
#include "store/key.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- sealed rows ---- */

static const struct {
	const char *name, *table;
} sets[STORE_NSETS] = {
	[STORE_SECRETS] = {"secrets", "secret"},
	[STORE_SIGNING] = {"signing", "signing_key"},
	[STORE_TOKENS] = {"tokens", "token"},
};

const char *store_set_name(enum store_set s)
{
	return sets[s].name;
}

const char *store_set_table(enum store_set s)
{
	return sets[s].table;
}

#define COL(type, member)                                                   \
	{                                                                   \
#member, type, offsetof(struct store_sealed, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_TEXT, id),
	COL(DB_TEXT, key_id),
	COL(DB_TEXT, wrapped),
};
#undef COL
static const struct db_table table = {
	"", columns, CL_ARRAY_LEN(columns), sizeof(struct store_sealed)};

void store_sealed_release(struct store_sealed *r)
{
	db_release(&table, r);
	free(r->sealed);
	*r = (struct store_sealed){0};
}

int store_sealed_each(struct store *s, enum store_set set, const char *target, const char *after,
	int64_t n, store_sealed_fn fn, void *arg, struct cl_err *e)
{
	cleanup_free char *sql =
		cl_asprintf("SELECT id, key_id, wrapped FROM %s WHERE key_id <> :target"
			    " AND id > :after ORDER BY id LIMIT :n",
			sets[set].table);
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, sql, &st, e))
		return -1;
	db_text(st, ":target", target);
	db_text(st, ":after", after);
	db_int(st, ":n", n);
	return DB_EACH(s, st, &table, fn, arg, e);
}

int store_sealed_swap(struct store *s, enum store_set set, const struct store_sealed *was,
	const char *key_id, const char *wrapped, bool *won, struct cl_err *e)
{
	cleanup_free char *sql = cl_asprintf(
		"UPDATE %s SET key_id = :key, wrapped = :wrapped"
		" WHERE id = :id AND key_id = :old_key AND wrapped = :old_wrapped AND EXISTS"
		" (SELECT 1 FROM sealing_key WHERE id = :key AND state = 'primary')",
		sets[set].table);
	cleanup_stmt sqlite3_stmt *st = NULL;
	int64_t changed;

	if (db_prepare(s, sql, &st, e))
		return -1;
	db_text(st, ":key", key_id);
	db_text(st, ":wrapped", wrapped);
	db_text(st, ":id", was->id);
	db_text(st, ":old_key", was->key_id);
	db_text(st, ":old_wrapped", was->wrapped);
	if (db_done(s, st, &changed, e))
		return -1;
	*won = changed == 1;
	return 0;
}

int store_sealed_count(struct store *s, enum store_set set, const char *target, int64_t *all,
	int64_t *other, struct cl_err *e)
{
	cleanup_free char *sql =
		cl_asprintf("SELECT count(*), count(*) FILTER (WHERE key_id <> :target) FROM %s",
			sets[set].table);
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	if (db_prepare(s, sql, &st, e))
		return -1;
	db_text(st, ":target", target);
	if (db_step(s, st, &row, e))
		return -1;
	*all = sqlite3_column_int64(st, 0);
	*other = sqlite3_column_int64(st, 1);
	return 0;
}

/* ---- rotations ---- */

#define COL(type, member)                                                     \
	{                                                                     \
#member, type, offsetof(struct store_rotation, member), false \
	}
static const struct db_col rotation_columns[] = {
	COL(DB_TEXT, id),
	COL(DB_TEXT, target),
	COL(DB_TEXT, state),
	COL(DB_INT, rewrapped),
	COL(DB_INT, skipped),
	COL(DB_INT, failed),
	COL(DB_TIME, started_at),
	COL(DB_TIME, ended_at),
	COL(DB_TEXT, actor),
	COL(DB_TEXT, error),
};
#undef COL
static const struct db_table rotation_table = {"rotation", rotation_columns,
	CL_ARRAY_LEN(rotation_columns), sizeof(struct store_rotation)};

void store_rotation_release(struct store_rotation *r)
{
	db_release(&rotation_table, r);
	*r = (struct store_rotation){0};
}

int store_rotation_insert(struct store *s, const struct store_rotation *r, struct cl_err *e)
{
	return db_insert(s, &rotation_table, r, e);
}

int store_rotation_supersede(struct store *s, int64_t at, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE rotation SET state = 'interrupted', ended_at = :at"
		    " WHERE state = 'running'",
		    &st, e))
		return -1;
	db_int(st, ":at", at);
	return db_done(s, st, NULL, e);
}

int store_rotation_set(struct store *s, const struct store_rotation *r, struct cl_err *e)
{
	static const char *const names[] = {
		"state", "rewrapped", "skipped", "failed", "ended_at", "error", NULL};

	return db_update(s, &rotation_table, r, r->id, names, e);
}

int store_rotation_each(
	struct store *s, int64_t limit, store_rotation_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&rotation_table, &sql);
	cl_buf_adds(&sql, " ORDER BY started_at DESC, id LIMIT :limit");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_int(st, ":limit", limit);
	return DB_EACH(s, st, &rotation_table, fn, arg, e);
}

json_t *store_rotation_json(const struct store_rotation *r)
{
	return db_json(&rotation_table, r);
}

/* ---- the key that signs ---- */

#define COL(type, member)                                                    \
	{                                                                    \
#member, type, offsetof(struct store_signing, member), false \
	}
static const struct db_col signing_columns[] = {
	COL(DB_TEXT, id),
	COL(DB_TEXT, public),
	COL(DB_TEXT, key_id),
	COL(DB_TEXT, wrapped),
	COL(DB_TEXT, sealed),
	COL(DB_TIME, created_at),
	COL(DB_TEXT, created_by),
};
#undef COL
static const struct db_table signing_table = {"signing_key", signing_columns,
	CL_ARRAY_LEN(signing_columns), sizeof(struct store_signing)};

void store_signing_release(struct store_signing *k)
{
	db_release(&signing_table, k);
	*k = (struct store_signing){0};
}

int store_signing_get(struct store *s, struct store_signing *out, bool *found, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&signing_table, &sql);
	cl_buf_adds(&sql, " ORDER BY created_at, id LIMIT 1");
	if (db_prepare(s, sql.p, &st, e) || db_step(s, st, found, e))
		return -1;
	if (*found)
		db_read(st, &signing_table, out);
	return 0;
}

int store_signing_add(struct store *s, const struct store_signing *k, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_signing_row struct store_signing there = {0};
	cleanup_free char *primary = NULL;
	bool found;

	*won = false;
	if (store_begin(s, &t, e) || store_signing_get(s, &there, &found, e) ||
		store_key_primary(s, &primary, e))
		return -1;
	if (found || !primary || strcmp(primary, k->key_id) != 0)
		return 0;
	if (db_insert(s, &signing_table, k, e) || store_commit(&t, e))
		return -1;
	*won = true;
	return 0;
}
