/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the comparison of rulesets share among themselves. */
#ifndef CL_POLICY_VERIFY_INTERNAL_H
#define CL_POLICY_VERIFY_INTERNAL_H

#include "policy/flat/flat_internal.h"
#include "policy/verify/verify.h"

/* --- sets of destinations of one family: addresses x ports (verify_set.c) --- */

struct vf_sets {
	struct flat_classes classes; /* a set of ports stands where those of TCP do */
	uint32_t full;               /* the class of every port */
	struct vf_made {
		uint32_t a, b, made;
		uint8_t op; /* + 1; 0: empty */
	} * cache;
	uint64_t walked; /* intervals, for a bound on the work */
};
void vf_sets_init(struct vf_sets *s);
void vf_sets_release(struct vf_sets *s);

enum vf_set_op { VF_AND, VF_MINUS, VF_OR };
/* out may be a or b. */
void vf_combine(struct vf_sets *s, uint8_t family, enum vf_set_op op, const struct flat_view *a,
	const struct flat_view *b, struct flat_view *out);
/* Replaces *v. */
void vf_nothing(struct flat_view *v);
void vf_everything(const struct vf_sets *s, struct flat_view *v);
void vf_forget(struct flat_view *v); /* frees it; zero after */
void vf_copy(const struct flat_view *from, struct flat_view *to);
bool vf_empty(const struct flat_view *v);
bool vf_same(const struct flat_view *a, const struct flat_view *b);

/* Sorted, disjoint. */
struct vf_span {
	flat_u128 lo, hi;
};
struct vf_spans {
	struct vf_span *v;
	size_t n, cap;
	bool invert; /* everything else */
};
void vf_span_add(struct vf_spans *s, flat_u128 lo, flat_u128 hi);
bool vf_spans_have(const struct vf_spans *s, flat_u128 x);
/* The addresses, at every port; the ports (0 to 65535), at every address. */
void vf_addresses(
	const struct vf_sets *s, uint8_t family, const struct vf_spans *spans, struct flat_view *v);
void vf_ports(struct vf_sets *s, const struct vf_spans *spans, struct flat_view *v);
/* What a policy's flat form allows of one protocol. */
void vf_of_flat(struct vf_sets *s, const struct flat *f, uint8_t family, enum eg_proto proto,
	struct flat_view *v);

/* --- registers and tests (verify_test.c) --- */

/* What a value is part of: a dimension, the destination, or something else. */
enum vf_target {
	/* enum vf_dim first */
	VF_T_ADDRESS = VF_DIMS,
	VF_T_PORT,
	VF_T_FAMILY,
	VF_T_ETHERTYPE,
	VF_T_OPAQUE,
};
struct vf_value {
	enum vf_field field;
	uint32_t offset, len;
	bool masked;
	uint8_t mask[16], xor[16]; /* of a constant: xor is the value */
};
struct vf_registers {
	struct vf_value v[VF_REGS];
};
void vf_load(struct vf_registers *r, const struct vf_op *op);
/* A test on what a register holds: of the first len bytes. */
struct vf_test {
	struct vf_value value;
	int target;     /* enum vf_target or vf_dim */
	uint32_t shift; /* bits behind the tested ones in an address, a port or a number */
	struct vf_spans spans;
	bool exact; /* it can be decided */
};
void vf_test_release(struct vf_test *t);
#define cleanup_test __attribute__((cleanup(vf_test_release)))
/* Of VF_CMP and VF_RANGE. */
void vf_test_of(
	const struct vf_registers *r, const struct vf_op *op, uint8_t family, struct vf_test *out);
/* The value at op->from as the key of the set; spans are left empty. */
void vf_key_of(const struct vf_registers *r, const struct vf_op *op, uint32_t key_len,
	uint8_t family, struct vf_test *out);
/* The bits of the tested number that a mask has taken away. */
flat_u128 vf_test_rest(const struct vf_test *t);
/* The test as spans of what it is on: with mask and shift undone. False: it cannot be. */
bool vf_test_spans(const struct vf_test *t, struct vf_spans *out);

/* --- cells (verify_cells.c) --- */

/*
 * What of a dimension the ruleset and what is wanted can tell apart. A dimension with more
 * than VF_CELLS is noted, has one cell, and its bit in `vague`.
 */
void vf_cells_find(const struct vf_ruleset *r, const struct vf_want *w, struct vf_report *out);

/* --- one situation (verify_eval.c, verify_expect.c) --- */

struct vf_group {
	uint32_t what;
	const char *chain;
	struct flat_view to;
};
struct vf_groups {
	struct vf_group *v;
	size_t n, cap;
	uint8_t family;         /* 0: not made */
	flat_u128 rest;         /* bits of an address that were masked before it was looked up */
	struct vf_groups *more; /* with another rest */
};

struct vf_run {
	const struct vf_ruleset *r;
	const struct vf_want *w;
	struct vf_report *out;
	struct vf_sets sets;
	struct flat leaving, named;
	bool has_named;
	struct vf_groups *groups; /* of each set: its addresses by verdict */
	uint64_t steps, limit;
	bool spent;

	enum vf_hook hook;
	uint8_t family;
	int cell[VF_DIMS]; /* -1: not chosen */
	int asked;         /* the dimension that must be chosen to go on, or -1 */
	struct flat_view got[2][VF_OUTCOMES], want[VF_OUTCOMES]; /* [1]: possibly */
};
/* The chosen cell; NULL: it must be chosen first, and the situation is left. */
const struct vf_cell *vf_ask(struct vf_run *run, enum vf_dim dim);
/* Fills got. */
void vf_eval(struct vf_run *run);
/* Fills want. */
void vf_expect(struct vf_run *run);
void vf_note(struct vf_report *out, enum vf_note_kind kind, const char *name, unsigned rule,
	const char *text);
/* Cells of a dimension that a packet at the hook can have. */
uint64_t vf_possible(const struct vf_report *r, enum vf_hook hook, uint8_t family, enum vf_dim d);

/* NF_CT_STATE_BIT of the kernel: ct state as a register holds it. */
enum {
	VF_INVALID = 1,
	VF_ESTABLISHED = 2,
	VF_RELATED = 4,
	VF_NEW = 8,
	VF_UNTRACKED = 64,
};
#define VF_TCP    6
#define VF_UDP    17
#define VF_ICMPV6 58

#endif
