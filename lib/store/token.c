/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/token.h"
#include "base/mem.h"
#include "store/db.h"
#include "store/key.h"
#include "store/secret.h"

#include <stddef.h>
#include <string.h>

#define COL(type, member)                                                  \
	{                                                                  \
#member, type, offsetof(struct store_token, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_TEXT, id),
	COL(DB_TEXT, key_id),
	COL(DB_TEXT, wrapped),
	COL(DB_TEXT, sealed),
	COL(DB_TEXT, sum),
	COL(DB_TEXT, lease_id),
	COL(DB_TEXT, grant_id),
	COL(DB_TEXT, secret_id),
	COL(DB_TEXT, secret_name),
	COL(DB_TIME, created_at),
	COL(DB_TIME, expires_at),
	COL(DB_TEXT, ends),
	COL(DB_INT, tries),
	COL(DB_TIME, tried_at),
	COL(DB_TEXT, error),
	COL(DB_TEXT, base_url),
	COL(DB_TEXT, signature),
	COL(DB_INT, late),
};
#undef COL
static const struct db_table table = {
	"token", columns, CL_ARRAY_LEN(columns), sizeof(struct store_token)};

/*
 * Not in use: said to end, ended by itself, asked for by somebody who never wrote a lease with it, of
 * a lease that is over, or of a grant that its lease no longer stands on.
 */
#define DUE                                                                                      \
	"(ends IS NOT NULL OR expires_at <= :due OR (lease_id IS NULL AND created_at <= :alone)" \
	" OR (lease_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM lease l"                        \
	" WHERE " LEASE_OF_TOKEN " AND l.state = 'live'))"                                       \
	" OR EXISTS (SELECT 1 FROM lease_grant h JOIN lease l ON l.seq = h.lease"                \
	" WHERE " LEASE_OF_TOKEN " AND h.grant_id = token.grant_id"                              \
	" AND h.state IN ('taking', 'taken', 'failed')))"

void store_token_release(struct store_token *t)
{
	db_release(&table, t);
	*t = STORE_TOKEN_INIT;
}

int store_token_add(struct store *s, const struct store_token *t, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn txn = {0};
	cleanup_free char *primary = NULL;

	*won = false;
	if (store_begin(s, &txn, e) || store_key_primary(s, &primary, e))
		return -1;
	if (!primary || strcmp(primary, t->key_id) != 0)
		return 0;
	if (db_insert(s, &table, t, e) || store_commit(&txn, e))
		return -1;
	*won = true;
	return 0;
}

int store_token_lend(struct store *s, const char *sum, const char *lease_id, const char *grant_id,
	struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, "UPDATE token SET lease_id = :lease, grant_id = :grant WHERE sum = :sum",
		    &st, e))
		return -1;
	db_text(st, ":lease", lease_id);
	db_text(st, ":grant", grant_id);
	db_text(st, ":sum", sum);
	return db_done(s, st, NULL, e);
}

/* ---- which ones ---- */

static void add_where(const struct store_token_filter *f, struct cl_buf *sql)
{
	cl_buf_addf(sql, " WHERE 1%s%s%s%s%s%s", f->id ? " AND id = :id" : "",
		f->sum ? " AND sum = :sum" : "", f->lease_id ? " AND lease_id = :lease" : "",
		f->grant_id ? " AND grant_id = :grant" : "",
		f->secret_id ? " AND secret_id = :secret" : "", f->due ? " AND " DUE : "");
}

static void bind(sqlite3_stmt *st, const struct store_token_filter *f)
{
	const struct {
		const char *name, *value;
	} texts[] = {{":id", f->id}, {":sum", f->sum}, {":lease", f->lease_id},
		{":grant", f->grant_id}, {":secret", f->secret_id}};

	for (size_t i = 0; i < CL_ARRAY_LEN(texts); i++)
		if (texts[i].value)
			db_text(st, texts[i].name, texts[i].value);
	if (!f->due)
		return;
	db_int(st, ":due", f->due);
	db_int(st, ":alone", f->due - STORE_TOKEN_ALONE_MS);
}

int store_token_each(struct store *s, const struct store_token_filter *f, store_token_fn fn,
	void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	add_where(f, &sql);
	cl_buf_adds(&sql, " ORDER BY id");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	bind(st, f);
	return DB_EACH(s, st, &table, fn, arg, e);
}

int store_token_count(
	struct store *s, const struct store_token_filter *f, int64_t *n, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	cl_buf_adds(&sql, "SELECT count(*) FROM token");
	add_where(f, &sql);
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	bind(st, f);
	if (db_step(s, st, &row, e))
		return -1;
	*n = sqlite3_column_int64(st, 0);
	return 0;
}

/* ---- their end ---- */

int store_token_end(
	struct store *s, const struct store_token_filter *f, const char *reason, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	cl_buf_adds(&sql, "UPDATE token SET ends = :reason");
	add_where(f, &sql);
	cl_buf_adds(&sql, " AND ends IS NULL");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	bind(st, f);
	db_text(st, ":reason", reason);
	return db_done(s, st, NULL, e);
}

int store_token_try(
	struct store *s, const char *id, int64_t now, int64_t apart, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	/* A clock that was set back must not keep anybody from trying. */
	if (db_prepare(s,
		    "UPDATE token SET tried_at = :now, tries = tries + 1,"
		    " late = late + (expires_at <= :now) WHERE id = :id"
		    " AND (tried_at <= :now - :apart OR tried_at > :now)",
		    &st, e))
		return -1;
	db_int(st, ":now", now);
	db_int(st, ":apart", apart);
	db_text(st, ":id", id);
	return db_won(s, st, won, e);
}

int store_token_failed(struct store *s, const char *id, const char *error, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, "UPDATE token SET error = :error WHERE id = :id", &st, e))
		return -1;
	db_text(st, ":error", error);
	db_text(st, ":id", id);
	return db_done(s, st, NULL, e);
}

int store_token_forget(struct store *s, const struct store_token *t, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn txn = {0};
	cleanup_stmt sqlite3_stmt *st = NULL, *lent = NULL;

	/* What was sealed must not stay in free pages or in the log. */
	if (store_secret_wipe(s, e) || store_begin(s, &txn, e) ||
		db_prepare(s, "DELETE FROM token WHERE id = :id", &st, e))
		return -1;
	db_text(st, ":id", t->id);
	if (db_won(s, st, won, e) ||
		db_prepare(s, "DELETE FROM app_token WHERE sum = :sum", &lent, e))
		return -1;
	db_text(lent, ":sum", t->sum);
	return db_done(s, lent, NULL, e) || store_commit(&txn, e) ? -1 : 0;
}
