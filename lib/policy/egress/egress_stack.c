/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two first-match lists as one: every allow of the outer list is taken apart by the inner
 * one, in order. Prefixes meet in a prefix, lists of ports in a list, so that the result is
 * an ordered list of the same kind, and whatever reads a policy reads a stack.
 */
#include "policy/egress/egress_stack.h"
#include "policy/egress/egress_internal.h"
#include "policy/flat/flat.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Ports of two rules, both sorted, of which an empty list is every port. */
struct meeting {
	const uint16_t *a, *b;
	size_t na, nb;
	size_t at, n; /* in product.ports */
	bool any;     /* they have a port in common */
};

struct product {
	struct eg_policy *out;
	size_t *at; /* of each rule of out: its ports, until they no longer move */
	size_t at_cap;
	struct cl_buf ports; /* uint16_t */
	struct meeting last;
};

static void add_port(struct product *x, uint16_t port)
{
	cl_buf_add(&x->ports, &port, sizeof(port));
}

static void common_ports(struct product *x, const struct meeting *m)
{
	for (size_t i = 0, k = 0; i < m->na && k < m->nb;) {
		if (m->a[i] == m->b[k])
			add_port(x, m->a[i]);
		if (m->a[i] < m->b[k])
			i++;
		else
			k++;
	}
}

/* Rules that follow each other mostly have the same two lists. */
static const struct meeting *meet(
	struct product *x, const struct eg_rule *a, const struct eg_rule *b)
{
	struct meeting *m = &x->last;

	if (m->any && m->a == a->ports && m->na == a->nports && m->b == b->ports &&
		m->nb == b->nports)
		return m;
	*m = (struct meeting){a->ports, b->ports, a->nports, b->nports,
		x->ports.len / sizeof(uint16_t), 0, false};
	for (size_t i = 0; !m->nb && i < m->na; i++)
		add_port(x, m->a[i]);
	for (size_t i = 0; !m->na && i < m->nb; i++)
		add_port(x, m->b[i]);
	common_ports(x, m);
	m->n = x->ports.len / sizeof(uint16_t) - m->at;
	m->any = m->n || (!m->na && !m->nb);
	return m;
}

/* `rule`, where `within` holds too; nothing where they do not meet. */
static void add(struct product *x, const struct eg_rule *rule, const struct eg_rule *within)
{
	const struct pol_prefix *a = &rule->prefix, *b = &within->prefix;
	bool inside = pol_prefix_holds(b, a);
	const struct meeting *m;
	struct eg_policy *p = x->out;
	struct eg_rule *r;

	if ((!inside && !pol_prefix_holds(a, b)) ||
		(rule->proto != EG_PROTO_ANY && within->proto != EG_PROTO_ANY &&
			rule->proto != within->proto))
		return;
	m = meet(x, rule, within);
	if (!m->any)
		return;
	p->rules = cl_grow(p->rules, &p->rules_cap, p->nrules + 1, sizeof(*p->rules));
	x->at = cl_grow(x->at, &x->at_cap, p->nrules + 1, sizeof(*x->at));
	r = &p->rules[p->nrules];
	*r = *rule;
	r->prefix = inside ? *a : *b;
	if (r->proto == EG_PROTO_ANY)
		r->proto = within->proto;
	/* What one of the two has of the Internet alone, neither names. */
	r->internet |= within->internet;
	r->ports = NULL;
	r->nports = m->n;
	x->at[p->nrules++] = m->at;
}

static void multiply(struct product *x, const struct eg_policy *outer,
	const struct eg_policy *inner, const char *level)
{
	for (size_t i = 0; i < outer->nrules; i++) {
		const struct eg_rule *o = &outer->rules[i];
		struct eg_rule rest = *o;

		if (o->local || o->verdict == EG_DROP) {
			add(x, o, o);
			continue;
		}
		for (size_t k = 0; k < inner->nrules; k++)
			if (!inner->rules[k].local)
				add(x, &inner->rules[k], o);
		rest.verdict = EG_DROP;
		rest.reason = EG_SAY_DEFAULT;
		rest.level = level;
		add(x, &rest, o);
	}
}

/* One of the first k candidates has decided all that number k is about. */
static bool shadowed(const struct flat *f, const uint32_t *c, uint32_t k)
{
	const struct flat_decider *r = &f->rules[c[k]];

	for (uint32_t i = 1; i < k; i++) {
		const struct flat_decider *o = &f->rules[c[i]];
		uint32_t n = 0;

		if (r->protos & ~o->protos || (o->n && !r->n))
			continue;
		/* Single ports, sorted: every one of r's is one of o's. */
		for (uint32_t m = 0; m < o->n && n < r->n; m++)
			n += f->ports[o->at + m].lo == f->ports[r->at + n].lo;
		if (!o->n || n == r->n)
			return true;
	}
	return false;
}

/* Rules that decide nothing anywhere go; the sandbox's own loopback stays. */
static void prune(struct eg_policy *p)
{
	cleanup_free bool *used = cl_calloc(p->nrules + 1, sizeof(*used));
	cleanup_flat struct flat f = FLAT_INIT;
	size_t kept = 0;

	flat_build(p, true, &f);
	for (int half = FLAT_V4; half <= FLAT_V6; half++) {
		for (size_t i = 0; i < f.why[half].n; i++) {
			const uint32_t *c = f.pool + f.why[half].id[i];

			for (uint32_t k = 1; k <= c[0]; k++)
				if (f.rules[c[k]].id >= 0 && !shadowed(&f, c, k))
					used[f.rules[c[k]].id] = true;
		}
	}
	for (size_t i = 0; i < p->nrules; i++)
		if (p->rules[i].local || used[i])
			p->rules[kept++] = p->rules[i];
	p->nrules = kept;
}

static void take_texts(struct cl_strv *to, struct cl_strv *from)
{
	to->v = cl_grow(to->v, &to->cap, to->n + from->n + 1, sizeof(*to->v));
	for (size_t i = 0; i < from->n; i++)
		to->v[to->n++] = cl_steal(&from->v[i]);
	to->v[to->n] = NULL;
	from->n = 0;
}

/* acc becomes what acc and inner both allow; inner is used up. */
static void narrow(struct eg_policy *acc, struct eg_policy *inner, const char *level)
{
	struct eg_policy out = {.mode = acc->mode < inner->mode ? acc->mode : inner->mode,
		.silent = acc->silent || inner->silent};
	struct product x = {.out = &out, .ports = CL_BUF_INIT};

	multiply(&x, acc, inner, level);
	out.ports = cl_malloc(x.ports.len + 1);
	memcpy(out.ports, x.ports.p, x.ports.len);
	for (size_t i = 0; i < out.nrules; i++)
		out.rules[i].ports = out.ports + x.at[i];
	free(x.at);
	cl_buf_release(&x.ports);
	prune(&out);
	take_texts(&out.warnings, &acc->warnings);
	take_texts(&out.warnings, &inner->warnings);
	take_texts(&out.reasons, &acc->reasons);
	take_texts(&out.reasons, &inner->reasons);
	take_texts(&out.levels, &acc->levels);
	eg_policy_release(acc);
	*acc = out;
}

static int compile_level(
	const struct eg_level *l, const char *label, struct eg_policy *out, struct cl_err *e)
{
	if (eg_compile(&l->auth, out, e))
		return cl_wrap(e, "%s", label);
	for (size_t i = 0; i < out->nrules; i++)
		out->rules[i].level = label;
	for (size_t i = 0; i < out->warnings.n; i++) {
		char *text = cl_asprintf("%s: %s", label, out->warnings.v[i]);

		free(out->warnings.v[i]);
		out->warnings.v[i] = text;
	}
	return 0;
}

int eg_stack_compile(const struct eg_stack *s, struct eg_policy *out, struct cl_err *e)
{
	static const struct eg_auth nothing = {0};

	if (!s->n)
		return eg_compile(&nothing, out, e);
	if (s->n == 1 && !s->v[0].name)
		return eg_compile(&s->v[0].auth, out, e);
	for (size_t i = 0; i < s->n; i++) {
		cleanup_eg_policy struct eg_policy inner = EG_POLICY_INIT;
		const char *label;

		cl_strv_add(&out->levels, s->v[i].name ? s->v[i].name : "policy");
		label = out->levels.v[i];
		if (compile_level(&s->v[i], label, &inner, e))
			return -1;
		if (i) {
			narrow(out, &inner, label);
			continue;
		}
		take_texts(&inner.levels, &out->levels);
		eg_policy_release(out);
		*out = inner;
		inner = EG_POLICY_INIT;
	}
	return 0;
}

const char *eg_level_of(const struct eg_policy *p, int rule)
{
	if (rule >= 0)
		return p->rules[rule].level;
	return p->levels.n ? p->levels.v[0] : NULL;
}

bool eg_reaches_anything(const struct eg_policy *p)
{
	for (size_t i = 0; i < p->nrules; i++)
		if (p->rules[i].verdict == EG_ALLOW && !p->rules[i].local)
			return true;
	return false;
}

static bool has_resolver(const struct eg_auth *a, const struct pol_endpoint *r)
{
	for (size_t i = 0; i < a->nresolvers; i++)
		if (a->resolvers[i].port == r->port &&
			!pol_addr_cmp(&a->resolvers[i].addr, &r->addr))
			return true;
	return false;
}

void eg_stack_resolvers(const struct eg_stack *s, const struct eg_policy *p, struct eg_auth *out)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->v[i].auth.nresolvers; k++) {
			const struct pol_endpoint *r = &s->v[i].auth.resolvers[k];

			if (!has_resolver(out, r) &&
				eg_evaluate(p, &r->addr, r->port, EG_PROTO_UDP, true).verdict ==
					EG_ALLOW)
				eg_auth_add_resolver(out, r);
		}
	}
}

/* --- without an order --- */

/* A class's ports of one protocol as a list; every port is none. */
struct port_list {
	size_t at, n;
	bool every;
};

static struct port_list list_ports(
	const struct flat_areas *a, const struct flat_class *c, unsigned proto, struct cl_buf *out)
{
	const struct flat_ports *s = a->spans + c->at[proto];
	struct port_list l = {.at = out->len / sizeof(uint16_t)};

	l.every = c->n[proto] == 1 && s->lo <= 1 && s->hi == FLAT_MAX_PORT;
	for (uint32_t i = 0; !l.every && i < c->n[proto]; i++) {
		for (uint32_t p = s[i].lo; p <= s[i].hi; p++) {
			uint16_t port = (uint16_t)p;

			cl_buf_add(out, &port, sizeof(port));
		}
	}
	l.n = out->len / sizeof(uint16_t) - l.at;
	return l;
}

static void plain_area(
	const struct flat_area *area, const struct port_list *lists, struct eg_policy *out)
{
	struct pol_prefix p[FLAT_MAX_PREFIXES];
	size_t n = flat_prefixes(area->family, area->lo, area->hi, p);

	for (unsigned proto = 0; proto < FLAT_PROTOS; proto++) {
		const struct port_list *l = &lists[area->ports * FLAT_PROTOS + proto];

		for (size_t i = 0; (l->n || l->every) && i < n; i++) {
			out->rules = cl_grow(
				out->rules, &out->rules_cap, out->nrules + 1, sizeof(*out->rules));
			out->rules[out->nrules++] = (struct eg_rule){.verdict = EG_ALLOW,
				.prefix = p[i],
				.proto = (enum eg_proto)proto,
				.ports = out->ports + l->at,
				.nports = l->n,
				.reason = "allowed"};
		}
	}
}

void eg_plain(const struct eg_policy *p, struct eg_policy *out)
{
	cleanup_areas struct flat_areas areas = FLAT_AREAS_INIT;
	cleanup_free struct port_list *lists = NULL;
	cleanup_flat struct flat f = FLAT_INIT;
	cleanup_buf struct cl_buf ports = CL_BUF_INIT;

	flat_build(p, true, &f);
	flat_allowed(&f, &areas);
	lists = cl_calloc(areas.nclasses * FLAT_PROTOS + 1, sizeof(*lists));
	for (size_t i = 0; i < areas.nclasses; i++)
		for (unsigned proto = 0; proto < FLAT_PROTOS; proto++)
			lists[i * FLAT_PROTOS + proto] =
				list_ports(&areas, &areas.classes[i], proto, &ports);
	out->mode = p->mode;
	out->silent = p->silent;
	out->ports = cl_malloc(ports.len + 1);
	memcpy(out->ports, ports.p, ports.len);
	for (size_t i = 0; i < areas.n; i++)
		plain_area(&areas.v[i], lists, out);
}
