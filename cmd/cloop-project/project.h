/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registry of projects. */
#ifndef CLOOP_PROJECT_H
#define CLOOP_PROJECT_H

#include "cli/cli.h"
#include "work/ctx.h"
#include "work/project.h"

#include <sys/types.h>

extern const struct cl_spec project_spec;

int cmd_project_add(struct cl_ctx *c, struct cl_err *e);
int cmd_project_list(struct cl_ctx *c, struct cl_err *e);
int cmd_project_show(struct cl_ctx *c, struct cl_err *e);
int cmd_project_remove(struct cl_ctx *c, struct cl_err *e);

/* The hub, its store and its configuration. */
struct project_cmd {
	struct hub hub;
	struct store *store;
	struct cl_doc doc;
	struct cfg cfg;
	char actor[32]; /* "uid:0" */
	int64_t now;    /* Unix milliseconds */
};
#define PROJECT_CMD_INIT \
	((struct project_cmd){.hub = HUB_INIT, .doc = CL_DOC_INIT, .cfg = CFG_INIT})
void project_cmd_release(struct project_cmd *p);
#define cleanup_project_cmd __attribute__((cleanup(project_cmd_release)))
int project_cmd_open(
	const struct cl_ctx *c, enum store_mode mode, struct project_cmd *out, struct cl_err *e);

/* The project that operand 0 names: its directory, or a name that only one has. */
int project_find(
	const struct cl_ctx *c, struct project_cmd *p, struct store_project *out, struct cl_err *e);

/* An audit row; detail is consumed. In the caller's transaction where there is one. */
int project_audit(struct project_cmd *p, const char *action, const char *path, json_t *take_detail,
	struct cl_err *e);
/* The same of a refusal, as far as it can be written: the refusal stands. Returns -1. */
int project_deny(struct project_cmd *p, const char *action, const char *path, int rule,
	const struct cl_err *why);

/* "device:inode:birth" of what fd is: tells a directory from a later one of its name. Owned. */
char *project_identity(int fd);

#endif
