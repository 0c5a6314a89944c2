/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every installation token that GitHub gave and has not been seen to end: sealed, and whom it is for.
 * What one lease has out now, and how wide, is store/app_token.h's.
 */
#ifndef STORE_TOKEN_H
#define STORE_TOKEN_H

#include "store/store.h"

struct store_token {
	char *id;                        /* tok_<24 hex> */
	char *key_id, *wrapped, *sealed; /* as in store/key.h: a row of STORE_TOKENS */
	char *sum;                       /* SHA-256 of the token, lower-case hex */
	char *lease_id;                  /* NULL: no lease was written with it yet */
	char *grant_id, *secret_id, *secret_name;
	int64_t created_at, expires_at;
	char *ends; /* why it is to be destroyed; NULL: it is in use */
	int64_t tries, tried_at;
	int64_t late; /* how many of the tries were after its end */
	char *error;  /* of the last try; NULL: it did not fail yet */
	/* Where it is destroyed, and what vouches for that (seal/token.h); NULL: nothing does. */
	char *base_url, *signature;
};
#define STORE_TOKEN_INIT ((struct store_token){0})
void store_token_release(struct store_token *t);
#define cleanup_token_row __attribute__((cleanup(store_token_release)))

/* *won false, and nothing done, when key_id is no longer the primary. */
int store_token_add(struct store *s, const struct store_token *t, bool *won, struct cl_err *e);
/* A lease stands on it by that grant, as part of the transaction that writes the lease. */
int store_token_lend(struct store *s, const char *sum, const char *lease_id, const char *grant_id,
	struct cl_err *e);

/* Which ones; what is NULL does not narrow. */
struct store_token_filter {
	const char *id, *sum, *lease_id, *grant_id, *secret_id;
	/*
	 * Unix milliseconds: only those that are to be destroyed, or have ended by themselves, by
	 * then. 0: also those in use.
	 */
	int64_t due;
};
/* How long a token may be without a lease: who asked for it is about to write one. */
#define STORE_TOKEN_ALONE_MS 180000

/* By id; fn as in store/run.h. */
typedef int (*store_token_fn)(const struct store_token *t, void *arg, struct cl_err *e);
int store_token_each(struct store *s, const struct store_token_filter *f, store_token_fn fn,
	void *arg, struct cl_err *e);
int store_token_count(
	struct store *s, const struct store_token_filter *f, int64_t *n, struct cl_err *e);
/* They are to be destroyed, with the first reason that was given. Not by `due`. */
int store_token_end(
	struct store *s, const struct store_token_filter *f, const char *reason, struct cl_err *e);
/*
 * One process at a time asks GitHub: *won says that it is the caller's turn, which it is when nobody
 * had one within the last `apart` milliseconds. It counts as a try.
 */
int store_token_try(
	struct store *s, const char *id, int64_t now, int64_t apart, bool *won, struct cl_err *e);
/* What the last try said; it stays. */
int store_token_failed(struct store *s, const char *id, const char *error, struct cl_err *e);
/* It is over: nothing of it is left, also not in the lease that had it. *won: this caller did it. */
int store_token_forget(struct store *s, const struct store_token *t, bool *won, struct cl_err *e);

#endif
