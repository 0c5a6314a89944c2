/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CLOOP_CONFINE_H
#define CLOOP_CONFINE_H

#include "cli/cli.h"

extern const struct cl_spec confine_spec;
int confine_test(struct cl_ctx *c, struct cl_err *e);
int confine_list(struct cl_ctx *c, struct cl_err *e);

#define CONFINE_PROGRAM "cloop-confine-test"

#endif
