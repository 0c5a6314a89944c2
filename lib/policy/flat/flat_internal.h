/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CL_POLICY_FLAT_INTERNAL_H
#define CL_POLICY_FLAT_INTERNAL_H

#include "policy/flat/flat.h"

/* Numbers for byte strings: equal ones share a number, counted from 0. */
struct flat_names {
	struct cl_buf bytes;
	struct flat_name {
		size_t at;
		uint32_t len, hash;
	} * v;
	size_t n, cap;
	uint32_t *slots; /* number + 1; 0: free */
	size_t nslots;
};
#define FLAT_NAMES_INIT ((struct flat_names){.bytes = CL_BUF_INIT})
void flat_names_release(struct flat_names *t);
#define cleanup_names __attribute__((cleanup(flat_names_release)))
uint32_t flat_name(struct flat_names *t, const void *bytes, size_t len);

/* Port classes being collected, each once. */
struct flat_classes {
	struct flat_names names; /* of a class: the counts, then the spans */
	struct flat_class *v;
	size_t n, cap;
	struct flat_ports *spans;
	size_t nspans, spans_cap;
};
#define FLAT_CLASSES_INIT ((struct flat_classes){.names = FLAT_NAMES_INIT})
/* Frees what is left in it: names always, v and spans unless they were taken (cl_steal). */
void flat_classes_release(struct flat_classes *c);
#define cleanup_classes __attribute__((cleanup(flat_classes_release)))
/* The number of the class with these allowed ports: n[0] of them, then n[1], n[2]. */
uint32_t flat_class_of(
	struct flat_classes *c, const struct flat_ports *spans, const uint32_t n[FLAT_PROTOS]);
/* The classes that every flat form starts with: FLAT_DROP_ALL, FLAT_ALLOW_ALL. */
void flat_classes_begin(struct flat_classes *c);

/* The class that rules decide together, in order; rule[i] is an index of f->rules. */
uint32_t flat_class_decided(
	struct flat_classes *c, const struct flat *f, const uint32_t *rule, size_t n);

/*
 * Port sets: sorted ranges, no two of which overlap or touch. The result is added to out
 * (struct flat_ports, one behind the other); returns how many ranges it has.
 */
typedef uint32_t flat_ports_fn(const struct flat_ports *a, size_t na, const struct flat_ports *b,
	size_t nb, struct cl_buf *out);
flat_ports_fn flat_ports_minus, flat_ports_both, flat_ports_either;

/* What these candidates (how many, then indices of rules) answer. */
struct eg_answer flat_decide(
	const struct flat *f, const uint32_t *candidates, uint16_t port, enum eg_proto proto);

/* Appends an interval unless its id is that of the last one. */
void flat_view_add(struct flat_view *v, flat_u128 lo, uint32_t id);
void flat_view_release(struct flat_view *v);
/* Makes the trees of all views that are worth one. */
void flat_index(struct flat *f);
/* Moves what was collected into the flat form. */
void flat_take_classes(struct flat *f, struct flat_classes *take);

#endif
