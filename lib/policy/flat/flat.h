/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flat form of an egress policy: instead of rules in an order, disjoint address
 * intervals that cover every address of a family, each with what happens to every protocol
 * and port there. It means what first match means (eg_evaluate; t/unit/u-flat*.c), and the
 * ways to read it do not depend on how the rules were written: a question is one binary
 * search, two policies compare by walking their intervals side by side, and the kernel's
 * verdict maps are its intervals one by one.
 *
 * There are two views of it. `sense` says what is allowed: neighbours with the same
 * answer to everything are one interval. `why` says which rules decide: neighbours with the
 * same candidates are one interval.
 *
 * Addresses are numbers, most significant byte first; IPv4 in 0..2^32-1. A policy never
 * judges an IPv4-mapped address as IPv6 (eg_evaluate unmaps it), so flat_build closes
 * ::ffff:0:0/96 of the IPv6 half: such packets are nobody's, and no count contains them.
 *
 * Costs, with n rules, k kinds of rule (same protocols and ports) that overlap anywhere, and
 * c distinct port classes: time O(n log n + n k); memory at most 2n+1 intervals in each view
 * at 29 bytes, and 4 bytes for each of their at most k candidates; 24 bytes a rule, and while
 * it is made 150. With 100,000 ranges of one policy k is 2 or 3, and a form that stays has
 * about 15 MiB.
 */
#ifndef CL_POLICY_FLAT_H
#define CL_POLICY_FLAT_H

#include "policy/egress/egress.h"
#include "policy/egress/question.h"

typedef unsigned __int128 flat_u128;

/* enum eg_proto counts them; EG_PROTO_ANY here is every protocol but TCP and UDP. */
#define FLAT_PROTOS      3
#define FLAT_EVERY_PROTO ((1u << FLAT_PROTOS) - 1)
#define FLAT_MAX_PORT    65535

struct flat_ports {
	uint16_t lo, hi; /* both belong to it */
};

/* A rule as the flat form takes it: any range, any protocols, any ports. */
struct flat_rule {
	uint8_t family; /* 4 or 6 */
	uint8_t protos; /* bits 1 << enum eg_proto; EG_PROTO_ANY's is the rest */
	uint8_t verdict;
	flat_u128 lo, hi;               /* lo <= hi, within the family */
	const struct flat_ports *ports; /* sorted, disjoint */
	size_t nports;                  /* 0: every port */
	int id;                         /* what an answer names */
	const char *reason;             /* borrowed, as long as the flat form is used */
};

/* What is allowed in an interval of `sense`: sorted disjoint ports of each protocol. */
struct flat_class {
	uint32_t at[FLAT_PROTOS]; /* in flat.spans */
	uint32_t n[FLAT_PROTOS];  /* 0: none */
};

struct flat_tree;
/*
 * Intervals of one family: number i is from lo[i] up to the one before lo[i + 1], or to
 * the family's last address; lo[0] is 0. id: of `sense`, the class; of `why`, where its
 * candidates stand in flat.pool: how many, then the indices of flat.rules in order.
 */
struct flat_view {
	flat_u128 *lo;
	uint32_t *id;
	size_t n, cap;
	struct flat_tree *tree; /* over lo, for flat_find; NULL: few intervals */
};

struct flat_decider {
	uint8_t protos, verdict;
	uint32_t at, n; /* in flat.ports; n 0: every port */
	int id;
	const char *reason;
};

enum { FLAT_V4, FLAT_V6, FLAT_FAMILIES };
struct flat {
	struct flat_view sense[FLAT_FAMILIES], why[FLAT_FAMILIES];
	struct flat_class *classes; /* 0: drops everything; 1: allows everything */
	struct flat_ports *spans;
	size_t nclasses, nspans;
	struct flat_decider *rules;
	size_t nrules;
	struct flat_ports *ports;
	uint32_t *pool;
	size_t npool;
};
#define FLAT_INIT ((struct flat){.nclasses = 0})
enum { FLAT_DROP_ALL, FLAT_ALLOW_ALL };

/*
 * Flattens p; `wire`: without the namespace-local rules. *out is FLAT_INIT. It borrows the
 * reasons of p.
 */
void flat_build(const struct eg_policy *p, bool wire, struct flat *out);
/*
 * As flat_build on the wire, without the public Internet: what is named. Of the host's own
 * addresses a sandbox reaches these alone, also of those that lie in public space.
 */
void flat_build_named(const struct eg_policy *p, struct flat *out);
/* The same of rules of any origin, in order; what no rule decides is dropped. */
void flat_build_rules(const struct flat_rule *rules, size_t n, struct flat *out);
void flat_release(struct flat *f);
#define cleanup_flat __attribute__((cleanup(flat_release)))

/* What eg_evaluate answers, by binary search. Rule: the id of the rule that decided. */
struct eg_answer flat_evaluate(
	const struct flat *f, const struct pol_addr *a, uint16_t port, enum eg_proto proto);
/* The verdict alone, which is cheaper. */
bool flat_allows(
	const struct flat *f, const struct pol_addr *a, uint16_t port, enum eg_proto proto);
/*
 * The same of many questions, several times faster under a large policy: while the memory for
 * one is fetched, others are judged.
 */
void flat_evaluate_all(
	const struct flat *f, const struct eg_question *q, size_t n, struct eg_answer *out);
void flat_allows_all(const struct flat *f, const struct eg_question *q, size_t n, bool *out);
/* The class at an address that is not mapped, of its family. */
const struct flat_class *flat_class_at(const struct flat *f, const struct pol_addr *a);
bool flat_class_allows(
	const struct flat *f, const struct flat_class *c, uint16_t port, enum eg_proto proto);
/* All ports of the protocol are allowed. */
bool flat_class_full(const struct flat *f, const struct flat_class *c, enum eg_proto proto);

/* The interval of the view that holds the number. */
size_t flat_find(const struct flat_view *v, uint8_t family, flat_u128 a);
/* The same of n numbers at once. */
void flat_find_all(
	const struct flat_view *v, uint8_t family, const flat_u128 *a, size_t n, size_t *at);
/* The last address of interval i. */
flat_u128 flat_hi(const struct flat_view *v, size_t i, uint8_t family);
/* sense[FLAT_V4] for 4 ... */
#define flat_half(family) ((family) == 4 ? FLAT_V4 : FLAT_V6)

/* --- numbers and ranges --- */
flat_u128 flat_last(uint8_t family); /* 2^32-1 or 2^128-1 */
flat_u128 flat_number(const struct pol_addr *a);
struct pol_addr flat_addr(uint8_t family, flat_u128 n);
void flat_prefix_range(const struct pol_prefix *p, flat_u128 *lo, flat_u128 *hi);
/* The fewest prefixes that are together lo..hi, ascending; returns how many. */
#define FLAT_MAX_PREFIXES 254
size_t flat_prefixes(
	uint8_t family, flat_u128 lo, flat_u128 hi, struct pol_prefix out[FLAT_MAX_PREFIXES]);

/* --- sets of destinations --- */

/* The destinations lo..hi of one family, at the protocols and ports of one class. */
struct flat_area {
	uint8_t family;
	flat_u128 lo, hi;
	uint32_t ports; /* in flat_areas.classes */
};
/* How many: saturating at 2^128 - 1, which only an IPv6 half can reach. */
struct flat_count {
	flat_u128 addresses;    /* with at least one destination */
	flat_u128 destinations; /* address, protocol and port; a protocol without ports is one */
};
/* Disjoint, IPv4 first, ascending; neighbours differ. */
struct flat_areas {
	struct flat_area *v;
	size_t n, cap;
	struct flat_class *classes;
	size_t nclasses;
	struct flat_ports *spans;
	size_t nspans;
	struct flat_count count[FLAT_FAMILIES];
};
#define FLAT_AREAS_INIT ((struct flat_areas){.n = 0})
void flat_areas_release(struct flat_areas *a);
#define cleanup_areas __attribute__((cleanup(flat_areas_release)))

/*
 * What b allows and a drops, and what b drops and a allows; exact. Either output may be
 * NULL; the others are FLAT_AREAS_INIT.
 */
void flat_difference(const struct flat *a, const struct flat *b, struct flat_areas *newly_allowed,
	struct flat_areas *newly_dropped);
/* All that the flat form allows. */
void flat_allowed(const struct flat *f, struct flat_areas *out);
bool flat_equal(const struct flat *a, const struct flat *b);
/* Everything that a allows is allowed by b. */
bool flat_subset(const struct flat *a, const struct flat *b);
/*
 * What both allow. It names no rules: an answer is allowed with the reason given (borrowed)
 * or the default deny, rule -1 either way. *out is FLAT_INIT.
 */
void flat_intersect(
	const struct flat *a, const struct flat *b, const char *reason, struct flat *out);

/* One area taken apart: a range of addresses, one protocol, a range of ports. */
struct flat_region {
	uint8_t family;
	enum eg_proto proto;
	flat_u128 lo, hi;
	struct flat_ports ports; /* of EG_PROTO_ANY 0..65535: a protocol that has none */
};
/* Number k of area i, by protocol (TCP, UDP, the rest), then ports; false: there are fewer. */
bool flat_region_of(const struct flat_areas *a, size_t i, size_t k, struct flat_region *out);
/* The first destination of area i as a question: an example of the area. */
struct flat_region flat_example(const struct flat_areas *a, size_t i);

#endif
