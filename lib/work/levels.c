/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/levels.h"
#include "base/mem.h"
#include "base/text.h"
#include "work/project.h"

#include <stdlib.h>
#include <string.h>

#define SANDBOX_LEVEL "sandbox"

void work_levels_release(struct work_levels *l)
{
	eg_stack_release(&l->stack);
	*l = WORK_LEVELS_INIT;
}

char *work_level_name(const char *level, const char *subject)
{
	char *name = cl_asprintf(
		"rules of %s %s", !strcmp(level, "virtual") ? "virtual executor" : level, subject);

	/* A directory's name can hold anything, and this is printed. */
	cl_mask(name, "");
	return name;
}

static int refuse(struct cl_err *e)
{
	(void)cl_constraint(e, "egress_rules");
	e->code = CL_EREFUSED;
	return -1;
}

/* A text that fits no grammar of ours is no rule that could be enforced. */
int work_level_add(const struct store_rules *r, struct eg_stack *s, struct cl_err *e)
{
	const struct store_rules_of of = {r->level, r->subject};
	cleanup_free char *name = NULL, *words = NULL;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_eg_policy struct eg_policy probe = EG_POLICY_INIT;
	struct eg_auth *a;

	if (!r->rules)
		return 0;
	name = work_level_name(r->level, r->subject);
	a = eg_stack_add(s, name, r->version);
	if (!cl_doc_parse(&d, CL_DOC_JSON, name, r->rules, strlen(r->rules), NULL, e) &&
		!eg_auth_read(&d, d.root, a, e) && !eg_compile(a, &probe, e))
		return 0;
	words = store_rules_words(&of);
	(void)cl_wrap(
		e, "the stored %s, version %lld, cannot be enforced", name, (long long)r->version);
	(void)cl_fix(e,
		"set them again (cloop egress rules set %s), or take them away (rules clear)",
		words);
	return refuse(e);
}

/* Rules that nothing would enforce are worse than none: somebody relies on them. */
static int unfiltered(const struct cfg_executor *x, const struct store_rules *r, struct cl_err *e)
{
	cleanup_free char *name = work_level_name(r->level, r->subject);
	const struct store_rules_of of = {r->level, r->subject};
	cleanup_free char *words = store_rules_words(&of);

	(void)cl_fail(e, CL_EREFUSED,
		"executor '%s' has no egress filter, so that the stored %s, version %lld, would "
		"not be enforced",
		x->id, name, (long long)r->version);
	if (strcmp(x->kind, "container") != 0)
		(void)cl_fix(e,
			"run it on a container executor, or take the rules away: cloop egress "
			"rules clear %s",
			words);
	else
		(void)cl_fix(e,
			"set %s.egress_filter.enabled: true with what it may reach at most, or "
			"take the rules away: cloop egress rules clear %s",
			x->key, words);
	return refuse(e);
}

/* What stands in the configuration, and below the rules what the sandbox makes of it. */
static int configured(const struct cfg_executor *x, enum sb_net net, struct eg_stack *above,
	struct eg_stack *below, bool *filtered, struct cl_err *e)
{
	cleanup_free char *name = cl_asprintf("executor %s", x->id);
	bool narrowed = net == SB_NET_PUBLIC || net == SB_NET_GRANT_PUBLIC;

	if (x->egress.enabled)
		eg_auth_copy(&x->egress.auth, eg_stack_add(above, name, 0));
	*filtered = x->egress.enabled;
	if (!narrowed)
		return 0;
	return cfg_egress(x, net, eg_stack_add(below, SANDBOX_LEVEL, 0), filtered, e);
}

static void move_levels(struct eg_stack *to, struct eg_stack *from)
{
	for (size_t i = 0; i < from->n; i++)
		eg_auth_copy(
			&from->v[i].auth, eg_stack_add(to, from->v[i].name, from->v[i].version));
}

static int with_rules(const struct cfg_executor *x, enum sb_net net, const struct store_rules *r,
	size_t n, struct work_levels *out, struct cl_err *e)
{
	cleanup_eg_stack struct eg_stack below = EG_STACK_INIT;
	size_t first = 0;

	while (!r[first].rules)
		first++;
	/* Without a network there is nothing to enforce. */
	if (net == SB_NET_OFF || (!strcmp(x->network, "none") && net == SB_NET_UNTOUCHED))
		return 0;
	if (configured(x, net, &out->stack, &below, &out->filtered, e))
		return -1;
	if (!out->filtered)
		return unfiltered(x, &r[first], e);
	for (size_t i = 0; i < n; i++)
		if (work_level_add(&r[i], &out->stack, e))
			return -1;
	move_levels(&out->stack, &below);
	out->stored = true;
	return 0;
}

static const struct {
	const char *level;
	unsigned bit;
} order[] = {
	{"device", WORK_RULES_DEVICE},
	{"executor", WORK_RULES_EXECUTOR},
	{"virtual", WORK_RULES_VIRTUAL},
	{"project", WORK_RULES_PROJECT},
};
#define LEVELS CL_ARRAY_LEN(order)

unsigned work_rules_bit(const char *level)
{
	for (size_t i = 0; i < LEVELS; i++)
		if (!strcmp(order[i].level, level))
			return order[i].bit;
	return 0;
}

unsigned work_rules_above(const char *level)
{
	return work_rules_bit(level) - 1;
}

unsigned work_rules_below(const char *level)
{
	return WORK_RULES_ALL & ~(work_rules_above(level) | work_rules_bit(level));
}

static int read_rules(const struct hub *h, struct store *s, const struct cfg_executor *x,
	const char *project, unsigned rules, struct store_rules out[LEVELS], struct cl_err *e)
{
	/* A feature's directory is its project's. */
	cleanup_free char *of_project = project ? work_project_of(project) : NULL;
	struct store_rules_of of[LEVELS];

	for (size_t i = 0; i < LEVELS; i++) {
		const char *subject = order[i].bit == WORK_RULES_PROJECT ? of_project : x->id;

		of[i] = (struct store_rules_of){
			order[i].level, rules & order[i].bit ? subject : NULL};
	}
	return vouch_newest(h, s, of, LEVELS, out, e);
}

static bool any(const struct store_rules r[LEVELS])
{
	for (size_t i = 0; i < LEVELS; i++)
		if (r[i].rules)
			return true;
	return false;
}

int work_levels_read(const struct hub *h, struct store *s, const struct cfg_executor *x,
	const char *project, enum sb_net net, unsigned rules, struct work_levels *out,
	struct cl_err *e)
{
	struct store_rules r[LEVELS] = {STORE_RULES_INIT};
	struct eg_auth *a;
	int rc = read_rules(h, s, x, project, rules, r, e);

	if (!rc && any(r)) {
		rc = with_rules(x, net, r, LEVELS, out, e);
	} else if (!rc) {
		a = eg_stack_add(&out->stack, NULL, 0);
		rc = cfg_egress(x, net, a, &out->filtered, e);
		if (!out->filtered)
			eg_stack_release(&out->stack);
	}
	for (size_t i = 0; i < LEVELS; i++)
		store_rules_release(&r[i]);
	return rc;
}

int work_rules_check(struct eg_auth *a, struct cl_err *e)
{
	const struct {
		size_t n, max;
		const char *what;
	} bounds[] = {
		{a->nallow, WORK_RULES_CIDRS, "allowed ranges"},
		{a->ndeny, WORK_RULES_CIDRS, "denied ranges"},
		{a->nports, WORK_RULES_PORTS, "ports"},
		{a->nresolvers, WORK_RULES_RESOLVERS, "resolvers"},
		{a->nbrokers, WORK_RULES_RESOLVERS, "brokers"},
	};
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;

	for (size_t i = 0; i < CL_ARRAY_LEN(bounds); i++) {
		if (bounds[i].n <= bounds[i].max)
			continue;
		(void)cl_fail(e, CL_EDATA, "%zu %s are more than the %zu of a rule set",
			bounds[i].n, bounds[i].what, bounds[i].max);
		return cl_fix(e, "merge neighbouring ranges, or name fewer");
	}
	if (a->hosts.n) {
		(void)cl_fail(
			e, CL_EDATA, "a rule set has no host patterns: '%.100s'", a->hosts.v[0]);
		return cl_fix(e, "name address ranges; names are the egress proxy's to enforce");
	}
	a->max_cidrs = 0;
	if (!a->nports)
		a->all_ports = a->nallow || a->internet || a->all_ports;
	return eg_check_metadata(a, "allow_cidrs", "deny_cidrs", e) || eg_compile(a, &p, e) ? -1
											    : 0;
}

json_t *work_levels_versions(const struct eg_stack *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].version)
			(void)json_array_append_new(
				list, json_pack("{s:o, s:I}", "level", cl_json_string(s->v[i].name),
					      "version", (json_int_t)s->v[i].version));
	if (json_array_size(list))
		return list;
	json_decref(list);
	return NULL;
}
