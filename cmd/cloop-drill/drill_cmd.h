/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef DRILL_CMD_H
#define DRILL_CMD_H

#include "cli/cli.h"

extern const struct cl_spec drill_spec;

int cmd_drill_revoke(struct cl_ctx *c, struct cl_err *e);

#endif
