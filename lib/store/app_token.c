/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/app_token.h"
#include "base/mem.h"
#include "store/db.h"

#include <stddef.h>

#define COL(type, member)                                                      \
	{                                                                      \
#member, type, offsetof(struct store_app_token, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_INT, lease),
	COL(DB_TEXT, grant_id),
	COL(DB_TEXT, secret_id),
	COL(DB_TEXT, secret_name),
	COL(DB_TEXT, file),
	COL(DB_TEXT, base_url),
	COL(DB_TEXT, scope),
	COL(DB_TEXT, sum),
	COL(DB_TIME, expires_at),
	COL(DB_BOOL, spare),
};
#undef COL
static const struct db_table table = {
	"app_token", columns, CL_ARRAY_LEN(columns), sizeof(struct store_app_token)};

void store_app_token_release(struct store_app_token *t)
{
	db_release(&table, t);
	*t = STORE_APP_TOKEN_INIT;
}

struct store_app_token store_app_token_copy(const struct store_app_token *t)
{
	struct store_app_token c = *t;

	c.grant_id = cl_strdup(t->grant_id);
	c.secret_id = cl_strdup(t->secret_id);
	c.secret_name = cl_strdup(t->secret_name);
	c.file = cl_strdup(t->file);
	c.base_url = cl_strdup(t->base_url);
	c.scope = cl_strdup(t->scope);
	c.sum = cl_strdup(t->sum);
	return c;
}

int store_app_token_drop(struct store *s, int64_t lease, const char *grant_id, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(
		    s, "DELETE FROM app_token WHERE lease = :lease AND grant_id = :grant", &st, e))
		return -1;
	db_int(st, ":lease", lease);
	db_text(st, ":grant", grant_id);
	return db_done(s, st, NULL, e);
}

int store_app_token_put(struct store *s, const struct store_app_token *t, struct cl_err *e)
{
	cleanup_txn struct store_txn txn = {0};

	return store_begin(s, &txn, e) || store_app_token_drop(s, t->lease, t->grant_id, e) ||
			       db_insert(s, &table, t, e) || store_commit(&txn, e)
		       ? -1
		       : 0;
}

int store_app_token_each(
	struct store *s, const char *lease_id, store_app_token_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " WHERE lease = (SELECT seq FROM lease WHERE " LEASE_IS(
				  ":id") ") ORDER BY grant_id");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_text(st, ":id", lease_id);
	return DB_EACH(s, st, &table, fn, arg, e);
}

int store_app_token_over(struct store *s, store_app_token_lease_fn fn, void *arg, struct cl_err *e)
{
	cleanup_strv struct cl_strv ids = CL_STRV_INIT, sandboxes = CL_STRV_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row = false;
	int rc;

	if (db_prepare(s,
		    "SELECT DISTINCT l.id, coalesce(l.sandbox, '') FROM app_token t "
		    "JOIN lease l ON l.seq = t.lease WHERE l.state <> 'live'",
		    &st, e))
		return -1;
	/* All of them first: fn writes. */
	while (!(rc = db_step(s, st, &row, e)) && row) {
		cl_strv_add(&ids, (const char *)sqlite3_column_text(st, 0));
		cl_strv_add(&sandboxes, (const char *)sqlite3_column_text(st, 1));
	}
	for (size_t i = 0; !rc && i < ids.n; i++)
		rc = fn(ids.v[i], *sandboxes.v[i] ? sandboxes.v[i] : NULL, arg, e);
	return rc;
}
