/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Grants. The row is immutable but for its end: revoking is one conditional UPDATE, and an
 * edit inserts a successor and retires the old row in one transaction.
 */
#ifndef STORE_GRANT_H
#define STORE_GRANT_H

#include "store/store.h"

#include <jansson.h>

struct store_grant {
	char *id; /* grant_<24 hex> */
	char *secret_id, *secret_name, *kind;
	char *scope;       /* "" for none */
	char *subject;     /* as sec_subject_text */
	char *constraints; /* as sec_constraints_canonical */
	int64_t expires_at, created_at;
	char *created_by, *owner;
	char *signature; /* hex */
	int64_t revoked_at;
	char *revoked_by;
	char *revoked_cause; /* NULL: by hand; "superseded", "secret_deleted", "owner_offboarded" */
	char *superseded_by;
	char *unguarded; /* JSON, or NULL */
};
#define STORE_GRANT_INIT ((struct store_grant){0})
void store_grant_release(struct store_grant *g);
/* *to, new or released, becomes a row of its own. */
void store_grant_copy(const struct store_grant *from, struct store_grant *to);
#define cleanup_grant_row __attribute__((cleanup(store_grant_release)))

/*
 * Inserts g if its secret is there and still of that kind and name. *won false: it is not.
 */
int store_grant_insert(struct store *s, const struct store_grant *g, bool *won, struct cl_err *e);
/* By id or prefix (store_id). *out is STORE_GRANT_INIT. */
int store_grant_get(struct store *s, const char *id, struct store_grant *out, struct cl_err *e);

/* How a grant ends. */
struct store_end {
	int64_t at;
	const char *by, *cause, *successor; /* cause and successor may be NULL */
	const char *reason;                 /* for the audit trail; may be NULL */
};
/* Once: *won false when it is revoked already. */
int store_grant_revoke(
	struct store *s, const char *id, const struct store_end *end, bool *won, struct cl_err *e);
/*
 * All live grants of a secret; those that had lapsed by then get no cause, since nothing of
 * theirs was taken. *n of them.
 */
int store_grant_revoke_secret(struct store *s, const char *secret_id, const struct store_end *end,
	int64_t *n, struct cl_err *e);
/* Sets or (NULL) clears the acknowledgement of a grant that is not revoked. */
int store_grant_unguarded(
	struct store *s, const char *id, const char *json, bool *won, struct cl_err *e);

struct store_grant_filter {
	const char *subject, *secret_id; /* NULL: any */
	int64_t active_at;               /* not 0: neither revoked nor lapsed then */
	bool lost_too; /* with active_at: also those that went with their secret or its owner */
};
/* The newest first; fn as in store/run.h. */
typedef int (*store_grant_fn)(const struct store_grant *g, void *arg, struct cl_err *e);
int store_grant_each(struct store *s, const struct store_grant_filter *f, store_grant_fn fn,
	void *arg, struct cl_err *e);
/* The row without its signature. */
json_t *store_grant_json(const struct store_grant *g);

#endif
