/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The audit trail (DECISIONS K7): one hash chain a state file. The hash of a row is the
 * lower-case hex SHA-256 of the previous row's hash ("" for the first), a newline, and
 * the row's canonical JSON: an object, keys sorted, no blanks, of action, actor, at,
 * detail (the JSON text as a string), entity, entity_id, project and seq. The last row
 * says that it is the last (at_end, which is not hashed), and audit_head names a row that
 * the chain has passed, so a tail that was cut off is missed too, and still is when the
 * chain goes on. Somebody who can write the file can make a whole new chain: keep the head
 * that `audit verify` prints somewhere else and compare.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include "store/store.h"

#include <jansson.h>

struct store_audit {
	int64_t seq; /* 1, 2, 3, ... */
	int64_t at;  /* Unix milliseconds */
	char *actor; /* "uid:0" */
	char *action;
	char *entity, *entity_id, *project;
	char *detail; /* JSON object */
	char *prev, *hash;
	bool at_end; /* while it is written: see above */
};

/*
 * Appends one row, inside the caller's transaction where there is one: what changed and
 * the row that says so are then one. action is "noun.verb" ("run.start"). NULL
 * texts are ""; detail may be NULL ({}), is borrowed, and never holds a secret: from its reason
 * and its error, which others may have worded, what looks like a credential is taken out.
 */
struct store_audit_row {
	const char *actor, *action, *entity, *entity_id, *project;
	const json_t *detail;
};
int store_audit_add(
	struct store *s, int64_t at, const struct store_audit_row *row, struct cl_err *e);
/*
 * The same, by who has the detail's text, as cl_json_text writes it, and has looked through its
 * reason: row->detail is not looked at.
 */
int store_audit_add_text(struct store *s, int64_t at, const struct store_audit_row *row,
	const char *detail, struct cl_err *e);

struct store_audit_filter {
	const char *action; /* exact, or a prefix that ends in "." or "*"; NULL: any */
	const char *entity_id, *project, *actor;
	const char *secret,
		*grant_id; /* that the row is about: a secret's name or id, a grant's id */
	int64_t since;     /* at or after */
	int64_t limit;     /* 0: all; otherwise the newest */
};
/* The newest first; fn as in store/run.h. */
typedef int (*store_audit_fn)(const struct store_audit *a, void *arg, struct cl_err *e);
int store_audit_each(struct store *s, const struct store_audit_filter *f, store_audit_fn fn,
	void *arg, struct cl_err *e);
json_t *store_audit_json(const struct store_audit *a);

struct store_chain {
	int64_t rows;     /* that were walked and hold */
	int64_t head_seq; /* where the chain ends; of a broken one, what it goes on from */
	char head[65];
	bool broken;
	int64_t bad_seq; /* the first row that does not hold (the missing one, where one is) */
	char why[240];
};
/*
 * Walks the chain in one read transaction. 0 also when it is broken: see `broken`.
 * `expect_seq` > 0: the row with that number must carry expect_hash (a head that
 * somebody noted earlier).
 */
int store_audit_verify(struct store *s, int64_t expect_seq, const char *expect_hash,
	struct store_chain *out, struct cl_err *e);

#endif
