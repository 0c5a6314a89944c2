/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver's verbs that act on a workload; cloop-exec(7). */
#ifndef CLOOP_EXEC_CONTAINER_VERBS_H
#define CLOOP_EXEC_CONTAINER_VERBS_H

#include "cli/cli.h"
#include "work/verbs.h"

int cmd_start(struct cl_ctx *c, struct cl_err *e);
int cmd_adopt(struct cl_ctx *c, struct cl_err *e);

#endif
