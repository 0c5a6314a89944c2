/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/db.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an SQLite result means to a person; the primary code decides. */
static const struct {
	int code;
	enum cl_code as;
	const char *fix;
} meanings[] = {
	{SQLITE_BUSY, CL_EBUSY, "another process holds the state file; try again"},
	{SQLITE_LOCKED, CL_EBUSY, "try again"},
	{SQLITE_READONLY, CL_EDENIED, "run it as the owner of the hub's directory"},
	{SQLITE_PERM, CL_EDENIED, "run it as the owner of the hub's directory"},
	{SQLITE_AUTH, CL_EDENIED, "run it as the owner of the hub's directory"},
	{SQLITE_CANTOPEN, CL_EDENIED,
		"the file, its folder and the files beside it must be the "
		"caller's to read and write, and no link"},
	{SQLITE_CORRUPT, CL_ECONFIG, "restore the state file from a backup"},
	{SQLITE_NOTADB, CL_ECONFIG, "restore the state file from a backup"},
	{SQLITE_FULL, CL_EOS, "free some space on the disk of the hub's directory"},
	{SQLITE_IOERR, CL_EOS, "look at the disk of the hub's directory: dmesg, df"},
	{SQLITE_TOOBIG, CL_EDATA, "make what is to be kept smaller"},
};

int db_fail(struct store *s, const char *doing, struct cl_err *e)
{
	int code = sqlite3_errcode(s->db) & 0xff;

	if (code == SQLITE_NOMEM)
		abort();
	(void)cl_fail(e, CL_EBUG, "%s: cannot %s: %s", s->path, doing, sqlite3_errmsg(s->db));
	e->sys = sqlite3_system_errno(s->db);
	for (size_t i = 0; i < CL_ARRAY_LEN(meanings); i++) {
		if (meanings[i].code != code)
			continue;
		e->code = meanings[i].as;
		(void)cl_fix(e, "%s", meanings[i].fix);
	}
	return -1;
}

/* Of some of its bytes: who looks by it compares the text as well. */
static uint32_t hash(const char *sql)
{
	size_t len = strlen(sql), step = 1 + len / 32;
	uint32_t h = 2166136261u ^ (uint32_t)len;

	for (size_t i = 0; i < len; i += step)
		h = (h ^ (unsigned char)sql[i]) * 16777619u;
	return h;
}

/* What is only ever added to, of which nobody keeps what he has read. */
static const char *const records[] = {"INSERT INTO lease (", "INSERT INTO lease_grant (",
	"INSERT INTO audit (", "UPDATE audit SET at_end", "UPDATE audit_head SET ",
	"INSERT INTO journal (", "BEGIN IMMEDIATE"};

static bool changes(sqlite3_stmt *st)
{
	if (sqlite3_stmt_readonly(st))
		return false;
	for (size_t i = 0; i < CL_ARRAY_LEN(records); i++)
		if (cl_starts(sqlite3_sql(st), records[i]))
			return false;
	return true;
}

static void take(struct store *s, struct db_kept *k)
{
	k->used = true;
	s->mark.own += k->changes;
	s->taken[s->ntaken++] = (unsigned char)(k - s->kept);
}

/* Compiling costs more than most of our statements do. One that is in use is compiled again. */
int db_prepare(struct store *s, const char *sql, sqlite3_stmt **st, struct cl_err *e)
{
	struct db_kept *room = NULL;
	uint32_t h = hash(sql);

	*st = NULL;
	for (size_t i = 0; i < DB_KEPT; i++) {
		struct db_kept *k = &s->kept[(h + i) % DB_KEPT];

		if (!k->used && (!room || (room->st && !k->st)))
			room = k;
		if (k->used || !k->st || k->hash != h || strcmp(sqlite3_sql(k->st), sql) != 0)
			continue;
		*st = k->st;
		take(s, k);
		return 0;
	}
	if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, st, NULL) != SQLITE_OK)
		return db_fail(s, "prepare a statement", e);
	if (room) {
		(void)sqlite3_finalize(room->st);
		*room = (struct db_kept){.st = *st, .hash = h, .changes = changes(*st)};
		take(s, room);
	} else {
		s->mark.own += changes(*st);
	}
	return 0;
}

bool db_kept_as(struct store *s, const void *is, sqlite3_stmt **st)
{
	for (size_t i = 0; i < DB_KEPT; i++) {
		struct db_kept *k = &s->kept[i];

		if (k->is != is || k->used)
			continue;
		*st = k->st;
		take(s, k);
		return true;
	}
	return false;
}

void db_keep_as(struct store *s, const void *is, const sqlite3_stmt *st)
{
	for (size_t i = 0; i < DB_KEPT; i++)
		if (s->kept[i].st == st)
			s->kept[i].is = is;
}

static int parameter(sqlite3_stmt *st, const char *name)
{
	int i = sqlite3_bind_parameter_index(st, name);

	if (!i)
		abort();
	return i;
}

void db_text(sqlite3_stmt *st, const char *name, const char *value)
{
	if (sqlite3_bind_text(st, parameter(st, name), value, -1, SQLITE_TRANSIENT) == SQLITE_NOMEM)
		abort();
}

void db_int(sqlite3_stmt *st, const char *name, int64_t value)
{
	(void)sqlite3_bind_int64(st, parameter(st, name), value);
}

int db_step(struct store *s, sqlite3_stmt *st, bool *row, struct cl_err *e)
{
	int rc = sqlite3_step(st);

	*row = rc == SQLITE_ROW;
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return db_fail(s, sqlite3_stmt_readonly(st) ? "read" : "write", e);
	return 0;
}

int db_done(struct store *s, sqlite3_stmt *st, int64_t *changed, struct cl_err *e)
{
	bool row = true;

	while (row)
		if (db_step(s, st, &row, e))
			return -1;
	if (changed)
		*changed = sqlite3_changes64(s->db);
	return 0;
}

int db_won(struct store *s, sqlite3_stmt *st, bool *won, struct cl_err *e)
{
	int64_t changed;

	if (db_done(s, st, &changed, e))
		return -1;
	*won = changed == 1;
	return 0;
}

int db_exec(struct store *s, const char *sql, struct cl_err *e)
{
	s->mark.own++;
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(s, "run a statement", e);
	return 0;
}

int db_exec_kept(struct store *s, const char *sql, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;

	if (db_prepare(s, sql, &st, e))
		return -1;
	return sqlite3_step(st) == SQLITE_DONE ? 0 : db_fail(s, "run a statement", e);
}

int db_number(struct store *s, const char *sql, int64_t *out, struct cl_err *e)
{
	cleanup_stmt sqlite3_stmt *st = NULL;
	bool row;

	if (db_prepare(s, sql, &st, e) || db_step(s, st, &row, e))
		return -1;
	*out = row ? sqlite3_column_int64(st, 0) : 0;
	return 0;
}

const char *db_column(sqlite3_stmt *st, int n)
{
	const char *t = (const char *)sqlite3_column_text(st, n);

	return t ? t : "";
}

/* The store of a connection: what store_open has left with it, which is the one way to ask. */
static struct store *store_of(sqlite3 *db)
{
	struct store *s = sqlite3_rollback_hook(db, NULL, NULL);

	(void)sqlite3_rollback_hook(db, NULL, s);
	return s;
}

/* Who was taken last is given back first, nearly always. */
static struct db_kept *give_back(struct store *s, const sqlite3_stmt *st)
{
	for (size_t i = s->ntaken; i-- > 0;) {
		struct db_kept *k = &s->kept[s->taken[i]];

		if (k->st != st)
			continue;
		memmove(s->taken + i, s->taken + i + 1, --s->ntaken - i);
		k->used = false;
		/* It may have run since somebody took a mark. */
		s->mark.own += k->changes;
		return k;
	}
	return NULL;
}

void db_stmt_cleanup(sqlite3_stmt **st)
{
	struct store *s = *st ? store_of(sqlite3_db_handle(*st)) : NULL;

	if (s && give_back(s, *st)) {
		/* Reset, so that it holds no lock and no text of anybody. */
		(void)sqlite3_reset(*st);
		(void)sqlite3_clear_bindings(*st);
	} else {
		if (s)
			s->mark.own++;
		(void)sqlite3_finalize(*st);
	}
	*st = NULL;
}

void db_drop_kept(struct store *s)
{
	for (size_t i = 0; i < DB_KEPT; i++)
		(void)sqlite3_finalize(s->kept[i].st);
	memset(s->kept, 0, sizeof(s->kept));
	s->ntaken = 0;
}
