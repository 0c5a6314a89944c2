/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts each dimension of a packet where a rule or what is wanted cuts it. */
#include "policy/verify/verify_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Where cells begin, and the names that are told apart. */
struct cuts {
	uint8_t family;
	flat_u128 *at[VF_DIMS];
	size_t n[VF_DIMS], cap[VF_DIMS];
};

static flat_u128 last_of(const struct cuts *c, enum vf_dim d)
{
	switch (d) {
	case VF_D_SOURCE:
		return flat_last(c->family);
	case VF_D_HEAD:
		return 65535;
	case VF_D_IIF:
	case VF_D_OIF:
		return ~(flat_u128)0;
	case VF_D_PROTO:
	case VF_D_STATE:
	case VF_D_HOPS:
	case VF_DIMS:
	default:
		return 255;
	}
}

static bool is_name(int d)
{
	return d == VF_D_IIF || d == VF_D_OIF;
}

static void cut(struct cuts *c, enum vf_dim d, flat_u128 at)
{
	c->at[d] = cl_grow(c->at[d], &c->cap[d], c->n[d] + 1, sizeof(*c->at[d]));
	c->at[d][c->n[d]++] = at;
}

static void cut_out(struct cuts *c, enum vf_dim d, flat_u128 lo, flat_u128 hi)
{
	cut(c, d, lo);
	/* A name stands for all that begin with it. */
	if (!is_name(d) && hi < last_of(c, d))
		cut(c, d, hi + 1);
}

static void cut_number(struct cuts *c, enum vf_dim d, uint32_t x)
{
	cut_out(c, d, x, x);
}

static void cut_by_name(struct cuts *c, const char *name)
{
	uint8_t b[16] = {0};

	memcpy(b, name, strnlen(name, 15));
	cut(c, VF_D_IIF, vf_number(b, 16));
	cut(c, VF_D_OIF, vf_number(b, 16));
}

static void cut_by_test(struct cuts *c, const struct vf_test *t)
{
	struct vf_spans spans = {.v = NULL};

	if (t->target < VF_DIMS && t->target != VF_D_STATE && vf_test_spans(t, &spans))
		for (size_t i = 0; i < spans.n; i++)
			cut_out(c, (enum vf_dim)t->target, spans.v[i].lo, spans.v[i].hi);
	free(spans.v);
}

static void cut_by_rule(struct cuts *c, const struct vf_ruleset *r, const struct vf_rule *rule)
{
	struct vf_registers regs = {0};

	for (size_t i = 0; i < rule->n; i++) {
		const struct vf_op *op = &rule->v[i];
		const struct vf_set *set = op->kind == VF_LOOKUP ? vf_set(r, op->name) : NULL;
		cleanup_test struct vf_test t = {.target = VF_T_OPAQUE};

		if (op->kind == VF_LOAD || op->kind == VF_BITWISE) {
			vf_load(&regs, op);
		} else if (op->kind == VF_CMP || op->kind == VF_RANGE) {
			vf_test_of(&regs, op, c->family, &t);
		} else if (set) {
			vf_key_of(&regs, op, set->key_len, c->family, &t);
			if (t.target < VF_DIMS)
				for (size_t k = 0; k < set->n; k++)
					vf_span_add(&t.spans, set->v[k].lo, set->v[k].hi);
		}
		cut_by_test(c, &t);
	}
}

static void cut_by_want(struct cuts *c, const struct vf_want *w)
{
	static const uint8_t types[] = {131, 132, 133, 134, 135, 136, 143};
	const struct pol_addr *own = c->family == 4 ? &w->source4 : &w->source6;
	static const struct pol_prefix link = {{6, {0xfe, 0x80}}, 10};
	flat_u128 lo, hi;

	cut_by_name(c, w->bridge);
	cut_number(c, VF_D_PROTO, VF_TCP);
	cut_number(c, VF_D_PROTO, VF_UDP);
	if (own->family)
		cut_out(c, VF_D_SOURCE, flat_number(own), flat_number(own));
	if (c->family == 4)
		return;
	cut_number(c, VF_D_PROTO, VF_ICMPV6);
	cut_number(c, VF_D_HOPS, 255);
	for (size_t i = 0; i < CL_ARRAY_LEN(types); i++)
		cut_out(c, VF_D_HEAD, (flat_u128)types[i] << 8, (flat_u128)types[i] << 8 | 255);
	if (w->source4.family || w->source6.family) {
		flat_prefix_range(&link, &lo, &hi);
		cut_out(c, VF_D_SOURCE, lo, hi);
	}
}

static int by_number(const void *pa, const void *pb)
{
	const flat_u128 *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

/* Sorted, each once. */
static void settle(struct cuts *c, enum vf_dim d)
{
	size_t n = 0;

	if (c->n[d])
		qsort(c->at[d], c->n[d], sizeof(*c->at[d]), by_number);
	for (size_t i = 0; i < c->n[d]; i++)
		if (!n || c->at[d][n - 1] != c->at[d][i])
			c->at[d][n++] = c->at[d][i];
	c->n[d] = n;
}

static void name_cells(struct vf_cell *v, const struct cuts *c, enum vf_dim d)
{
	v[0].name[0] = '*';
	for (size_t i = 0; i < c->n[d]; i++)
		for (int k = 0; k < 15; k++)
			v[i + 1].name[k] = (char)(uint8_t)(c->at[d][i] >> (8 * (15 - k)));
}

static void make_cells(const struct cuts *c, enum vf_dim d, struct vf_report *out)
{
	static const char *const what[VF_DIMS] = {[VF_D_PROTO] = "protocols",
		[VF_D_IIF] = "interfaces that packets come in by",
		[VF_D_OIF] = "interfaces that packets leave by",
		[VF_D_SOURCE] = "source addresses",
		[VF_D_HEAD] = "source ports and ICMP types",
		[VF_D_HOPS] = "hop limits"};
	/* Beside what is named: any other, and none. */
	size_t half = flat_half(c->family), n = c->n[d] + (is_name(d) ? 2 : 0);
	struct vf_cell *v;

	if (n > VF_CELLS) {
		vf_note(out, VF_TOO_MUCH, "", 0, what[d]);
		out->vague[half] |= 1u << d;
		n = is_name(d) ? 2 : 1;
	}
	v = cl_calloc(n, sizeof(*v));
	out->cells[half][d] = v;
	out->ncells[half][d] = n;
	if (is_name(d) && n > 2) {
		name_cells(v, c, d);
	} else if (is_name(d)) {
		v[0].name[0] = '*';
	} else {
		for (size_t i = 0; i < n; i++) {
			v[i].lo = c->at[d][i];
			v[i].hi = i + 1 < n ? c->at[d][i + 1] - 1 : last_of(c, d);
		}
	}
}

static void state_cells(uint8_t family, struct vf_report *out)
{
	static const uint32_t states[] = {
		VF_NEW, VF_ESTABLISHED, VF_RELATED, VF_UNTRACKED, VF_INVALID};
	struct vf_cell *v = cl_calloc(CL_ARRAY_LEN(states), sizeof(*v));

	for (size_t i = 0; i < CL_ARRAY_LEN(states); i++)
		v[i].lo = v[i].hi = states[i];
	out->cells[flat_half(family)][VF_D_STATE] = v;
	out->ncells[flat_half(family)][VF_D_STATE] = CL_ARRAY_LEN(states);
}

static void find(
	const struct vf_ruleset *r, const struct vf_want *w, uint8_t family, struct vf_report *out)
{
	struct cuts c = {.family = family};

	for (int d = 0; d < VF_DIMS; d++)
		if (!is_name(d))
			cut(&c, (enum vf_dim)d, 0);
	cut_by_want(&c, w);
	for (size_t i = 0; i < r->nchains; i++)
		for (size_t k = 0; k < r->chains[i].n; k++)
			cut_by_rule(&c, r, &r->chains[i].v[k]);
	state_cells(family, out);
	for (int d = 0; d < VF_DIMS; d++) {
		if (d == VF_D_STATE)
			continue;
		settle(&c, (enum vf_dim)d);
		make_cells(&c, (enum vf_dim)d, out);
	}
	for (int d = 0; d < VF_DIMS; d++)
		free(c.at[d]);
}

void vf_cells_find(const struct vf_ruleset *r, const struct vf_want *w, struct vf_report *out)
{
	find(r, w, 4, out);
	find(r, w, 6, out);
}

uint64_t vf_possible(const struct vf_report *r, enum vf_hook hook, uint8_t family, enum vf_dim d)
{
	size_t n = r->ncells[flat_half(family)][d];
	uint64_t all = n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
	uint64_t none = UINT64_C(1) << (n - 1);

	if (d == VF_D_STATE && hook == VF_POSTROUTING)
		return 1;
	if (d == VF_D_IIF && hook != VF_POSTROUTING)
		return hook == VF_OUTPUT ? none : all & ~none;
	if (d == VF_D_OIF)
		return hook == VF_INPUT ? none : all & ~none;
	return all;
}
