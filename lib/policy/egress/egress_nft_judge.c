/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The chains of the ruleset (the top of egress_nft.c) that judge destinations, as text for nft(8). */
#include "policy/egress/egress_internal.h"
#include "policy/egress/egress_lookup.h"

static void chain(const char *name, struct cl_buf *b)
{
	cl_buf_addf(b, "\n\tchain %s {\n", name);
}

void eg_states_text(struct cl_buf *b)
{
	cl_buf_adds(b, "\t\t" EG_ESTABLISHED "\n\t\tct state invalid counter drop\n");
}

static void ports(const struct eg_opening *o, struct cl_buf *b)
{
	const char *proto = eg_proto_name(o->proto);

	if (o->proto == EG_PROTO_ANY) {
		cl_buf_adds(b, "meta l4proto != { tcp, udp } ");
		proto = "th";
	} else if (!o->n) {
		cl_buf_addf(b, "meta l4proto %s ", proto);
	}
	if (!o->n)
		return;
	cl_buf_addf(b, "%s dport %s", proto, o->n > 1 ? "{ " : "");
	for (size_t i = 0; i < o->n; i++) {
		cl_buf_addf(b, "%s%u", i ? ", " : "", o->ports[i].lo);
		if (o->ports[i].lo != o->ports[i].hi)
			cl_buf_addf(b, "-%u", o->ports[i].hi);
	}
	cl_buf_adds(b, o->n > 1 ? " } " : " ");
}

static void daddr(uint8_t family, flat_u128 lo, flat_u128 hi, struct cl_buf *b)
{
	struct pol_prefix p[FLAT_MAX_PREFIXES];
	char text[POL_PREFIX_TEXT];

	if (!lo && hi == flat_last(family)) {
		cl_buf_addf(b, "meta nfproto ipv%d ", family);
		return;
	}
	cl_buf_adds(b, family == 4 ? "ip daddr " : "ip6 daddr ");
	if (flat_prefixes(family, lo, hi, p) == 1) {
		pol_prefix_text(&p[0], text);
		cl_buf_adds(b, text);
	} else {
		eg_range_text(family, lo, hi, b);
	}
	cl_buf_addc(b, ' ');
}

static void rules(const struct flat *flat, uint8_t family, struct cl_buf *b)
{
	flat_u128 lo, hi;
	uint32_t class;

	for (size_t i = 0; eg_map_next(flat, family, &i, &lo, &hi, &class);) {
		struct eg_opening o[FLAT_PROTOS];
		size_t n = eg_openings(flat, class, o);

		for (size_t k = 0; k < (class == FLAT_ALLOW_ALL ? 1 : n); k++) {
			char comment[121];

			eg_comment(eg_opening_reason(flat, family, lo, &o[k]), comment);
			cl_buf_adds(b, "\t\t");
			daddr(family, lo, hi, b);
			if (class != FLAT_ALLOW_ALL)
				ports(&o[k], b);
			cl_buf_addf(b, "counter accept comment \"%s\"\n", comment);
		}
	}
}

/* "ip daddr & MASK", and what stands before a set. */
static void masked(const struct eg_lookup *l, size_t i, bool set, struct cl_buf *b)
{
	struct pol_addr mask = eg_length_mask(l, i);
	char bits[POL_ADDR_TEXT];

	cl_buf_addf(b, "%s daddr ", l->family == 4 ? "ip" : "ip6");
	if (l->at[i].len == pol_bits(l->family))
		return;
	pol_addr_text(&mask, bits);
	cl_buf_addf(b, "& %s %s", bits, set ? "== " : "");
}

static void look_up_length(const struct eg_part *part, const struct flat *flat,
	const struct eg_lookup *l, size_t i, struct cl_buf *b)
{
	struct eg_opening o[EG_DIRECT_RULES];
	char name[EG_MAP_NAME], room[EG_MAP_NAME];
	size_t n = eg_length_direct(flat, l, i, o);

	eg_length_name(part, l, i, name);
	for (size_t k = 0; k < n; k++) {
		cl_buf_adds(b, "\t\t");
		ports(&o[k], b);
		masked(l, i, true, b);
		cl_buf_addf(b, "@%s accept\n", name);
	}
	if (n)
		return;
	cl_buf_adds(b, "\t\t");
	masked(l, i, !l->at[i].mixed, b);
	if (l->at[i].mixed) {
		cl_buf_addf(b, "vmap @%s\n", name);
	} else {
		const char *to = eg_length_says(part, l, i, room);

		cl_buf_addf(b, "@%s %s%s\n", name, to ? "goto " : "accept", to ? to : "");
	}
}

/* The rules of a chain that look up, for one family. */
static void look_up(const struct eg_part *part, const struct flat *flat, const struct eg_lookup *l,
	uint8_t chain_of, struct cl_buf *b)
{
	if (!l->n)
		cl_buf_addf(b, "\t\t%s daddr vmap @%s\n", l->family == 4 ? "ip" : "ip6",
			part->map[flat_half(l->family)]);
	for (size_t i = l->n; eg_lookup_next(l, chain_of, &i);)
		look_up_length(part, flat, l, i, b);
}

static void deny(const struct eg_part *part, const char *bridge, struct cl_buf *b)
{
	cl_buf_adds(b, "\t\t");
	if (bridge)
		cl_buf_addf(b, "iifname \"%s\" ", bridge);
	cl_buf_addf(b, "counter goto denied comment \"%s\"\n", part->comment);
	cl_buf_adds(b, "\t}\n");
}

static void allow_chain(const struct eg_part *part, const char *bridge, const struct flat *flat,
	uint32_t class, struct cl_buf *b)
{
	struct eg_opening o[FLAT_PROTOS];
	char name[EG_CHAIN_NAME];
	size_t n = eg_openings(flat, class, o);

	eg_chain_name(part, class, name);
	chain(name, b);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < eg_opening_rules(&o[i]); k++) {
			struct eg_opening one = eg_opening_rule(&o[i], k);

			cl_buf_adds(b, "\t\t");
			ports(&one, b);
			cl_buf_adds(b, "accept\n");
		}
	deny(part, bridge, b);
}

/* The chains of the longer prefixes. */
static void longer(const struct eg_part *part, const char *bridge, const struct flat *flat,
	const struct eg_lookup *l, struct cl_buf *b)
{
	for (size_t i = 0; i < l->n; i++) {
		char name[EG_MAP_NAME];

		if (l->at[i].chain != i)
			continue;
		eg_length_name(part, l, i, name);
		chain(name, b);
		look_up(part, flat, l, (uint8_t)i, b);
		deny(part, bridge, b);
	}
}

void eg_judging_text(const struct eg_part *part, const char *bridge, const struct flat *flat,
	const struct eg_maps *m, struct cl_buf *b)
{
	chain(part->chain, b);
	if (!bridge)
		eg_states_text(b);
	if (!m->there) {
		rules(flat, 4, b);
		rules(flat, 6, b);
		deny(part, bridge, b);
		return;
	}
	look_up(part, flat, &m->of[FLAT_V4], EG_OWN_CHAIN, b);
	look_up(part, flat, &m->of[FLAT_V6], EG_OWN_CHAIN, b);
	deny(part, bridge, b);
	longer(part, bridge, flat, &m->of[FLAT_V4], b);
	longer(part, bridge, flat, &m->of[FLAT_V6], b);
	for (uint32_t i = FLAT_ALLOW_ALL + 1; i < flat->nclasses; i++)
		if (m->gone_to[i])
			allow_chain(part, bridge, flat, i, b);
}
