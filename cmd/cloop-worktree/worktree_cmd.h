/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CLOOP_WORKTREE_CMD_H
#define CLOOP_WORKTREE_CMD_H

#include "cli/cli.h"

extern const struct cl_spec worktree_spec;

int cmd_worktree_list(struct cl_ctx *c, struct cl_err *e);
int cmd_worktree_prune(struct cl_ctx *c, struct cl_err *e);

#endif
