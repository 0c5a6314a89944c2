/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hub's state: one SQLite file (".cloop/state.db") that many processes use at once.
 * STYLE.md 14: WAL, 5 s busy timeout, foreign keys, STRICT tables, defensive, no trusted
 * schema, no double-quoted strings. Whoever opens it for writing brings an older file
 * up to date first, in one transaction: one file serves every command, so there is no
 * single process that could be asked to do it. A newer file, or one whose migrations
 * are not ours, is refused with CL_ECONFIG (78).
 *
 * No function here reads the clock: times are arguments, Unix milliseconds.
 * All fail with CL_EBUSY (the lock was not free within 5 s), CL_EOS (the disk), CL_EDENIED
 * (no permission), CL_ECONFIG (not a state file of cloop's, damaged or newer).
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

enum store_mode {
	STORE_RO,    /* read; the file must be there and be of this schema */
	STORE_RW,    /* read and write; the file must be there (CL_ECONFIG), migrated if older */
	STORE_CREATE /* as RW, made with mode 0600 when absent; what bootstrap uses */
};

/*
 * Opens `path`, which must not lead through a symbolic link (hub_find resolves the
 * hub's directory). A store belongs to one process and one thread: open it again after
 * fork. *out is closed by store_close, which takes NULL.
 */
int store_open(const char *path, enum store_mode mode, struct store **out, struct cl_err *e);
void store_close(struct store *s);
void store_cleanup(struct store **s);
#define cleanup_store __attribute__((cleanup(store_cleanup)))

/*
 * A transaction (BEGIN IMMEDIATE): several functions of lib/store as one. It is rolled
 * back at the end of its scope unless committed. They nest: only the outermost writes,
 * and one that was rolled back inside makes the outermost fail. Keep it short; never
 * across a fork, a child or the network.
 *
 *	cleanup_txn struct store_txn t = {0};
 *	if (store_begin(s, &t, e) || ... || store_commit(&t, e)) return -1;
 */
struct store_txn {
	struct store *s; /* NULL: not open */
};
int store_begin(struct store *s, struct store_txn *t, struct cl_err *e);
int store_commit(struct store_txn *t, struct cl_err *e);
void store_rollback(struct store_txn *t);
#define cleanup_txn __attribute__((cleanup(store_rollback)))

/*
 * What the state file says of who wrote to it. Two that are the same mean that all that can be read
 * is what it was, but for leases, the journal and the audit trail. Take it before reading what is
 * to be kept; a transaction asks the file once.
 */
struct store_mark {
	int64_t others; /* by other connections */
	uint64_t own;   /* by this one, what it rolled back too; 0 in no mark that was taken */
};
int store_mark(struct store *s, struct store_mark *out, struct cl_err *e);
bool store_mark_same(const struct store_mark *a, const struct store_mark *b);

/* PRAGMA integrity_check and foreign_key_check: a line for every flaw is added to out. */
int store_check(struct store *s, struct cl_strv *out, struct cl_err *e);

/*
 * Completes an id (DECISIONS D5): the whole of it, or an unambiguous prefix with at least
 * 6 characters after `prefix` ("run_" or "c-"), which may itself be left out. `what` is
 * the kind for messages ("run"), `table` the table with the column id. Owned in *out.
 * CL_EDATA for text that is no such prefix, or for an ambiguous one (the message lists
 * candidates); CL_ENOTFOUND.
 */
int store_id(struct store *s, const char *table, const char *what, const char *prefix,
	const char *text, char **out, struct cl_err *e);

#endif
