/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The janitor's part in leases. */
#include "work/lease/revoke_internal.h"

#include "base/mem.h"
#include "store/audit.h"
#include "store/secret.h"

#include <string.h>

/* Rows a transaction: others who write wait for one, not for all. */
#define BATCH 20000

/* Calls step until it finds nothing more, each time behind where it came to. */
static int all_of(struct store *s, int64_t at, const char *by,
	int (*step)(struct store *s, int64_t at, const char *by, int64_t most, int64_t *after,
		int64_t *n, struct cl_err *e),
	int64_t *total, struct cl_err *e)
{
	int64_t after = INT64_MIN, n;

	do {
		if (step(s, at, by, BATCH, &after, &n, e))
			return -1;
		*total += n;
	} while (n == BATCH);
	return 0;
}

static int forget(struct store *s, int64_t before, const char *by, int64_t most, int64_t *after,
	int64_t *n, struct cl_err *e)
{
	(void)by;
	(void)after;
	return store_lease_forget(s, before, most, n, e);
}

struct settling {
	struct store *s;
	const struct lease_actor *who;
	struct lease_sweep *out;
};

/* A holder that was asked and is over has nothing left to give up. */
static int settle(const struct store_holder *h, void *arg, struct cl_err *e)
{
	struct settling *t = arg;
	const struct lease_answer gone = {.terminated = true};
	enum holder_state state = holder_judge(t->s, h, t->who->now);

	if (state != HOLDER_REVOKED) {
		t->out->pending++;
		t->out->unreachable += state == HOLDER_UNREACHABLE;
		return 0;
	}
	t->out->settled++;
	return lease_answer(t->s, t->who, h->lease_id, h->grant_id, &gone, e);
}

static int audit(struct store *s, const struct lease_actor *who, const struct lease_sweep *d,
	struct cl_err *e)
{
	json_t *detail = json_pack("{s:s, s:I, s:I, s:I, s:I}", "decision", "allow", "expired",
		(json_int_t)d->expired, "orphans", (json_int_t)d->orphans, "settled",
		(json_int_t)d->settled, "forgotten", (json_int_t)(d->forgotten + d->tombstones));
	const struct store_audit_row row = {.actor = who->name,
		.action = "secret.lease.sweep",
		.entity = "lease",
		.detail = detail};
	int rc = 0;

	if (d->expired || d->orphans || d->settled || d->forgotten || d->tombstones)
		rc = store_audit_add(s, who->now, &row, e);
	json_decref(detail);
	return rc;
}

int lease_sweep(struct store *s, const struct lease_actor *who, const char *run_base,
	struct lease_sweep *out, struct cl_err *e)
{
	const struct store_holder_filter taking = {.taking = true};
	struct settling t = {s, who, out};

	*out = (struct lease_sweep){0};
	if (all_of(s, who->now, who->name, store_lease_expire, &out->expired, e) ||
		store_lease_raise_floor(s, e) ||
		all_of(s, who->now, who->name, store_lease_orphans, &out->orphans, e) ||
		all_of(s, who->now, who->name, store_lease_emptied, &out->settled, e) ||
		revoke_lapsed(s, who, e) || store_holder_each(s, &taking, settle, &t, e) ||
		all_of(s, who->now - LEASE_KEPT_MS, who->name, forget, &out->forgotten, e) ||
		store_tombstone_forget(
			s, who->now - TOMBSTONE_KEPT_MS, who->now, &out->tombstones, e) ||
		audit(s, who, out, e))
		return -1;
	if (out->pending)
		revoke_tell(s, run_base);
	return 0;
}
