/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/grant.h"
#include "base/mem.h"
#include "base/num.h"
#include "store/db.h"

#include <stddef.h>
#include <string.h>

#define COL(type, member)                                                  \
	{                                                                  \
#member, type, offsetof(struct store_grant, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_TEXT, id),
	COL(DB_TEXT, secret_id),
	COL(DB_TEXT, secret_name),
	COL(DB_TEXT, kind),
	COL(DB_TEXT, scope),
	COL(DB_TEXT, subject),
	COL(DB_JSON, constraints),
	COL(DB_TIME, expires_at),
	COL(DB_TIME, created_at),
	COL(DB_TEXT, created_by),
	COL(DB_TEXT, owner),
	COL(DB_TEXT, signature),
	COL(DB_TIME, revoked_at),
	COL(DB_TEXT, revoked_by),
	COL(DB_TEXT, revoked_cause),
	COL(DB_TEXT, superseded_by),
	COL(DB_JSON, unguarded),
};
#undef COL
static const struct db_table table = {
	"\"grant\"", columns, CL_ARRAY_LEN(columns), sizeof(struct store_grant)};

void store_grant_release(struct store_grant *g)
{
	db_release(&table, g);
	*g = STORE_GRANT_INIT;
}

void store_grant_copy(const struct store_grant *from, struct store_grant *to)
{
	db_copy(&table, from, to);
}

int store_grant_insert(struct store *s, const struct store_grant *g, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (store_begin(s, &t, e) ||
		db_prepare(s,
			"SELECT 1 FROM secret WHERE id = :id AND kind = :kind AND name = :name",
			&st, e))
		return -1;
	db_text(st, ":id", g->secret_id);
	db_text(st, ":kind", g->kind);
	db_text(st, ":name", g->secret_name);
	if (db_step(s, st, won, e))
		return -1;
	if (!*won)
		return 0;
	return db_insert(s, &table, g, e) || store_commit(&t, e) ? -1 : 0;
}

int store_grant_get(struct store *s, const char *id, struct store_grant *out, struct cl_err *e)
{
	cleanup_free char *whole = NULL;
	bool found;

	if (store_id(s, "\"grant\"", "grant", "grant_", id, &whole, e) ||
		db_find(s, &table, " WHERE id = :id", whole, out, &found, e))
		return -1;
	return found ? 0 : db_no_row("grant", whole, e);
}

static void bind_end(sqlite3_stmt *st, const char *id, const struct store_end *end)
{
	db_text(st, ":id", id);
	db_int(st, ":at", end->at);
	db_text(st, ":by", end->by);
	db_text(st, ":cause", end->cause);
}

int store_grant_revoke(
	struct store *s, const char *id, const struct store_end *end, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE \"grant\" SET revoked_at = :at, revoked_by = :by,"
		    " revoked_cause = :cause, superseded_by = :successor"
		    " WHERE id = :id AND revoked_at = 0",
		    &st, e))
		return -1;
	bind_end(st, id, end);
	db_text(st, ":successor", end->successor);
	return db_won(s, st, won, e);
}

int store_grant_revoke_secret(struct store *s, const char *secret_id, const struct store_end *end,
	int64_t *n, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE \"grant\" SET revoked_at = :at, revoked_by = :by, revoked_cause ="
		    " CASE WHEN expires_at <> 0 AND expires_at <= :at THEN NULL ELSE :cause END"
		    " WHERE secret_id = :id AND revoked_at = 0",
		    &st, e))
		return -1;
	bind_end(st, secret_id, end);
	return db_done(s, st, n, e);
}

int store_grant_unguarded(
	struct store *s, const char *id, const char *json, bool *won, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s,
		    "UPDATE \"grant\" SET unguarded = :json WHERE id = :id AND revoked_at = 0", &st,
		    e))
		return -1;
	db_text(st, ":json", json);
	db_text(st, ":id", id);
	return db_won(s, st, won, e);
}

int store_grant_each(struct store *s, const struct store_grant_filter *f, store_grant_fn fn,
	void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(&table, &sql);
	cl_buf_adds(&sql, " WHERE (:subject IS NULL OR subject = :subject)"
			  " AND (:secret IS NULL OR secret_id = :secret)"
			  " AND (:at = 0 OR ((expires_at = 0 OR expires_at > :at) AND"
			  " (revoked_at = 0 OR (:lost AND revoked_cause IN"
			  " ('secret_deleted', 'owner_offboarded')))))"
			  " ORDER BY created_at DESC, id");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_text(st, ":subject", f->subject);
	db_text(st, ":secret", f->secret_id);
	db_int(st, ":at", f->active_at);
	db_int(st, ":lost", f->lost_too);
	return DB_EACH(s, st, &table, fn, arg, e);
}

json_t *store_grant_json(const struct store_grant *g)
{
	json_t *o = db_json(&table, g), *word = json_object_get(o, "unguarded");
	char when[32];

	(void)json_object_del(o, "signature");
	if (json_is_integer(json_object_get(word, "at"))) {
		cl_format_time(json_integer_value(json_object_get(word, "at")) / 1000, when);
		(void)json_object_set_new(word, "at", json_string(when));
	}
	(void)json_object_del(word, "signature");
	return o;
}
