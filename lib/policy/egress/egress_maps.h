/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A policy's flat form as the ruleset has it (the top of egress_nft.c): a few rules, or
 * verdict maps and a chain for each class of ports.
 */
#ifndef CL_POLICY_EGRESS_MAPS_H
#define CL_POLICY_EGRESS_MAPS_H

#include "policy/flat/flat.h"

/*
 * A policy of more rules than this has maps in any case, and one of more than a few where a
 * single lookup finds everything: to the first packet of a connection 4 rules add 450 ns on the
 * average and 10 rules 540 (connection tracking aside), one lookup 380.
 */
#define EG_LINEAR_RULES 10
#define EG_FEW_RULES    4

/* How many rules the policy would have; counted no further than behind `most`. */
size_t eg_count_rules(const struct flat *f, size_t most);

/* A chain of the ruleset that judges destinations, and what it refers to. */
struct eg_part {
	const char *chain;
	const char *map[FLAT_FAMILIES];
	const char *class;   /* its chains of port classes have this name and a number */
	const char *comment; /* of what it denies */
};
/*
 * What leaves the host, by the whole policy; and what is for the host itself, by what
 * is named (flat_build_named). A policy without the public Internet has the first alone.
 */
extern const struct eg_part eg_leaving, eg_to_host;
bool eg_has_internet(const struct eg_policy *p);

/* One protocol of what a class allows. */
struct eg_opening {
	enum eg_proto proto; /* EG_PROTO_ANY: neither TCP nor UDP */
	const struct flat_ports *ports;
	size_t n; /* 0: every port */
};
/* In order: TCP, UDP, the rest; returns how many there are. */
size_t eg_openings(const struct flat *f, uint32_t class, struct eg_opening out[FLAT_PROTOS]);

/*
 * An opening as the rules of a class's chain have it: a few ports are a rule each, which is
 * cheaper than to look up a set. The highest is first: 443 before 80 and 22, as connections are.
 * How many rules, and rule number k.
 */
size_t eg_opening_rules(const struct eg_opening *o);
struct eg_opening eg_opening_rule(const struct eg_opening *o, size_t k);

/*
 * The intervals of one family that allow something: the next one, from *lo to *hi. False
 * when there are no more; *i is where to go on, 0 to begin.
 */
bool eg_map_next(const struct flat *f, uint8_t family, size_t *i, flat_u128 *lo, flat_u128 *hi,
	uint32_t *class);

/*
 * The chain of a class that is neither FLAT_DROP_ALL nor FLAT_ALLOW_ALL: "allow<n>" or
 * "named<n>"; classes are numbered from FLAT_ALLOW_ALL + 1 to nclasses - 1, n from 1.
 */
#define EG_CHAIN_NAME 20
void eg_chain_name(const struct eg_part *part, uint32_t class, char out[EG_CHAIN_NAME]);

/* Why the first destination of an interval and an opening is allowed: a rule's comment. */
const char *eg_opening_reason(
	const struct flat *f, uint8_t family, flat_u128 lo, const struct eg_opening *o);

#endif
