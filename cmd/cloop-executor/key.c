/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What needs the key is run by the executable that links what it takes. */
#include "base/mem.h"
#include "executor.h"

#include <errno.h>
#include <unistd.h>

int cmd_executor_key(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling("cloop-executor-key");

	(void)execv(path, c->argv);
	return cl_fail_sys(e, CL_EOS, errno, "cannot run '%s'", path);
}

int cmd_executor_bind(struct cl_ctx *c, struct cl_err *e)
{
	return cmd_executor_key(c, e);
}
