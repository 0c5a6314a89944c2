/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flat form means what first match means. Exhaustively: every policy of two rules, and
 * every one of three from a smaller choice, over the addresses of a /28 (/124) that lies at
 * the beginning, in the middle and at the end of each family.
 */
#include "unit.h"
#include "base/mem.h"
#include "policy/flat/flat.h"

#define RULES_MAX 512

static const struct pol_prefix places[] = {
	{{4, {0}}, 28},
	{{4, {10, 0, 0, 16}}, 28},
	{{4, {255, 255, 255, 240}}, 28},
	{{6, {0}}, 124},
	{{6, {0x2a, 0, [15] = 0x80}}, 124},
	{{6, {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 240}},
		124},
};

static const uint16_t two_ports[] = {80, 81}, one_port[] = {81};
static const struct {
	enum eg_proto proto;
	const uint16_t *ports;
	size_t nports;
} shapes[] = {
	{EG_PROTO_ANY, NULL, 0},
	{EG_PROTO_TCP, two_ports, 2},
	{EG_PROTO_TCP, NULL, 0},
	{EG_PROTO_UDP, one_port, 1},
	{EG_PROTO_ANY, one_port, 1},
};

/* Every rule within the last `depth` bits of a place, of the first `nshapes` shapes. */
static size_t all_rules(const struct pol_prefix *place, unsigned depth, size_t nshapes,
	struct eg_rule out[RULES_MAX])
{
	unsigned bits = pol_bits(place->addr.family);
	flat_u128 base = flat_number(&place->addr);
	size_t n = 0;

	for (unsigned len = bits - depth; len <= bits; len++)
		for (unsigned i = 0; i < 1u << (len - (bits - depth)); i++)
			for (size_t s = 0; s < 2 * nshapes; s++)
				out[n++] = (struct eg_rule){
					.verdict = s < nshapes ? EG_DROP : EG_ALLOW,
					.prefix = {flat_addr(place->addr.family,
							   base + ((flat_u128)i << (bits - len))),
						(uint8_t)len},
					.proto = shapes[s % nshapes].proto,
					.ports = shapes[s % nshapes].ports,
					.nports = shapes[s % nshapes].nports,
					.reason = s < nshapes ? "drop" : "allow"};
	return n;
}

static bool same_answer(const struct eg_answer *a, const struct eg_answer *b)
{
	return a->verdict == b->verdict && a->rule == b->rule && !strcmp(a->reason, b->reason);
}

static void fail_at(const struct pol_addr *a, uint16_t port, enum eg_proto proto,
	const struct eg_answer *got, const struct eg_answer *want)
{
	char text[POL_ADDR_TEXT];

	pol_addr_text(a, text);
	UNIT_FAIL("%s port %u %s: verdict %d rule %d '%s', not %d %d '%s'", text, port,
		eg_proto_name(proto), got->verdict, got->rule, got->reason, want->verdict,
		want->rule, want->reason);
}

static void ask(const struct eg_policy *p, const struct flat *f, const struct pol_addr *a)
{
	const struct flat_class *c = flat_class_at(f, a);

	for (uint16_t port = 79; port <= 82; port++) {
		for (enum eg_proto proto = EG_PROTO_ANY; proto <= EG_PROTO_UDP; proto++) {
			struct eg_answer want = eg_evaluate(p, a, port, proto, true);
			struct eg_answer got = flat_evaluate(f, a, port, proto);

			if (!same_answer(&got, &want))
				fail_at(a, port, proto, &got, &want);
			CHECK_INT(flat_class_allows(f, c, port, proto), want.verdict);
			CHECK_INT(flat_allows(f, a, port, proto), want.verdict);
		}
	}
}

/* Neighbours differ, the first starts at 0, and the classes are each once. */
static void check_form(const struct flat *f)
{
	for (int i = 0; i < FLAT_FAMILIES; i++) {
		const struct flat_view *v = &f->sense[i];

		CHECK(v->n && !v->lo[0] && f->why[i].n && !f->why[i].lo[0]);
		for (size_t k = 1; k < v->n; k++)
			CHECK(v->lo[k] > v->lo[k - 1] && v->id[k] != v->id[k - 1]);
		for (size_t k = 1; k < f->why[i].n; k++)
			CHECK(f->why[i].lo[k] > f->why[i].lo[k - 1]);
		CHECK(v->n <= f->why[i].n);
	}
}

/* Every address of the last `depth` bits, and the ones beside them. */
static void compare(const struct eg_policy *p, const struct pol_prefix *place, unsigned depth)
{
	cleanup_flat struct flat f = FLAT_INIT;
	uint8_t family = place->addr.family;
	flat_u128 lo = flat_number(&place->addr), hi = lo + (1u << depth) - 1;

	flat_build(p, true, &f);
	check_form(&f);
	for (flat_u128 a = lo ? lo - 1 : lo;; a++) {
		struct pol_addr addr = flat_addr(family, a);

		ask(p, &f, &addr);
		if (a == flat_last(family) || a == hi + 1)
			break;
	}
}

void test_every_policy_of_two_rules(void)
{
	struct eg_rule all[RULES_MAX], rules[2];
	struct eg_policy p = {.rules = rules, .nrules = 2};

	for (size_t i = 0; i < CL_ARRAY_LEN(places) && !unit_failures; i++) {
		size_t n = all_rules(&places[i], 3, CL_ARRAY_LEN(shapes), all);

		CHECK_INT(n, 15 * 10);
		for (size_t a = 0; a < n && !unit_failures; a++) {
			for (size_t b = 0; b < n; b++) {
				rules[0] = all[a];
				rules[1] = all[b];
				compare(&p, &places[i], 3);
			}
		}
	}
}

void test_every_policy_of_three_rules(void)
{
	struct eg_rule all[RULES_MAX], rules[3];
	struct eg_policy p = {.rules = rules, .nrules = 3};

	for (size_t i = 1; i < CL_ARRAY_LEN(places) && !unit_failures; i += 4) {
		size_t n = all_rules(&places[i], 2, 2, all);

		CHECK_INT(n, 7 * 4);
		for (size_t a = 0; a < n * n * n && !unit_failures; a++) {
			rules[0] = all[a % n];
			rules[1] = all[a / n % n];
			rules[2] = all[a / n / n];
			compare(&p, &places[i], 2);
		}
	}
}

void test_every_rule_of_four_bits(void)
{
	struct eg_rule all[RULES_MAX], whole = {.verdict = EG_ALLOW, .reason = "all"}, rules[2];
	struct eg_policy p = {.rules = rules, .nrules = 2};

	for (size_t i = 0; i < CL_ARRAY_LEN(places) && !unit_failures; i++) {
		size_t n = all_rules(&places[i], 4, CL_ARRAY_LEN(shapes), all);

		whole.prefix = (struct pol_prefix){{places[i].addr.family, {0}}, 0};
		rules[1] = whole;
		for (size_t a = 0; a < n; a++) {
			rules[0] = all[a];
			compare(&p, &places[i], 4);
		}
	}
}

void test_nothing_drops_everything(void)
{
	cleanup_flat struct flat f = FLAT_INIT;
	struct pol_addr a = {6, {0x20}}, none = {0};
	struct eg_answer got;

	flat_build_rules(NULL, 0, &f);
	check_form(&f);
	got = flat_evaluate(&f, &a, 443, EG_PROTO_TCP);
	CHECK_INT(got.verdict, EG_DROP);
	CHECK_STR(got.reason, "default deny");
	CHECK_INT(got.rule, -1);
	got = flat_evaluate(&f, &none, 443, EG_PROTO_TCP);
	CHECK_STR(got.reason, "invalid address");
	CHECK_INT(f.sense[FLAT_V4].n, 1);
	CHECK_INT(f.sense[FLAT_V6].id[0], FLAT_DROP_ALL);
}

/* --- ranges as prefixes --- */

static void check_prefixes(const char *from, const char *to, const char *want)
{
	struct pol_prefix out[FLAT_MAX_PREFIXES];
	struct pol_addr lo, hi;
	cleanup_buf struct cl_buf got = CL_BUF_INIT;
	struct cl_err e;
	size_t n;

	CHECK_INT(pol_addr_parse(from, "", &lo, &e) || pol_addr_parse(to, "", &hi, &e), 0);
	n = flat_prefixes(lo.family, flat_number(&lo), flat_number(&hi), out);
	for (size_t i = 0; i < n; i++) {
		char text[POL_PREFIX_TEXT];

		pol_prefix_text(&out[i], text);
		cl_buf_addf(&got, "%s%s", i ? " " : "", text);
	}
	CHECK_STR(got.p, want);
}

void test_prefixes__by_hand(void)
{
	check_prefixes("10.0.0.0", "10.0.0.0", "10.0.0.0/32");
	check_prefixes("0.0.0.0", "255.255.255.255", "0.0.0.0/0");
	check_prefixes("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0");
	check_prefixes("10.0.0.1", "10.0.0.6", "10.0.0.1/32 10.0.0.2/31 10.0.0.4/31 10.0.0.6/32");
	check_prefixes("255.255.255.254", "255.255.255.255", "255.255.255.254/31");
	check_prefixes("2001:db8::", "2001:db8:2:ffff:ffff:ffff:ffff:ffff",
		"2001:db8::/47 2001:db8:2::/48");
}

void test_prefixes__longest(void)
{
	struct pol_prefix out[FLAT_MAX_PREFIXES];

	CHECK_INT(flat_prefixes(4, 1, flat_last(4) - 1, out), 62);
	CHECK_INT(flat_prefixes(6, 1, flat_last(6) - 1, out), FLAT_MAX_PREFIXES);
}

/* Every range of seven bits: the prefixes are the range, and no two could be one. */
void test_prefixes__every_small_range(void)
{
	struct pol_prefix out[FLAT_MAX_PREFIXES];

	for (unsigned lo = 0; lo < 128; lo++) {
		for (unsigned hi = lo; hi < 128; hi++) {
			size_t n = flat_prefixes(4, lo, hi, out);
			flat_u128 next = lo, from, to = 0;

			for (size_t i = 0; i < n; i++) {
				flat_prefix_range(&out[i], &from, &to);
				CHECK(from == next);
				next = to + 1;
				/* Two of one size that could be one would start at an even place. */
				if (i && out[i].len == out[i - 1].len)
					CHECK(!(from >> (32 - out[i].len) & 1));
			}
			CHECK(to == hi);
		}
	}
}

/* --- memory --- */

void test_hundred_thousand_ranges(void)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_flat struct flat f = FLAT_INIT;
	struct cl_err e;

	a.internet = true;
	a.max_cidrs = EG_MAX_CIDRS_FILE;
	eg_auth_add_port(&a, 443);
	for (unsigned i = 0; i < 100000; i++) {
		struct pol_prefix r = {flat_addr(4, 0x0a000000u + i * 512), (uint8_t)(24 + i % 9)};

		eg_auth_add_allow(&a, &r);
	}
	CHECK_INT(eg_compile(&a, &p, &e), 0);
	flat_build(&p, true, &f);
	check_form(&f);
	CHECK(f.npool < 6 * p.nrules);
	CHECK(f.nclasses <= 4);
	for (unsigned i = 0; i < 200000; i += 997) {
		struct pol_addr to = flat_addr(4, 0x0a000000u + i * 256 + i % 256);

		ask(&p, &f, &to);
	}
}

/* Many questions at once are answered as one by one, with trees and without. */
static void all_as_one(size_t nrules)
{
	cleanup_free struct flat_rule *r = cl_calloc(2 * nrules, sizeof(*r));
	cleanup_free struct eg_question *q = cl_calloc(4 * nrules + 3, sizeof(*q));
	cleanup_free struct eg_answer *a = cl_calloc(4 * nrules + 3, sizeof(*a));
	cleanup_free bool *yes = cl_calloc(4 * nrules + 3, sizeof(*yes));
	const flat_u128 six = (flat_u128)0x2a00 << 112;
	cleanup_flat struct flat f = FLAT_INIT;
	size_t n = 0;

	for (size_t i = 0; i < nrules; i++) {
		/* Of IPv6, some start in the same 64 bits. */
		flat_u128 lo = six + ((flat_u128)(i / 3) << 64) + ((i % 3) << 20);

		r[2 * i] = (struct flat_rule){4, 1u << EG_PROTO_TCP, i % 2 ? EG_ALLOW : EG_DROP,
			0x14000000 + i * 256, 0x14000000 + i * 256 + 127, NULL, 0, (int)i, "four"};
		r[2 * i + 1] = (struct flat_rule){6, FLAT_EVERY_PROTO, i % 2 ? EG_DROP : EG_ALLOW,
			lo, lo + 1000, NULL, 0, (int)i, "six"};
		q[n++] = (struct eg_question){
			{flat_addr(4, r[2 * i].lo + i % 256), 443}, EG_PROTO_TCP};
		q[n++] = (struct eg_question){{flat_addr(6, lo + i % 2000), 53}, EG_PROTO_UDP};
		q[n] = q[n - 2];
		q[n].proto = EG_PROTO_ANY;
		q[n].to.addr = flat_addr(6, ((flat_u128)0xffff << 32) + r[2 * i].lo);
		n++;
		q[n++] = (struct eg_question){{flat_addr(6, lo - 1), 1}, EG_PROTO_TCP};
	}
	q[n++] = (struct eg_question){{flat_addr(4, 0), 1}, EG_PROTO_TCP};
	q[n++] = (struct eg_question){{flat_addr(6, flat_last(6)), 1}, EG_PROTO_TCP};
	q[n++].to.addr.family = 0;
	flat_build_rules(r, 2 * nrules, &f);
	flat_evaluate_all(&f, q, n, a);
	flat_allows_all(&f, q, n, yes);
	for (size_t i = 0; i < n; i++) {
		struct eg_answer one = flat_evaluate(&f, &q[i].to.addr, q[i].to.port, q[i].proto);

		CHECK_INT(a[i].verdict, one.verdict);
		CHECK_INT(a[i].rule, one.rule);
		CHECK_STR(a[i].reason, one.reason);
		CHECK_INT(yes[i], flat_allows(&f, &q[i].to.addr, q[i].to.port, q[i].proto));
	}
}

void test_flat__all_as_one(void)
{
	all_as_one(1);
	all_as_one(11);
	all_as_one(5000);
}
