/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tokens of GitHub Apps in a lease's life: asked for when it is taken, replaced before they end
 * when it is renewed, destroyed when it or a grant of it ends. Their holder has them in the files of
 * the lease (work/lease/delivery.h), where whoever renews one reads it and knows it by its sum; the hub has
 * them sealed, so that they can be destroyed whatever becomes of the holder (work/token.h). For the
 * files of lib/work that take and renew leases, and for who supervises a run.
 */
#ifndef WORK_APP_TOKEN_H
#define WORK_APP_TOKEN_H

#include "store/app_token.h"
#include "work/lease/lease.h"
#include "work/lease/lease_ask.h"
#include "work/rundir.h"

/* What a lease that is renewed has out. */
struct app_slot {
	struct store_app_token row;
	char *is;                      /* the grant that its grant is now; NULL: not looked up */
	struct seal_buf token, before; /* as the holder has them; empty: it has none */
};
struct app_slots {
	struct app_slot *v;
	size_t n, cap;
};
#define APP_SLOTS_INIT ((struct app_slots){0})
void app_slots_release(struct app_slots *s);
#define cleanup_app_slots __attribute__((cleanup(app_slots_release)))

/* What the store knows of a lease's tokens, without the tokens. */
int app_slots_find(struct store *s, const char *lease_id, struct app_slots *out, struct cl_err *e);
/* Takes the tokens out of the holder's files, as far as they are there and the same. */
void app_slots_read(struct app_slots *s, const struct rundir *rd);
/* Takes those that are not there out of a lease that was not delivered. */
void app_slots_fill(struct app_slots *s, const struct lease *l);

/* ---- for who takes and renews: see lease_case in work/lease/lease.h ---- */

/*
 * The token that a grant delivers now: the one that its holder has, while that outlives the lease,
 * else a new one. Fills a->app; a->app_new says that it is one. -1: the grant is refused with *e.
 */
int app_token_offer(struct lease_case *c, struct lease_aimed *a, struct cl_err *e);
/* Those that were asked for and are not delivered are destroyed: all, or those of refused grants. */
void app_token_undo(const struct lease_case *c, bool all, const char *reason);
/* Writes what is out now, in the transaction that writes the lease. */
int app_token_write(
	const struct lease_case *c, int64_t lease, const char *lease_id, struct cl_err *e);
/* Once that is committed: destroys what the lease that was renewed has no more. */
void app_token_settle(struct lease_case *c, const char *lease_id);

/* ---- for who supervises a run, or clears up after it ---- */

/* app_slots_find, app_slots_read and, unless l is NULL, app_slots_fill: best effort, before a wipe. */
void app_slots_take(struct store *s, const char *lease_id, const struct rundir *rd,
	const struct lease *l, struct app_slots *out);

/*
 * Destroys each token by a child of cloop-secret, with an audit row. Best effort: *failed counts those
 * that GitHub did not destroy, which stay queued (work/token.h).
 */
void app_slots_end(const struct lease_ask *ask, const char *lease_id, const struct app_slots *s,
	const char *reason, size_t *failed);
/*
 * What that child does with whatever GitHub gave for a grant of a lease, also what its holder never
 * got. The two texts are what the holder has, either of which may be empty; they are all there is of
 * tokens that were asked for before the hub kept them. The lease has none afterwards; -1 where GitHub
 * did not destroy one, which stays queued.
 */
int app_token_end(struct keyed *k, const char *lease_id, const char *grant_id,
	struct lease_text token, struct lease_text before, const char *reason, struct cl_err *e);

#endif
