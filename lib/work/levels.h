/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The levels of egress policy of one run (facts 8): what the executor is configured with, the
 * rule sets stored for the executor and for the project, what the project's sandbox asks for.
 * The one way to them, for a run and for every command that answers for one.
 */
#ifndef CL_WORK_LEVELS_H
#define CL_WORK_LEVELS_H

#include "policy/config/config_egress.h"
#include "policy/egress/egress_stack.h"
#include "work/vouch.h"

struct work_levels {
	bool filtered;         /* a filter stands before the workload: stack is it */
	bool stored;           /* some of it is stored rules */
	struct eg_stack stack; /* one authorisation, as configured, or the levels */
};
#define WORK_LEVELS_INIT ((struct work_levels){.filtered = false})
void work_levels_release(struct work_levels *l);
#define cleanup_levels __attribute__((cleanup(work_levels_release)))

/* How answers name a level; owned. */
char *work_level_name(const char *level, const char *subject);

/*
 * Which stored rules count, from the top: of the device that the executor is on, of the
 * executor, of the virtual executor that it is, of the project. Every executor that a hub
 * configures is on the hub's own machine, so that the first three go by its id.
 */
enum {
	WORK_RULES_DEVICE = 1,
	WORK_RULES_EXECUTOR = 2,
	WORK_RULES_VIRTUAL = 4,
	WORK_RULES_PROJECT = 8,
	WORK_RULES_ALL = 15
};
/* Those that bound the rules of a level, and those that they bound. */
unsigned work_rules_above(const char *level);
unsigned work_rules_below(const char *level);
/* The one bit of a level's name. */
unsigned work_rules_bit(const char *level);

/*
 * Reads the levels of a run of `project` (NULL: of none) on x. net: what the project's spec
 * makes of the network. The stored rules are read at one moment; what is then enforced is
 * this. *out is WORK_LEVELS_INIT. CL_EREFUSED with constraint "egress_rules" where there are
 * rules that cannot be enforced: no filter stands on the executor, or they cannot be read;
 * CL_ECONFIG where they are not those that were set (vouch_newest); else as cfg_egress.
 */
int work_levels_read(const struct hub *h, struct store *s, const struct cfg_executor *x,
	const char *project, enum sb_net net, unsigned rules, struct work_levels *out,
	struct cl_err *e);

/* A stored set as one level, added to s; a cleared one adds none. CL_EREFUSED as above. */
int work_level_add(const struct store_rules *r, struct eg_stack *s, struct cl_err *e);

/* Bounds of a stored set (facts 8). */
#define WORK_RULES_CIDRS     256 /* allowed, and denied */
#define WORK_RULES_PORTS     64
#define WORK_RULES_RESOLVERS 16
/*
 * Makes an authorisation that somebody wrote a set to be stored: no port listed is every
 * port, duplicates and host patterns are out of place. CL_EDATA with what is refused, also
 * for a range that holds a metadata service without naming it (DECISIONS E10).
 */
int work_rules_check(struct eg_auth *a, struct cl_err *e);

/* [{level, version}] of the stored levels of a stack, or NULL; owned. */
json_t *work_levels_versions(const struct eg_stack *s);

#endif
