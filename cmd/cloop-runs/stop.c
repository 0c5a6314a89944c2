/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"
#include "base/mem.h"
#include "work/control.h"
#include "work/paths.h"
#include "work/rundir.h"
#include "work/sweep.h"

#include <string.h>

/* Asks the shim; CL_EUNAVAIL when there is none. */
static int ask(const char *handle, int64_t grace_ms, struct cl_err *e)
{
	cleanup_free char *base = work_run_base();
	cleanup_rundir struct rundir rd = {0};
	json_t *msg = json_pack("{s:s, s:I}", "op", "stop", "grace_ms", (json_int_t)grace_ms);
	int rc;

	rundir_init(&rd, base, handle);
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
		.run_base = base};
	int rc;

	rc = sweep_pass(&s, e);
	sweep_release(&s);
	return rc;
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

int cmd_runs_stop(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_one_run struct one_run o = {HUB_INIT, NULL, STORE_RUN_INIT};
	int64_t grace = cl_int(c, "grace", 10000);

	if (one_run_open(c, STORE_RW, &o, e))
		return -1;
	if (strcmp(o.run.state, "finished") != 0) {
		if (!o.run.handle_id) {
			(void)cl_fail(e, CL_EBUSY, "%s is still starting", o.run.id);
			return cl_fix(e, "try again in a moment");
		}
		if (ask(o.run.handle_id, grace, e) &&
			(adopt(&o, e) || ask(o.run.handle_id, grace, e))) {
			/* It may have ended in between: then there is nobody to ask. */
			cleanup_free char *id = cl_strdup(o.run.id);

			store_run_release(&o.run);
			if (store_run_get(o.store, id, &o.run, e))
				return -1;
			if (strcmp(o.run.state, "finished") != 0)
				return cl_fail(
					e, CL_EUNAVAIL, "%s has no supervisor that answers", id);
		}
		if (one_run_wait(&o, e))
			return -1;
	}
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
