/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Isolation evidence, a row an executor and runtime (share/schema, policy/place/isolation.h). */
#ifndef STORE_ISOLATION_H
#define STORE_ISOLATION_H

#include "store/store.h"

#include <jansson.h>

struct store_isolation {
	char *executor_id, *runtime;
	char *verdict, *standing, *reason;
	char *evidence, *reference; /* JSON, or NULL */
	char *engine_release, *runtime_path, *identity;
	int64_t taken_at, attempted_at; /* when each began, Unix milliseconds; taken_at 0: never */
	char *failure;                  /* NULL: the last attempt told something */
};
#define STORE_ISOLATION_INIT ((struct store_isolation){.executor_id = NULL})
void store_isolation_release(struct store_isolation *r);
#define cleanup_isolation __attribute__((cleanup(store_isolation_release)))

/* *out is STORE_ISOLATION_INIT and is read only when *found. */
int store_isolation_get(struct store *s, const char *executor_id, const char *runtime,
	struct store_isolation *out, bool *found, struct cl_err *e);
/*
 * Writes the row in place of what stands there, unless that is of an attempt that was begun
 * later: of two probes beside each other the one that began last counts, whichever ends last.
 * One that lies after `horizon` (Unix milliseconds) is of a clock that has jumped, and counts for
 * nothing. *won false: the other stays.
 */
int store_isolation_put(struct store *s, const struct store_isolation *r, int64_t horizon,
	bool *won, struct cl_err *e);
/* Every row, by executor and runtime; fn as in store/run.h. */
typedef int (*store_isolation_fn)(const struct store_isolation *r, void *arg, struct cl_err *e);
int store_isolation_each(struct store *s, store_isolation_fn fn, void *arg, struct cl_err *e);
/* {executor_id, runtime, verdict, standing, reason, ..., taken_at, attempted_at, failure}. */
json_t *store_isolation_json(const struct store_isolation *r);

#endif
