/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run was lent and is taken back: found, given up, and answered for in the store. */
#include "work/shim/shim_internal.h"
#include "base/mem.h"
#include "store/secret.h"
#include "sys/clock.h"
#include "work/lease/delivery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS   5000 /* how often it is asked whether something was taken back */
#define REVOKE_MS 5000 /* between SIGTERM and SIGKILL of a workload that may not go on */

/* ---- how it is held, and what is answered ---- */

static void answer(struct shim *s, const char *grant_id, const struct lease_answer *a)
{
	cleanup_free char *who = cl_asprintf("run:%s", s->job.row.run_id ? s->job.row.run_id : "");
	const struct lease_actor actor = {who, sys_now_ms()};
	struct cl_err e;

	if (lease_answer(s->store, &actor, s->lent.id, grant_id, a, &e))
		shim_note(s, "lease", "what was given up could not be recorded: %s", e.msg);
}

/* True when the grant itself is gone, and not only this lease of it. */
static bool grant_gone(struct shim *s, const char *grant_id)
{
	cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
	struct cl_err e;

	return !store_grant_get(s->store, grant_id, &g, &e) && g.revoked_at > 0;
}

struct held {
	const char *grant_id;
	int64_t how;
};

static int find_hold(const struct store_hold *h, void *arg, struct cl_err *e)
{
	struct held *f = arg;

	(void)e;
	if (!strcmp(h->grant_id, f->grant_id))
		f->how |= h->how;
	return 0;
}

/* How the workload has what the grant gave: enum sec_by. */
static int64_t how_held(struct shim *s, const char *grant_id)
{
	cleanup_lease_row struct store_lease l = STORE_LEASE_INIT;
	struct held f = {grant_id, 0};
	struct cl_err e;

	if (store_lease_get(s->store, s->lent.id, &l, &e) ||
		store_hold_each(s->store, l.seq, find_hold, &f, &e))
		return SEC_BY_ENV; /* what cannot be told is taken for the worse */
	return f.how;
}

/* How many files went is told once, whoever the answer is for. */
static int64_t tell_removed(struct shim *s)
{
	size_t n = s->lent.removed;

	s->lent.removed = 0;
	return (int64_t)n;
}

/*
 * What was taken back is out of the files; a variable of a running process is not to be had back,
 * so a grant that stands in one ends with the workload, and is given up when that is over.
 */
static void settle(struct shim *s, const struct lease_take_backs *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct lease_take_back *b = &t->v[i];
		struct lease_answer a = {0};
		int64_t how = how_held(s, b->grant_id);
		char why[300];

		a.env_stays = how & SEC_BY_ENV;
		a.failed = how & SEC_BY_INTERFACE && s->lent.stuck;
		a.error = a.failed ? s->lent.stuck : NULL;
		if (b->kill || (a.env_stays && grant_gone(s, b->grant_id))) {
			(void)snprintf(why, sizeof(why),
				"the grant of '%.100s' (%s) was taken back, and %s", b->secret_name,
				b->grant_id,
				b->kill ? "its holders were to be killed"
					: "its value stands in the environment");
			s->lent.ending = true;
			shim_stop(s, OUTCOME_KILLED, REVOKE_MS, why);
		} else if (how & (SEC_BY_MOUNT | SEC_BY_DEVICE)) {
			if (b->answered)
				continue;
			shim_note(s, "lease",
				"'%s' (%s) was taken back; what is in the sandbox of it stays "
				"until "
				"the run ends: 'cloop runs stop' ends it",
				b->secret_name, b->grant_id);
			answer(s, b->grant_id, &(struct lease_answer){.stays = true});
		} else {
			shim_note(s, "lease", "'%s' (%s) was taken back", b->secret_name,
				b->grant_id);
			a.files_removed = a.failed ? 0 : tell_removed(s);
			answer(s, b->grant_id, &a);
		}
	}
}

void shim_lent_settle_ended(struct shim *s)
{
	cleanup_take_backs struct lease_take_backs t = LEASE_TAKE_BACKS_INIT;
	struct cl_err e;

	if (!s->lent.ending || lease_take_backs(s->store, s->lent.id, sys_now_ms(), &t, &e))
		return;
	for (size_t i = 0; i < t.n; i++)
		answer(s, t.v[i].grant_id,
			&(struct lease_answer){
				.terminated = true, .files_removed = tell_removed(s)});
}

static bool taken_back(struct shim *s, struct lease_take_backs *t)
{
	struct cl_err e;

	if (!lease_take_backs(s->store, s->lent.id, sys_now_ms(), t, &e))
		return true;
	if (!s->lent.blind)
		shim_note(s, "lease", "it cannot be seen whether something was taken back: %s",
			e.msg);
	s->lent.blind = true;
	return false;
}

void shim_lent_give_up(struct shim *s, const char *why)
{
	cleanup_take_backs struct lease_take_backs t = LEASE_TAKE_BACKS_INIT;
	cleanup_app_slots struct app_slots tokens = APP_SLOTS_INIT;
	size_t removed;

	shim_tokens_take(s, NULL, &tokens);
	removed = delivery_scrub(&s->rd);
	shim_interfaces_back(s, NULL);
	/* What stands in variables may still be taken back. */
	s->lent.over = true;
	s->due.renew = 0;
	shim_note(s, "lease", "%s: %zu files were taken back", why, removed);
	s->lent.removed += removed;
	if (taken_back(s, &t))
		settle(s, &t);
	/* Not by ourselves: output is pumped and deadlines are kept meanwhile. */
	shim_tokens_end_aside(s, &tokens, "taken back");
}

/* ---- after a renewal ---- */

static bool brings(const struct lease *l, const char *grant_id)
{
	for (size_t i = 0; i < l->nitems; i++)
		if (!strcmp(l->items[i].grant_id, grant_id))
			return true;
	return false;
}

/*
 * A renewal that was on its way when a grant was taken back brings that grant once more: it is
 * not given up before another renewal comes without it.
 */
static bool set_aside(const struct lease *l, struct lease_take_backs *t)
{
	size_t all = t->n;

	t->n = 0;
	for (size_t i = 0; i < all; i++) {
		if (!brings(l, t->v[i].grant_id)) {
			t->v[t->n++] = t->v[i];
			continue;
		}
		free(t->v[i].grant_id);
		free(t->v[i].secret_name);
	}
	return t->n < all;
}

void shim_lent_settle(struct shim *s, const struct lease *l, size_t removed)
{
	cleanup_take_backs struct lease_take_backs t = LEASE_TAKE_BACKS_INIT;
	bool again;

	if (!taken_back(s, &t))
		return;
	again = set_aside(l, &t);
	s->lent.removed += removed;
	settle(s, &t);
	if (again)
		shim_lent_look(s);
}

/* ---- looking ---- */

/* What stays until the workload ends was answered for, and is no reason to renew. */
static bool any_fresh(const struct lease_take_backs *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (!t->v[i].answered)
			return true;
	return false;
}

/* A clock that is set back makes no lease longer. */
static bool lapsed(const struct shim *s)
{
	return sys_now_ms() >= s->lent.expires_at || sys_mono_ms() >= s->lent.until;
}

void shim_lent_look(struct shim *s)
{
	cleanup_take_backs struct lease_take_backs t = LEASE_TAKE_BACKS_INIT;

	/* What is past and stays due would have the supervisor turn without a pause. */
	s->due.look = !s->lent.id || s->lent.ending ? 0 : sys_mono_ms() + LOOK_MS;
	if (!s->due.look || s->ended)
		return;
	if (!taken_back(s, &t))
		return;
	if (!any_fresh(&t) && !t.over && !lapsed(s))
		return;
	if (s->lent.over) {
		settle(s, &t);
	} else if (t.over || lapsed(s)) {
		shim_lent_give_up(
			s, t.n ? "what it was lent was revoked" : "what it was lent has lapsed");
	} else {
		s->lent.narrowing = true;
		shim_lent_renew(s);
	}
}
