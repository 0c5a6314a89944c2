/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lease lives on with what its grants allow now. */
#include "work/lease/lease.h"
#include "work/lease/app_token.h"
#include "work/lease/lease_internal.h"
#include "work/lease/lease_wire.h"
#include "work/paths.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "store/undone.h"

#include <stdlib.h>
#include <string.h>

#define TRIES 8
/* How many times a grant may have been edited since its token was asked for. */
#define CHAIN 16

struct renewal {
	struct keyed *k;
	const struct lease_holder *holder; /* NULL: whoever the row says */
	struct store_lease row;
	struct lease_case c;
	struct cl_strv held;    /* ids of the grants that it stood on */
	struct app_slots slots; /* tokens of Apps that it has out */
	struct seal_buf bytes;
	struct lease *lease; /* what comes of it */
	bool won;
	int (*give)(void *arg, const struct lease *l, struct cl_err *e); /* or NULL */
	void *arg;
};

static void renewal_release(struct renewal *r)
{
	store_lease_release(&r->row);
	lease_case_release(&r->c);
	cl_strv_release(&r->held);
	app_slots_release(&r->slots);
	seal_buf_release(&r->bytes);
	lease_free(r->lease);
}
#define cleanup_renewal __attribute__((cleanup(renewal_release)))

static int keep_held(const struct store_hold *h, void *arg, struct cl_err *e)
{
	(void)e;
	if (!strcmp(h->state, "held"))
		cl_strv_add(arg, h->grant_id);
	return 0;
}

/* Why it cannot live on. */
static int over(const struct store_lease *l, int64_t now, struct cl_err *e)
{
	static const struct {
		const char *state, *says;
	} ends[] = {{"live", "lapsed"}, {"expired", "lapsed"}, {"released", "was released"},
		{"revoked", "was revoked"}};
	const char *says = "ended";
	char when[32];

	if (!strcmp(l->state, "live") && l->expires_at > now)
		return 0;
	for (size_t i = 0; i < CL_ARRAY_LEN(ends); i++)
		if (!strcmp(l->state, ends[i].state))
			says = ends[i].says;
	cl_format_time((l->ended_at ? l->ended_at : l->expires_at) / 1000, when);
	(void)cl_fail(e, CL_EREFUSED, "the lease %s %s at %s%s%s", l->id, says, when,
		l->reason ? ": " : "", l->reason ? l->reason : "");
	(void)cl_slug(e, "lease_over");
	return cl_fix(e, "an ended lease is never renewed; a new run gets a new one");
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static int deny(struct renewal *r, struct cl_err *e)
{
	const struct lease_holder *h = r->holder;
	struct cl_err failed;
	json_t *detail;

	(void)cl_fix(e, "cloop secret revoke %s", r->row.id);
	detail = json_pack("{s:s, s:s, s:o, s:o, s:s}", "decision", "deny", "lease_id", r->row.id,
		"project_id", cl_json_string(r->row.project), "asked_for",
		cl_json_string(h && h->project ? h->project : ""), "reason", e->msg);
	if (keyed_audit(r->k, "secret.renew", "secret", r->row.id, detail, &failed))
		*e = failed;
	return -1;
}

/*
 * Rows of leases are not signed: with one of its own aimed at another project, a process that may
 * only write the state file would have that project's credentials delivered to its own run. Nor is
 * one that was taken back live again because its row says so.
 */
static int is_ours(struct renewal *r, struct cl_err *e)
{
	const struct lease_holder *h = r->holder;
	bool undone;

	if (h && (!same_text(h->run_id, r->row.run_id) || !same_text(h->project, r->row.project) ||
			 !same_text(h->executor, r->row.executor_id))) {
		(void)cl_fail(e, CL_EREFUSED,
			"the lease %s is not of who asks for it: its run, project or executor were "
			"altered in state.db; find out who writes to that file",
			r->row.id);
		(void)cl_slug(e, "forged_lease");
		return deny(r, e);
	}
	if (store_lease_undone(r->k->store, r->row.id, &undone, e))
		return -1;
	if (!undone)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"the lease %s was taken back, as the audit trail has it, and its row does not say "
		"so: it was put back; find out who writes to state.db",
		r->row.id);
	(void)cl_slug(e, "lease_over");
	return deny(r, e);
}

/* The token is of the grant that its own one is now, where that is one the lease stands on. */
static int name_slot(struct renewal *r, struct app_slot *slot, struct cl_err *e)
{
	cleanup_free char *next = cl_strdup(slot->row.grant_id);

	for (int i = 0; i < CHAIN; i++) {
		cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;

		if (cl_strv_has(&r->held, next)) {
			slot->is = cl_steal(&next);
			return 0;
		}
		if (store_grant_get(r->k->store, next, &g, e))
			return -1;
		if (!g.superseded_by)
			return 0;
		free(next);
		next = cl_strdup(g.superseded_by);
	}
	return 0;
}

/* What the holder has of tokens, which nobody else does. */
static int find_slots(struct renewal *r, struct cl_err *e)
{
	cleanup_rundir struct rundir rd = {0};

	if (app_slots_find(r->k->store, r->row.id, &r->slots, e))
		return -1;
	for (size_t i = 0; i < r->slots.n; i++)
		if (name_slot(r, &r->slots.v[i], e))
			return -1;
	if (r->slots.n && r->row.sandbox) {
		work_rundir_of(r->k->store, r->row.sandbox, NULL, &rd);
		app_slots_read(&r->slots, &rd);
	}
	r->c.slots = &r->slots;
	return 0;
}

/* As they are listed when a lease is taken: the names of files follow their order. */
static int by_age(const void *a, const void *b)
{
	const struct store_grant *x = &(*(struct lease_aimed *const *)a)->row,
				 *y = &(*(struct lease_aimed *const *)b)->row;

	if (x->created_at != y->created_at)
		return x->created_at < y->created_at ? 1 : -1;
	return strcmp(x->id, y->id);
}

static int judge(struct renewal *r, const struct sec_labels *labels, int64_t now, struct cl_err *e)
{
	const struct lease_request ask = {
		.project = *r->row.project ? r->row.project : NULL,
		.executor = r->row.executor_id,
		.labels = labels,
		.now = now,
	};

	if (lease_case_open(&r->c, r->k, &ask, e))
		return -1;
	r->c.lend = true;
	/* One whose subject no longer fits is told of, and not passed over. */
	r->c.everybody = true;
	for (size_t i = 0; i < r->held.n; i++) {
		cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;

		if (store_grant_get(r->k->store, r->held.v[i], &g, e))
			return -1;
		lease_case_add(&r->c, &g);
	}
	if (r->c.n)
		qsort(r->c.v, r->c.n, sizeof(*r->c.v), by_age);
	lease_case_build(&r->c);
	return 0;
}

/* What it no longer stands on is taken back. */
static int write_holds(struct renewal *r, struct cl_err *e)
{
	bool done;

	for (size_t i = 0; i < r->held.n; i++)
		if (lease_case_refusal(&r->c, r->held.v[i]) &&
			store_hold_take(
				r->k->store, r->row.seq, r->held.v[i], "scrub", r->c.now, &done, e))
			return -1;
	return 0;
}

static int end_empty(struct renewal *r, struct cl_err *e)
{
	const struct store_lease_end end = {.state = "revoked",
		.at = r->c.now,
		.by = r->k->actor,
		.reason = "none of its grants allows it any more",
		.action = "scrub"};

	return store_lease_end(r->k->store, r->row.id, &end, &r->won, e);
}

static int write_rows(struct renewal *r, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	cleanup_buf struct cl_buf labels = CL_BUF_INIT;
	size_t n = r->c.lease.nmaterials;
	struct store_hold *holds = cl_calloc(n + 1, sizeof(*holds));
	int rc;

	for (size_t i = 0; i < n; i++)
		holds[i].grant_id = r->c.lease.materials[i].grant_id;
	sec_labels_text(&r->c.labels, &labels);
	free(r->row.labels);
	r->row.labels = cl_buf_detach(&labels);
	r->row.renewed_at = r->c.now;
	if (n)
		r->row.expires_at = r->c.lease.expires_at * 1000;
	rc = store_begin(r->k->store, &t, e) ||
	     (n ? store_lease_renew(r->k->store, &r->row, holds, n, &r->won, e) : end_empty(r, e));
	free(holds);
	if (rc ||
		(r->won && (write_holds(r, e) || app_token_write(&r->c, r->row.seq, r->row.id, e) ||
				   lease_write_rows(&r->c, "secret.renew", &r->row, e))))
		return -1;
	return store_commit(&t, e);
}

/* The rows are there: who holds it gets it first, then what is replaced is destroyed. */
static int hand_on(struct renewal *r, struct cl_err *e)
{
	int rc = lease_parse(&r->bytes, &r->lease, e);

	if (!rc && r->give)
		rc = r->give(r->arg, r->lease, e);
	if (rc)
		app_token_undo(&r->c, true, "the lease was not handed over");
	app_token_settle(&r->c, r->row.id);
	return rc;
}

static int renew(struct renewal *r, const char *id, const struct sec_labels *labels, int64_t now,
	struct cl_err *e)
{
	int rc;

	if (store_lease_get(r->k->store, id, &r->row, e) || is_ours(r, e) ||
		over(&r->row, now, e) ||
		store_hold_each(r->k->store, r->row.seq, keep_held, &r->held, e) ||
		find_slots(r, e) || judge(r, labels, now, e))
		return -1;
	app_token_undo(&r->c, false, "it is not delivered");
	if (r->c.lease.nmaterials)
		lease_place(&r->c.lease, r->row.id);
	rc = lease_pack(&r->c.lease, r->c.lease.nmaterials ? r->row.id : "", &r->bytes, e) ||
			     write_rows(r, e)
		     ? -1
		     : 0;
	if (!rc && r->won)
		return hand_on(r, e);
	app_token_undo(&r->c, true, "the lease was not renewed");
	return rc;
}

int lease_renew(struct keyed *k, const char *id, const struct sec_labels *labels, int64_t now,
	struct lease **out, struct cl_err *e)
{
	*out = NULL;
	for (int i = 0; i < TRIES; i++) {
		cleanup_renewal struct renewal r = {
			.k = k, .c = LEASE_CASE_INIT, .held = CL_STRV_INIT};

		if (renew(&r, id, labels, now ? now : k->now, e))
			return -1;
		if (r.won) {
			*out = cl_steal(&r.lease);
			return 0;
		}
	}
	return lease_busy(id, e);
}

int lease_renew_to(struct keyed *k, const char *id, const struct lease_holder *holder,
	int (*give)(void *arg, const struct lease *l, struct cl_err *e), void *arg,
	struct cl_err *e)
{
	for (int i = 0; i < TRIES; i++) {
		cleanup_renewal struct renewal r = {.k = k,
			.holder = holder,
			.c = LEASE_CASE_INIT,
			.held = CL_STRV_INIT,
			.give = give,
			.arg = arg};

		if (renew(&r, id, NULL, k->now, e))
			return -1;
		if (r.won)
			return 0;
	}
	return lease_busy(id, e);
}
