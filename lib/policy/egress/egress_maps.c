/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/egress_maps.h"

#include <stdio.h>

const struct eg_part eg_leaving = {.chain = "outbound",
	.map = {"allowed4", "allowed6"},
	.class = "allow",
	.comment = EG_SAY_DEFAULT};
const struct eg_part eg_to_host = {
	.chain = "tohost", .map = {"named4", "named6"}, .class = "named", .comment = EG_SAY_HOST};

bool eg_has_internet(const struct eg_policy *p)
{
	for (size_t i = 0; i < p->nrules; i++)
		if (p->rules[i].internet)
			return true;
	return false;
}

size_t eg_openings(const struct flat *f, uint32_t class, struct eg_opening out[FLAT_PROTOS])
{
	static const enum eg_proto order[FLAT_PROTOS] = {EG_PROTO_TCP, EG_PROTO_UDP, EG_PROTO_ANY};
	const struct flat_class *c = &f->classes[class];
	size_t n = 0;

	for (int i = 0; i < FLAT_PROTOS; i++)
		if (c->n[order[i]])
			out[n++] = (struct eg_opening){order[i], f->spans + c->at[order[i]],
				flat_class_full(f, c, order[i]) ? 0 : c->n[order[i]]};
	return n;
}

/* A rule for a port that is not the packet's takes a quarter of what looking up a set does. */
#define FEW_PORTS 3

static bool rule_a_port(const struct eg_opening *o)
{
	return o->proto != EG_PROTO_ANY && o->n && o->n <= FEW_PORTS;
}

size_t eg_opening_rules(const struct eg_opening *o)
{
	return rule_a_port(o) ? o->n : 1;
}

struct eg_opening eg_opening_rule(const struct eg_opening *o, size_t k)
{
	return rule_a_port(o) ? (struct eg_opening){o->proto, o->ports + (o->n - 1 - k), 1} : *o;
}

bool eg_map_next(const struct flat *f, uint8_t family, size_t *i, flat_u128 *lo, flat_u128 *hi,
	uint32_t *class)
{
	const struct flat_view *v = &f->sense[flat_half(family)];

	while (*i < v->n && v->id[*i] == FLAT_DROP_ALL)
		++*i;
	if (*i == v->n)
		return false;
	*lo = v->lo[*i];
	*hi = flat_hi(v, *i, family);
	*class = v->id[*i];
	++*i;
	return true;
}

size_t eg_count_rules(const struct flat *f, size_t most)
{
	struct eg_opening o[FLAT_PROTOS];
	flat_u128 lo, hi;
	uint32_t class;
	size_t rules = 0;

	for (uint8_t family = 4; family <= 6; family += 2)
		for (size_t i = 0; rules <= most && eg_map_next(f, family, &i, &lo, &hi, &class);)
			rules += class == FLAT_ALLOW_ALL ? 1 : eg_openings(f, class, o);
	return rules;
}

void eg_chain_name(const struct eg_part *part, uint32_t class, char out[EG_CHAIN_NAME])
{
	(void)snprintf(out, EG_CHAIN_NAME, "%s%u", part->class, class - FLAT_ALLOW_ALL);
}

const char *eg_opening_reason(
	const struct flat *f, uint8_t family, flat_u128 lo, const struct eg_opening *o)
{
	struct pol_addr a = flat_addr(family, lo);

	return flat_evaluate(f, &a, o->ports[0].lo, o->proto).reason;
}
