/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs that nobody will say the end of any more, by the table in policy/place/session.h, and those whose
 * executor is lost. A run that stays open makes every drain of its executor wait.
 */
#include "work/sweep_internal.h"
#include "base/mem.h"
#include "policy/place/session.h"
#include "store/session.h"
#include "sys/clock.h"
#include "work/failover.h"

#include <string.h>

#define AT_ONCE 200 /* how many ends one transaction writes */

struct stale {
	const struct sweep *sweep;
	int64_t now;
	struct cl_strv runs, why;
	struct cl_strv starting; /* those among them that never started */
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
	if (r->starting && !r->handle_id)
		cl_strv_add(&t->starting, r->run_id);
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

/*
 * A replacement that nobody started: the run that it was for is requeued once more, or it would
 * have none for ever.
 */
static void reopen(struct sweep *s, struct store *store, const struct stale *t)
{
	int64_t cap = failover_cap(s->cfg);
	struct cl_err e;

	for (size_t i = 0; i < t->starting.n; i++) {
		bool won = false;

		if (store_session_reopen(store, t->starting.v[i], cap,
			    "its replacement never started", t->now, &won, &e))
			sweep_trouble(s, "sessions", &e);
		s->lost += won;
		if (won)
			sweep_did(s, "%s never started, and what it was to replace is requeued",
				t->starting.v[i]);
	}
}

static void fail_over(struct sweep *s, struct store *store)
{
	cleanup_failover struct failover f = FAILOVER_INIT;

	f.hub_dir = s->hub_dir;
	f.run_base = s->run_base;
	f.cfg = s->cfg;
	failover_pass(&f, store);
	for (size_t i = 0; i < f.notes.n; i++)
		sweep_did(s, "%s", f.notes.v[i]);
	for (size_t i = 0; i < f.troubles.n; i++)
		cl_strv_add(&s->troubles, f.troubles.v[i]);
}

void sweep_sessions(struct sweep *s, struct store *store)
{
	struct stale t = {.sweep = s,
		.now = sys_now_ms(),
		.runs = CL_STRV_INIT,
		.why = CL_STRV_INIT,
		.starting = CL_STRV_INIT};
	struct cl_err e;

	if (store_open_runs(store, judge, &t, &e))
		sweep_trouble(s, "sessions", &e);
	reopen(s, store, &t);
	for (size_t i = 0; i < t.runs.n; i += AT_ONCE)
		if (finish(s, store, &t, i, &e))
			sweep_trouble(s, "sessions", &e);
	cl_strv_release(&t.runs);
	cl_strv_release(&t.why);
	cl_strv_release(&t.starting);
	fail_over(s, store);
}
