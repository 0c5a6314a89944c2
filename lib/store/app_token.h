/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Installation tokens that leases have out: what is known of them, which is not the token. */
#ifndef STORE_APP_TOKEN_H
#define STORE_APP_TOKEN_H

#include "store/store.h"

struct store_app_token {
	int64_t lease; /* its seq */
	char *grant_id, *secret_id, *secret_name;
	char *file;     /* where its holder has it, in the lease's directory */
	char *base_url; /* of the API that gave it */
	char *scope;    /* JSON */
	char *sum;      /* SHA-256 of the token, lower-case hex */
	int64_t expires_at;
	bool spare; /* the one that it replaced is still to be destroyed */
};
#define STORE_APP_TOKEN_INIT ((struct store_app_token){0})
void store_app_token_release(struct store_app_token *t);
#define cleanup_app_token_row __attribute__((cleanup(store_app_token_release)))

/* Owned. */
struct store_app_token store_app_token_copy(const struct store_app_token *t);

/* Adds it, or puts it in the place of that grant's. */
int store_app_token_put(struct store *s, const struct store_app_token *t, struct cl_err *e);
/* Forgets it; none is fine. */
int store_app_token_drop(struct store *s, int64_t lease, const char *grant_id, struct cl_err *e);
/* Those of a lease, by grant; fn as in store/run.h. */
typedef int (*store_app_token_fn)(const struct store_app_token *t, void *arg, struct cl_err *e);
int store_app_token_each(
	struct store *s, const char *lease_id, store_app_token_fn fn, void *arg, struct cl_err *e);

/*
 * Leases that are over and still have tokens out: their ids, and whose sandbox held them, NULL for
 * nobody's; fn as in store/run.h.
 */
typedef int (*store_app_token_lease_fn)(
	const char *lease_id, const char *sandbox, void *arg, struct cl_err *e);
int store_app_token_over(struct store *s, store_app_token_lease_fn fn, void *arg, struct cl_err *e);

#endif
