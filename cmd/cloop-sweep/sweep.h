/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CLOOP_SWEEP_H
#define CLOOP_SWEEP_H

#include "cli/cli.h"

extern const struct cl_spec sweep_spec;

int cmd_sweep(struct cl_ctx *c, struct cl_err *e);

#endif
