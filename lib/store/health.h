/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How executors are (policy/place/health.h), and how much they have to do. Whoever changes a row names
 * the version that the change was made from: of two, one is told to look again.
 */
#ifndef STORE_HEALTH_H
#define STORE_HEALTH_H

#include "store/store.h"

#include <jansson.h>

struct store_health {
	char *executor_id;
	char *state; /* pl_health_name */
	char *reason;
	int64_t failures;
	int64_t last_seen, last_probe, next_probe, changed_at; /* Unix milliseconds, 0: never */
	char *changed_by;
	int64_t version; /* 0: there is no row yet */
};
#define STORE_HEALTH_INIT ((struct store_health){0})
void store_health_release(struct store_health *h);
#define cleanup_health __attribute__((cleanup(store_health_release)))

/* *found false, and version 0, for one that nobody has probed or held. */
int store_health_get(struct store *s, const char *executor, struct store_health *out, bool *found,
	struct cl_err *e);
/*
 * Writes the row if it is still of h->version (0: if there is none), and gives it the next one.
 * *won: this caller did it.
 */
int store_health_put(struct store *s, const struct store_health *h, bool *won, struct cl_err *e);
/*
 * Takes the right to probe an executor until `until`: only if the row is still of that version
 * and, with `due`, its next probe is due at `now`. *won as above.
 */
int store_health_claim(struct store *s, const char *executor, int64_t version, bool due,
	int64_t now, int64_t until, bool *won, struct cl_err *e);
/* By id; fn as in store/run.h. */
typedef int (*store_health_fn)(const struct store_health *h, void *arg, struct cl_err *e);
int store_health_each(struct store *s, store_health_fn fn, void *arg, struct cl_err *e);
json_t *store_health_json(const struct store_health *h);

/*
 * Workloads that are live, and runs that are about to be: a run that says it is starting counts
 * for STORE_STARTING_MS, then only with a workload, so that a row that was left behind keeps
 * nobody waiting. fn once for each of them.
 */
#define STORE_STARTING_MS (5 * 60 * 1000LL)
typedef int (*store_load_fn)(const char *executor, void *arg, struct cl_err *e);
int store_load_each(struct store *s, int64_t now, store_load_fn fn, void *arg, struct cl_err *e);
/* How many there are on one executor. */
int store_load(struct store *s, const char *executor, int64_t now, int64_t *n, struct cl_err *e);

#endif
