/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stored rule sets, and what they come to: the verbs `rules ...` and `effective`. */
#ifndef CMD_EGRESS_RULES_H
#define CMD_EGRESS_RULES_H

#include "egress.h"
#include "work/ctx.h"
#include "work/levels.h"

/* Whose rules, in which hub. */
struct rules_scope {
	struct hub hub;
	struct cl_doc doc;
	struct cfg cfg;
	struct store *store;
	char *project; /* resolved, or NULL: an executor's */
	struct store_rules_of of;
};
#define RULES_SCOPE_INIT \
	((struct rules_scope){.hub = HUB_INIT, .doc = CL_DOC_INIT, .cfg = CFG_INIT})
void rules_scope_release(struct rules_scope *r);
#define cleanup_rules_scope __attribute__((cleanup(rules_scope_release)))

/*
 * From --executor and --project, of which at most one may be given; `one`: must be.
 * must_exist: the project is judged as a run would judge it; else a directory that is gone
 * is taken as its path is written.
 */
int rules_scope_open(struct cl_ctx *c, enum store_mode mode, bool one, bool must_exist,
	struct rules_scope *r, struct cl_err *e);

/*
 * The executor with that id; NULL: the one that a run of r->project would get, which is what it
 * is bound to or the default (DECISIONS D8). CL_ECONFIG, constraint "executor".
 */
int rules_executor(const struct rules_scope *r, const char *id, const struct cfg_executor **x,
	struct cl_err *e);

/* What a new set of an executor is held against. */
struct rules_cut {
	struct cl_ctx *c;
	const struct store_rules_of *of;
	const struct eg_stack *above;
	const char *name;
};

#endif
