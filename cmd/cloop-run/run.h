/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The main job: a project in, a confined workload out, its output back. Each step is a
 * function here, in the order of DECISIONS D10, and the same as a command of its own.
 */
#ifndef CLOOP_RUN_H
#define CLOOP_RUN_H

#include "base/doc.h"
#include "cli/cli.h"
#include "policy/sandbox/ceiling.h"
#include "policy/sandbox/sandbox.h"
#include "store/run.h"
#include "store/session.h"
#include "work/ctx.h"

#include <sys/types.h>

extern const struct cl_spec run_spec;
int cmd_run(struct cl_ctx *c, struct cl_err *e);

/* A run that is being put together. */
struct run_plan {
	struct hub hub;
	struct cl_doc cfg_doc;
	struct cfg cfg;
	struct store *store;
	const struct cfg_executor *executor; /* in cfg */
	bool isolated;                       /* from this host, as that executor says */
	char *project;                       /* resolved */
	int project_fd;                      /* O_PATH of it, or -1 */
	int key_fd;                          /* CLOOP_SECRET_KEY (work/key_pass.h), or -1 */
	uid_t owner_uid;                     /* of the project directory */
	gid_t owner_gid;
	struct cl_doc spec_doc;
	struct sb_spec spec;
	char spec_hash[65], setup_hash[65];
	struct sb_limits limits; /* what the driver is to enforce */
	const char *disk_source; /* where the disk limit comes from */
	json_t *clamps;          /* array of records, owned */
	json_t *warnings;        /* array of {kind, text}: said, and recorded with the run; owned */
	bool network_off;
	const char *scope; /* "", "public", "none" */
	json_t *egress;    /* policy in force, or NULL; owned */
	json_t *rules;     /* stored levels in it, [{level, version}], or NULL; owned */
	const char *image; /* as requested; borrowed */
	bool image_from_project;
	json_t *pinned;            /* answer of the driver's prepare; owned */
	bool lend;                 /* something may be granted to it */
	struct store_session lost; /* --replaces: what it takes the place of; id NULL: of nothing */
	struct store_run lost_run;
	char id[STORE_RUN_ID];
	int64_t timeout_ms, deadline;
	bool wants_stdin;
	bool told;                  /* the error was printed already */
	struct store_handle handle; /* once it runs */
};

void run_plan_init(struct run_plan *p);
void run_plan_release(struct run_plan *p);
#define cleanup_run_plan __attribute__((cleanup(run_plan_release)))

/* --replaces: reads what is replaced into p->lost and checks that this is the same run. */
int run_replaces(struct cl_ctx *c, struct run_plan *p, struct cl_err *e);
/* The journal's and the audit's rows of that, in the transaction of the run's row. */
int run_note_replaced(const struct run_plan *p, int64_t now, struct cl_err *e);
/* It was refused: nothing else will take that place either, unless it may be tried again. */
void run_not_replaced(const struct run_plan *p, const struct cl_err *why);
/* CL_EREFUSED with constraint "quarantine": two executors were lost with this workload. */
int run_check_suspect(const struct cl_ctx *c, const struct run_plan *p, struct cl_err *e);
/* The command as the run's row has it; owned. */
char *run_argv_text(const struct cl_ctx *c);

/* Steps 1-4 and 6: configuration, confinement, sandbox, executor, egress. */
int run_plan_make(struct cl_ctx *c, struct run_plan *p, struct cl_err *e);
/*
 * Step 4: the executor of -e, else the default one, held against what the spec asks for; with
 * --place the best of all that are configured. Sets p->executor; refuses with every reason.
 */
int run_place(struct cl_ctx *c, struct run_plan *p, struct cl_err *e);
/* The request of step 4 as cloop-place(1) takes it; owned. */
char *run_place_text(const struct run_plan *p);
/* The driver's input for one run; owned. */
json_t *run_spec_json(const struct cl_ctx *c, const struct run_plan *p);
/* Says it, and keeps it for the run's record. */
void run_warn(struct cl_ctx *c, struct run_plan *p, const char *kind, const char *text);
/* Writes what was kept into the journal: of the run, or (NULL) of one that never came to be. */
int run_note_warnings(const struct run_plan *p, const char *run_id, struct cl_err *e);

/* Step 5: the driver inspects, pins and, where the spec has a setup, builds the image. */
int run_prepare(struct cl_ctx *c, struct run_plan *p, struct cl_err *e);
/*
 * The audit row of an image that the policy refused: with the reference as it was written (normalised,
 * it could hide the lookalike character that made it suspicious), and its parts as far as they were
 * recognised.
 */
void run_note_image(const struct run_plan *p, const char *reference, const struct cl_err *why);
/* Step 6: what may leave the sandbox, read at one moment; p->egress NULL: nothing filters it. */
int run_egress(struct run_plan *p, struct cl_err *e);
/* Step 7: true where a grant is aimed at this project or executor, or may be. */
int run_may_lend(const struct run_plan *p, bool *out, struct cl_err *e);
/* What the driver is told of it; owned. And what it answers that was not lent, as warnings. */
json_t *run_lease_json(const struct run_plan *p);
/* CL_ECONFIG for a detached run whose key is in the environment only. */
int run_key_lasts(const struct cl_ctx *c, const struct run_plan *p, struct cl_err *e);
void run_say_lease(struct cl_ctx *c, const json_t *lease);
/* Writes the run's row; then step 8. On failure the row says why. */
int run_launch(struct cl_ctx *c, struct run_plan *p, struct cl_err *e);
/* .cloop/sandbox-run.json in the project (DECISIONS D3); a failure is a warning. */
void run_record(struct cl_ctx *c, const struct run_plan *p);
/* Step 9: streams, signals and the end. Returns the exit status. */
int run_attach(struct cl_ctx *c, struct run_plan *p, struct cl_err *e);
/* Blocks the signals that run_attach handles, before anything is started. */
int run_hold_signals(struct cl_err *e);
/* Prints the same run as a pipeline of commands (--trace-steps). */
void run_trace(const struct cl_ctx *c, const struct run_plan *p);
/*
 * What the run was refused: {"destinations","packets","unrecorded"}, owned, NULL: nothing; and
 * a few lines on standard error about it.
 */
json_t *run_blocked(const struct run_plan *p);
void run_say_blocked(const struct cl_ctx *c, const struct run_plan *p, const json_t *sums);
/* The status object on the descriptor that --status-fd names. */
void run_status(const struct cl_ctx *c, const struct run_plan *p, json_t *take_status);

#endif
