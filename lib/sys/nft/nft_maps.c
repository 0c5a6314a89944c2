/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Verdict maps of intervals or prefixes, and the chains of port classes that they go to. Elements are
 * written as they are sent: there are hundreds of thousands of them.
 */
#include "base/mem.h"
#include "sys/nft/nft_internal.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <libnftnl/set.h>
#include <string.h>

/* A nested attribute holds 64 KiB; an element with the longest chain name is below 100. */
#define FULL 60000

/* nft(8) marks an interval that goes on to the last address; it lists it by this. */
#define UDATA_SET_ELEM_FLAGS 1
#define INTERVAL_OPEN        1

struct filling {
	struct nft_batch *b;
	const struct eg_part *part;
	const char *map;
	uint32_t id;
	uint8_t family;
	struct nlmsghdr *h; /* a message being filled, NULL: none */
	struct nlattr *list;
};

static void flush(struct filling *x)
{
	if (!x->h)
		return;
	mnl_attr_nest_end(x->h, x->list);
	nft_batch_close(x->b, x->h);
	x->h = NULL;
}

static void room(struct filling *x)
{
	if (x->h && (const char *)mnl_nlmsg_get_payload_tail(x->h) - (const char *)x->list > FULL)
		flush(x);
	if (x->h)
		return;
	x->h = nft_batch_open(
		x->b, NFT_MSG_NEWSETELEM, NLM_F_CREATE, "elements of the map", x->map);
	mnl_attr_put_strz(x->h, NFTA_SET_ELEM_LIST_TABLE, x->b->table);
	mnl_attr_put_strz(x->h, NFTA_SET_ELEM_LIST_SET, x->map);
	mnl_attr_put_u32(x->h, NFTA_SET_ELEM_LIST_SET_ID, htonl(x->id));
	x->list = mnl_attr_nest_start(x->h, NFTA_SET_ELEM_LIST_ELEMENTS);
}

static void put_key(struct filling *x, flat_u128 at)
{
	struct pol_addr a = flat_addr(x->family, at);
	struct nlattr *key = mnl_attr_nest_start(x->h, NFTA_SET_ELEM_KEY);

	mnl_attr_put(x->h, NFTA_DATA_VALUE, pol_bits(x->family) / 8u, a.b);
	mnl_attr_nest_end(x->h, key);
}

/* Behind the last address of an interval. */
static void put_end(struct filling *x, flat_u128 at)
{
	struct nlattr *el;

	room(x);
	el = mnl_attr_nest_start(x->h, NFTA_LIST_ELEM);
	mnl_attr_put_u32(x->h, NFTA_SET_ELEM_FLAGS, htonl(NFT_SET_ELEM_INTERVAL_END));
	put_key(x, at);
	mnl_attr_nest_end(x->h, el);
}

/* An element of a set. */
static void put_member(struct filling *x, flat_u128 at)
{
	struct nlattr *el;

	room(x);
	el = mnl_attr_nest_start(x->h, NFTA_LIST_ELEM);
	put_key(x, at);
	mnl_attr_nest_end(x->h, el);
}

/* The first address of one, with its verdict; chain NULL: accept. */
static void put_start(struct filling *x, flat_u128 at, const char *chain, bool open)
{
	static const uint8_t mark[] = {UDATA_SET_ELEM_FLAGS, 4, INTERVAL_OPEN, 0, 0, 0};
	struct nlattr *el, *data, *verdict;

	room(x);
	el = mnl_attr_nest_start(x->h, NFTA_LIST_ELEM);
	put_key(x, at);
	data = mnl_attr_nest_start(x->h, NFTA_SET_ELEM_DATA);
	verdict = mnl_attr_nest_start(x->h, NFTA_DATA_VERDICT);
	mnl_attr_put_u32(x->h, NFTA_VERDICT_CODE, htonl((uint32_t)(chain ? NFT_GOTO : NF_ACCEPT)));
	if (chain)
		mnl_attr_put_strz(x->h, NFTA_VERDICT_CHAIN, chain);
	mnl_attr_nest_end(x->h, verdict);
	mnl_attr_nest_end(x->h, data);
	if (open)
		mnl_attr_put(x->h, NFTA_SET_ELEM_USERDATA, sizeof(mark), mark);
	mnl_attr_nest_end(x->h, el);
}

/* The chain of a class, NULL for that which allows everything. */
static const char *class_chain(const struct filling *x, uint32_t class, char room[EG_CHAIN_NAME])
{
	eg_chain_name(x->part, class, room);
	return class == FLAT_ALLOW_ALL ? NULL : room;
}

static void fill_intervals(struct filling *x, const struct flat *flat)
{
	flat_u128 lo, hi, last = flat_last(x->family);
	uint32_t class;
	bool first = true;

	for (size_t i = 0; eg_map_next(flat, x->family, &i, &lo, &hi, &class); first = false) {
		char name[EG_CHAIN_NAME];

		if (first && lo)
			put_end(x, 0);
		put_start(x, lo, class_chain(x, class, name), hi == last);
		if (hi != last)
			put_end(x, hi + 1);
	}
	flush(x);
}

static void fill_prefixes(struct filling *x, const struct eg_lookup *l, size_t i)
{
	const struct eg_length *at = &l->at[i];

	for (size_t k = 0; k < at->n; k++) {
		char name[EG_MAP_NAME];

		if (at->mixed)
			put_start(x, at->v[k].key, eg_entry_says(x->part, l, at->v[k].to, name),
				false);
		else
			put_member(x, at->v[k].key);
	}
	flush(x);
}

static struct nft_set of_addresses(const char *name, uint8_t family, bool map)
{
	return (struct nft_set){.name = name,
		.flags = map ? NFT_SET_MAP : 0,
		.key_type = family == 4 ? NFT_KEY_IPV4 : NFT_KEY_IPV6,
		.key_len = pol_bits(family) / 8u,
		.verdicts = map};
}

static void add_intervals(struct nft_batch *b, const struct eg_part *part, uint8_t family,
	const struct flat *flat, struct nft_map_ids *ids)
{
	struct nft_set s = of_addresses(part->map[flat_half(family)], family, true);
	struct filling x = {.b = b, .part = part, .map = s.name, .family = family};

	s.flags |= NFT_SET_INTERVAL;
	x.id = ids->of[flat_half(family)][0] = nft_add_set(b, &s);
	fill_intervals(&x, flat);
}

static const char *length_name(
	struct nft_batch *b, const struct eg_part *part, const struct eg_lookup *l, size_t i)
{
	char name[EG_MAP_NAME];

	eg_length_name(part, l, i, name);
	return nft_batch_keep(b, name);
}

static void add_prefixes(struct nft_batch *b, const struct eg_part *part, const struct eg_lookup *l,
	struct nft_map_ids *ids)
{
	for (size_t i = 0; i < l->n; i++) {
		struct nft_set s =
			of_addresses(length_name(b, part, l, i), l->family, l->at[i].mixed);
		struct filling x = {.b = b, .part = part, .map = s.name, .family = l->family};

		/* What has a size is a table of that size; the kernel need not enlarge it. */
		s.size = (uint32_t)l->at[i].n;
		x.id = ids->of[flat_half(l->family)][i] = nft_add_set(b, &s);
		fill_prefixes(&x, l, i);
	}
}

void nft_add_maps(struct nft_batch *b, const struct eg_part *part, const struct flat *flat,
	const struct eg_maps *m, struct nft_map_ids *ids)
{
	for (uint8_t family = 4; family <= 6; family += 2)
		if (m->of[flat_half(family)].n)
			add_prefixes(b, part, &m->of[flat_half(family)], ids);
		else
			add_intervals(b, part, family, flat, ids);
}

static void add_longer_chains(
	struct nft_batch *b, const struct eg_part *part, const struct eg_lookup *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].chain == i)
			nft_add_chain(b, length_name(b, part, l, i), NULL);
}

void nft_add_map_chains(struct nft_batch *b, const struct eg_part *part, const struct flat *flat,
	const struct eg_maps *m)
{
	add_longer_chains(b, part, &m->of[FLAT_V4]);
	add_longer_chains(b, part, &m->of[FLAT_V6]);
	for (uint32_t i = FLAT_ALLOW_ALL + 1; i < flat->nclasses; i++) {
		char name[EG_CHAIN_NAME];

		if (!m->gone_to[i])
			continue;
		eg_chain_name(part, i, name);
		nft_add_chain(b, nft_batch_keep(b, name), NULL);
	}
}

static void opening(struct nft_rule *r, const struct eg_opening *o)
{
	static const uint8_t others[] = {IPPROTO_TCP, IPPROTO_UDP};

	if (o->proto == EG_PROTO_ANY) {
		nft_meta(r, NFT_META_L4PROTO, NFT_REG_1);
		nft_in(r, true, NFT_KEY_PROTO, 1, others, sizeof(others));
	} else {
		nft_l4proto(r, o->proto == EG_PROTO_TCP ? IPPROTO_TCP : IPPROTO_UDP);
	}
	if (o->n)
		nft_dport(r, o->ports, o->n);
}

/* An address in register 1; mask NULL: the whole of it. */
static void asks(struct nft_rule *r, uint8_t family, const struct pol_addr *mask)
{
	uint32_t len = pol_bits(family) / 8u;

	nft_nfproto(r, family);
	nft_payload(r, NFT_PAYLOAD_NETWORK_HEADER, family == 4 ? 16 : 24, len, NFT_REG_1);
	if (mask)
		nft_mask(r, mask->b, len);
}

/* How a rule goes on that asks for a length. */
static void look_up_in(struct nft_rule *r, const struct eg_part *part, const struct eg_lookup *l,
	size_t i, uint32_t id, enum nft_lookup how)
{
	const struct pol_addr mask = eg_length_mask(l, i);

	asks(r, l->family, l->at[i].len < pol_bits(l->family) ? &mask : NULL);
	nft_look_up(r, length_name(r->b, part, l, i), id, how);
}

static void look_up_length(struct nft_batch *b, const struct eg_part *part, const struct flat *flat,
	const struct eg_lookup *l, size_t i, const char *chain, uint32_t id)
{
	struct eg_opening o[EG_DIRECT_RULES];
	size_t n = eg_length_direct(flat, l, i, o);
	char name[EG_MAP_NAME];
	struct nft_rule r;

	for (size_t k = 0; k < n; k++) {
		r = nft_rule_begin(b, chain);
		opening(&r, &o[k]);
		look_up_in(&r, part, l, i, id, NFT_LOOKUP_IN);
		nft_verdict(&r, NF_ACCEPT, NULL);
		nft_rule_end(&r, NULL);
	}
	if (n)
		return;
	r = nft_rule_begin(b, chain);
	if (l->at[i].mixed) {
		look_up_in(&r, part, l, i, id, NFT_LOOKUP_VERDICT);
	} else {
		const char *to = eg_length_says(part, l, i, name);

		look_up_in(&r, part, l, i, id, NFT_LOOKUP_IN);
		nft_verdict(&r, to ? NFT_GOTO : NF_ACCEPT, to);
	}
	nft_rule_end(&r, NULL);
}

/* The rules of a chain that look up, for one family. */
static void look_up(struct nft_batch *b, const struct eg_part *part, const struct flat *flat,
	const struct eg_lookup *l, uint8_t chain_of, const char *chain,
	const struct nft_map_ids *ids)
{
	int half = flat_half(l->family);

	if (!l->n) {
		struct nft_rule r = nft_rule_begin(b, chain);

		asks(&r, l->family, NULL);
		nft_look_up(&r, part->map[half], ids->of[half][0], NFT_LOOKUP_VERDICT);
		nft_rule_end(&r, NULL);
	}
	for (size_t i = l->n; eg_lookup_next(l, chain_of, &i);)
		look_up_length(b, part, flat, l, i, chain, ids->of[half][i]);
}

void nft_map_rules(struct nft_batch *b, const struct eg_part *part, const struct flat *flat,
	const struct eg_maps *m, const struct nft_map_ids *ids)
{
	look_up(b, part, flat, &m->of[FLAT_V4], EG_OWN_CHAIN, part->chain, ids);
	look_up(b, part, flat, &m->of[FLAT_V6], EG_OWN_CHAIN, part->chain, ids);
}

void nft_deny_rule(
	struct nft_batch *b, const struct eg_part *part, const char *chain, const char *bridge)
{
	struct nft_rule r = nft_rule_begin(b, chain);

	nft_ifname(&r, NFT_META_IIFNAME, NFT_CMP_EQ, bridge);
	nft_counter(&r);
	nft_verdict(&r, NFT_GOTO, "denied");
	nft_rule_end(&r, part->comment);
}

static void longer_rules(struct nft_batch *b, const struct eg_part *part, const char *bridge,
	const struct flat *flat, const struct eg_lookup *l, const struct nft_map_ids *ids)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *chain;

		if (l->at[i].chain != i)
			continue;
		chain = length_name(b, part, l, i);
		look_up(b, part, flat, l, (uint8_t)i, chain, ids);
		nft_deny_rule(b, part, chain, bridge);
	}
}

static void accepted(struct nft_rule *r, const char *comment)
{
	nft_counter(r);
	nft_verdict(r, NF_ACCEPT, NULL);
	nft_rule_end(r, comment);
}

static void let_through(struct nft_batch *b, const char *chain, const struct eg_opening *o)
{
	for (size_t i = 0; i < eg_opening_rules(o); i++) {
		struct eg_opening one = eg_opening_rule(o, i);
		struct nft_rule r = nft_rule_begin(b, chain);

		opening(&r, &one);
		nft_verdict(&r, NF_ACCEPT, NULL);
		nft_rule_end(&r, NULL);
	}
}

void nft_map_chain_rules(struct nft_batch *b, const struct eg_part *part, const char *bridge,
	const struct flat *flat, const struct eg_maps *m, const struct nft_map_ids *ids)
{
	longer_rules(b, part, bridge, flat, &m->of[FLAT_V4], ids);
	longer_rules(b, part, bridge, flat, &m->of[FLAT_V6], ids);
	for (uint32_t i = FLAT_ALLOW_ALL + 1; i < flat->nclasses; i++) {
		struct eg_opening o[FLAT_PROTOS];
		size_t n = eg_openings(flat, i, o);
		char name[EG_CHAIN_NAME];
		const char *chain;

		if (!m->gone_to[i])
			continue;
		eg_chain_name(part, i, name);
		chain = nft_batch_keep(b, name);
		for (size_t k = 0; k < n; k++)
			let_through(b, chain, &o[k]);
		nft_deny_rule(b, part, chain, bridge);
	}
}

static void daddr(struct nft_rule *r, uint8_t family, flat_u128 lo, flat_u128 hi)
{
	struct pol_prefix p[FLAT_MAX_PREFIXES];
	struct pol_addr first = flat_addr(family, lo), last = flat_addr(family, hi);
	uint32_t len = pol_bits(family) / 8u;

	if (!lo && hi == flat_last(family)) {
		nft_nfproto(r, family);
	} else if (flat_prefixes(family, lo, hi, p) == 1) {
		nft_address(r, false, NFT_CMP_EQ, &p[0]);
	} else {
		nft_nfproto(r, family);
		nft_payload(r, NFT_PAYLOAD_NETWORK_HEADER, family == 4 ? 16 : 24, len, NFT_REG_1);
		nft_between(r, first.b, last.b, len);
	}
}

static void linear(struct nft_batch *b, const char *chain, const struct flat *flat, uint8_t family)
{
	flat_u128 lo, hi;
	uint32_t class;

	for (size_t i = 0; eg_map_next(flat, family, &i, &lo, &hi, &class);) {
		struct eg_opening o[FLAT_PROTOS];
		size_t n = eg_openings(flat, class, o);

		for (size_t k = 0; k < (class == FLAT_ALLOW_ALL ? 1 : n); k++) {
			struct nft_rule r = nft_rule_begin(b, chain);
			char comment[121];

			eg_comment(eg_opening_reason(flat, family, lo, &o[k]), comment);
			daddr(&r, family, lo, hi);
			if (class != FLAT_ALLOW_ALL)
				opening(&r, &o[k]);
			accepted(&r, comment);
		}
	}
}

void nft_linear_rules(struct nft_batch *b, const struct eg_part *part, const struct flat *flat)
{
	linear(b, part->chain, flat, 4);
	linear(b, part->chain, flat, 6);
}
