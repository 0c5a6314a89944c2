/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run.h"
#include "base/mem.h"
#include "base/text.h"
#include "work/key_pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void run_plan_init(struct run_plan *p)
{
	*p = (struct run_plan){.hub = HUB_INIT,
		.cfg_doc = CL_DOC_INIT,
		.cfg = CFG_INIT,
		.project_fd = -1,
		.key_fd = -1,
		.spec_doc = CL_DOC_INIT,
		.spec = SB_SPEC_INIT,
		.scope = "",
		.disk_source = "",
		.lost = STORE_SESSION_INIT,
		.lost_run = STORE_RUN_INIT,
		.handle = STORE_HANDLE_INIT};
}

void run_plan_release(struct run_plan *p)
{
	store_handle_release(&p->handle);
	store_run_release(&p->lost_run);
	store_session_release(&p->lost);
	json_decref(p->pinned);
	json_decref(p->egress);
	json_decref(p->rules);
	json_decref(p->clamps);
	json_decref(p->warnings);
	sb_spec_release(&p->spec);
	cl_doc_release(&p->spec_doc);
	if (p->project_fd >= 0)
		(void)close(p->project_fd);
	if (p->key_fd >= 0)
		(void)close(p->key_fd);
	free(p->project);
	store_close(p->store);
	cfg_release(&p->cfg);
	cl_doc_release(&p->cfg_doc);
	hub_release(&p->hub);
}

void run_status(const struct cl_ctx *c, const struct run_plan *p, json_t *take_status)
{
	cleanup_free char *text = NULL;
	int64_t fd = cl_int(c, "status-fd", -1);

	(void)json_object_set_new(take_status, "run_id", json_string(p->id));
	text = cl_json_text(take_status);
	json_decref(take_status);
	if (fd >= 0 && dprintf((int)fd, "%s\n", text) < 0)
		cl_warn(c, "the status could not be written to descriptor %d: %s", (int)fd,
			strerror(errno));
	if (c->json)
		(void)fprintf(stderr, "%s\n", text);
}

static void print_detached(const struct cl_ctx *c, const struct run_plan *p)
{
	if (c->json)
		cl_take_json(json_pack("{s:s, s:s, s:s, s:s}", "run_id", p->id, "handle_id",
			p->handle.id, "executor_id", p->handle.executor_id, "state", "running"));
	else
		(void)puts(p->id);
}

/* The row and the driver have it as JSON, and a failover starts what stands in the row. */
static int check_text(const struct cl_ctx *c, struct cl_err *e)
{
	for (size_t i = 0; i < c->noperands; i++) {
		if (cl_utf8_valid(c->operands[i], strlen(c->operands[i])))
			continue;
		(void)cl_fail(e, CL_EDATA, "word %zu of the command is not UTF-8", i + 1);
		return cl_fix(e, "put the command into a script in the project and run that");
	}
	return 0;
}

static int launch(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	if (check_text(c, e) || run_plan_make(c, p, e))
		return -1;
	if (cl_flag(c, "trace-steps"))
		run_trace(c, p);
	return run_prepare(c, p, e) || run_hold_signals(e) || run_launch(c, p, e) ? -1 : 0;
}

int cmd_run(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_run_plan struct run_plan p;

	run_plan_init(&p);
	if (key_pass_take(&p.key_fd, e))
		return -1;
	if (launch(c, &p, e)) {
		run_not_replaced(&p, e);
		return p.told ? c->spec->own_failure : -1;
	}
	run_record(c, &p);
	if (cl_flag(c, "detach")) {
		print_detached(c, &p);
		return 0;
	}
	return run_attach(c, &p, e);
}
