/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the verbs of cloop-probe share. */
#ifndef CLOOP_PROBE_CMD_H
#define CLOOP_PROBE_CMD_H

#include "cli/cli.h"

extern const struct cl_spec probe_spec;
int probe_evidence(struct cl_ctx *c, struct cl_err *e);
int probe_classify(struct cl_ctx *c, struct cl_err *e);

/* The program that reads evidence: static, and apart from this one so that a sandbox can run it. */
#define PROBE_PROGRAM "cloop-isolation-probe"

#endif
