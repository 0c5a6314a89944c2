/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The executors of a hub: how they are, who may use them, how much a workload gets there. */
#ifndef CLOOP_EXECUTOR_H
#define CLOOP_EXECUTOR_H

#include "cli/cli.h"
#include "store/run.h"
#include "work/ctx.h"
#include "work/fleet.h"

extern const struct cl_spec executor_spec;

int cmd_executor_list(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_ls(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_show(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_cordon(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_uncordon(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_drain(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_unbind(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_limits(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_access(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_probe_health(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_probe(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_evidence(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_reap(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_test(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_pardon(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_labels(struct cl_ctx *c, struct cl_err *e);
int cmd_executor_bind(struct cl_ctx *c, struct cl_err *e);
/* Becomes cloop-executor-key for the verbs of key_spec.h. */
int cmd_executor_key(struct cl_ctx *c, struct cl_err *e);

/* The hub, its store, its configuration and its executors. */
struct fleet_cmd {
	struct hub hub;
	struct store *store;
	struct cl_doc doc;
	struct cfg cfg;
	struct work_fleet fleet;
	char actor[32]; /* "uid:0" */
	int64_t now;    /* Unix milliseconds */
};
#define FLEET_CMD_INIT       \
	((struct fleet_cmd){ \
		.hub = HUB_INIT, .doc = CL_DOC_INIT, .cfg = CFG_INIT, .fleet = WORK_FLEET_INIT})
void fleet_cmd_release(struct fleet_cmd *f);
#define cleanup_fleet_cmd __attribute__((cleanup(fleet_cmd_release)))
/* The same without what is signed: no labels but those configured, and no default. */
int fleet_cmd_look(
	const struct cl_ctx *c, enum store_mode mode, struct fleet_cmd *out, struct cl_err *e);
int fleet_cmd_open(
	const struct cl_ctx *c, enum store_mode mode, struct fleet_cmd *out, struct cl_err *e);
/* The executor that operand 0 names. */
int fleet_cmd_node(const struct cl_ctx *c, const struct fleet_cmd *f, struct work_node **out,
	struct cl_err *e);

/* An audit row about an executor; detail is consumed, {} for NULL. In the caller's transaction. */
int fleet_audit(struct fleet_cmd *f, const char *action, const char *executor, const char *project,
	json_t *take_detail, struct cl_err *e);

/*
 * One pass over what serves and is to be asked; 1: one cannot take work. `end`
 * (sys_end_signals, or -1): told to end, it gives up what it is at.
 */
int probe_pass(struct cl_ctx *c, struct fleet_cmd *f,
	bool (*asked)(const struct fleet_cmd *f, const struct work_node *n), int end,
	struct cl_err *e);
/* Passes until SIGTERM or SIGINT; CL_EBUSY where another does so for the hub. */
int probe_loop(struct cl_ctx *c, struct cl_err *e);

/*
 * Puts an executor's health as *n has it into the store, if nobody changed it meanwhile.
 * *won false: somebody did; read again.
 */
int health_put(struct fleet_cmd *f, const struct work_node *n, bool *won, struct cl_err *e);
/* The stored health of one executor, read again into *n. */
int health_get(struct fleet_cmd *f, struct work_node *n, struct cl_err *e);

/* The suspects of all projects, with what lets each go. */
int fleet_suspects(const struct cl_ctx *c, const struct fleet_cmd *f, struct cl_err *e);

/* {cpu_milli, memory_mb, disk_mb, pids}; owned. */
json_t *limits_json(const struct sb_limits *l);
/* "cpu 1500m, pids 512", added to out; nothing for no ceiling. */
void limits_text(const struct sb_limits *l, struct cl_buf *out);

/* "3m": how long ago; "never" for 0. out holds 24 bytes. */
void fleet_age(const struct fleet_cmd *f, int64_t at, char out[24]);
/* An RFC 3339 time under `key`; left out for 0. */
void fleet_time(json_t *o, const char *key, int64_t at_ms);

#endif
