/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CMD_EGRESS_BLOCKED_H
#define CMD_EGRESS_BLOCKED_H

#include "egress.h"
#include "work/blocked.h"
#include "work/ctx.h"
#include "work/paths.h"

/* Whose refusals are asked for: --run, --project, or everybody's. */
struct blocked_scope {
	struct hub hub;
	struct store *store;
	struct store_run run; /* id NULL: not one run's */
	char *project;        /* NULL: not one project's */
	char *run_base;
};
/* Whatever it returns, release it. */
int blocked_scope_open(struct cl_ctx *c, struct blocked_scope *b, struct cl_err *e);
void blocked_scope_release(struct blocked_scope *b);
#define cleanup_blocked_scope __attribute__((cleanup(blocked_scope_release)))
/* --trace: until a signal, or until nobody reads its output. */
int egress_trace(struct cl_ctx *c, const struct blocked_scope *scope, struct cl_err *e);
bool blocked_in_scope(const struct blocked_scope *b, const struct store_handle *h);

#endif
