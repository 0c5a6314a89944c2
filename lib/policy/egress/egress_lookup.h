/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a ruleset with maps finds what is done with an address: by a map of intervals, which the
 * kernel searches as a tree, or by maps of prefixes, one for each length, which it hashes.
 *
 * The prefixes of what is allowed do not overlap. So the lengths can be searched by halves
 * (Waldvogel et al., Scalable High Speed IP Routing Lookups, SIGCOMM 1997): the map of the
 * middle length also has the beginnings of all longer prefixes, with a verdict that goes on to
 * the chain of the longer half; what is not in it goes on, in the next rule, to the shorter
 * half. Who is sent to the longer half can have no match in the shorter one: nothing has to be
 * remembered, and what a map does not have yet while it is filled is closed. With k lengths a
 * packet is looked up at most log2(k + 1) times, whatever the number of prefixes. Prefixes may
 * be cut into longer ones, so that there are fewer lengths.
 *
 * Where all prefixes of a length are for one chain, as those of a policy with one list of ports
 * are, they are a set, and the rule that asks it says where to go: the kernel loads 100,000 of
 * these in two thirds of the time and drops them without looking at each.
 */
#ifndef CL_POLICY_EGRESS_LOOKUP_H
#define CL_POLICY_EGRESS_LOOKUP_H

#include "policy/egress/egress_maps.h"

/* At most so many lookups, one after the other; more would take as long as a tree. */
#define EG_LOOKUPS 5
#define EG_LENGTHS ((1 << EG_LOOKUPS) - 1)

/* What an entry says: a class of the flat form, or EG_LONGER and the place of a length. */
#define EG_LONGER 0x80000000u
struct eg_entry {
	flat_u128 key; /* the prefix, its other bits 0 */
	uint32_t to;
};
struct eg_length {
	uint8_t len;        /* of the prefixes, in bits */
	uint8_t chain;      /* whose rule looks here: EG_OWN_CHAIN, or the place of a length */
	bool mixed;         /* entries say different things: a map; else a set: eg_length_says */
	struct eg_entry *v; /* ascending, each key once; at least one */
	size_t n, cap;
};
#define EG_OWN_CHAIN 255 /* the chain of the part; a length's chain has its name */

/* Of one family. n 0: a map of intervals (eg_map_next), which may be empty. */
struct eg_lookup {
	uint8_t family;
	struct eg_length at[EG_LENGTHS]; /* ascending */
	size_t n;
};
/* Of a part of the ruleset; not there: it has rules. */
struct eg_maps {
	bool there;
	struct eg_lookup of[FLAT_FAMILIES];
	bool *gone_to; /* of each class of the flat form: a rule or an element goes to its chain */
};
#define EG_MAPS_INIT ((struct eg_maps){.there = false})
/* Chooses what costs a packet less; *out is written. */
void eg_maps_make(const struct flat *f, struct eg_maps *out);
void eg_maps_release(struct eg_maps *m);
#define cleanup_maps __attribute__((cleanup(eg_maps_release)))

/* The name of a length's map, and of its chain where it has one: "allowed4_24". */
#define EG_MAP_NAME 20
void eg_length_name(
	const struct eg_part *part, const struct eg_lookup *l, size_t i, char out[EG_MAP_NAME]);
/* A chain, or NULL for what is allowed as a whole: what is done with who is in a set. */
const char *eg_length_says(
	const struct eg_part *part, const struct eg_lookup *l, size_t i, char out[EG_MAP_NAME]);
/* The same of one entry of a map. */
const char *eg_entry_says(
	const struct eg_part *part, const struct eg_lookup *l, uint32_t to, char out[EG_MAP_NAME]);
/*
 * Where all prefixes of a length are for a few ports, their rules have the set itself, behind the
 * port: one rule lets a packet through, one lookup is done whatever the port, and no chain is gone
 * to. That many rules, each with what it opens; 0: the length's rule is of another kind.
 */
#define EG_DIRECT_RULES 3
size_t eg_length_direct(const struct flat *f, const struct eg_lookup *l, size_t i,
	struct eg_opening out[EG_DIRECT_RULES]);
/* The mask of a length. */
struct pol_addr eg_length_mask(const struct eg_lookup *l, size_t i);

/*
 * The rules of a chain, in their order: the next length that is looked up there, or false; *i is
 * where to go on, l->n to begin. A length begins a chain of its own when it says so: then
 * its chain is its own place.
 */
bool eg_lookup_next(const struct eg_lookup *l, uint8_t chain, size_t *i);

/* The chains of a part as text; bridge NULL: the namespace form. And what they begin with there. */
void eg_judging_text(const struct eg_part *part, const char *bridge, const struct flat *flat,
	const struct eg_maps *m, struct cl_buf *b);
#define EG_ESTABLISHED "ct state established,related counter accept"
void eg_states_text(struct cl_buf *b);

/* The maps of a part as text for nft(8), nothing where it has none; and LO-HI, or the address. */
void eg_maps_text(const struct eg_part *part, const struct flat *flat, const struct eg_maps *m,
	struct cl_buf *b);
void eg_range_text(uint8_t family, flat_u128 lo, flat_u128 hi, struct cl_buf *b);

#endif
