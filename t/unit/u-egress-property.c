/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random policies against a second judge: what facts/egress.md 2 says in words, asked of
 * the authorisation itself, without rules and without an order.
 */
#include "unit.h"
#include "policy/egress/blockset.h"
#include "policy/egress/egress.h"

#define POLICIES  20000
#define QUESTIONS 60

static unsigned seed = 20261129;

static unsigned pick(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

/* An address close to something that the block set or a policy cares about. */
static struct pol_addr near_addr(const struct eg_auth *a)
{
	struct pol_addr out = eg_blocks[pick((unsigned)eg_nblocks)].prefix.addr;
	unsigned bits;

	if (a->nallow && !pick(2))
		out = a->allow[pick((unsigned)a->nallow)].addr;
	else if (a->ndeny && !pick(3))
		out = a->deny[pick((unsigned)a->ndeny)].addr;
	else if (a->nresolvers && !pick(4))
		out = a->resolvers[pick((unsigned)a->nresolvers)].addr;
	bits = pol_bits(out.family);
	for (unsigned n = pick(3); n; n--) {
		unsigned bit = pick(bits);

		out.b[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
	}
	/* Sometimes written as a mapped one. */
	if (out.family == 4 && !pick(8)) {
		struct pol_addr mapped = {6, {[10] = 0xff, [11] = 0xff}};

		memcpy(mapped.b + 12, out.b, 4);
		return mapped;
	}
	return out;
}

static struct pol_prefix near_prefix(const struct eg_auth *a)
{
	struct pol_prefix p = {near_addr(a), 0};
	unsigned bits = pol_bits(p.addr.family);
	bool mapped = p.addr.family == 6 && !p.addr.b[0] && p.addr.b[10] == 0xff;

	p.len = (uint8_t)(pick(3) ? bits - pick(mapped ? 32 : bits) : bits);
	if (!pol_prefix_valid(&p))
		p.len = (uint8_t)bits;
	pol_prefix_mask(&p);
	return p;
}

static void random_auth(struct eg_auth *a)
{
	a->internet = pick(2);
	a->block_special_use = pick(2);
	a->all_ports = !pick(4);
	for (unsigned n = a->all_ports ? 0 : 1 + pick(3); n; n--)
		eg_auth_add_port(a, (uint16_t)(80 + pick(3)));
	for (unsigned n = pick(4); n; n--) {
		struct pol_prefix p = near_prefix(a);

		eg_auth_add_allow(a, &p);
	}
	for (unsigned n = pick(3); n; n--) {
		struct pol_prefix p = near_prefix(a);

		eg_auth_add_deny(a, &p);
	}
	for (unsigned n = pick(2); n; n--) {
		struct pol_endpoint p = {near_addr(a), (uint16_t)(80 + pick(3))};

		eg_auth_add_resolver(a, &p);
		p.addr = near_addr(a);
		eg_auth_add_broker(a, &p);
	}
}

static bool inside(const struct pol_prefix *v, size_t n, const struct pol_addr *a, bool host)
{
	for (size_t i = 0; i < n; i++) {
		struct pol_prefix p = v[i];

		(void)pol_prefix_unmap(&p);
		if (host && p.len != pol_bits(p.addr.family))
			continue;
		if (pol_prefix_has(&p, a))
			return true;
	}
	return false;
}

static bool endpoint(
	const struct pol_endpoint *v, size_t n, const struct pol_addr *a, uint16_t port)
{
	for (size_t i = 0; i < n; i++) {
		struct pol_addr to = v[i].addr;

		(void)pol_addr_unmap(&to);
		if (!pol_addr_cmp(&to, a) && v[i].port == port)
			return true;
	}
	return false;
}

static bool blocked(const struct pol_addr *a, enum eg_block_kind kind)
{
	for (size_t i = 0; i < eg_nblocks; i++)
		if (eg_blocks[i].kind == kind && pol_prefix_has(&eg_blocks[i].prefix, a))
			return true;
	return false;
}

static bool has_port(const struct eg_auth *a, uint16_t port)
{
	for (size_t i = 0; i < a->nports; i++)
		if (a->ports[i] == port)
			return true;
	return a->all_ports;
}

static bool second_judge(
	const struct eg_auth *a, struct pol_addr to, uint16_t port, enum eg_proto proto)
{
	(void)pol_addr_unmap(&to);
	if (inside(a->deny, a->ndeny, &to, false))
		return false;
	if (proto != EG_PROTO_ANY && endpoint(a->resolvers, a->nresolvers, &to, port))
		return true;
	if (proto == EG_PROTO_TCP && endpoint(a->brokers, a->nbrokers, &to, port))
		return true;
	if (blocked(&to, EG_BLOCK_TRANSLATION) || proto != EG_PROTO_TCP || !has_port(a, port))
		return false;
	if (blocked(&to, EG_BLOCK_METADATA))
		return inside(a->allow, a->nallow, &to, true);
	if (inside(a->allow, a->nallow, &to, false))
		return true;
	if (blocked(&to, EG_BLOCK_BASE) || (a->block_special_use && blocked(&to, EG_BLOCK_SPECIAL)))
		return false;
	return a->internet;
}

static void one_policy(int n)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	struct cl_err e;

	random_auth(&a);
	if (eg_compile(&a, &p, &e)) {
		CHECK_HAS(e.msg, "every address there is");
		return;
	}
	for (int i = 0; i < QUESTIONS; i++) {
		struct pol_addr to = near_addr(&a);
		uint16_t port = (uint16_t)(79 + pick(5));
		enum eg_proto proto = (enum eg_proto)pick(3);
		bool got = eg_evaluate(&p, &to, port, proto, true).verdict == EG_ALLOW;
		char text[POL_ADDR_TEXT];

		pol_addr_text(&to, text);
		if (got != second_judge(&a, to, port, proto))
			UNIT_FAIL("policy %d: %s port %u %s", n, text, port, eg_proto_name(proto));
	}
}

void test_policies__two_judges_agree(void)
{
	for (int n = 0; n < POLICIES && !unit_failures; n++)
		one_policy(n);
}

/* The block set says nothing twice, and its rows are in normal form. */
void test_blocks__normal_form(void)
{
	for (size_t i = 0; i < eg_nblocks; i++) {
		struct pol_prefix p = eg_blocks[i].prefix;

		CHECK(pol_prefix_valid(&p));
		pol_prefix_mask(&p);
		CHECK_INT(pol_prefix_cmp(&p, &eg_blocks[i].prefix), 0);
		CHECK((eg_blocks[i].kind == EG_BLOCK_METADATA) == (eg_blocks[i].name != NULL));
		for (size_t k = 0; k < i; k++)
			CHECK(pol_prefix_cmp(&eg_blocks[k].prefix, &p) != 0);
	}
}

void test_invalid_address_is_dropped(void)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	struct pol_addr none = {0};
	struct eg_answer got;
	struct cl_err e;

	a.internet = a.all_ports = true;
	CHECK_INT(eg_compile(&a, &p, &e), 0);
	got = eg_evaluate(&p, &none, 443, EG_PROTO_TCP, true);
	CHECK_INT(got.verdict, EG_DROP);
	CHECK_STR(got.reason, "invalid address");
	CHECK_INT(got.rule, -1);
}
