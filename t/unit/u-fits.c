/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One level inside another: the table of cases, and random levels on a space that is small
 * enough to be asked whole. The other side of the proof is eg_evaluate.
 */
#include "unit.h"
#include "base/mem.h"
#include "policy/egress/fits.h"
#include "tsv.h"

static int read_stack(const char *json, struct eg_stack *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	return cl_doc_parse(&d, CL_DOC_JSON, "t", json, strlen(json), NULL, e) ||
			       eg_stack_read(&d, d.root, out, e)
		       ? -1
		       : 0;
}

/* --- the space: 64 addresses, 4 ports, 3 protocols --- */

#define BASE 0x0a000000u
#define SIZE 64

static unsigned seed = 20261130;

static unsigned pick(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

static struct pol_prefix small_prefix(void)
{
	struct pol_prefix p = {flat_addr(4, BASE + pick(SIZE)), (uint8_t)(32 - pick(6))};

	pol_prefix_mask(&p);
	return p;
}

static void small_auth(struct eg_auth *a)
{
	a->all_ports = !pick(3);
	for (unsigned n = a->all_ports ? 0 : 1 + pick(3); n; n--)
		eg_auth_add_port(a, (uint16_t)(80 + pick(3)));
	for (unsigned n = pick(4); n; n--) {
		struct pol_prefix p = small_prefix();

		eg_auth_add_allow(a, &p);
	}
	for (unsigned n = pick(3); n; n--) {
		struct pol_prefix p = small_prefix();

		eg_auth_add_deny(a, &p);
	}
	for (unsigned n = pick(2); n; n--) {
		struct pol_endpoint p = {flat_addr(4, BASE + pick(SIZE)), (uint16_t)(80 + pick(3))};

		eg_auth_add_resolver(a, &p);
	}
}

static void small_stack(struct eg_stack *s, const struct eg_stack *like)
{
	static const char *const names[] = {"a", "b"};
	unsigned n = 1 + pick(2);

	for (unsigned i = 0; i < n; i++) {
		struct eg_auth *a = eg_stack_add(s, names[i], 0);

		if (like && pick(2))
			eg_auth_copy(&like->v[0].auth, a);
		else
			small_auth(a);
	}
}

static bool denied(const struct eg_stack *s, const struct pol_addr *a)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].auth.ndeny; k++)
			if (pol_prefix_has(&s->v[i].auth.deny[k], a))
				return true;
	return false;
}

/* The same, by what the groups say of themselves; every example is one. */
static unsigned count_groups(const struct fits *f)
{
	unsigned n = 0;

	for (size_t i = 0; i < f->outside.n; i++) {
		const struct change_group *g = &f->outside.v[i];
		unsigned ports = 0, addresses = 0;

		for (size_t k = 0; k < g->like.nports; k++)
			for (unsigned p = 79; p <= 82; p++)
				ports += p >= g->like.ports[k].lo && p <= g->like.ports[k].hi;
		for (size_t k = 0; k < g->n; k++) {
			CHECK(!k || g->v[k - 1].hi + 1 < g->v[k].lo);
			addresses += (unsigned)(g->v[k].hi - g->v[k].lo) + 1;
		}
		CHECK(g->addresses == addresses);
		CHECK_INT(g->like.before.verdict, EG_DROP);
		CHECK_INT(g->like.after.verdict, EG_ALLOW);
		n += addresses * ports;
	}
	return n;
}

/* Destinations that the child opens and the parent does not. */
static unsigned count(const struct eg_stack *parent, const struct eg_policy *pc,
	const struct eg_policy *pp, bool own_denies)
{
	static const uint16_t ports[] = {79, 80, 81, 82};
	unsigned n = 0;

	for (unsigned i = 0; i < SIZE; i++) {
		struct pol_addr a = flat_addr(4, BASE + i);

		for (unsigned k = 0; k < 4 * 3; k++) {
			enum eg_proto proto = (enum eg_proto)(k % 3);
			uint16_t port = ports[k / 3];

			n += eg_evaluate(pc, &a, port, proto, true).verdict == EG_ALLOW &&
			     eg_evaluate(pp, &a, port, proto, true).verdict == EG_DROP &&
			     (own_denies || !denied(parent, &a));
		}
	}
	return n;
}

void test_fits_is_what_every_destination_says(void)
{
	unsigned inside_seen = 0;

	for (int i = 0; i < 4000 && !unit_failures; i++) {
		cleanup_eg_stack struct eg_stack child = EG_STACK_INIT, parent = EG_STACK_INIT;
		cleanup_eg_policy struct eg_policy pc = EG_POLICY_INIT, pp = EG_POLICY_INIT;
		cleanup_fits struct fits f = FITS_INIT;
		bool inside = false, own = pick(2);
		struct cl_err e;
		unsigned n;

		small_stack(&parent, NULL);
		small_stack(&child, &parent);
		CHECK(!eg_stack_compile(&child, &pc, &e) && !eg_stack_compile(&parent, &pp, &e));
		CHECK(!fits_check(&child, &parent, "above", own, &f, &inside, &e));
		n = count(&parent, &pc, &pp, own);
		CHECK_INT(inside, !n);
		CHECK_INT(f.reasons.n > 0, !inside);
		CHECK_INT(f.outside.n > 0, !inside);
		CHECK_INT(count_groups(&f), n);
		inside_seen += inside;
	}
	CHECK(inside_seen > 500 && inside_seen < 3500);
}

/* What both allow lies inside either, and nothing lies inside what allows less. */
void test_a_stack_fits_its_levels(void)
{
	for (int i = 0; i < 500 && !unit_failures; i++) {
		cleanup_eg_stack struct eg_stack both = EG_STACK_INIT, one = EG_STACK_INIT;
		cleanup_fits struct fits f = FITS_INIT;
		struct cl_err e;
		bool inside;

		small_stack(&both, NULL);
		eg_auth_copy(&both.v[pick((unsigned)both.n)].auth, eg_stack_add(&one, NULL, 0));
		CHECK(!fits_check(&both, &one, "above", true, &f, &inside, &e) && inside);
	}
}

/* --- the table: child, parent, "fits" or pieces of the reasons --- */

static void check_row(const struct tsv_row *r)
{
	cleanup_eg_stack struct eg_stack child = EG_STACK_INIT, parent = EG_STACK_INIT;
	cleanup_fits struct fits got = FITS_INIT;
	struct cl_err e;
	bool inside;

	if (read_stack(r->field[0], &child, &e) || read_stack(r->field[1], &parent, &e) ||
		fits_check(&child, &parent, "the parent", false, &got, &inside, &e)) {
		TSV_FAIL(r, "%s", e.msg);
		return;
	}
	if (!strcmp(r->field[2], "fits")) {
		if (!inside)
			TSV_FAIL(r, "refused: %s", got.reasons.v[0]);
		return;
	}
	if (got.reasons.n != (size_t)r->n - 2)
		TSV_FAIL(r, "%zu reasons, not %d", got.reasons.n, r->n - 2);
	for (size_t i = 0; i < got.reasons.n && (int)i < r->n - 2; i++)
		if (strcmp(got.reasons.v[i], r->field[i + 2]) != 0)
			TSV_FAIL(r, "got  %s\n# want %s", got.reasons.v[i], r->field[i + 2]);
}

void test_fits_table(void)
{
	tsv_each("egress/fits.tsv", check_row);
}
