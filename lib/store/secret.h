/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets at rest: what the state file knows of them, sealed payload included. */
#ifndef STORE_SECRET_H
#define STORE_SECRET_H

#include "store/key.h"
#include "store/store.h"

#include <jansson.h>

struct store_secret {
	char *id;   /* sec_<24 hex> */
	char *kind; /* "github_pat" */
	char *name;
	char *key_id, *wrapped, *sealed; /* as in store/key.h; never in JSON */
	char *metadata;                  /* JSON object of strings */
	char *owner;                     /* "" for a shared one */
	int64_t created_at;
	char *created_by;
};
#define STORE_SECRET_INIT ((struct store_secret){0})
void store_secret_release(struct store_secret *r);
#define cleanup_secret_row __attribute__((cleanup(store_secret_release)))

/*
 * Inserts r if its key is still the primary and its name is free, as one transaction.
 * STORE_TAKEN: there is a secret of that name; STORE_MOVED: seal it again, under the primary
 * of now.
 */
enum store_put { STORE_PUT, STORE_TAKEN, STORE_MOVED };
int store_secret_insert(
	struct store *s, const struct store_secret *r, enum store_put *how, struct cl_err *e);
/*
 * By exact id, then by exact name. *found false and 0 when there is neither: what was typed may
 * be a pasted token, so saying it again is the caller's decision.
 */
int store_secret_find(
	struct store *s, const char *ref, struct store_secret *out, bool *found, struct cl_err *e);
/* All of them by name; fn as in store/run.h. */
typedef int (*store_secret_fn)(const struct store_secret *r, void *arg, struct cl_err *e);
int store_secret_each(struct store *s, store_secret_fn fn, void *arg, struct cl_err *e);
/* The row without its three sealed columns. */
json_t *store_secret_json(const struct store_secret *r);

/* What stays of a secret that was deleted. */
struct store_tombstone {
	char *secret_id, *name, *kind, *owner;
	int64_t deleted_at;
	char *deleted_by;
	char *cause; /* "deleted", "offboarded" */
	char *reason;
};
void store_tombstone_release(struct store_tombstone *t);
#define cleanup_tombstone __attribute__((cleanup(store_tombstone_release)))

/* What this connection deletes from now on is overwritten, not only forgotten. */
int store_secret_wipe(struct store *s, struct cl_err *e);
/*
 * Deletes the secret with that id and inserts its tombstone: one transaction. *won false when
 * it is gone already.
 */
int store_secret_delete(
	struct store *s, const struct store_tombstone *t, bool *won, struct cl_err *e);
/* Forgets tombstones from before `before` that no grant names which has not lapsed at `at`; *n. */
int store_tombstone_forget(
	struct store *s, int64_t before, int64_t at, int64_t *n, struct cl_err *e);
/* The newest tombstone of that secret id, or else of that name. */
int store_tombstone_find(struct store *s, const char *ref, struct store_tombstone *out, bool *found,
	struct cl_err *e);

#endif
