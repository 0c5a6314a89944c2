/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An expectation against the flat form: every interval, protocol and run of ports it holds. */
#include "policy/egress/expect.h"

#include <string.h>

/* The first port after p where another rule may decide, among the candidates of interval i. */
static uint32_t next_port(const struct flat *f, const struct flat_view *v, size_t i, uint32_t p)
{
	const uint32_t *c = f->pool + v->id[i];
	uint32_t next = FLAT_MAX_PORT + 1u;

	for (uint32_t k = 1; k <= c[0]; k++) {
		const struct flat_decider *r = &f->rules[c[k]];

		for (uint32_t n = 0; n < r->n; n++) {
			const struct flat_ports *s = &f->ports[r->at + n];

			if (s->lo > p && s->lo < next)
				next = s->lo;
			if (s->hi + 1u > p && s->hi + 1u < next)
				next = s->hi + 1u;
		}
	}
	return next;
}

struct probe {
	const struct exp_case *c;
	const struct flat *f;
	struct exp_result *out;
};

/* One destination; false fills the result. */
static bool holds(
	const struct probe *p, const struct pol_addr *a, uint16_t port, enum eg_proto proto)
{
	struct eg_answer got = flat_evaluate(p->f, a, port, proto);

	if (got.verdict == p->c->want && (!p->c->reason || !strcmp(p->c->reason, got.reason)))
		return true;
	*p->out = (struct exp_result){false, *a, port, proto, got};
	return false;
}

static bool ports_hold(const struct probe *p, const struct flat_view *v, size_t i,
	const struct pol_addr *a, enum eg_proto proto, const struct flat_ports *ports)
{
	for (uint32_t port = ports->lo; port <= ports->hi; port = next_port(p->f, v, i, port))
		if (!holds(p, a, (uint16_t)port, proto))
			return false;
	return true;
}

static bool protos_hold(const struct probe *p, const struct exp_target *t,
	const struct flat_view *v, size_t i, const struct pol_addr *a)
{
	static const struct flat_ports every = {1, FLAT_MAX_PORT};
	static const enum eg_proto order[] = {EG_PROTO_TCP, EG_PROTO_UDP};
	const struct exp_case *c = p->c;

	if (t->endpoint)
		return holds(p, a, t->port, t->proto);
	for (size_t k = 0; k < 2; k++) {
		if (!(c->protos & 1u << order[k]))
			continue;
		if (!c->nports && !ports_hold(p, v, i, a, order[k], &every))
			return false;
		for (size_t n = 0; n < c->nports; n++)
			if (!ports_hold(p, v, i, a, order[k], &c->ports[n]))
				return false;
	}
	return !(c->protos & 1u << EG_PROTO_ANY) || holds(p, a, 0, EG_PROTO_ANY);
}

/* Inside one interval every address has the same candidates: its first speaks for all. */
static bool target_holds(const struct probe *p, const struct exp_target *t)
{
	const struct flat_view *v = &p->f->why[flat_half(t->family)];

	for (size_t i = flat_find(v, t->family, t->lo); i < v->n && v->lo[i] <= t->hi; i++) {
		struct pol_addr a = flat_addr(t->family, v->lo[i] > t->lo ? v->lo[i] : t->lo);

		if (!protos_hold(p, t, v, i, &a))
			return false;
	}
	return true;
}

struct exp_result exp_run(const struct exp_case *c, const struct flat *f)
{
	struct exp_result out = {.ok = true};
	struct probe p = {c, f, &out};

	for (size_t i = 0; i < c->ntargets && out.ok; i++)
		(void)target_holds(&p, &c->targets[i]);
	return out;
}
