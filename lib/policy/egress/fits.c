/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/fits.h"
#include "policy/egress/egress_internal.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN      3 /* ranges that a reason names */
#define MAX_REASON 20

/* Ports that the ranges of a stack are opened on. */
struct listed {
	bool ranges; /* every level opens some: a list of ports means something */
	bool every;
	bool port[FLAT_MAX_PORT + 1];
};

/* What one entry of the child opens beyond the parent. */
struct entry {
	int rule; /* of the child, the first that opens it */
	struct change_range *v;
	uint8_t *family;
	size_t n, cap, family_cap;
};

struct judge {
	const struct fits *f;
	const char *parent_name;
	const struct listed *child, *parent;
	bool *port_out;        /* the child's ports that the parent does not list */
	unsigned char *judged; /* classes of ports: LISTED and UNLISTED once they were looked at */
	size_t *by_rule;       /* of each rule of the child: the number of its entry, or 0 */
	struct entry *v;
	size_t n, cap;
};

static void listed_of(const struct eg_stack *s, struct listed *out)
{
	out->ranges = s->n > 0;
	out->every = true;
	memset(out->port, true, sizeof(out->port));
	for (size_t i = 0; i < s->n; i++) {
		const struct eg_auth *a = &s->v[i].auth;
		cleanup_free bool *has = NULL;

		out->ranges &= a->internet || a->nallow;
		if (a->all_ports)
			continue;
		has = cl_calloc(FLAT_MAX_PORT + 1u, sizeof(*has));
		for (size_t k = 0; k < a->nports; k++)
			has[a->ports[k]] = true;
		for (size_t k = 0; k <= FLAT_MAX_PORT; k++)
			out->port[k] &= has[k];
		out->every = false;
	}
}

/* --- what sticks out, by the entry that opens it --- */

static bool is_endpoint(const struct eg_rule *r)
{
	return cl_starts(r->reason, "DNS resolver") || cl_starts(r->reason, "egress broker");
}

/*
 * The rule that stands for an entry of the child's lists: the Internet has one for each
 * family, a resolver one for UDP and one for TCP.
 */
static int first_of_entry(const struct eg_policy *p, int rule)
{
	const struct eg_rule *r = &p->rules[rule];

	if (!r->internet && !is_endpoint(r))
		return rule;
	for (int i = 0; i < rule; i++) {
		const struct eg_rule *o = &p->rules[i];

		if (o->verdict != EG_ALLOW || o->internet != r->internet ||
			is_endpoint(o) != is_endpoint(r))
			continue;
		if (r->internet ||
			(!pol_prefix_cmp(&o->prefix, &r->prefix) && o->ports[0] == r->ports[0]))
			return i;
	}
	return rule;
}

static struct entry *entry_of(struct judge *j, int rule)
{
	size_t *at = &j->by_rule[rule];

	if (!*at) {
		int first = first_of_entry(&j->f->child.policy, rule);

		if (!j->by_rule[first]) {
			j->v = cl_grow(j->v, &j->cap, j->n + 1, sizeof(*j->v));
			j->v[j->n++] = (struct entry){.rule = first};
			j->by_rule[first] = j->n;
		}
		*at = j->by_rule[first];
	}
	return &j->v[*at - 1];
}

static void add_range(struct judge *j, const struct change_segment *s)
{
	struct entry *x = entry_of(j, s->after.rule);

	if (x->n && x->family[x->n - 1] == s->family && s->lo <= x->v[x->n - 1].hi)
		return; /* the same addresses by another protocol */
	if (x->n && x->family[x->n - 1] == s->family && x->v[x->n - 1].hi + 1 == s->lo) {
		x->v[x->n - 1].hi = s->hi;
		return;
	}
	x->v = cl_grow(x->v, &x->cap, x->n + 1, sizeof(*x->v));
	x->family = cl_grow(x->family, &x->family_cap, x->n + 1, sizeof(*x->family));
	x->v[x->n] = (struct change_range){s->lo, s->hi};
	x->family[x->n++] = s->family;
}

/* The parent lets some TCP through there. */
static bool parent_reaches(const struct judge *j, const struct change_segment *s)
{
	struct pol_addr a = flat_addr(s->family, s->lo);

	return flat_class_at(&j->f->parent.flat, &a)->n[EG_PROTO_TCP] > 0;
}

enum { JUDGED = 1, LISTED = 2, UNLISTED = 4 };

/* Are the ports among those that the parent lists? */
static unsigned judge_ports(struct judge *j, const struct change_segment *s)
{
	unsigned is = j->judged[s->class];

	if (is & JUDGED)
		return is;
	is = JUDGED;
	for (size_t i = 0; i < s->nports; i++) {
		for (uint32_t p = s->ports[i].lo; p <= s->ports[i].hi; p++) {
			is |= j->parent->port[p] ? LISTED : UNLISTED;
			j->port_out[p] |= !j->parent->port[p];
		}
	}
	j->judged[s->class] = (unsigned char)is;
	return is;
}

static void on_segment(void *data, const struct change_segment *s)
{
	struct judge *j = data;
	const struct eg_rule *r = &j->f->child.policy.rules[s->after.rule];

	if (s->proto != EG_PROTO_TCP || is_endpoint(r) || !j->parent->ranges || j->parent->every) {
		add_range(j, s);
		return;
	}
	if (judge_ports(j, s) & LISTED || !parent_reaches(j, s))
		add_range(j, s);
}

/* --- reasons --- */

static void ports_text(const struct listed *l, struct cl_buf *out)
{
	unsigned n = 0;

	for (uint32_t p = 1; p <= FLAT_MAX_PORT; p++)
		if (l->port[p])
			cl_buf_addf(out, "%s%u", n++ ? ", " : "", p);
	if (!n)
		cl_buf_adds(out, "none");
}

static void say_ports(struct judge *j, struct cl_strv *out)
{
	cleanup_buf struct cl_buf have = CL_BUF_INIT;
	bool any = false;

	for (uint32_t p = 0; p <= FLAT_MAX_PORT; p++)
		any |= j->port_out[p];
	if (!any)
		return;
	ports_text(j->parent, &have);
	if (j->child->every) {
		cl_strv_addf(out, "every port is more than the ports of %s (%s)", j->parent_name,
			have.p);
		return;
	}
	for (uint32_t p = 1; p <= FLAT_MAX_PORT; p++)
		if (j->port_out[p])
			cl_strv_addf(out, "port %u is not one of the ports of %s (%s)", p,
				j->parent_name, have.p);
}

/* "10.2.0.0/16, 10.3.0.0/16 and 4 more" */
static void pieces(const struct entry *x, struct cl_buf *out)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < x->n; i++) {
		struct pol_prefix p[FLAT_MAX_PREFIXES];
		size_t n = flat_prefixes(x->family[i], x->v[i].lo, x->v[i].hi, p);

		for (size_t k = 0; k < n; k++) {
			char text[POL_PREFIX_TEXT];

			if (shown == SHOWN) {
				more++;
				continue;
			}
			pol_prefix_text(&p[k], text);
			cl_buf_addf(out, "%s%s", shown++ ? ", " : "", text);
		}
	}
	if (more)
		cl_buf_addf(out, " and %zu more", more);
}

static const struct eg_block *metadata(const struct pol_prefix *p)
{
	for (size_t i = 0; i < eg_nblocks; i++)
		if (eg_blocks[i].kind == EG_BLOCK_METADATA &&
			!pol_prefix_cmp(&eg_blocks[i].prefix, p))
			return &eg_blocks[i];
	return NULL;
}

static bool has_internet(const struct judge *j)
{
	const struct eg_policy *p = &j->f->parent.policy;

	for (size_t i = 0; i < p->nrules; i++)
		if (p->rules[i].internet && p->rules[i].verdict == EG_ALLOW)
			return true;
	return false;
}

static void say_range(const struct judge *j, const struct entry *x, struct cl_strv *out)
{
	const struct pol_prefix *p = &j->f->child.policy.rules[x->rule].prefix;
	const struct eg_block *service = metadata(p), *block = eg_block_of(p, false);
	cleanup_buf struct cl_buf what = CL_BUF_INIT;
	char text[POL_PREFIX_TEXT], addr[POL_ADDR_TEXT];

	pol_prefix_text(p, text);
	pol_addr_text(&p->addr, addr);
	pieces(x, &what);
	if (service)
		cl_strv_addf(out, "%s (%s) is a metadata service that %s does not open by name",
			addr, service->name, j->parent_name);
	else if (block && has_internet(j))
		cl_strv_addf(out,
			"%s is no part of the public Internet (%s), and %s does not allow it: %s",
			text, block->reason, j->parent_name, what.p);
	else
		cl_strv_addf(out, "of %s, %s does not allow %s", text, j->parent_name, what.p);
}

static void say_endpoint(const struct judge *j, const struct entry *x, struct cl_strv *out)
{
	const struct eg_rule *r = &j->f->child.policy.rules[x->rule];
	bool resolver = cl_starts(r->reason, "DNS");
	struct pol_endpoint to = {r->prefix.addr, r->ports[0]};
	char text[POL_ENDPOINT_TEXT];

	pol_endpoint_text(&to, text);
	cl_strv_addf(out, "%s %s is not one that %s allows", resolver ? "resolver" : "broker", text,
		j->parent_name);
}

static void say_entry(const struct judge *j, const struct entry *x, struct cl_strv *out)
{
	const struct eg_rule *r = &j->f->child.policy.rules[x->rule];
	cleanup_buf struct cl_buf what = CL_BUF_INIT;

	if (is_endpoint(r)) {
		say_endpoint(j, x, out);
	} else if (r->internet && !has_internet(j)) {
		cl_strv_addf(out, "%s does not allow the public Internet", j->parent_name);
	} else if (r->internet) {
		pieces(x, &what);
		cl_strv_addf(out, "of the public Internet, %s does not allow %s", j->parent_name,
			what.p);
	} else {
		say_range(j, x, out);
	}
}

static void explain(struct judge *j, struct cl_strv *out)
{
	change_each(&j->f->parent, &j->f->child, &j->f->outside.areas, on_segment, j);
	say_ports(j, out);
	for (size_t i = 0; i < j->n && out->n < MAX_REASON; i++)
		say_entry(j, &j->v[i], out);
	if (out->n >= MAX_REASON && j->n > MAX_REASON)
		cl_strv_addf(out, "and %zu entries more", j->n - MAX_REASON);
	for (size_t i = 0; i < j->n; i++) {
		free(j->v[i].v);
		free(j->v[i].family);
	}
	free(j->v);
}

/* --- the comparison --- */

static void stack_copy(const struct eg_stack *from, struct eg_stack *to)
{
	for (size_t i = 0; i < from->n; i++)
		eg_auth_copy(
			&from->v[i].auth, eg_stack_add(to, from->v[i].name, from->v[i].version));
}

static int compile_child(const struct eg_stack *child, const struct eg_stack *parent,
	bool own_denies, struct eg_policy *out, struct cl_err *e)
{
	cleanup_eg_stack struct eg_stack s = EG_STACK_INIT;
	struct eg_auth *a;

	if (own_denies || !child->n)
		return eg_stack_compile(child, out, e);
	stack_copy(child, &s);
	a = &s.v[0].auth;
	if (a->nallow > (a->max_cidrs ? a->max_cidrs : EG_MAX_CIDRS) ||
		a->ndeny > (a->max_cidrs ? a->max_cidrs : EG_MAX_CIDRS))
		return eg_stack_compile(child, out, e);
	for (size_t i = 0; i < parent->n; i++) {
		for (size_t k = 0; k < parent->v[i].auth.ndeny; k++)
			eg_auth_add_deny(a, &parent->v[i].auth.deny[k]);
		a->block_special_use |= parent->v[i].auth.block_special_use;
	}
	a->max_cidrs = SIZE_MAX;
	return eg_stack_compile(&s, out, e);
}

int fits_check(const struct eg_stack *child, const struct eg_stack *parent, const char *parent_name,
	bool own_denies, struct fits *out, bool *inside, struct cl_err *e)
{
	cleanup_free struct listed *ports = NULL;
	cleanup_free bool *port_out = NULL;
	cleanup_free unsigned char *judged = NULL;
	cleanup_free size_t *by_rule = NULL;
	struct judge j = {.f = out, .parent_name = parent_name};

	if (eg_stack_compile(parent, &out->parent.policy, e) ||
		compile_child(child, parent, own_denies, &out->child.policy, e))
		return -1;
	flat_build(&out->parent.policy, true, &out->parent.flat);
	flat_build(&out->child.policy, true, &out->child.flat);
	change_make(&out->parent, &out->child, &out->outside);
	*inside = !out->outside.areas.n;
	if (*inside)
		return 0;
	ports = cl_calloc(2, sizeof(*ports));
	port_out = cl_calloc(FLAT_MAX_PORT + 1u, sizeof(*port_out));
	judged = cl_calloc(out->outside.areas.nclasses + 1, sizeof(*judged));
	by_rule = cl_calloc(out->child.policy.nrules + 1, sizeof(*by_rule));
	listed_of(child, &ports[0]);
	listed_of(parent, &ports[1]);
	j.child = &ports[0];
	j.parent = &ports[1];
	j.port_out = port_out;
	j.judged = judged;
	j.by_rule = by_rule;
	explain(&j, &out->reasons);
	return 0;
}

int fits_fail(const struct fits *f, const char *child, const char *parent, struct cl_err *e)
{
	cleanup_free char *all = cl_join(
		(const char *const *)f->reasons.v, f->reasons.n < 4 ? f->reasons.n : 3, "; ");
	char more[40] = "";

	if (f->reasons.n >= 4)
		(void)snprintf(more, sizeof(more), "; and %zu reasons more", f->reasons.n - 3);
	(void)cl_fail(
		e, CL_EREFUSED, "%s reach further than %s allows: %s%s", child, parent, all, more);
	(void)cl_constraint(e, "egress_rules");
	(void)cl_slug(e, FITS_CODE);
	return cl_fix(e, "take out what is named, or widen %s first", parent);
}

void fits_release(struct fits *f)
{
	change_release(&f->outside);
	change_side_release(&f->child);
	change_side_release(&f->parent);
	cl_strv_release(&f->reasons);
}
