/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Levels of egress policy: an executor's filter, the rule sets stored for the executor and
 * for the project, what the sandbox asks for. Each is an authorisation of its own, and what
 * a workload reaches is what every one of them allows, exactly: a level can take away and
 * never add. Facts 8. Pure.
 */
#ifndef CL_POLICY_EGRESS_STACK_H
#define CL_POLICY_EGRESS_STACK_H

#include "policy/egress/egress.h"

struct eg_level {
	char *name;      /* as answers name it: "rules of executor build-box"; NULL: none */
	int64_t version; /* of a stored rule set; 0: none */
	struct eg_auth auth;
};

/* The outermost first. */
struct eg_stack {
	struct eg_level *v;
	size_t n, cap;
	size_t max_cidrs; /* of an authorisation without a level; 0: EG_MAX_CIDRS */
};
#define EG_STACK_INIT  ((struct eg_stack){0})
#define EG_MAX_LEVELS  16
#define EG_MAX_LEVEL   4352 /* bytes of a name: a path, and words around it */
#define EG_MAX_VERSION INT64_C(9007199254740991)
void eg_stack_release(struct eg_stack *s);
#define cleanup_eg_stack __attribute__((cleanup(eg_stack_release)))

/* Adds a level below the others and returns its authorisation, to be filled; name may be NULL. */
struct eg_auth *eg_stack_add(struct eg_stack *s, const char *name, int64_t version);

/*
 * Reads what stands wherever a policy may: an authorisation (eg_auth_read), which becomes
 * one level without a name, or {"levels": [{"level": NAME, "version": N, "policy":
 * AUTHORISATION}, ...]}, the outermost first, names given once each. *out is EG_STACK_INIT
 * but for max_cidrs. CL_EDATA with the place. eg_stack_json writes the same; owned.
 */
int eg_stack_read(struct cl_doc *d, json_t *obj, struct eg_stack *out, struct cl_err *e);
json_t *eg_stack_json(const struct eg_stack *s);

/*
 * Compiles every level and intersects them. One level without a name is what eg_compile
 * makes of it. Otherwise each rule carries its level: of a drop the outermost that drops, of
 * an allow the innermost; a rule that decides nothing is left out; where a level's own list
 * ends stands its default deny. Warnings start with the level's name. An error of a level
 * names it. A stack of none reaches nothing.
 */
int eg_stack_compile(const struct eg_stack *s, struct eg_policy *out, struct cl_err *e);

/*
 * The resolvers of all levels that the compiled policy lets through by UDP, in the order of
 * the levels, each once; added to out's resolvers.
 */
void eg_stack_resolvers(const struct eg_stack *s, const struct eg_policy *p, struct eg_auth *out);

/* Something on the wire is allowed by some rule. */
bool eg_reaches_anything(const struct eg_policy *p);

#endif
