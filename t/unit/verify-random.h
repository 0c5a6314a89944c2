/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random rulesets for the unit tests of their comparison. */
#ifndef VERIFY_RANDOM_H
#define VERIFY_RANDOM_H

#include "base/mem.h"
#include "policy/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed = 1;

static inline uint32_t pick(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 10) % n;
}

/* Few values, so that tests and packets meet. */
static const char *const names[] = {"br0", "br1", "eth0", "zz"};
static const uint8_t protos[] = {6, 17, 1, 58, 47};
static const uint32_t states[] = {8, 2, 4, 64, 1};
static const uint8_t types[] = {128, 133, 135, 143, 0};

static inline void address(uint8_t *to, uint8_t family)
{
	memset(to, 0, family == 4 ? 4 : 16);
	to[0] = family == 4 ? (pick(2) ? 10 : 11) : (pick(2) ? 0xfe : 0x20);
	if (family == 6)
		to[1] = pick(2) ? 0x80 : 0;
	to[family == 4 ? 3 : 15] = (uint8_t)pick(4);
}

static inline struct vf_op *add_load(
	struct vf_rule *r, enum vf_field f, uint32_t offset, uint32_t len)
{
	struct vf_op *op = vf_add_op(r, VF_LOAD);

	op->field = f;
	op->offset = offset;
	op->len = len;
	return op;
}

static inline void test_bytes(struct vf_rule *r, const void *b, uint32_t len)
{
	struct vf_op *op = vf_add_op(r, pick(4) ? VF_CMP : VF_RANGE);

	op->len = len;
	op->what = op->kind == VF_CMP ? pick(6) : 0;
	op->invert = pick(2);
	memcpy(op->a, b, len);
	memcpy(op->b, b, len);
	op->b[len - 1] = (uint8_t)(op->b[len - 1] | 1);
}

static inline void test_name(struct vf_rule *r)
{
	struct vf_op *op;

	add_load(r, pick(2) ? VF_IIF : VF_OIF, 0, 16);
	op = vf_add_op(r, VF_CMP);
	op->what = pick(2) ? VF_EQ : VF_NE;
	/* Some by the first two bytes. */
	op->len = pick(3) ? 16 : 2;
	memcpy(op->a, names[pick(3)], 3);
	if (op->len == 16 && op->a[0] != 'e')
		memcpy(op->a, names[pick(2)], 4);
	else if (op->len == 16)
		memcpy(op->a, "eth0", 5);
}

static inline void test_state(struct vf_rule *r)
{
	uint32_t mask = states[pick(5)] | states[pick(5)], zero = 0;
	struct vf_op *op;

	add_load(r, VF_STATE, 0, 4);
	op = vf_add_op(r, VF_BITWISE);
	op->len = 4;
	memcpy(op->a, &mask, 4);
	op = vf_add_op(r, VF_CMP);
	op->what = pick(4) ? VF_NE : VF_EQ;
	op->len = 4;
	memcpy(op->a, &zero, 4);
}

/* The family first, as every rule for an address in an inet table has it. */
static inline uint8_t test_family(struct vf_rule *r)
{
	uint8_t family = pick(2) ? 4 : 6;
	struct vf_op *op;

	add_load(r, VF_FAMILY, 0, 1);
	op = vf_add_op(r, VF_CMP);
	op->len = 1;
	op->a[0] = family == 4 ? 2 : 10;
	return family;
}

static inline void test_address(struct vf_rule *r, struct vf_ruleset *rs)
{
	uint8_t family = test_family(r), b[16] = {0};
	uint32_t len = family == 4 ? 4 : 16, at = family == 4 ? 12 : 8;
	struct vf_op *op;

	address(b, family);
	at += pick(3) ? len : 0;
	switch (pick(4)) {
	case 0: /* a prefix of whole bytes */
		add_load(r, VF_NETWORK, at, pick(2) ? 1 : 2);
		test_bytes(r, b, r->v[r->n - 1].len);
		return;
	case 1: /* one of bits */
		add_load(r, VF_NETWORK, at, len);
		op = vf_add_op(r, VF_BITWISE);
		op->len = len;
		op->a[0] = (uint8_t)(pick(2) ? 0xfe : 0xff);
		b[0] &= op->a[0];
		memset(b + 1, 0, sizeof(b) - 1);
		op = vf_add_op(r, VF_CMP);
		op->len = len;
		op->what = pick(2) ? VF_EQ : VF_NE;
		memcpy(op->a, b, len);
		return;
	case 2:
		add_load(r, VF_NETWORK, at, len);
		op = vf_add_op(r, VF_LOOKUP);
		op->name = cl_strdup(family == 4 ? "set4" : "set6");
		op->invert = pick(2);
		return;
	default:
		add_load(r, VF_NETWORK, at, len);
		test_bytes(r, b, len);
		(void)rs;
		return;
	}
}

static inline void test_rest(struct vf_rule *r)
{
	uint8_t b[2] = {0, (uint8_t)pick(6)};

	switch (pick(4)) {
	case 0:
		add_load(r, VF_PROTO, 0, 1);
		test_bytes(r, &protos[pick(5)], 1);
		break;
	case 1:
		add_load(r, VF_TRANSPORT, 2, 2);
		test_bytes(r, b, 2);
		break;
	case 2:
		add_load(r, VF_TRANSPORT, 0, 1);
		test_bytes(r, &types[pick(5)], 1);
		break;
	default:
		b[0] = test_family(r);
		add_load(r, VF_NETWORK, b[0] == 4 ? 8 : 7, 1);
		b[1] = pick(2) ? 255 : 64;
		test_bytes(r, b + 1, 1);
		break;
	}
}

static inline void random_verdict(uint32_t depth, uint32_t *what, char **chain)
{
	*what = pick(VF_CONTINUE);
	if (*what == VF_MASQUERADE)
		*what = VF_ACCEPT;
	if (*what != VF_JUMP && *what != VF_GOTO)
		return;
	if (depth == 4)
		*what = VF_ACCEPT;
	else
		*chain = cl_asprintf("c%u", depth + 1 + pick(4 - depth));
}

static inline void random_rule(struct vf_ruleset *rs, struct vf_rule *r, uint32_t depth)
{
	struct vf_op *op;

	for (uint32_t n = pick(4); n; n--) {
		uint32_t kind = pick(6);

		if (kind < 2)
			test_address(r, rs);
		else if (kind == 2)
			test_name(r);
		else if (kind == 3)
			test_state(r);
		else
			test_rest(r);
	}
	if (!pick(5)) {
		uint8_t family = test_family(r);

		add_load(r, VF_NETWORK, family == 4 ? 16 : 24, family == 4 ? 4 : 16);
		op = vf_add_op(r, VF_LOOKUP);
		op->verdict = true;
		op->name = cl_asprintf("map%u%u", depth, family);
	} else if (!pick(5)) {
		add_load(r, VF_TRANSPORT, 2, 2);
		op = vf_add_op(r, VF_LOOKUP);
		op->verdict = true;
		op->name = cl_asprintf("ports%u", depth);
	} else if (pick(4)) {
		op = vf_add_op(r, VF_VERDICT);
		random_verdict(depth, &op->what, &op->name);
	}
}

static inline void random_set(struct vf_ruleset *rs, const char *name, uint8_t family, int depth)
{
	struct vf_set *s = vf_add_set(rs, name);

	s->key_len = family == 4 ? 4 : family == 6 ? 16 : 2;
	s->map = depth >= 0;
	s->interval = true;
	for (uint32_t n = pick(5); n; n--) {
		struct vf_element *e = vf_add_element(s);
		uint8_t b[16] = {0};

		if (family)
			address(b, family);
		else
			b[1] = (uint8_t)pick(6);
		e->lo = vf_number(b, s->key_len);
		e->end = pick(3) == 0;
		if (depth >= 0 && !e->end)
			random_verdict((uint32_t)depth, &e->what, &e->chain);
	}
	if (!pick(5)) {
		s->catchall = true;
		if (depth >= 0)
			random_verdict((uint32_t)depth, &s->rest.what, &s->rest.chain);
	}
	vf_settle(s);
}

static inline void random_ruleset(struct vf_ruleset *rs)
{
	char name[16];

	rs->there = true;
	random_set(rs, "set4", 4, -1);
	random_set(rs, "set6", 6, -1);
	for (int i = 0; i <= 4; i++) {
		(void)snprintf(name, sizeof(name), "map%d4", i);
		random_set(rs, name, 4, i);
		(void)snprintf(name, sizeof(name), "map%d6", i);
		random_set(rs, name, 6, i);
		(void)snprintf(name, sizeof(name), "ports%d", i);
		random_set(rs, name, 0, i);
		(void)snprintf(name, sizeof(name), "c%d", i);
		(void)vf_add_chain(rs, name);
	}
	if (!pick(4))
		(void)vf_add_chain(rs, "more");
	for (size_t i = 0; i < rs->nchains; i++) {
		bool more = !strcmp(rs->chains[i].name, "more");

		if (!i || more) {
			rs->chains[i].base = true;
			rs->chains[i].hook = VF_FORWARD;
			rs->chains[i].type = cl_strdup("filter");
			rs->chains[i].policy_drop = !pick(4);
		}
		for (uint32_t n = pick(5); n; n--)
			random_rule(rs, vf_add_rule(&rs->chains[i]), more ? 3 : (uint32_t)i);
	}
}

#endif
