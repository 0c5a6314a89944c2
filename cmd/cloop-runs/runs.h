/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CLOOP_RUNS_H
#define CLOOP_RUNS_H

#include "cli/cli.h"
#include "store/run.h"
#include "work/ctx.h"

extern const struct cl_spec runs_spec;

int cmd_runs_list(struct cl_ctx *c, struct cl_err *e);
int cmd_runs_show(struct cl_ctx *c, struct cl_err *e);
int cmd_runs_logs(struct cl_ctx *c, struct cl_err *e);
int cmd_runs_stop(struct cl_ctx *c, struct cl_err *e);
int cmd_runs_wait(struct cl_ctx *c, struct cl_err *e);
int cmd_runs_journal(struct cl_ctx *c, struct cl_err *e);
int cmd_runs_names(struct cl_ctx *c, struct cl_err *e);

/* The run that operand 0 names, with its hub and an open store. Release all three. */
struct one_run {
	struct hub hub;
	struct store *store;
	struct store_run run;
};
int one_run_open(struct cl_ctx *c, enum store_mode mode, struct one_run *o, struct cl_err *e);
void one_run_release(struct one_run *o);
#define cleanup_one_run __attribute__((cleanup(one_run_release)))

/*
 * Waits until the run is finished and reads its row again. `say` is called about once a
 * second while it is not; NULL: nothing to do meanwhile.
 */
int one_run_wait(struct one_run *o, struct cl_err *e);

#endif
