/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random authorisations that meet each other and the block set: exact, nested, one bit
 * beside, whole families denied, endpoints inside what is denied. Seeded by the caller.
 */
#ifndef T_UNIT_EGRESS_RANDOM_H
#define T_UNIT_EGRESS_RANDOM_H

#include "policy/egress/blockset.h"
#include "policy/egress/egress.h"

#include <stdlib.h>

static unsigned er_seed = 20261129;

static inline unsigned er_pick(unsigned n)
{
	return (unsigned)rand_r(&er_seed) % n;
}

/* A prefix that something else in the policy, or the block set, is about. */
static inline struct pol_prefix er_base(const struct eg_auth *a)
{
	if (a->nallow && !er_pick(2))
		return a->allow[er_pick((unsigned)a->nallow)];
	if (a->ndeny && !er_pick(2))
		return a->deny[er_pick((unsigned)a->ndeny)];
	if (a->nresolvers && !er_pick(3))
		return pol_host(&a->resolvers[er_pick((unsigned)a->nresolvers)].addr);
	return eg_blocks[er_pick((unsigned)eg_nblocks)].prefix;
}

/* The same, longer, shorter, a host of it, or with a bit turned. */
static inline struct pol_prefix er_prefix(const struct eg_auth *a)
{
	struct pol_prefix p = er_base(a);
	unsigned bits = pol_bits(p.addr.family);

	switch (er_pick(6)) {
	case 0:
		p.len = (uint8_t)bits;
		break;
	case 1:
		p.len = (uint8_t)(p.len + er_pick(bits - p.len + 1));
		break;
	case 2:
		p.len = (uint8_t)(p.len - er_pick(p.len < 12u ? p.len + 1u : 12u));
		break;
	case 3:
		p.len = (uint8_t)(p.len + (p.len < bits));
		break;
	default:
		break;
	}
	if (p.len && er_pick(2)) {
		unsigned bit = er_pick(p.len);

		p.addr.b[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
	}
	pol_prefix_mask(&p);
	return p;
}

static inline void er_auth(struct eg_auth *a)
{
	static const uint16_t some[] = {1, 22, 53, 80, 443, 8080, 65535};

	a->internet = er_pick(3) != 0;
	a->block_special_use = er_pick(2);
	a->all_ports = !er_pick(4);
	for (unsigned n = a->all_ports ? 0 : 1 + er_pick(3); n; n--)
		eg_auth_add_port(a, some[er_pick(7)]);
	for (unsigned n = er_pick(6) + er_pick(2) * er_pick(30); n; n--) {
		struct pol_prefix p = er_prefix(a);

		if (pol_prefix_valid(&p))
			eg_auth_add_allow(a, &p);
	}
	for (unsigned n = er_pick(4) + er_pick(2) * er_pick(30); n; n--) {
		struct pol_prefix p = er_prefix(a);

		if (!er_pick(40))
			p.len = 0;
		pol_prefix_mask(&p);
		if (pol_prefix_valid(&p))
			eg_auth_add_deny(a, &p);
	}
	for (unsigned n = er_pick(3); n; n--) {
		struct pol_endpoint p = {er_prefix(a).addr, some[er_pick(7)]};

		eg_auth_add_resolver(a, &p);
		p = (struct pol_endpoint){er_prefix(a).addr, some[er_pick(7)]};
		eg_auth_add_broker(a, &p);
	}
}

#endif
