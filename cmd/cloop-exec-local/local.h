/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plain processes of this host as an executor; cloop-exec(7) has the contract. */
#ifndef CLOOP_EXEC_LOCAL_H
#define CLOOP_EXEC_LOCAL_H

#include "cli/cli.h"

extern const struct cl_spec exec_local_spec;

int cmd_local_capabilities(struct cl_ctx *c, struct cl_err *e);
int cmd_local_preflight(struct cl_ctx *c, struct cl_err *e);
int cmd_local_prepare(struct cl_ctx *c, struct cl_err *e);
int cmd_local_start(struct cl_ctx *c, struct cl_err *e);
int cmd_local_adopt(struct cl_ctx *c, struct cl_err *e);
int cmd_local_reap(struct cl_ctx *c, struct cl_err *e);

#endif
