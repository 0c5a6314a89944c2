/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Taking back what is lent, from whichever process holds it: the guide's "Revoking a grant" and
 * "Revoking a lease from a running task". The store says it first, so nothing is lent again; then
 * the holders are told, and answer in the store. Needs no key.
 */
#ifndef WORK_REVOKE_H
#define WORK_REVOKE_H

#include "store/grant.h"
#include "store/lease.h"
#include "work/lease/lease.h"

#include <signal.h>

/* What became of one holder; the worst of all is that of the whole. */
enum holder_state {
	HOLDER_REVOKED,     /* it has given it up, or is gone */
	HOLDER_STAYS,       /* it answered; what is bound or passed in ends with the workload */
	HOLDER_HOLDS,       /* nobody asked it to */
	HOLDER_PENDING,     /* it was told, and has not answered */
	HOLDER_UNREACHABLE, /* nobody supervises it now; asked again at each sweep */
	HOLDER_FAILED       /* it answered with an error */
};
/* "revoked" (of what stays, too), "held", "revoke_pending", ... */
const char *holder_state_name(enum holder_state s);

struct holder {
	char *grant_id, *secret_name, *kind;
	char *lease_id, *run_id, *sandbox; /* the two may be NULL */
	char *project, *executor_id;
	int64_t how; /* enum sec_by */
	int64_t created_at, expires_at;
	enum holder_state state;
	char *error; /* of a failed one; else NULL */
	int64_t files_removed;
	bool env_stays, terminated;
};
struct holders {
	struct holder *v;
	size_t n, cap;
};
#define HOLDERS_INIT ((struct holders){0})
void holders_release(struct holders *h);
#define cleanup_holders __attribute__((cleanup(holders_release)))

/* Adds those that hold the grant, or did until it was taken back from them. */
int holders_of_grant(struct store *s, const char *grant_id, struct holders *out, struct cl_err *e);
/* Adds what a lease held. */
int holders_of_lease(struct store *s, const char *lease_id, struct holders *out, struct cl_err *e);
enum holder_state holders_worst(const struct holders *h);

/*
 * Ends the grant, once (*was_live), and asks all who hold it to give it up by `action` ("scrub" or
 * "kill", the latter also of those who were asked to scrub and have not given all up): one
 * transaction with its audit rows. Then tells them. *n leases.
 */
int revoke_grant(struct store *s, const struct store_grant *g, const struct store_end *end,
	const char *action, const char *run_base, bool *was_live, int64_t *n, struct cl_err *e);
/*
 * Ends a lease, once (*was_live), and asks its holder for all of it; *asked: also later, where one
 * that was asked to scrub and has not given all up is to be killed now.
 */
int revoke_lease(struct store *s, const struct store_lease *l, const struct lease_actor *who,
	const char *action, const char *reason, const char *run_base, bool *was_live, bool *asked,
	struct cl_err *e);
/*
 * Part of another transaction that ends a grant: asks its holders. revoke_tell afterwards, when
 * that is committed.
 */
int revoke_take(struct store *s, const char *grant_id, const struct store_lease_end *end,
	int64_t *n, struct cl_err *e);
/*
 * Tells those who are asked for something, as far as anybody listens: where each was started, and
 * below run_base those of whom the store does not say where that was.
 */
void revoke_tell(struct store *s, const char *run_base);
/*
 * Looks until no holder is pending or unreachable, at most `ms`, or until *stop is set (by a signal;
 * stop may be NULL); *out is what it is then.
 */
struct revoke_until {
	int64_t ms;
	const volatile sig_atomic_t *stop;
};
int revoke_wait(struct store *s, const char *grant_id, const char *lease_id,
	const struct revoke_until *until, struct holders *out, struct cl_err *e);
/*
 * Makes sure that somebody takes over the workloads of holders that nobody supervises; the engine is
 * found by this process's own environment.
 */
int revoke_adopt(const char *hub_dir, const struct holders *h, struct cl_err *e);
int revoke_guard(const char *hub_dir, struct cl_err *e); /* the same without asking who */

/* What one pass of the janitor over leases did. */
struct lease_sweep {
	int64_t expired, orphans, settled, pending, forgotten, tombstones;
	int64_t unreachable; /* of those that are pending */
};
/*
 * Leases that lapsed, those whose run is over, holders that were asked and are gone, and what is
 * old enough to be forgotten; then tells those who still hold something that was taken back.
 * Safe beside itself and everything else: each step is a transaction of its own.
 */
int lease_sweep(struct store *s, const struct lease_actor *who, const char *run_base,
	struct lease_sweep *out, struct cl_err *e);

#define LEASE_KEPT_MS     (30 * 24 * 3600 * 1000LL) /* an ended lease stays listed */
#define TOMBSTONE_KEPT_MS (90 * 24 * 3600 * 1000LL) /* and as long as a grant names its secret */

#endif
