/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/counter.h"
#include "base/mem.h"
#include "store/db.h"

#include <stddef.h>

struct counter {
	char *name, *label;
	int64_t value;
};
#define COL(type, member)                                              \
	{                                                              \
#member, type, offsetof(struct counter, member), false \
	}
static const struct db_col columns[] = {
	COL(DB_TEXT, name), COL(DB_TEXT, label), COL(DB_INT, value)};
static const struct db_table table = {
	"counter", columns, CL_ARRAY_LEN(columns), sizeof(struct counter)};

int store_counter_add(
	struct store *s, const char *name, const char *label, int64_t n, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (n < 0)
		return cl_fail(
			e, CL_EBUG, "counter '%s' would shrink by %lld", name, -(long long)n);
	if (db_prepare(s,
		    "INSERT INTO counter VALUES (:name, :label, :n) ON CONFLICT DO UPDATE "
		    "SET value = min(value, 9223372036854775807 - :n) + :n",
		    &st, e))
		return -1;
	db_text(st, ":name", name);
	db_text(st, ":label", label);
	db_int(st, ":n", n);
	return db_done(s, st, NULL, e);
}

int store_counter_each(
	struct store *s, const char *name, store_counter_fn fn, void *arg, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_rows struct db_rows rows = {0};
	cleanup_stmt sqlite3_stmt *st = NULL;
	int rc = 0;

	db_select(&table, &sql);
	cl_buf_addf(&sql, "%s ORDER BY name, label", name ? " WHERE name = :name" : "");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	if (name)
		db_text(st, ":name", name);
	if (db_collect(s, st, &table, &rows, e))
		return -1;
	for (size_t i = 0; !rc && i < rows.n; i++) {
		const struct counter *c = db_row_at(&rows, i);

		rc = fn(c->name, c->label, c->value, arg, e);
	}
	return rc;
}
