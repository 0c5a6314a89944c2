/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/sweep.h"
#include "base/doc.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "store/journal.h"
#include "sys/clock.h"
#include "sys/proc.h"

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
	cleanup_free char *name = cl_asprintf("cloop-exec-%s", driver), *path = cl_sibling(name);
	json_t *in = json_pack("{s:s, s:s}", "handle", handle, "hub", s->hub_dir);
	cleanup_free char *text = cl_json_text(in);
	char *argv[] = {name, (char *)"adopt", (char *)"--json", NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	json_decref(in);
	r.spawn.path = path;
	r.spawn.argv = argv;
	r.spawn.envp = s->envp;
	r.input = text;
	r.input_len = strlen(text);
	r.timeout_ms = 60000;
	if (sys_run(&r, e))
		return -1;
	if (!r.status) {
		s->adopted++;
		cl_strv_addf(&s->notes, "adopted %s", handle);
		return 0;
	}
	if (cl_doc_parse(&d, CL_DOC_JSON, path, r.err.p, r.err.len, NULL, e))
		return cl_fail(e, CL_EBUG, "%s adopt ended with status %d", name, r.status);
	return cl_err_from_json(d.root, e);
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

int sweep_pass(struct sweep *s, struct cl_err *e)
{
	struct todo t = {.sweep = s};
	int rc;

	s->live = s->adopted = s->lost = s->collected = 0;
	if (store_open(s->state_path, STORE_RW, &t.store, e))
		return -1;
	rc = pass(&t, e);
	store_close(t.store);
	cl_strv_release(&t.dead);
	cl_strv_release(&t.driver);
	cl_strv_release(&t.stuck);
	return rc;
}
