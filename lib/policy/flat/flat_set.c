/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flat forms as sets of destinations: two of them are walked side by side. */
#include "policy/flat/flat_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* What is done with a stretch of addresses that has one class in each; false: enough. */
typedef bool stretch_fn(
	void *data, uint8_t family, flat_u128 lo, flat_u128 hi, uint32_t a, uint32_t b);

static bool walk_half(
	const struct flat *a, const struct flat *b, uint8_t family, stretch_fn *fn, void *data)
{
	const struct flat_view *va = &a->sense[flat_half(family)];
	const struct flat_view *vb = &b->sense[flat_half(family)];
	flat_u128 lo = 0;

	for (size_t i = 0, k = 0;;) {
		flat_u128 ha = flat_hi(va, i, family), hb = flat_hi(vb, k, family);
		flat_u128 hi = ha < hb ? ha : hb;

		if (!fn(data, family, lo, hi, va->id[i], vb->id[k]))
			return false;
		if (hi == flat_last(family))
			return true;
		i += hi == ha;
		k += hi == hb;
		lo = hi + 1;
	}
}

static bool walk(const struct flat *a, const struct flat *b, stretch_fn *fn, void *data)
{
	return walk_half(a, b, 4, fn, data) && walk_half(a, b, 6, fn, data);
}

/* The operation on every protocol of two classes, as a class of `out`. */
static uint32_t combine(struct flat_classes *out, flat_ports_fn *fn, const struct flat *fa,
	uint32_t a, const struct flat *fb, uint32_t b)
{
	const struct flat_class *ca = &fa->classes[a], *cb = &fb->classes[b];
	cleanup_buf struct cl_buf spans = CL_BUF_INIT;
	uint32_t n[FLAT_PROTOS];

	for (int i = 0; i < FLAT_PROTOS; i++)
		n[i] = fn(fa->spans + ca->at[i], ca->n[i], fb->spans + cb->at[i], cb->n[i], &spans);
	return flat_class_of(out, (const struct flat_ports *)(const void *)spans.p, n);
}

/* --- areas --- */

void flat_areas_release(struct flat_areas *a)
{
	free(a->v);
	free(a->classes);
	free(a->spans);
	*a = FLAT_AREAS_INIT;
}

static void area_add(
	struct flat_areas *a, uint8_t family, flat_u128 lo, flat_u128 hi, uint32_t ports)
{
	struct flat_area *last = a->n ? &a->v[a->n - 1] : NULL;

	if (last && last->family == family && last->ports == ports && last->hi + 1 == lo) {
		last->hi = hi;
		return;
	}
	a->v = cl_grow(a->v, &a->cap, a->n + 1, sizeof(*a->v));
	a->v[a->n++] = (struct flat_area){family, lo, hi, ports};
}

static uint64_t destinations(const struct flat_areas *a, const struct flat_class *c)
{
	uint64_t n = 0;

	for (int i = 0; i < FLAT_PROTOS; i++) {
		const struct flat_ports *p = a->spans + c->at[i];

		if (i == EG_PROTO_ANY && c->n[i] == 1 && !p->lo && p->hi == FLAT_MAX_PORT)
			n++;
		else
			for (uint32_t k = 0; k < c->n[i]; k++)
				n += p[k].hi - p[k].lo + 1u;
	}
	return n;
}

static flat_u128 plus(flat_u128 a, flat_u128 b)
{
	return a + b < a ? ~(flat_u128)0 : a + b;
}

static flat_u128 times(flat_u128 a, uint64_t b)
{
	flat_u128 high = (flat_u128)(uint64_t)(a >> 64) * b;

	if (high >> 64)
		return ~(flat_u128)0;
	return plus(high << 64, (flat_u128)(uint64_t)a * b);
}

/* Takes the classes over, and counts. */
static void areas_end(struct flat_areas *a, struct flat_classes *take)
{
	a->classes = cl_steal(&take->v);
	a->spans = cl_steal(&take->spans);
	a->nclasses = take->n;
	a->nspans = take->nspans;
	for (size_t i = 0; i < a->n; i++) {
		const struct flat_area *r = &a->v[i];
		struct flat_count *c = &a->count[flat_half(r->family)];
		flat_u128 all = plus(r->hi - r->lo, 1);

		c->addresses = plus(c->addresses, all);
		c->destinations =
			plus(c->destinations, times(all, destinations(a, &a->classes[r->ports])));
	}
}

/* --- difference --- */

struct difference {
	const struct flat *f[2];
	struct flat_areas *out[2]; /* what f[1] allows and f[0] does not; the other way round */
	struct flat_classes classes[2];
	struct flat_names pairs; /* of classes */
	uint32_t (*made)[2];     /* of each pair */
	size_t nmade, made_cap;
};

static bool on_difference(
	void *data, uint8_t family, flat_u128 lo, flat_u128 hi, uint32_t a, uint32_t b)
{
	struct difference *d = data;
	uint32_t pair[2] = {a, b}, id = flat_name(&d->pairs, pair, sizeof(pair));

	if (id == d->nmade) {
		d->made = cl_grow(d->made, &d->made_cap, id + 1u, sizeof(*d->made));
		d->made[id][0] = combine(&d->classes[0], flat_ports_minus, d->f[1], b, d->f[0], a);
		d->made[id][1] = combine(&d->classes[1], flat_ports_minus, d->f[0], a, d->f[1], b);
		d->nmade++;
	}
	for (int i = 0; i < 2; i++)
		if (d->out[i] && d->made[id][i] != FLAT_DROP_ALL)
			area_add(d->out[i], family, lo, hi, d->made[id][i]);
	return true;
}

void flat_difference(const struct flat *a, const struct flat *b, struct flat_areas *newly_allowed,
	struct flat_areas *newly_dropped)
{
	struct difference d = {.f = {a, b},
		.out = {newly_allowed, newly_dropped},
		.classes = {FLAT_CLASSES_INIT, FLAT_CLASSES_INIT},
		.pairs = FLAT_NAMES_INIT};

	flat_classes_begin(&d.classes[0]);
	flat_classes_begin(&d.classes[1]);
	(void)walk(a, b, on_difference, &d);
	for (int i = 0; i < 2; i++) {
		if (d.out[i])
			areas_end(d.out[i], &d.classes[i]);
		flat_classes_release(&d.classes[i]);
	}
	flat_names_release(&d.pairs);
	free(d.made);
}

void flat_allowed(const struct flat *f, struct flat_areas *out)
{
	cleanup_flat struct flat nothing = FLAT_INIT;

	flat_build_rules(NULL, 0, &nothing);
	flat_difference(&nothing, f, out, NULL);
}

/* --- yes or no --- */

struct comparison {
	const struct flat *f[2];
	struct flat_names pairs;
	bool both;
};

static bool class_inside(const struct flat *fa, uint32_t a, const struct flat *fb, uint32_t b)
{
	cleanup_classes struct flat_classes c = FLAT_CLASSES_INIT;

	flat_classes_begin(&c);
	return combine(&c, flat_ports_minus, fa, a, fb, b) == FLAT_DROP_ALL;
}

static bool on_comparison(
	void *data, uint8_t family, flat_u128 lo, flat_u128 hi, uint32_t a, uint32_t b)
{
	struct comparison *c = data;
	uint32_t pair[2] = {a, b};
	size_t known = c->pairs.n;

	(void)family;
	(void)lo;
	(void)hi;
	/* A pair that was seen before was right, or the walk had ended there. */
	if (flat_name(&c->pairs, pair, sizeof(pair)) < known)
		return true;
	return class_inside(c->f[0], a, c->f[1], b) &&
	       (!c->both || class_inside(c->f[1], b, c->f[0], a));
}

static bool compare(const struct flat *a, const struct flat *b, bool both)
{
	struct comparison c = {.f = {a, b}, .pairs = FLAT_NAMES_INIT, .both = both};
	bool yes = walk(a, b, on_comparison, &c);

	flat_names_release(&c.pairs);
	return yes;
}

bool flat_equal(const struct flat *a, const struct flat *b)
{
	return compare(a, b, true);
}

bool flat_subset(const struct flat *a, const struct flat *b)
{
	return compare(a, b, false);
}

/* --- intersection --- */

struct intersection {
	const struct flat *f[2];
	struct flat *out;
	struct flat_classes classes;
	struct flat_names pairs;
	uint32_t *made;
	size_t nmade, made_cap;
};

static bool on_both(void *data, uint8_t family, flat_u128 lo, flat_u128 hi, uint32_t a, uint32_t b)
{
	struct intersection *x = data;
	uint32_t pair[2] = {a, b}, id = flat_name(&x->pairs, pair, sizeof(pair));

	(void)hi;
	if (id == x->nmade) {
		x->made = cl_grow(x->made, &x->made_cap, id + 1u, sizeof(*x->made));
		x->made[x->nmade++] = combine(&x->classes, flat_ports_both, x->f[0], a, x->f[1], b);
	}
	flat_view_add(&x->out->sense[flat_half(family)], lo, x->made[id]);
	return true;
}

/* Lets what the classes allow be decided by one rule a protocol. */
static void explain_classes(struct flat *f, const char *reason)
{
	size_t nrules = 0, npool = 0;
	cleanup_free uint32_t *at = cl_calloc(f->nclasses + 1, sizeof(*at));

	f->rules = cl_calloc(f->nclasses * FLAT_PROTOS + 1, sizeof(*f->rules));
	f->pool = cl_calloc(f->nclasses * (FLAT_PROTOS + 1) + 1, sizeof(*f->pool));
	f->ports = cl_calloc(f->nspans + 1, sizeof(*f->ports));
	memcpy(f->ports, f->spans, f->nspans * sizeof(*f->ports));
	for (size_t i = 0; i < f->nclasses; i++) {
		const struct flat_class *c = &f->classes[i];
		uint32_t *count = &f->pool[at[i] = (uint32_t)npool++];

		for (unsigned p = 0; p < FLAT_PROTOS; p++) {
			if (!c->n[p])
				continue;
			f->rules[nrules] = (struct flat_decider){.protos = (uint8_t)(1u << p),
				.verdict = EG_ALLOW,
				.at = c->at[p],
				.n = c->n[p],
				.id = -1,
				.reason = reason};
			f->pool[npool++] = (uint32_t)nrules++;
			++*count;
		}
	}
	f->nrules = nrules;
	f->npool = npool;
	for (int half = FLAT_V4; half <= FLAT_V6; half++)
		for (size_t i = 0; i < f->sense[half].n; i++)
			flat_view_add(
				&f->why[half], f->sense[half].lo[i], at[f->sense[half].id[i]]);
}

void flat_intersect(
	const struct flat *a, const struct flat *b, const char *reason, struct flat *out)
{
	struct intersection x = {
		.f = {a, b}, .out = out, .classes = FLAT_CLASSES_INIT, .pairs = FLAT_NAMES_INIT};

	flat_classes_begin(&x.classes);
	(void)walk(a, b, on_both, &x);
	flat_take_classes(out, &x.classes);
	explain_classes(out, reason);
	flat_index(out);
	flat_classes_release(&x.classes);
	flat_names_release(&x.pairs);
	free(x.made);
}

/* --- regions --- */

bool flat_region_of(const struct flat_areas *a, size_t i, size_t k, struct flat_region *out)
{
	static const enum eg_proto order[FLAT_PROTOS] = {EG_PROTO_TCP, EG_PROTO_UDP, EG_PROTO_ANY};
	const struct flat_area *area = &a->v[i];
	const struct flat_class *c = &a->classes[area->ports];

	for (int p = 0; p < FLAT_PROTOS; p++) {
		if (k < c->n[order[p]]) {
			*out = (struct flat_region){area->family, order[p], area->lo, area->hi,
				a->spans[c->at[order[p]] + k]};
			return true;
		}
		k -= c->n[order[p]];
	}
	return false;
}

struct flat_region flat_example(const struct flat_areas *a, size_t i)
{
	static const uint16_t known[FLAT_PROTOS] = {
		[EG_PROTO_ANY] = 0, [EG_PROTO_TCP] = 443, [EG_PROTO_UDP] = 53};
	struct flat_region r = {0};
	uint16_t port;

	(void)flat_region_of(a, i, 0, &r);
	r.hi = r.lo;
	port = known[r.proto];
	if (port < r.ports.lo || port > r.ports.hi)
		port = r.ports.lo;
	r.ports = (struct flat_ports){port, port};
	return r;
}
