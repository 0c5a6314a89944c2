/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What one policy allows and another does not, told so that a person can judge it: the exact
 * set (flat_difference), gathered by what was said before and what is said now. Pure.
 */
#ifndef CL_POLICY_CHANGE_H
#define CL_POLICY_CHANGE_H

#include "policy/egress/egress.h"
#include "policy/flat/flat.h"

/* A policy and its flat form on the wire. */
struct change_side {
	struct eg_policy policy;
	struct flat flat;
};
#define CHANGE_SIDE_INIT ((struct change_side){EG_POLICY_INIT, FLAT_INIT})
void change_side_release(struct change_side *s);
#define cleanup_side __attribute__((cleanup(change_side_release)))

/*
 * Destinations of one area and protocol, in which the same rules are candidates on both
 * sides: an answer at its first address and port is one at all its addresses.
 */
struct change_segment {
	uint8_t family;
	enum eg_proto proto;
	flat_u128 lo, hi;
	const struct flat_ports *ports; /* that differ; of EG_PROTO_ANY 0..65535 */
	size_t nports;
	uint32_t class; /* in the areas */
	struct flat_region example;
	struct eg_answer before, after; /* at the example */
};
typedef void change_fn(void *data, const struct change_segment *s);
/* Calls fn for every segment of areas, in order; areas: what b allows and a does not. */
void change_each(const struct change_side *a, const struct change_side *b,
	const struct flat_areas *areas, change_fn *fn, void *data);

struct change_range {
	flat_u128 lo, hi;
};
/* Segments of one family, protocol and list of ports with the same two answers. */
struct change_group {
	struct change_segment like; /* the first of them */
	struct change_range *v;     /* ascending, no two of which touch */
	size_t n, cap;
	flat_u128 addresses; /* saturating */
};
struct change {
	struct flat_areas areas;
	struct change_group *v; /* in the order of their first addresses, IPv4 first */
	size_t n, cap;
};
#define CHANGE_INIT ((struct change){.areas = FLAT_AREAS_INIT})
void change_release(struct change *c);
#define cleanup_change __attribute__((cleanup(change_release)))
/* What b allows and a drops. *out is CHANGE_INIT; it borrows reasons and levels of both. */
void change_make(const struct change_side *a, const struct change_side *b, struct change *out);

/* --- texts --- */

/* A prefix where it is one, else "FIRST-LAST". */
#define CHANGE_RANGE_TEXT (2 * POL_ADDR_TEXT + 1)
void change_range_text(uint8_t family, flat_u128 lo, flat_u128 hi, char out[CHANGE_RANGE_TEXT]);
/* "tcp 80, 443", "udp 53", "tcp every port", "other protocols". */
void change_ports_text(const struct change_segment *s, struct cl_buf *out);
/* The example as a question: "10.8.0.0:443/tcp". */
void change_example_text(const struct flat_region *r, struct cl_buf *out);
/* Decimal. */
#define CHANGE_NUMBER_TEXT 40
void change_number(flat_u128 n, char out[CHANGE_NUMBER_TEXT]);
/* The same up to 10^15, beyond "2^64" or "about 2^64". */
void change_number_short(flat_u128 n, char out[CHANGE_NUMBER_TEXT]);

#endif
