/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/sweep_internal.h"
#include "base/mem.h"
#include "store/journal.h"
#include "sys/clock.h"
#include "work/driver.h"
#include "work/revoke.h"

#include <stdlib.h>
#include <string.h>

void sweep_release(struct sweep *s)
{
	cl_strv_release(&s->notes);
}

struct todo {
	struct sweep *sweep;
	struct store *store;
	struct cl_strv dead;   /* handles whose shim is gone */
	struct cl_strv driver; /* the driver of each */
	struct cl_strv stuck;  /* runs that never started */
};

static int look_at_handle(const struct store_handle *h, void *arg, struct cl_err *e)
{
	struct todo *t = arg;

	(void)e;
	t->sweep->live++;
	/* A shim that is just starting has written its row itself, so it is alive here. */
	if (h->shim_pid && sys_same_process((pid_t)h->shim_pid, (uint64_t)h->shim_start,
				   h->boot_id ? h->boot_id : ""))
		return 0;
	cl_strv_add(&t->dead, h->id);
	cl_strv_add(&t->driver, h->driver);
	return 0;
}

static int look_at_run(const struct store_run *r, void *arg, struct cl_err *e)
{
	struct todo *t = arg;
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;

	if (sys_now_ms() - r->created_at < SWEEP_STARTING_MS)
		return 0;
	if (!store_handle_of_run(t->store, r->id, &h, e) && !strcmp(h.state, "live"))
		return 0;
	cl_strv_add(&t->stuck, r->id);
	return 0;
}

/*
 * The driver takes it over in a new shim. The row is claimed there, by one conditional
 * UPDATE, so two sweeps at once do no harm.
 */
static int adopt(struct sweep *s, const char *handle, const char *driver, struct cl_err *e)
{
	json_t *in = json_pack("{s:s, s:s}", "handle", handle, "hub", s->hub_dir), *out = NULL;
	int rc = work_driver(work_supervisor(driver), "adopt", in, &out, e);

	json_decref(in);
	if (!rc && json_is_true(json_object_get(out, "adopted"))) {
		s->adopted++;
		cl_strv_addf(&s->notes, "adopted %s", handle);
	}
	json_decref(out);
	return rc;
}

static void finish_lost(struct todo *t, const char *run)
{
	struct cl_err e;
	bool won = false;

	if (store_run_finished(
		    t->store, run, OUTCOME_LOST, -1, "it never started", sys_now_ms(), &won, &e) ||
		!won)
		return;
	t->sweep->lost++;
	cl_strv_addf(&t->sweep->notes, "%s never started", run);
}

static int pass(struct todo *t, struct cl_err *e)
{
	struct store_run_filter starting = STORE_RUN_FILTER_INIT;

	starting.state = "starting";
	if (store_handle_each(t->store, NULL, false, look_at_handle, t, e) ||
		store_run_each(t->store, &starting, look_at_run, t, e))
		return -1;
	for (size_t i = 0; i < t->stuck.n; i++)
		finish_lost(t, t->stuck.v[i]);
	/* Drivers open the store themselves; ours is not held meanwhile. */
	for (size_t i = 0; i < t->dead.n; i++)
		if (adopt(t->sweep, t->dead.v[i], t->driver.v[i], e))
			cl_strv_addf(&t->sweep->notes, "%s could not be adopted: %s", t->dead.v[i],
				e->msg);
	return 0;
}

/* What was lent and lapsed, and what was taken back and is still held. */
static int leases(struct todo *t, struct cl_err *e)
{
	const struct lease_actor who = {"sweep", sys_now_ms()};
	struct lease_sweep d;

	if (lease_sweep(t->store, &who, t->sweep->run_base, &d, e))
		return -1;
	if (d.expired + d.orphans)
		cl_strv_addf(
			&t->sweep->notes, "ended %lld leases", (long long)(d.expired + d.orphans));
	return 0;
}

int sweep_pass(struct sweep *s, struct cl_err *e)
{
	struct todo t = {.sweep = s};
	int rc;

	s->live = s->adopted = s->lost = s->collected = 0;
	if (store_open(s->state_path, STORE_RW, &t.store, e))
		return -1;
	rc = pass(&t, e) || leases(&t, e) ? -1 : 0;
	if (!rc && s->collect)
		sweep_collect(s, t.store);
	store_close(t.store);
	cl_strv_release(&t.dead);
	cl_strv_release(&t.driver);
	cl_strv_release(&t.stuck);
	return rc;
}
