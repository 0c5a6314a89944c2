/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What registers hold, and what a comparison says of the packet. */
#include "policy/verify/verify_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static unsigned words(uint32_t len)
{
	return (len + 3) / 4;
}

/* Whatever overlaps the registers that are written is no value any more. */
static void put(struct vf_registers *r, unsigned to, const struct vf_value *v)
{
	unsigned end = to + (v->len ? words(v->len) : 1);

	for (unsigned i = 0; i < VF_REGS; i++) {
		unsigned last = i + (r->v[i].len ? words(r->v[i].len) : 1);

		if ((i < to && last > to) || (i >= to && i < end))
			r->v[i] = (struct vf_value){.field = VF_OPAQUE};
	}
	if (to < VF_REGS)
		r->v[to] = *v;
}

static void bitwise(struct vf_registers *r, const struct vf_op *op)
{
	struct vf_value v = r->v[op->from];
	bool known = v.field != VF_OPAQUE && v.field != VF_DATA && !v.masked && op->len == v.len &&
		     op->len <= sizeof(v.mask);

	if (!known) {
		v = (struct vf_value){.field = VF_OPAQUE, .len = op->len};
	} else {
		v.masked = true;
		memcpy(v.mask, op->a, sizeof(v.mask));
		memcpy(v.xor, op->b, sizeof(v.xor));
	}
	put(r, op->to, &v);
}

void vf_load(struct vf_registers *r, const struct vf_op *op)
{
	struct vf_value v = {.field = op->field, .offset = op->offset, .len = op->len};

	if (op->kind == VF_BITWISE) {
		bitwise(r, op);
		return;
	}
	if (v.len > 4 * VF_REGS)
		v = (struct vf_value){.field = VF_OPAQUE, .len = 4 * VF_REGS};
	memcpy(v.xor, op->a, sizeof(v.xor));
	put(r, op->to, &v);
}

/* The parts of a packet that we know, by family: where they stand and how long they are. */
static const struct part {
	enum vf_field field;
	uint8_t family; /* 0: both */
	uint8_t at, len;
	int target;
} parts[] = {
	{VF_IIF, 0, 0, 16, VF_D_IIF},
	{VF_OIF, 0, 0, 16, VF_D_OIF},
	{VF_PROTO, 0, 0, 1, VF_D_PROTO},
	{VF_STATE, 0, 0, 4, VF_D_STATE},
	{VF_FAMILY, 0, 0, 1, VF_T_FAMILY},
	{VF_ETHERTYPE, 0, 0, 2, VF_T_ETHERTYPE},
	{VF_NETWORK, 4, 8, 1, VF_D_HOPS},
	{VF_NETWORK, 4, 9, 1, VF_D_PROTO},
	{VF_NETWORK, 4, 12, 4, VF_D_SOURCE},
	{VF_NETWORK, 4, 16, 4, VF_T_ADDRESS},
	{VF_NETWORK, 6, 7, 1, VF_D_HOPS},
	{VF_NETWORK, 6, 8, 16, VF_D_SOURCE},
	{VF_NETWORK, 6, 24, 16, VF_T_ADDRESS},
	{VF_TRANSPORT, 0, 0, 2, VF_D_HEAD},
	{VF_TRANSPORT, 0, 2, 2, VF_T_PORT},
};

/* The first len bytes of the value as a prefix of something that we know. */
static void locate(struct vf_test *t, uint32_t len, uint8_t family)
{
	const struct vf_value *v = &t->value;

	t->target = VF_T_OPAQUE;
	for (size_t i = 0; len && len <= v->len && i < CL_ARRAY_LEN(parts); i++) {
		const struct part *p = &parts[i];

		if (p->field != v->field || (p->family && p->family != family) ||
			p->at != v->offset || len > p->len)
			continue;
		t->target = p->target;
		t->shift = 8 * (p->len - len);
	}
}

void vf_test_release(struct vf_test *t)
{
	free(t->spans.v);
	t->spans = (struct vf_spans){.v = NULL};
}

static flat_u128 last_of(uint32_t len)
{
	return len >= 16 ? ~(flat_u128)0 : ((flat_u128)1 << (8 * len)) - 1;
}

static void compared(struct vf_test *t, const struct vf_op *op)
{
	flat_u128 x = vf_number(op->a, op->len), last = last_of(op->len);

	switch ((enum vf_cmp)op->what) {
	case VF_EQ:
	case VF_NE:
		vf_span_add(&t->spans, x, x);
		t->spans.invert = op->what == VF_NE;
		break;
	case VF_LT:
		if (x)
			vf_span_add(&t->spans, 0, x - 1);
		break;
	case VF_LE:
		vf_span_add(&t->spans, 0, x);
		break;
	case VF_GT:
		if (x < last)
			vf_span_add(&t->spans, x + 1, last);
		break;
	case VF_GE:
		vf_span_add(&t->spans, x, last);
		break;
	}
}

/* The mask is ones and then zeros, over len bytes. */
static bool is_prefix(const uint8_t *mask, uint32_t len)
{
	flat_u128 rest = last_of(len) & ~vf_number(mask, len);

	return !(rest & (rest + 1));
}

static bool single(const struct vf_spans *s)
{
	return s->n == 1 && s->v[0].lo == s->v[0].hi;
}

/* It is a whole prefix of the first len bytes that is kept. */
static bool masks_prefix(const struct vf_test *t, uint32_t len)
{
	static const uint8_t zero[16];

	return len == t->value.len && is_prefix(t->value.mask, len) &&
	       !memcmp(t->value.xor, zero, len);
}

/*
 * Names have no order that cells follow, and a masked number can be compared when the mask
 * is a prefix; connection states are looked at one by one.
 */
static bool decidable(const struct vf_test *t, uint32_t len)
{
	if (t->target == VF_T_OPAQUE || len > 16)
		return false;
	if (t->target == VF_D_STATE)
		return true;
	if (t->target == VF_D_IIF || t->target == VF_D_OIF)
		return !t->value.masked;
	if (!t->value.masked)
		return true;
	return masks_prefix(t, len) && single(&t->spans);
}

static bool is_name(int target)
{
	return target == VF_D_IIF || target == VF_D_OIF;
}

void vf_test_of(
	const struct vf_registers *r, const struct vf_op *op, uint8_t family, struct vf_test *out)
{
	*out = (struct vf_test){.value = r->v[op->from]};
	locate(out, op->len, family);
	if (op->len > 16 || !op->len) {
		out->target = VF_T_OPAQUE;
		return;
	}
	if (op->kind == VF_CMP) {
		compared(out, op);
	} else {
		vf_span_add(&out->spans, vf_number(op->a, op->len), vf_number(op->b, op->len));
		out->spans.invert = op->invert;
	}
	out->exact = decidable(out, op->len);
	if (is_name(out->target) && !single(&out->spans))
		out->exact = false;
}

void vf_key_of(const struct vf_registers *r, const struct vf_op *op, uint32_t key_len,
	uint8_t family, struct vf_test *out)
{
	*out = (struct vf_test){.value = r->v[op->from]};
	locate(out, key_len, family);
	out->exact =
		out->target != VF_T_OPAQUE && key_len <= 16 &&
		(!out->value.masked || (out->target == VF_T_ADDRESS && masks_prefix(out, key_len)));
}

flat_u128 vf_test_rest(const struct vf_test *t)
{
	return t->value.masked ? last_of(t->value.len) & ~vf_number(t->value.mask, t->value.len)
			       : 0;
}

bool vf_test_spans(const struct vf_test *t, struct vf_spans *out)
{
	flat_u128 rest = t->target == VF_D_STATE ? 0 : vf_test_rest(t);
	flat_u128 ones = ((flat_u128)1 << t->shift) - 1;

	out->invert = t->spans.invert;
	if (!t->exact)
		return false;
	for (size_t i = 0; i < t->spans.n; i++) {
		const struct vf_span *x = &t->spans.v[i];
		flat_u128 lo = x->lo & ~rest, hi = x->hi & ~rest;

		/* What the mask takes away is never set: from the first number without it. */
		if (lo != x->lo && lo == hi)
			continue;
		if (lo != x->lo)
			lo += rest + 1;
		vf_span_add(out, lo << t->shift, ((hi | rest) << t->shift) | ones);
	}
	return true;
}
