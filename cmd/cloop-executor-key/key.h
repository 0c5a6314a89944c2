/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of `cloop executor` that signs; its table is cmd/cloop-executor/key_spec.h. */
#ifndef CLOOP_EXECUTOR_KEY_H
#define CLOOP_EXECUTOR_KEY_H

#include "cli/cli.h"
#include "seal/fleet.h"
#include "work/keyed.h"

int key_bind(struct cl_ctx *c, struct cl_err *e);
int key_labels(struct cl_ctx *c, struct cl_err *e);

/* The configured executor with that id, on or off; CL_ENOTFOUND with the nearest. */
int key_executor(
	const struct keyed *k, const char *id, const struct cfg_executor **out, struct cl_err *e);

#endif
