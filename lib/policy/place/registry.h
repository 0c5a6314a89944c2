/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which executor does a project's work (facts/executors.md 4 "Registry", DECISIONS D8): the one
 * that was asked for, else the one the project is bound to, else the default. Never another
 * one in its place: what is bound to nothing that exists is refused. Pure.
 */
#ifndef POLICY_REGISTRY_H
#define POLICY_REGISTRY_H

#include "base/err.h"
#include "policy/place/place.h"

/* Of one executor; the order is that of the configuration. */
struct reg_entry {
	const char *id;
	bool isolates;   /* a workload from the hub's host */
	bool named_only; /* never the default that nobody set */
};

/* NULL: not said. Texts are borrowed. */
struct reg_ask {
	const char *asked;   /* -e */
	const char *bound;   /* what the project is bound to */
	const char *set;     /* the default that somebody set */
	const char *project; /* for messages */
	const struct reg_entry *v;
	size_t n;
	bool strict; /* only executors that isolate are there at all */
};

enum reg_how { REG_ASKED, REG_BOUND, REG_SET, REG_FIRST };
const char *reg_how_name(enum reg_how h); /* "asked", "bound", "default", "first" */

/* A host policy only ever tightens: what was strict once stays so. */
bool reg_tighten(bool strict, bool allow_host_process);

/*
 * 0 and the index in v. CL_EREFUSED, constraint "executor": there is none (never a fallback);
 * slug "host_execution": strict, and the one that was meant does not isolate; the fix names
 * those that do.
 */
int reg_resolve(const struct reg_ask *a, size_t *which, enum reg_how *how, struct cl_err *e);

#endif
