/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random policies, over a million cases. What first match answers can change only where a
 * rule begins or has ended: a policy's own edges cut addresses, ports and protocols into
 * cells, and every cell is asked at its first and last address. That is all there is.
 */
#include "unit.h"
#include "base/mem.h"
#include "policy/egress/blockset.h"
#include "policy/flat/flat.h"

#define CASES 1000000

static unsigned seed = 20261130;

static unsigned pick(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

/* --- policies as people write them --- */

static struct pol_addr near_addr(const struct eg_auth *a)
{
	struct pol_addr out = eg_blocks[pick((unsigned)eg_nblocks)].prefix.addr;

	if (a->nallow && !pick(2))
		out = a->allow[pick((unsigned)a->nallow)].addr;
	else if (a->ndeny && !pick(3))
		out = a->deny[pick((unsigned)a->ndeny)].addr;
	for (unsigned n = pick(3); n; n--) {
		unsigned bit = pick(pol_bits(out.family));

		out.b[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
	}
	return out;
}

static struct pol_prefix near_prefix(const struct eg_auth *a)
{
	struct pol_prefix p = {near_addr(a), 0};
	unsigned bits = pol_bits(p.addr.family);

	p.len = (uint8_t)(pick(3) ? bits - pick(bits) : bits);
	if (!pol_prefix_valid(&p))
		p.len = (uint8_t)bits;
	pol_prefix_mask(&p);
	return p;
}

static void random_policy(struct eg_policy *out)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	struct cl_err e;

	a.internet = pick(2);
	a.block_special_use = pick(2);
	a.all_ports = !pick(4);
	for (unsigned n = a.all_ports ? 0 : 1 + pick(3); n; n--)
		eg_auth_add_port(&a, (uint16_t)(80 + pick(3)));
	for (unsigned n = pick(8); n; n--) {
		struct pol_prefix p = near_prefix(&a);

		eg_auth_add_allow(&a, &p);
	}
	for (unsigned n = pick(5); n; n--) {
		struct pol_prefix p = near_prefix(&a);

		eg_auth_add_deny(&a, &p);
	}
	for (unsigned n = pick(3); n; n--) {
		struct pol_endpoint p = {near_addr(&a), (uint16_t)(80 + pick(3))};

		eg_auth_add_resolver(&a, &p);
		p.addr = near_addr(&a);
		eg_auth_add_broker(&a, &p);
	}
	if (eg_compile(&a, out, &e)) {
		CHECK_HAS(e.msg, "every address there is");
		eg_policy_release(out);
	}
}

/* --- cells --- */

struct cells {
	flat_u128 *lo; /* where one starts, sorted, each once; the first is 0 */
	size_t n, cap;
};

static void cells_add(struct cells *c, flat_u128 at)
{
	c->lo = cl_grow(c->lo, &c->cap, c->n + 1, sizeof(*c->lo));
	c->lo[c->n++] = at;
}

static int by_number(const void *pa, const void *pb)
{
	const flat_u128 *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static void cells_sort(struct cells *c)
{
	size_t n = 1;

	qsort(c->lo, c->n, sizeof(*c->lo), by_number);
	for (size_t i = 1; i < c->n; i++)
		if (c->lo[i] != c->lo[n - 1])
			c->lo[n++] = c->lo[i];
	c->n = n;
}

static void address_cells(const struct eg_policy *p, uint8_t family, struct cells *out)
{
	cells_add(out, 0);
	for (size_t i = 0; i < p->nrules; i++) {
		flat_u128 lo, hi;

		if (p->rules[i].prefix.addr.family != family)
			continue;
		flat_prefix_range(&p->rules[i].prefix, &lo, &hi);
		cells_add(out, lo);
		if (hi != flat_last(family))
			cells_add(out, hi + 1);
	}
	/* A mapped address is an IPv4 one. */
	if (family == 6) {
		cells_add(out, (flat_u128)0xffff << 32);
		cells_add(out, (flat_u128)0x10000 << 32);
	}
	cells_sort(out);
}

static void port_cells(const struct eg_policy *p, struct cells *out)
{
	cells_add(out, 0);
	for (size_t i = 0; i < p->nrules; i++) {
		for (size_t k = 0; k < p->rules[i].nports; k++) {
			cells_add(out, p->rules[i].ports[k]);
			if (p->rules[i].ports[k] < FLAT_MAX_PORT)
				cells_add(out, p->rules[i].ports[k] + 1u);
		}
	}
	cells_sort(out);
}

static flat_u128 cell_end(const struct cells *c, size_t i, flat_u128 last)
{
	return i + 1 < c->n ? c->lo[i + 1] - 1 : last;
}

static bool is_mapped(uint8_t family, flat_u128 a)
{
	return family == 6 && a >> 32 == 0xffff;
}

/* --- the proof --- */

static size_t cases;

static void same(const struct eg_policy *p, const struct flat *f, const struct pol_addr *a,
	uint16_t port, enum eg_proto proto)
{
	struct eg_answer want = eg_evaluate(p, a, port, proto, true);
	struct eg_answer got = flat_evaluate(f, a, port, proto);
	char text[POL_ADDR_TEXT];

	cases++;
	if (got.verdict == want.verdict && got.rule == want.rule &&
		!strcmp(got.reason, want.reason))
		return;
	pol_addr_text(a, text);
	UNIT_FAIL("%s port %u %s: rule %d, not %d", text, port, eg_proto_name(proto), got.rule,
		want.rule);
}

/* Every interval starts where a cell does, so that a cell's ends speak for all of it. */
static void edges_are_cells(const struct flat_view *v, const struct cells *c)
{
	for (size_t i = 0, k = 0; i < v->n; i++) {
		while (k < c->n && c->lo[k] < v->lo[i])
			k++;
		CHECK(k < c->n && c->lo[k] == v->lo[i]);
	}
}

static void prove(
	const struct eg_policy *p, const struct flat *f, uint8_t family, const struct cells *ports)
{
	struct cells c = {0};

	address_cells(p, family, &c);
	edges_are_cells(&f->sense[flat_half(family)], &c);
	edges_are_cells(&f->why[flat_half(family)], &c);
	for (size_t i = 0; i < c.n; i++) {
		struct pol_addr ends[] = {flat_addr(family, c.lo[i]),
			flat_addr(family, cell_end(&c, i, flat_last(family)))};

		for (size_t k = 0; k < 2 * ports->n; k++) {
			uint16_t port = (uint16_t)(k % 2 ? cell_end(ports, k / 2, FLAT_MAX_PORT)
							 : ports->lo[k / 2]);

			for (enum eg_proto proto = EG_PROTO_ANY; proto <= EG_PROTO_UDP; proto++)
				same(p, f, &ends[k % 2], port, proto);
		}
	}
	free(c.lo);
}

/* What is named: all that is allowed but where the public Internet's rule decides. */
static void prove_named(struct eg_policy *p, const struct flat *all)
{
	cleanup_flat struct flat named = FLAT_INIT, without = FLAT_INIT;

	if (!p->nrules)
		return;
	for (size_t i = 0; i < p->nrules; i++)
		p->rules[i].internet = i == p->nrules - 1;
	flat_build_named(p, &named);
	if (p->rules[p->nrules - 1].verdict == EG_ALLOW)
		CHECK(flat_subset(&named, all));
	p->nrules--;
	flat_build(p, true, &without);
	CHECK(flat_equal(&without, &named));
	p->nrules++;
}

void test_flat_is_first_match(void)
{
	while (cases < CASES && !unit_failures) {
		cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
		cleanup_flat struct flat f = FLAT_INIT;
		struct cells ports = {0};

		random_policy(&p);
		flat_build(&p, true, &f);
		port_cells(&p, &ports);
		prove(&p, &f, 4, &ports);
		prove(&p, &f, 6, &ports);
		prove_named(&p, &f);
		free(ports.lo);
	}
}

/* --- set arithmetic --- */

/* The areas add up to what the cells of both policies say, and their examples hold. */
struct sums {
	flat_u128 addresses[FLAT_FAMILIES], destinations[FLAT_FAMILIES];
};

static bool differs(const struct eg_policy *a, const struct eg_policy *b, const struct pol_addr *to,
	uint16_t port, enum eg_proto proto)
{
	return eg_evaluate(a, to, port, proto, true).verdict == EG_DROP &&
	       eg_evaluate(b, to, port, proto, true).verdict == EG_ALLOW;
}

static void sum_family(const struct eg_policy *a, const struct eg_policy *b, uint8_t family,
	const struct cells *ports, struct sums *s)
{
	struct cells c = {0};

	address_cells(a, family, &c);
	address_cells(b, family, &c);
	for (size_t i = 0; i < c.n; i++) {
		struct pol_addr to = flat_addr(family, c.lo[i]);
		flat_u128 size = cell_end(&c, i, flat_last(family)) - c.lo[i] + 1;
		unsigned n = 0;

		if (is_mapped(family, c.lo[i]))
			continue;
		for (size_t k = 0; k < ports->n; k++) {
			uint16_t port = (uint16_t)ports->lo[k];
			unsigned width = (unsigned)(cell_end(ports, k, FLAT_MAX_PORT) - port) + 1;

			n += differs(a, b, &to, port, EG_PROTO_TCP) ? width : 0;
			n += differs(a, b, &to, port, EG_PROTO_UDP) ? width : 0;
			/* Compiled policies allow other protocols whole or not at all. */
			n += !k && differs(a, b, &to, port, EG_PROTO_ANY);
		}
		s->addresses[flat_half(family)] += n ? size : 0;
		if (size > ~(flat_u128)0 / 200000 && n)
			s->destinations[flat_half(family)] = ~(flat_u128)0;
		else if (s->destinations[flat_half(family)] != ~(flat_u128)0)
			s->destinations[flat_half(family)] += size * n;
	}
	free(c.lo);
}

static void check_areas(
	const struct eg_policy *a, const struct eg_policy *b, const struct flat_areas *areas)
{
	struct flat_region r;

	for (size_t i = 0; i < areas->n; i++) {
		struct flat_area *area = &areas->v[i];
		struct pol_addr to;

		CHECK(area->lo <= area->hi && area->ports != FLAT_DROP_ALL);
		if (i && areas->v[i - 1].family == area->family)
			CHECK(areas->v[i - 1].hi < area->lo);
		r = flat_example(areas, i);
		to = flat_addr(r.family, r.lo);
		CHECK(differs(a, b, &to, r.ports.lo, r.proto));
		for (size_t k = 0; flat_region_of(areas, i, k, &r); k++) {
			to = flat_addr(r.family, r.hi);
			CHECK(differs(a, b, &to, r.ports.hi, r.proto));
		}
	}
}

static void check_difference(const struct eg_policy *a, const struct eg_policy *b)
{
	cleanup_flat struct flat fa = FLAT_INIT, fb = FLAT_INIT, both = FLAT_INIT;
	cleanup_areas struct flat_areas more = FLAT_AREAS_INIT, less = FLAT_AREAS_INIT;
	struct cells ports = {0};
	struct sums s = {0}, back = {0};

	flat_build(a, true, &fa);
	flat_build(b, true, &fb);
	flat_difference(&fa, &fb, &more, &less);
	check_areas(a, b, &more);
	check_areas(b, a, &less);
	port_cells(a, &ports);
	port_cells(b, &ports);
	for (uint8_t family = 4; family <= 6; family += 2) {
		int half = flat_half(family);

		sum_family(a, b, family, &ports, &s);
		sum_family(b, a, family, &ports, &back);
		CHECK(more.count[half].addresses == s.addresses[half]);
		CHECK(less.count[half].addresses == back.addresses[half]);
	}
	CHECK(more.count[FLAT_V4].destinations == s.destinations[FLAT_V4]);
	CHECK(less.count[FLAT_V4].destinations == back.destinations[FLAT_V4]);
	CHECK_INT(flat_subset(&fb, &fa), !more.n);
	CHECK_INT(flat_subset(&fa, &fb), !less.n);
	CHECK_INT(flat_equal(&fa, &fb), !more.n && !less.n);
	flat_intersect(&fa, &fb, "both", &both);
	CHECK(flat_subset(&both, &fa) && flat_subset(&both, &fb));
	CHECK_INT(flat_equal(&both, &fb), !more.n);
	free(ports.lo);
}

void test_difference_is_the_cells_that_differ(void)
{
	for (int i = 0; i < 300 && !unit_failures; i++) {
		cleanup_eg_policy struct eg_policy a = EG_POLICY_INIT, b = EG_POLICY_INIT;

		random_policy(&a);
		random_policy(&b);
		check_difference(&a, &b);
	}
}

/* A in B and B in A are A and B; what both allow answers so. */
void test_intersection_answers(void)
{
	for (int i = 0; i < 2000 && !unit_failures; i++) {
		cleanup_eg_policy struct eg_policy a = EG_POLICY_INIT, b = EG_POLICY_INIT;
		cleanup_flat struct flat fa = FLAT_INIT, fb = FLAT_INIT, both = FLAT_INIT;

		random_policy(&a);
		random_policy(&b);
		flat_build(&a, true, &fa);
		flat_build(&b, true, &fb);
		flat_intersect(&fa, &fb, "both", &both);
		for (int k = 0; k < 30; k++) {
			struct pol_addr to = near_addr(&EG_AUTH_INIT);
			uint16_t port = (uint16_t)(79 + pick(5));
			enum eg_proto proto = (enum eg_proto)pick(3);
			bool want = eg_evaluate(&a, &to, port, proto, true).verdict &&
				    eg_evaluate(&b, &to, port, proto, true).verdict;
			struct eg_answer got = flat_evaluate(&both, &to, port, proto);

			CHECK_INT(got.verdict, want);
			CHECK_STR(got.reason, want ? "both" : "default deny");
		}
	}
}

/* --- rules of any origin --- */

#define SMALL 64 /* addresses */

struct any_rule {
	struct flat_rule r;
	struct flat_ports ports[3];
};

static void random_rule(struct any_rule *x, int id, flat_u128 base)
{
	unsigned lo = pick(SMALL), port = pick(4);

	*x = (struct any_rule){.r = {.family = base >> 32 ? 6 : 4,
				       .protos = (uint8_t)(1 + pick(7)),
				       .verdict = (uint8_t)pick(2),
				       .lo = base + lo,
				       .hi = base + lo + pick(SMALL - lo),
				       .nports = pick(4),
				       .id = id,
				       .reason = "r"}};
	for (size_t i = 0; i < 3; i++) {
		x->ports[i] = (struct flat_ports){(uint16_t)port, (uint16_t)(port + pick(3))};
		port = x->ports[i].hi + 1u + pick(2);
	}
	if (x->r.nports && !pick(4))
		x->ports[x->r.nports - 1].hi = FLAT_MAX_PORT;
	x->r.ports = x->ports;
}

static int first_match(
	const struct flat_rule *r, size_t n, flat_u128 a, uint16_t port, unsigned proto)
{
	for (size_t i = 0; i < n; i++) {
		bool in = !r[i].nports;

		if (a < r[i].lo || a > r[i].hi || !(r[i].protos & 1u << proto))
			continue;
		for (size_t k = 0; k < r[i].nports; k++)
			in |= port >= r[i].ports[k].lo && port <= r[i].ports[k].hi;
		if (in)
			return (int)i;
	}
	return -1;
}

static void check_rules(const struct flat_rule *r, size_t n, uint8_t family, flat_u128 base)
{
	static const uint16_t ports[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, FLAT_MAX_PORT};
	cleanup_flat struct flat f = FLAT_INIT;

	flat_build_rules(r, n, &f);
	for (flat_u128 a = base; a < base + SMALL; a++) {
		struct pol_addr to = flat_addr(family, a);

		for (size_t i = 0; i < CL_ARRAY_LEN(ports); i++) {
			enum eg_proto proto = (enum eg_proto)pick(3);
			int want = first_match(r, n, a, ports[i], proto);
			struct eg_answer got = flat_evaluate(&f, &to, ports[i], proto);
			bool allows =
				flat_class_allows(&f, flat_class_at(&f, &to), ports[i], proto);

			CHECK_INT(got.rule, want);
			CHECK_INT(got.verdict, want < 0 ? EG_DROP : (int)r[want].verdict);
			CHECK_INT(allows, got.verdict == EG_ALLOW);
		}
	}
}

void test_rules_of_any_origin(void)
{
	for (int i = 0; i < 1500 && !unit_failures; i++) {
		static struct any_rule x[12];
		struct flat_rule r[12];
		size_t n = 1 + pick(12);
		flat_u128 base = i % 2 ? 0xffffffc0u : (flat_u128)0x2a00 << 112;

		for (size_t k = 0; k < n; k++) {
			random_rule(&x[k], (int)k, base);
			r[k] = x[k].r;
		}
		check_rules(r, n, base >> 32 ? 6 : 4, base);
	}
}
