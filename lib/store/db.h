/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How lib/store talks to SQLite; no other folder includes this. */
#ifndef STORE_DB_H
#define STORE_DB_H

#include "base/sha256.h"
#include "store/store.h"

#include <jansson.h>
#include <sqlite3.h>

/* A statement that was compiled, for the next who asks for the same text. */
struct db_kept {
	sqlite3_stmt *st;
	uint32_t hash;  /* of its text */
	const void *is; /* whose INSERT it is (struct db_table), or NULL */
	bool used;      /* somebody has it now */
	bool changes;   /* something that a mark stands for */
};
#define DB_KEPT 64

/* Where the audit trail ends: its last row is told so once a transaction, at the end of that. */
struct db_head {
	bool known, moved;
	int64_t others; /* of store_mark, when it was read */
	int64_t was;    /* the last row in the file; 0: there is none */
	int64_t first;  /* that was added in this transaction */
	int64_t passed; /* the row that audit_head has */
	char passed_hash[CL_SHA256_HEX];
	int64_t seq; /* what the next row follows */
	char hash[CL_SHA256_HEX];
	bool cut; /* there were more rows than there are */
};

struct store {
	sqlite3 *db;
	char *path;
	unsigned depth; /* of nested transactions */
	bool poisoned;  /* one inside was rolled back */
	unsigned commits;
	bool wipes; /* what it deleted must not stay in the log either */
	struct db_head head;
	struct store_mark mark; /* the last one; `own` counts from 1 */
	bool marked;            /* in this transaction */
	struct db_kept kept[DB_KEPT];
	unsigned char taken[DB_KEPT]; /* which of them are used, the last one at the end */
	size_t ntaken;
};

/* "clop": PRAGMA application_id of a state file. */
#define DB_APPLICATION_ID 0x636c6f70

/* ---- statements ---- */

/* Fails with what SQLite says; `doing` completes "cannot ...". */
int db_fail(struct store *s, const char *doing, struct cl_err *e);
/* Compiled anew, or kept from the last time; cleanup_stmt gives it back. */
int db_prepare(struct store *s, const char *sql, sqlite3_stmt **st, struct cl_err *e);
/* The one that was kept as `is`; false: there is none, or somebody has it. */
bool db_kept_as(struct store *s, const void *is, sqlite3_stmt **st);
/* From now on *st, which was just prepared, is found so. */
void db_keep_as(struct store *s, const void *is, const sqlite3_stmt *st);
/* By name (":id"); a name that the statement does not have is a bug and aborts. */
void db_text(sqlite3_stmt *st, const char *name, const char *value); /* NULL: SQL NULL */
void db_int(sqlite3_stmt *st, const char *name, int64_t value);
/* One step: *row says whether there is a row. */
int db_step(struct store *s, sqlite3_stmt *st, bool *row, struct cl_err *e);
/* To the end, rows ignored; *changed (may be NULL) is how many rows it changed. */
int db_done(struct store *s, sqlite3_stmt *st, int64_t *changed, struct cl_err *e);
/* The same for a conditional statement of one row: *won says whether it found what it asks for. */
int db_won(struct store *s, sqlite3_stmt *st, bool *won, struct cl_err *e);
/* Statements without parameters or rows. */
int db_exec(struct store *s, const char *sql, struct cl_err *e);
/* The same for one that is run again and again: it is kept. */
int db_exec_kept(struct store *s, const char *sql, struct cl_err *e);
/* The one integer of a query, e.g. a pragma. */
int db_number(struct store *s, const char *sql, int64_t *out, struct cl_err *e);
/* Column n as text, "" for NULL; valid until the next step. */
const char *db_column(sqlite3_stmt *st, int n);

/* Before the connection is closed: nobody has a statement any more. */
void db_drop_kept(struct store *s);
void db_stmt_cleanup(sqlite3_stmt **st);
#define cleanup_stmt __attribute__((cleanup(db_stmt_cleanup)))

/* ---- rows as structs ---- */

enum db_type {
	DB_TEXT, /* char *, NULL is SQL NULL */
	DB_JSON, /* the same; a value in JSON output */
	DB_INT,  /* int64_t */
	DB_OPT,  /* int64_t, -1 is SQL NULL */
	DB_BOOL, /* bool */
	DB_TIME  /* int64_t, Unix milliseconds; RFC 3339 or null in JSON output */
};

struct db_col {
	const char *name; /* of the column and in JSON */
	enum db_type type;
	size_t offset;
	bool fixed; /* only ever written by a function of its own, never by db_update */
};

struct db_table {
	const char *name;
	const struct db_col *cols;
	size_t ncols;
	size_t size; /* of the struct */
};

int db_insert(struct store *s, const struct db_table *t, const void *row, struct cl_err *e);
/* UPDATE of the columns named (NULL-terminated) where id is `id`; CL_ENOTFOUND. */
int db_update(struct store *s, const struct db_table *t, const void *row, const char *id,
	const char *const *columns, struct cl_err *e);
/* CL_ENOTFOUND: there is no `what` of that id. */
int db_no_row(const char *what, const char *id, struct cl_err *e);
/* CL_EDATA: the text cannot be the id of a `what`, which has that prefix. */
int db_no_id(const char *what, const char *prefix, const char *text, struct cl_err *e);
/* "SELECT <columns> FROM <name>" */
void db_select(const struct db_table *t, struct cl_buf *sql);
/* The first row of "SELECT ... <tail>" with :id bound; *row is read only when *found. */
int db_find(struct store *s, const struct db_table *t, const char *tail, const char *id, void *row,
	bool *found, struct cl_err *e);
/* Reads the current row; *row must be new or released. */
void db_read(sqlite3_stmt *st, const struct db_table *t, void *row);
void db_release(const struct db_table *t, void *row);
/* *to, new or released, becomes a row of its own. */
void db_copy(const struct db_table *t, const void *from, void *to);
/* Text as JSON can show it: where it is no UTF-8, bytes beyond ASCII become "?". Owned. */
char *db_plain(const char *text);
json_t *db_json(const struct db_table *t, const void *row);

/*
 * All rows of a statement at once, so that a walk holds no read snapshot while its
 * callback writes (BEGIN IMMEDIATE on an old snapshot fails at once, without waiting).
 */
struct db_rows {
	const struct db_table *t;
	char *rows;
	size_t n, cap;
};
int db_collect(struct store *s, sqlite3_stmt *st, const struct db_table *t, struct db_rows *out,
	struct cl_err *e);
const void *db_row_at(const struct db_rows *r, size_t i);
void db_rows_release(struct db_rows *r);
#define cleanup_rows __attribute__((cleanup(db_rows_release)))

/* All rows of a statement, each handed to fn(row, arg, e) until one does not return 0: its result. */
#define DB_EACH(s, st, t, fn, arg, e)                                  \
	({                                                             \
		cleanup_rows struct db_rows rows_ = {0};               \
		int rc_ = db_collect((s), (st), (t), &rows_, (e));     \
                                                                       \
		for (size_t i_ = 0; !rc_ && i_ < rows_.n; i_++)        \
			rc_ = (fn)(db_row_at(&rows_, i_), (arg), (e)); \
		rc_;                                                   \
	})

/* ---- the audit trail: audit.c ---- */

/* Writes where it ends, where rows were added in this transaction. */
int db_write_head(struct store *s, struct cl_err *e);

/* ---- migrations: migrate.c ---- */

/* Brings the schema up to date, or refuses; `write` allows to change the file. */
int db_migrate(struct store *s, bool write, struct cl_err *e);
/* Gives the connection lease_seq(id), store_lease_seq in SQL. */
int db_lease_seq(struct store *s, struct cl_err *e);
/* The row of table lease that has the id of that name. */
#define LEASE_IS(name) "seq = lease_seq(" name ") AND id = " name
/* The same of lease l, and for a row of table token. */
#define LEASE_L_IS(name) "l.seq = lease_seq(" name ") AND l.id = " name
#define LEASE_OF_TOKEN   LEASE_L_IS("token.lease_id")
/*
 * Rows h of table lease_grant that a lease of that name has. What is no list names none, rather than
 * that everybody's statement fails.
 */
#define GRANTS_OF(lease) "json_each(iif(json_valid(" lease ".grants), " lease ".grants, '[]')) j"
#define HOLDS_OF(lease)  \
	GRANTS_OF(lease) \
	" CROSS JOIN lease_grant h ON h.grant_id = j.value AND h.lease = " lease ".seq"
/* Of a row of table lease_grant, its names after that prefix: it is of the leases l for which `which`. */
#define HOLD_IS_OF(prefix, which)      \
	"(" prefix "grant_id, " prefix \
	"lease) IN (SELECT j.value, l.seq FROM lease l, " GRANTS_OF("l") " WHERE " which ")"
/* Where live leases begin: share/schema/0019. */
#define LIVE_FROM "coalesce((SELECT seq FROM lease_floor), 0)"
/*
 * Leases are gone through in parts, in their places' order: a part begins behind :after, so that none looks
 * again at what those before it have done. LAST_PLACE: of a part of those that `which` selects.
 */
#define NEXT_LIVE         "max(:after + 1, " LIVE_FROM ")" /* of two bounds SQLite looks from one on */
#define LAST_PLACE(which) "SELECT max(seq) FROM (" which " ORDER BY 1 LIMIT :most)"
/* Runs such a statement: *to is 0 where there is none. */
int db_last_place(struct store *s, sqlite3_stmt *st, int64_t most, int64_t after, int64_t *to,
	struct cl_err *e);

#endif
