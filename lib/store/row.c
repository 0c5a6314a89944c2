/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows and structs: one table of columns drives insert, update, read, release and JSON. */
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/credpat.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

static char *const *text_of(const void *row, const struct db_col *c)
{
	return (char *const *)((const char *)row + c->offset);
}

static int64_t int_of(const void *row, const struct db_col *c)
{
	if (c->type == DB_BOOL)
		return *(const bool *)((const char *)row + c->offset);
	return *(const int64_t *)((const char *)row + c->offset);
}

static bool is_text(const struct db_col *c)
{
	return c->type == DB_TEXT || c->type == DB_JSON;
}

/*
 * Parameters are numbered as they stand in the statement, from one. The row's texts are borrowed:
 * whoever binds them has given the statement back before they go.
 */
static void bind(sqlite3_stmt *st, size_t at, const struct db_col *c, const void *row)
{
	int n = (int)at + 1, rc;

	if (is_text(c))
		rc = sqlite3_bind_text(st, n, *text_of(row, c), -1, SQLITE_STATIC);
	else if (c->type == DB_OPT && int_of(row, c) == -1)
		rc = sqlite3_bind_null(st, n);
	else
		rc = sqlite3_bind_int64(st, n, int_of(row, c));
	if (rc == SQLITE_NOMEM || rc == SQLITE_RANGE)
		abort();
}

/* Formatting costs more than the statement does: each is put together by copying. */
static void names(const struct db_table *t, const char *before, struct cl_buf *sql)
{
	for (size_t i = 0; i < t->ncols; i++) {
		cl_buf_adds(sql, i ? ", " : "");
		cl_buf_adds(sql, before);
		cl_buf_adds(sql, t->cols[i].name);
	}
}

/* An audit trail is written row by row: its text is put together once. */
static int prepare_insert(
	struct store *s, const struct db_table *t, sqlite3_stmt **st, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;

	if (db_kept_as(s, t, st))
		return 0;
	cl_buf_adds(&sql, "INSERT INTO ");
	cl_buf_adds(&sql, t->name);
	cl_buf_adds(&sql, " (");
	names(t, "", &sql);
	cl_buf_adds(&sql, ") VALUES (");
	names(t, ":", &sql);
	cl_buf_addc(&sql, ')');
	if (db_prepare(s, sql.p, st, e))
		return -1;
	db_keep_as(s, t, *st);
	return 0;
}

int db_insert(struct store *s, const struct db_table *t, const void *row, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (prepare_insert(s, t, &st, e))
		return -1;
	for (size_t i = 0; i < t->ncols; i++)
		bind(st, i, &t->cols[i], row);
	return db_done(s, st, NULL, e);
}

static const struct db_col *column(const struct db_table *t, const char *name)
{
	for (size_t i = 0; i < t->ncols; i++)
		if (!strcmp(t->cols[i].name, name) && !t->cols[i].fixed)
			return &t->cols[i];
	abort();
}

/* The command that lists things of a kind, or NULL. */
static const char *lister(const char *what)
{
	static const struct {
		const char *what, *command;
	} all[] = {{"run", "cloop runs list -n 0"}, {"grant", "cloop secret grants --all"},
		{"lease", "cloop secret leases --all -n 0"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(all); i++)
		if (!strcmp(all[i].what, what))
			return all[i].command;
	return NULL;
}

int db_no_row(const char *what, const char *id, struct cl_err *e)
{
	char echo[CP_ECHO];

	/* People paste tokens, and some of those are hex digits only. */
	cp_echo(id, echo);
	(void)cl_fail(e, CL_ENOTFOUND, "there is no %s '%s'", what, echo);
	return lister(what) ? cl_fix(e, "'%s' shows every %s of this hub (-C)", lister(what), what)
			    : cl_fix(e, "check the id, and which hub is asked (-C)");
}

int db_no_id(const char *what, const char *prefix, const char *text, struct cl_err *e)
{
	char echo[CP_ECHO];

	cp_echo(text, echo);
	(void)cl_fail(e, CL_EDATA, "'%s' is no id of a %s", echo, what);
	return lister(what)
		       ? cl_fix(e, "'%s' shows them: '%s' and hex digits, of which 6 are enough",
				 lister(what), prefix)
		       : cl_fix(e, "an id is '%s' and hex digits; its first 6 are enough", prefix);
}

int db_update(struct store *s, const struct db_table *t, const void *row, const char *id,
	const char *const *columns, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;
	int64_t changed;

	cl_buf_addf(&sql, "UPDATE %s SET ", t->name);
	for (size_t i = 0; columns[i]; i++)
		cl_buf_addf(
			&sql, "%s%s = :%s", i ? ", " : "", column(t, columns[i])->name, columns[i]);
	cl_buf_adds(&sql, " WHERE id = :the_id");
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	for (size_t i = 0; columns[i]; i++)
		bind(st, i, column(t, columns[i]), row);
	db_text(st, ":the_id", id);
	if (db_done(s, st, &changed, e))
		return -1;
	if (!changed)
		return db_no_row(t->name, id, e);
	return 0;
}

void db_select(const struct db_table *t, struct cl_buf *sql)
{
	cl_buf_adds(sql, "SELECT ");
	names(t, "", sql);
	cl_buf_adds(sql, " FROM ");
	cl_buf_adds(sql, t->name);
}

void db_read(sqlite3_stmt *st, const struct db_table *t, void *row)
{
	for (size_t i = 0; i < t->ncols; i++) {
		const struct db_col *c = &t->cols[i];
		bool null = sqlite3_column_type(st, (int)i) == SQLITE_NULL;
		char *at = (char *)row + c->offset;

		if (is_text(c))
			*(char **)(void *)at = null ? NULL : cl_strdup(db_column(st, (int)i));
		else if (c->type == DB_BOOL)
			*(bool *)(void *)at = sqlite3_column_int64(st, (int)i) != 0;
		else
			*(int64_t *)(void *)at =
				null && c->type == DB_OPT ? -1 : sqlite3_column_int64(st, (int)i);
	}
}

int db_find(struct store *s, const struct db_table *t, const char *tail, const char *id, void *row,
	bool *found, struct cl_err *e)
{
	cleanup_buf struct cl_buf sql = CL_BUF_INIT;
	cleanup_stmt sqlite3_stmt *st = NULL;

	db_select(t, &sql);
	cl_buf_adds(&sql, tail);
	if (db_prepare(s, sql.p, &st, e))
		return -1;
	db_text(st, ":id", id);
	if (db_step(s, st, found, e))
		return -1;
	if (*found)
		db_read(st, t, row);
	return 0;
}

void db_release(const struct db_table *t, void *row)
{
	for (size_t i = 0; i < t->ncols; i++)
		if (is_text(&t->cols[i]))
			free(*text_of(row, &t->cols[i]));
}

void db_copy(const struct db_table *t, const void *from, void *to)
{
	memcpy(to, from, t->size);
	for (size_t i = 0; i < t->ncols; i++)
		if (is_text(&t->cols[i]))
			*(char **)(void *)((char *)to + t->cols[i].offset) =
				cl_strdup_null(*text_of(from, &t->cols[i]));
}

char *db_plain(const char *text)
{
	char *copy = cl_strdup(text);

	if (!cl_utf8_valid(copy, strlen(copy)))
		for (char *p = copy; *p; p++)
			if ((unsigned char)*p >= 0x80)
				*p = '?';
	return copy;
}

static json_t *text_json(const char *text)
{
	cleanup_free char *plain = text ? db_plain(text) : NULL;

	return plain ? json_string(plain) : NULL;
}

static json_t *value_json(const struct db_col *c, const void *row)
{
	json_t *j = NULL;
	char when[32];

	switch (c->type) {
	case DB_TEXT:
		j = text_json(*text_of(row, c));
		break;
	case DB_JSON:
		j = *text_of(row, c) ? json_loads(*text_of(row, c), JSON_DECODE_ANY, NULL) : NULL;
		break;
	case DB_BOOL:
		return json_boolean(int_of(row, c));
	case DB_OPT:
		j = int_of(row, c) == -1 ? NULL : json_integer(int_of(row, c));
		break;
	case DB_TIME:
		if (int_of(row, c)) {
			cl_format_time(int_of(row, c) / 1000, when);
			j = json_string(when);
		}
		break;
	case DB_INT:
		return json_integer(int_of(row, c));
	}
	return j ? j : json_null();
}

json_t *db_json(const struct db_table *t, const void *row)
{
	json_t *o = json_object();

	for (size_t i = 0; i < t->ncols; i++)
		(void)json_object_set_new(o, t->cols[i].name, value_json(&t->cols[i], row));
	return o;
}

int db_collect(struct store *s, sqlite3_stmt *st, const struct db_table *t, struct db_rows *out,
	struct cl_err *e)
{
	bool row;

	out->t = t;
	for (;;) {
		if (db_step(s, st, &row, e))
			return -1;
		if (!row)
			return 0;
		out->rows = cl_grow(out->rows, &out->cap, out->n + 1, t->size);
		memset(out->rows + out->n * t->size, 0, t->size);
		db_read(st, t, out->rows + out->n * t->size);
		out->n++;
	}
}

const void *db_row_at(const struct db_rows *r, size_t i)
{
	return r->rows + i * r->t->size;
}

void db_rows_release(struct db_rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		db_release(r->t, r->rows + i * r->t->size);
	free(r->rows);
	*r = (struct db_rows){0};
}
