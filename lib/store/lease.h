/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leases: what was lent, to which run, until when, and on which grants it stands. Each thing that
 * two processes could break is one conditional UPDATE: a lease ends once, one that lapsed or ended
 * is never renewed, and none is made of a grant that has ended. *won says whether this caller did
 * it. Times are Unix milliseconds.
 */
#ifndef STORE_LEASE_H
#define STORE_LEASE_H

#include "store/store.h"

#include <jansson.h>

struct store_lease {
	int64_t seq;            /* store_lease_seq */
	char *id;               /* lease_<24 hex>, of store_lease_new_id */
	char *run_id, *sandbox; /* or NULL */
	char *project, *executor_id;
	char *labels; /* as sec_labels_text */
	char *actor;
	int64_t created_at, expires_at, renewed_at;
	char *state; /* "live", "released", "expired", "revoked" */
	int64_t ended_at;
	char *ended_by, *reason; /* or NULL */
};
#define STORE_LEASE_INIT ((struct store_lease){0})
void store_lease_release(struct store_lease *l);
#define cleanup_lease_row __attribute__((cleanup(store_lease_release)))

/* One grant that a lease stands on. */
struct store_hold {
	char *grant_id;
	int64_t lease; /* its seq */
	int64_t how;   /* enum sec_by: how the holder has it */
	char *state;   /* "held", "taking", "taken", "failed", "superseded" */
	char *action;  /* "scrub", "kill", or NULL */
	int64_t asked_at, answered_at;
	char *result; /* JSON, or NULL */
};
#define STORE_HOLD_INIT ((struct store_hold){0})
void store_hold_release(struct store_hold *h);
#define cleanup_hold __attribute__((cleanup(store_hold_release)))

#define STORE_LEASE_ID 31 /* "lease_", 24 hex, NUL */
/*
 * Draws an id for a lease of that time. Its last 16 digits are where its row stands: leases of later
 * milliseconds stand behind those of earlier ones. Its first eight are random. CL_EOS.
 */
int store_lease_new_id(int64_t at, char out[STORE_LEASE_ID], struct cl_err *e);
/* That place; 0 of what is no whole id of a lease. In SQL: lease_seq(id), NULL then. */
int64_t store_lease_seq(const char *id);

/*
 * Inserts a live lease of a drawn id, l->seq set, and what it stands on (grant_id and how of each).
 * *won false, and nothing written, when one of the grants is revoked or has lapsed at l->created_at,
 * or when another lease has its place: draw again.
 */
int store_lease_insert(struct store *s, struct store_lease *l, const struct store_hold *holds,
	size_t n, bool *won, struct cl_err *e);
/* By id or prefix (store_id). *out is STORE_LEASE_INIT. */
int store_lease_get(struct store *s, const char *id, struct store_lease *out, struct cl_err *e);
/* Whose sandbox holds it, once. */
int store_lease_bind(
	struct store *s, const char *id, const char *sandbox, bool *won, struct cl_err *e);
/*
 * l->id lives on until l->expires_at, checked against l->labels, if it is live and has not lapsed
 * at l->renewed_at, and if the grants that it will stand on (grant_id of each) are active then.
 */
int store_lease_renew(struct store *s, const struct store_lease *l, const struct store_hold *holds,
	size_t n, bool *won, struct cl_err *e);

/* How a lease ends. */
struct store_lease_end {
	const char *state; /* "released", "expired", "revoked" */
	int64_t at;
	const char *by, *reason; /* reason may be NULL */
	const char *action;      /* what its holder is asked to do; NULL: it has given all up */
};
/* Once. What it held becomes "taking", or "taken" where there is no action. */
int store_lease_end(struct store *s, const char *id, const struct store_lease_end *end, bool *won,
	struct cl_err *e);
/*
 * Up to `most` live leases that lapsed at `at`, those behind the place *after, in the places' order:
 * "expired"; *n of them, *after is the last one's.
 */
int store_lease_expire(struct store *s, int64_t at, const char *by, int64_t most, int64_t *after,
	int64_t *n, struct cl_err *e);
/* Live leases are looked for from the first one on: share/schema/0019. */
int store_lease_raise_floor(struct store *s, struct cl_err *e);
/*
 * The same of live leases whose run or sandbox is over, though nobody released them: "released",
 * what they held is "taken".
 */
int store_lease_orphans(struct store *s, int64_t at, const char *by, int64_t most, int64_t *after,
	int64_t *n, struct cl_err *e);
/* The same of live leases from which all was taken back: "revoked". */
int store_lease_emptied(struct store *s, int64_t at, const char *by, int64_t most, int64_t *after,
	int64_t *n, struct cl_err *e);
/* Forgets up to `most` leases that ended before `before` and hold nothing any more. */
int store_lease_forget(struct store *s, int64_t before, int64_t most, int64_t *n, struct cl_err *e);

/* ---- what it stands on ---- */

/* The holds of a lease, by grant; fn as in store/run.h. */
typedef int (*store_hold_fn)(const struct store_hold *h, void *arg, struct cl_err *e);
int store_hold_each(struct store *s, int64_t lease, store_hold_fn fn, void *arg, struct cl_err *e);
/* held -> taking: its holder is to give it up by `action`. */
int store_hold_take(struct store *s, int64_t lease, const char *grant_id, const char *action,
	int64_t at, bool *won, struct cl_err *e);
/*
 * taking of all live leases that hold the grant, *n of them. A lease that holds nothing else is
 * over; it becomes "revoked" at once where they are few, else by store_lease_emptied.
 */
int store_grant_take(struct store *s, const char *grant_id, const struct store_lease_end *end,
	int64_t *n, struct cl_err *e);
/*
 * taking with "kill" of what is "taking" by scrub, of the grant or of the lease (ids, one of them NULL),
 * and of what a live workload has given up before; *n.
 */
int store_hold_kill(struct store *s, const char *grant_id, const char *lease_id, int64_t at,
	int64_t *n, struct cl_err *e);
/* Ids of up to `most` expired leases of which a live workload holds something that nobody asked back. */
int store_lease_lapsed(struct store *s, int64_t most, struct cl_strv *ids, struct cl_err *e);
/* taking of all that the lease holds, with "scrub"; *n holds. */
int store_lease_ask(struct store *s, const char *id, int64_t at, int64_t *n, struct cl_err *e);
/* Live leases that hold the grant stand on its successor from now on; *n of them. */
int store_grant_succeed(
	struct store *s, const char *grant_id, const char *successor, int64_t *n, struct cl_err *e);
/*
 * What the holder did: "taken" or "failed" of a hold that is "taking" (a failed one may still
 * become taken), or "taking" where that has to last until its workload ends. result is JSON, or
 * NULL.
 */
int store_hold_answer(struct store *s, int64_t lease, const char *grant_id, const char *state,
	const char *result, int64_t at, bool *won, struct cl_err *e);

/* The live sandboxes of which something is "taking", up to `most`; fn as in store/run.h. */
typedef int (*store_asked_fn)(const char *sandbox, void *arg, struct cl_err *e);
int store_asked_each(struct store *s, int64_t most, store_asked_fn fn, void *arg, struct cl_err *e);

/* ---- lists ---- */

/* One grant in one lease, for those who ask who has what. */
struct store_holder {
	char *grant_id, *secret_name, *kind;
	char *lease_id, *run_id, *sandbox; /* the two may be NULL */
	char *project, *executor_id;
	char *lease_state;
	int64_t lease; /* its seq */
	int64_t created_at, expires_at;
	int64_t how;
	char *state, *action, *result; /* of the hold */
	int64_t asked_at, answered_at;
	char *run_state;    /* NULL: no such run */
	char *handle_state; /* NULL: no such sandbox */
};
/*
 * The holds of a grant (of live leases, and whatever is not "held" any more), or of a lease, or all
 * that are "taking": exactly one of them. The newest lease first; fn as in store/run.h.
 */
struct store_holder_filter {
	const char *grant_id, *lease_id;
	bool taking;
	int64_t limit; /* 0: all */
};
typedef int (*store_holder_fn)(const struct store_holder *h, void *arg, struct cl_err *e);
int store_holder_each(struct store *s, const struct store_holder_filter *f, store_holder_fn fn,
	void *arg, struct cl_err *e);

struct store_lease_filter {
	const char *run_id, *sandbox, *grant_id; /* NULL: any */
	bool ended_too;
	bool tokens_too; /* also those that are over and have a token that GitHub did not destroy */
	int64_t limit;   /* 0: all; else the newest */
};
/* The newest first; fn as in store/run.h. */
typedef int (*store_lease_fn)(const struct store_lease *l, void *arg, struct cl_err *e);
int store_lease_each(struct store *s, const struct store_lease_filter *f, store_lease_fn fn,
	void *arg, struct cl_err *e);
json_t *store_lease_json(const struct store_lease *l);

#endif
