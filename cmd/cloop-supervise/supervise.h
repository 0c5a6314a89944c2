/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A supervisor for drivers that have none of their own; cloop-exec(7). */
#ifndef CLOOP_SUPERVISE_H
#define CLOOP_SUPERVISE_H

#include "cli/cli.h"

extern const struct cl_spec supervise_spec;

int cmd_supervise_start(struct cl_ctx *c, struct cl_err *e);
int cmd_supervise_adopt(struct cl_ctx *c, struct cl_err *e);

#endif
