/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "work/control.h"
#include "work/paths.h"
#include "work/sweep.h"

#include <string.h>

#define STARTING_MS 90000 /* disk walk, network and engine, each with its own limit */

/* Asks the shim; CL_EUNAVAIL when there is none. */
static int ask(struct store *s, const char *handle, int64_t grace_ms, struct cl_err *e)
{
	cleanup_rundir struct rundir rd = {0};
	json_t *msg = json_pack("{s:s, s:I}", "op", "stop", "grace_ms", (json_int_t)grace_ms);
	int rc;

	work_rundir_of(s, handle, NULL, &rd);
	rc = control_ask(rd.sock, msg, e);
	json_decref(msg);
	return rc;
}

/* A workload whose shim is gone gets a new one first, which can then be asked. */
static int adopt(const struct one_run *o, struct cl_err *e)
{
	cleanup_free char *base = work_run_base(), *logs = work_log_dir(&o->hub);
	struct sweep s = {.hub_dir = o->hub.dir,
		.state_path = o->hub.state,
		.log_dir = logs,
		.run_base = base,
		.parts = SWEEP_SETTLE};
	int rc;

	rc = sweep_pass(&s, e);
	sweep_release(&s);
	return rc;
}

/*
 * The handle of a run that is not finished; *id is owned, NULL when it finished meanwhile. A
 * shim that is still starting takes a request as soon as it is done with that.
 */
static int find_handle(struct one_run *o, char **id, struct cl_err *e)
{
	int64_t until = sys_mono_ms() + STARTING_MS;

	while (strcmp(o->run.state, "finished") != 0) {
		cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;
		cleanup_free char *run = cl_strdup(o->run.id);

		if (!store_handle_of_run(o->store, run, &h, e) && !strcmp(h.state, "live")) {
			*id = cl_strdup(h.id);
			return 0;
		}
		if (sys_mono_ms() > until) {
			(void)cl_fail(e, CL_EBUSY, "%s is still starting", run);
			return cl_fix(e, "see what the engine does; a sweep gives up a start that "
					 "nobody is at any more");
		}
		sys_sleep_ms(100);
		store_run_release(&o->run);
		if (store_run_get(o->store, run, &o->run, e))
			return -1;
	}
	return 0;
}

static void print_end(const struct cl_ctx *c, const struct store_run *r)
{
	if (c->json)
		cl_take_json(store_run_json(r));
	else if (r->exit_code >= 0)
		(void)printf("%s: %s, status %d\n", r->id, r->outcome, (int)r->exit_code);
	else
		(void)printf("%s: %s\n", r->id, r->outcome);
}

/* Asks its shim, or the one that it gets when it has none. */
static int stop(struct one_run *o, const char *handle, int64_t grace_ms, struct cl_err *e)
{
	cleanup_free char *id = cl_strdup(o->run.id);

	if (!ask(o->store, handle, grace_ms, e) ||
		(!adopt(o, e) && !ask(o->store, handle, grace_ms, e)))
		return 0;
	/* It may have ended in between: then there is nobody to ask. */
	store_run_release(&o->run);
	if (store_run_get(o->store, id, &o->run, e))
		return -1;
	if (!strcmp(o->run.state, "finished"))
		return 0;
	(void)cl_fail(e, CL_EUNAVAIL, "%s has no supervisor that answers", id);
	return cl_fix(e, "look at what 'cloop sweep' says");
}

int cmd_runs_stop(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_one_run struct one_run o = {HUB_INIT, NULL, STORE_RUN_INIT};
	cleanup_free char *handle = NULL;

	if (one_run_open(c, STORE_RW, &o, e) || find_handle(&o, &handle, e) ||
		(handle && (stop(&o, handle, cl_int(c, "grace", 10000), e) || one_run_wait(&o, e))))
		return -1;
	print_end(c, &o.run);
	return 0;
}

int cmd_runs_wait(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_one_run struct one_run o = {HUB_INIT, NULL, STORE_RUN_INIT};

	if (one_run_open(c, STORE_RO, &o, e) || one_run_wait(&o, e))
		return -1;
	if (c->json)
		cl_take_json(store_run_json(&o.run));
	else if (o.run.exit_code >= 0)
		(void)printf("%d\n", (int)o.run.exit_code);
	else
		(void)printf("%s\n", o.run.outcome);
	return strcmp(o.run.outcome, "exited") != 0 || o.run.exit_code != 0;
}
