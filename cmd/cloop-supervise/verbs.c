/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "supervise.h"
#include "base/mem.h"
#include "work/process.h"
#include "work/shim.h"

#include <unistd.h>

#define MAX_INPUT ((size_t)4 << 20)

int cmd_supervise_start(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec s = WORK_SPEC_INIT;
	cleanup_buf struct cl_buf in = CL_BUF_INIT;
	struct process_ask ask = {
		.spec = &s, .argv = c->operands, .as_owner = cl_flag(c, "as-owner")};

	shim_close_inherited();
	if (cl_read_fd(STDIN_FILENO, "standard input", MAX_INPUT, &in, e) ||
		work_spec_read("drivers", in.p, in.len, &s, e) || process_check_limits(&s, e))
		return -1;
	ask.driver = s.executor->kind;
	return process_start(&ask, e);
}

int cmd_supervise_adopt(struct cl_ctx *c, struct cl_err *e)
{
	(void)c;
	return process_adopt(e);
}
