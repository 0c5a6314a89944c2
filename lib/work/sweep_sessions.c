/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs that nobody will say the end of any more, by the table in policy/session.h, and
 * sessions that were to be started again and were not. A run that stays open makes every
 * drain of its executor wait.
 */
#include "work/sweep_internal.h"
#include "base/mem.h"
#include "policy/session.h"
#include "store/session.h"
#include "sys/clock.h"

#include <string.h>

#define AT_ONCE        200               /* how many ends one transaction writes */
#define REPLACEMENT_MS (5 * 60 * 1000LL) /* how long a replacement may take to begin */

struct stale {
	const struct sweep *sweep;
	int64_t now;
	struct cl_strv runs, why;
	struct cl_strv requeued; /* sessions */
};

static bool registered(const struct sweep *s, const char *executor)
{
	for (size_t i = 0; s->cfg && i < s->cfg->nexecutors; i++)
		if (!strcmp(s->cfg->executors[i].id, executor))
			return true;
	return !s->cfg;
}

static int judge(const struct store_open_run *r, void *arg, struct cl_err *e)
{
	struct stale *t = arg;
	const struct ses_facts f = {.registered = registered(t->sweep, r->executor_id),
		.starting = r->starting,
		.handle = !r->handle_id                      ? SES_NO_HANDLE
			  : !strcmp(r->handle_state, "live") ? SES_LIVE
							     : SES_ENDED,
		.created_at = r->created_at,
		.ended_at = r->handle_ended_at,
		.now = t->now};
	const char *why;

	(void)e;
	if (ses_judge(&f, &why) == SES_KEEP)
		return 0;
	cl_strv_add(&t->runs, r->run_id);
	cl_strv_add(&t->why, why);
	return 0;
}

/* The ends of some; the lock is let go between two of these. */
static int finish(
	struct sweep *s, struct store *store, const struct stale *t, size_t from, struct cl_err *e)
{
	size_t to = from + AT_ONCE < t->runs.n ? from + AT_ONCE : t->runs.n;
	bool won[AT_ONCE];

	if (store_runs_lost(store, &t->runs, &t->why, from, to, t->now, won, e))
		return -1;
	for (size_t i = from; i < to; i++) {
		if (!won[i - from])
			continue;
		s->lost++;
		sweep_did(s, "%s is lost: %s", t->runs.v[i], t->why.v[i]);
	}
	return 0;
}

static int note_requeued(const struct store_session *r, void *arg, struct cl_err *e)
{
	struct stale *t = arg;

	(void)e;
	/* A time in the future means that the clock was set: it is left alone. */
	if (r->updated_at <= t->now && t->now - r->updated_at >= REPLACEMENT_MS)
		cl_strv_add(&t->requeued, r->id);
	return 0;
}

static void give_up(struct sweep *s, struct store *store, const struct stale *t)
{
	struct cl_err e;

	for (size_t i = 0; i < t->requeued.n; i++) {
		bool won = false;

		if (store_session_give_up(store, t->requeued.v[i], t->now - REPLACEMENT_MS + 1,
			    "its executor was lost, and nothing replaced it", t->now, &won, &e))
			sweep_trouble(s, "sessions", &e);
		else if (won)
			sweep_did(s, "%s was not started again", t->requeued.v[i]);
	}
}

void sweep_sessions(struct sweep *s, struct store *store)
{
	struct stale t = {.sweep = s,
		.now = sys_now_ms(),
		.runs = CL_STRV_INIT,
		.why = CL_STRV_INIT,
		.requeued = CL_STRV_INIT};
	struct cl_err e;

	if (store_open_runs(store, judge, &t, &e) ||
		store_session_each(store, "requeued", NULL, note_requeued, &t, &e))
		sweep_trouble(s, "sessions", &e);
	for (size_t i = 0; i < t.runs.n; i += AT_ONCE)
		if (finish(s, store, &t, i, &e))
			sweep_trouble(s, "sessions", &e);
	give_up(s, store, &t);
	cl_strv_release(&t.runs);
	cl_strv_release(&t.why);
	cl_strv_release(&t.requeued);
}
