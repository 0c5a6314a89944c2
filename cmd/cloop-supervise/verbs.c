/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "supervise.h"
#include "work/process.h"
#include "work/shim/shim.h"
#include "work/verbs.h"

int cmd_supervise_start(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec s = WORK_SPEC_INIT;
	struct process_ask ask = {
		.spec = &s, .argv = c->operands, .as_owner = cl_flag(c, "as-owner")};

	shim_close_inherited();
	if (work_spec_in("drivers", &s, e) || process_check_limits(&s, e))
		return -1;
	ask.driver = s.executor->kind;
	return process_start(&ask, e);
}

int cmd_supervise_adopt(struct cl_ctx *c, struct cl_err *e)
{
	(void)c;
	return process_adopt(e);
}
