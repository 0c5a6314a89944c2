/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Key-encryption keys, the history of their rotations, and rows that are sealed under them.
 * The store holds no key: what it has of one is a salt and a check value.
 */
#ifndef STORE_KEY_H
#define STORE_KEY_H

#include "store/store.h"

#include <jansson.h>

struct store_key {
	char *id;           /* kek_<24 hex> */
	char *state;        /* "primary", "active", "retired" */
	char *method;       /* "hkdf", "scrypt" */
	char *salt, *proof; /* hex */
	int64_t created_at;
	char *created_by;
	int64_t retired_at;
};
#define STORE_KEY_INIT ((struct store_key){0})
void store_key_release(struct store_key *k);
#define cleanup_key_row __attribute__((cleanup(store_key_release)))

/* All keys, the oldest first; fn as in store/run.h. */
typedef int (*store_key_fn)(const struct store_key *k, void *arg, struct cl_err *e);
int store_key_each(struct store *s, store_key_fn fn, void *arg, struct cl_err *e);
/* The exact id; *found false and 0 when there is none. */
int store_key_get(
	struct store *s, const char *id, struct store_key *out, bool *found, struct cl_err *e);
/* The primary's id, owned; NULL when there is none. */
int store_key_primary(struct store *s, char **id, struct cl_err *e);
/*
 * Inserts k as the primary, and what was the primary becomes active: one transaction. *won
 * false, and nothing done, unless the primary until then was `was` ("": there was none).
 */
int store_key_add(
	struct store *s, const struct store_key *k, const char *was, bool *won, struct cl_err *e);
/* active -> primary when there is no primary. */
int store_key_promote(struct store *s, const char *id, bool *won, struct cl_err *e);
/* active -> retired, its salt gone, if nothing is sealed under it any more. */
int store_key_retire(struct store *s, const char *id, int64_t at, bool *won, struct cl_err *e);
/* Rows of all sets that are sealed under it. */
int store_key_uses(struct store *s, const char *id, int64_t *n, struct cl_err *e);

/* ---- sealed rows ---- */

/* A set is a table with the columns id, key_id, wrapped and sealed. Its name is also what the
 * row's envelope is bound to. */
enum store_set { STORE_SECRETS, STORE_SIGNING, STORE_TOKENS, STORE_NSETS };
const char *store_set_name(enum store_set s);  /* "secrets", "signing", "tokens" */
const char *store_set_table(enum store_set s); /* in the state file */

struct store_sealed {
	char *id, *key_id;
	char *wrapped, *sealed; /* hex and base64 */
};
void store_sealed_release(struct store_sealed *r);
#define cleanup_sealed_row __attribute__((cleanup(store_sealed_release)))

/* Up to n rows of the set that are not under `target`, by id from beyond `after`, without
 * their payloads. */
typedef int (*store_sealed_fn)(const struct store_sealed *r, void *arg, struct cl_err *e);
int store_sealed_each(struct store *s, enum store_set set, const char *target, const char *after,
	int64_t n, store_sealed_fn fn, void *arg, struct cl_err *e);
/*
 * Puts the row under another key: only if it is exactly as `was` says and key_id is still the
 * primary, as one conditional UPDATE. *won: this caller did it.
 */
int store_sealed_swap(struct store *s, enum store_set set, const struct store_sealed *was,
	const char *key_id, const char *wrapped, bool *won, struct cl_err *e);
/* Rows of the set, and those of them not under `target`. */
int store_sealed_count(struct store *s, enum store_set set, const char *target, int64_t *all,
	int64_t *other, struct cl_err *e);

/* ---- rotations ---- */

struct store_rotation {
	char *id;     /* rot_<24 hex> */
	char *target; /* the key that rows go to */
	char *state;  /* "running", "completed", "interrupted", "failed" */
	int64_t rewrapped, skipped, failed;
	int64_t started_at, ended_at;
	char *actor;
	char *error; /* or NULL */
};
void store_rotation_release(struct store_rotation *r);
#define cleanup_rotation __attribute__((cleanup(store_rotation_release)))

int store_rotation_insert(struct store *s, const struct store_rotation *r, struct cl_err *e);
/* Those that still say "running" were killed, or are about to see that another took over. */
int store_rotation_supersede(struct store *s, int64_t at, struct cl_err *e);
/* Writes its state, counters, end and error. */
int store_rotation_set(struct store *s, const struct store_rotation *r, struct cl_err *e);
/* The newest first, `limit` at most. */
typedef int (*store_rotation_fn)(const struct store_rotation *r, void *arg, struct cl_err *e);
int store_rotation_each(
	struct store *s, int64_t limit, store_rotation_fn fn, void *arg, struct cl_err *e);
json_t *store_rotation_json(const struct store_rotation *r);

/* ---- the key that signs ---- */

struct store_signing {
	char *id;     /* sign_<24 hex> */
	char *public; /* hex */
	char *key_id, *wrapped, *sealed;
	int64_t created_at;
	char *created_by;
};
void store_signing_release(struct store_signing *k);
#define cleanup_signing_row __attribute__((cleanup(store_signing_release)))

/* The only one; *found false when there is none yet. */
int store_signing_get(struct store *s, struct store_signing *out, bool *found, struct cl_err *e);
/* *won false, and nothing done, when there is one, or when key_id is not the primary. */
int store_signing_add(struct store *s, const struct store_signing *k, bool *won, struct cl_err *e);

#endif
