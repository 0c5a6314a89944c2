/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rules to intervals, in one sweep over the addresses. Rules of one kind differ only in
 * their range and verdict, so that at any address only the first of each kind can decide:
 * a heap a kind holds those that stand open, and an interval is what the tops say between
 * two places where a rule begins or has ended.
 */
#include "policy/flat/flat_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct heap {
	uint32_t *v; /* rules, the first of them at 0 */
	size_t n, cap;
};

/* A place where a rule begins, or the last address of one. */
struct edge {
	flat_u128 at;
	uint32_t rule;
};

struct sweep {
	const struct flat_rule *r;
	struct flat *f;
	uint32_t *kind; /* of each rule */
	struct heap *heaps;
	size_t nkinds;
	uint32_t *open; /* kinds with a rule in their heap */
	size_t nopen;
	uint32_t *found; /* the candidates here, in order, and as signs */
	struct flat_names signs;
	uint32_t *class_of_sign;
	size_t nsigns, signs_cap;
	struct flat_classes classes;
	size_t pool_cap;
};

/* --- heaps --- */

static void heap_push(struct heap *h, uint32_t rule)
{
	size_t i = h->n;

	h->v = cl_grow(h->v, &h->cap, h->n + 1, sizeof(*h->v));
	for (h->n++; i && h->v[(i - 1) / 2] > rule; i = (i - 1) / 2)
		h->v[i] = h->v[(i - 1) / 2];
	h->v[i] = rule;
}

static void heap_pop(struct heap *h)
{
	uint32_t last = h->v[--h->n];
	size_t i = 0, k;

	while ((k = 2 * i + 1) < h->n) {
		k += k + 1 < h->n && h->v[k + 1] < h->v[k];
		if (h->v[k] >= last)
			break;
		h->v[i] = h->v[k];
		i = k;
	}
	h->v[i] = last;
}

/* --- what the rules are --- */

/* Copies the rules' ports, those of one kind once, and numbers the kinds. */
static void kinds(struct sweep *s, size_t n)
{
	cleanup_names struct flat_names names = FLAT_NAMES_INIT;
	cleanup_buf struct cl_buf name = CL_BUF_INIT;
	uint32_t *at = NULL;
	size_t at_cap = 0, ports_cap = 0, nports = 0;
	struct flat *f = s->f;

	for (size_t i = 0; i < n; i++) {
		const struct flat_rule *r = &s->r[i], *b = i ? r - 1 : r;
		size_t len = r->nports * sizeof(*r->ports);
		uint32_t kind;

		if (i && r->ports == b->ports && r->nports == b->nports && r->protos == b->protos) {
			kind = s->kind[i - 1];
		} else {
			cl_buf_reset(&name);
			cl_buf_addc(&name, (char)r->protos);
			cl_buf_add(&name, r->ports, len);
			kind = flat_name(&names, name.p, name.len);
		}
		if (kind == s->nkinds) {
			at = cl_grow(at, &at_cap, kind + 1u, sizeof(*at));
			f->ports = cl_grow(
				f->ports, &ports_cap, nports + r->nports + 1, sizeof(*f->ports));
			if (len)
				memcpy(f->ports + nports, r->ports, len);
			at[s->nkinds++] = (uint32_t)nports;
			nports += r->nports;
		}
		s->kind[i] = kind;
		f->rules[i] = (struct flat_decider){.protos = r->protos,
			.verdict = r->verdict,
			.at = at[kind],
			.n = (uint32_t)r->nports,
			.id = r->id,
			.reason = r->reason};
	}
	free(at);
}

static int by_place(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	return a->at < b->at ? -1 : a->at > b->at;
}

/* The first and the last addresses of a family's rules, each in order; returns how many. */
static size_t edges(
	const struct flat_rule *r, size_t n, uint8_t family, struct edge *begin, struct edge *end)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (r[i].family != family)
			continue;
		begin[k] = (struct edge){r[i].lo, (uint32_t)i};
		end[k++] = (struct edge){r[i].hi, (uint32_t)i};
	}
	if (k) {
		qsort(begin, k, sizeof(*begin), by_place);
		qsort(end, k, sizeof(*end), by_place);
	}
	return k;
}

/* --- one interval --- */

static bool decides_all(const struct flat_decider *r)
{
	return r->protos == FLAT_EVERY_PROTO && !r->n;
}

/* The first open rule of each kind, in order, to the first that leaves nothing undecided. */
static size_t candidates(struct sweep *s, flat_u128 at)
{
	uint32_t all = UINT32_MAX;
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < s->nopen; i++) {
		struct heap *h = &s->heaps[s->open[i]];
		uint32_t rule;
		size_t k;

		while (h->n && s->r[h->v[0]].hi < at)
			heap_pop(h);
		if (!h->n)
			continue;
		s->open[kept++] = s->open[i];
		rule = h->v[0];
		if (rule > all)
			continue;
		if (decides_all(&s->f->rules[rule]))
			all = rule;
		for (k = n++; k && s->found[k - 1] > rule; k--)
			s->found[k] = s->found[k - 1];
		s->found[k] = rule;
	}
	s->nopen = kept;
	while (n && s->found[n - 1] > all)
		n--;
	return n;
}

/* Lists of the same kinds and verdicts have the same class, whatever the rules. */
static uint32_t class_of(struct sweep *s, size_t n)
{
	uint32_t *sign = s->found + s->nkinds, id;

	for (size_t i = 0; i < n; i++)
		sign[i] = s->kind[s->found[i]] << 1 | s->r[s->found[i]].verdict;
	id = flat_name(&s->signs, sign, n * sizeof(*sign));
	if (id == s->nsigns) {
		s->class_of_sign = cl_grow(
			s->class_of_sign, &s->signs_cap, id + 1u, sizeof(*s->class_of_sign));
		s->class_of_sign[s->nsigns++] = flat_class_decided(&s->classes, s->f, s->found, n);
	}
	return s->class_of_sign[id];
}

static void interval(struct sweep *s, int half, flat_u128 at)
{
	struct flat_view *why = &s->f->why[half];
	struct flat *f = s->f;
	size_t n = candidates(s, at), len = n * sizeof(*s->found);

	if (why->n) {
		const uint32_t *last = f->pool + why->id[why->n - 1];

		if (last[0] == n && !memcmp(last + 1, s->found, len))
			return;
	}
	f->pool = cl_grow(f->pool, &s->pool_cap, f->npool + n + 1, sizeof(*f->pool));
	f->pool[f->npool] = (uint32_t)n;
	memcpy(f->pool + f->npool + 1, s->found, len);
	flat_view_add(why, at, (uint32_t)f->npool);
	flat_view_add(&f->sense[half], at, class_of(s, n));
	f->npool += n + 1;
}

static void sweep_family(
	struct sweep *s, int half, const struct edge *begin, const struct edge *end, size_t n)
{
	flat_u128 last = flat_last(half == FLAT_V4 ? 4 : 6), at = 0;
	size_t b = 0, e = 0;

	for (;;) {
		for (; b < n && begin[b].at == at; b++) {
			uint32_t kind = s->kind[begin[b].rule];

			if (!s->heaps[kind].n)
				s->open[s->nopen++] = kind;
			heap_push(&s->heaps[kind], begin[b].rule);
		}
		interval(s, half, at);
		while (e < n && end[e].at < at)
			e++;
		/* What ends at the last address has nothing behind it. */
		if (e < n && end[e].at == last)
			e = n;
		if (b == n && e == n)
			break;
		if (e == n || (b < n && begin[b].at <= end[e].at))
			at = begin[b].at;
		else
			at = end[e].at + 1;
	}
	for (size_t i = 0; i < s->nopen; i++)
		s->heaps[s->open[i]].n = 0;
	s->nopen = 0;
}

static void sweep_release(struct sweep *s)
{
	for (size_t i = 0; i < s->nkinds; i++)
		free(s->heaps[i].v);
	free(s->heaps);
	free(s->kind);
	free(s->open);
	free(s->found);
	free(s->class_of_sign);
	flat_names_release(&s->signs);
	flat_classes_release(&s->classes);
}

void flat_build_rules(const struct flat_rule *rules, size_t n, struct flat *out)
{
	struct sweep s = {.r = rules,
		.f = out,
		.signs = FLAT_NAMES_INIT,
		.classes = FLAT_CLASSES_INIT,
		.kind = cl_calloc(n + 1, sizeof(*s.kind))};
	cleanup_free struct edge *begin = cl_calloc(n + 1, sizeof(*begin));
	cleanup_free struct edge *end = cl_calloc(n + 1, sizeof(*end));

	out->rules = cl_calloc(n + 1, sizeof(*out->rules));
	out->nrules = n;
	kinds(&s, n);
	s.heaps = cl_calloc(s.nkinds + 1, sizeof(*s.heaps));
	s.open = cl_calloc(s.nkinds + 1, sizeof(*s.open));
	s.found = cl_calloc(2 * s.nkinds + 1, sizeof(*s.found));
	flat_classes_begin(&s.classes);
	for (int half = FLAT_V4; half <= FLAT_V6; half++) {
		uint8_t family = half == FLAT_V4 ? 4 : 6;

		sweep_family(&s, half, begin, end, edges(rules, n, family, begin, end));
	}
	flat_index(out);
	flat_take_classes(out, &s.classes);
	sweep_release(&s);
}

/* A rule's ports, which are single ones, as ranges; those of the rule before when they are. */
static const struct flat_ports *ranges(
	const struct eg_rule *r, const struct eg_rule *before, struct flat_ports **at)
{
	const struct flat_ports *first = *at;

	if (before && before->ports == r->ports && before->nports == r->nports)
		return first - r->nports;
	for (size_t i = 0; i < r->nports; i++)
		*(*at)++ = (struct flat_ports){r->ports[i], r->ports[i]};
	return first;
}

static void build(const struct eg_policy *p, bool wire, bool internet, struct flat *out)
{
	static const struct pol_prefix mapped = {{6, {[10] = 0xff, [11] = 0xff}}, 96};
	cleanup_free struct flat_rule *rules = cl_calloc(p->nrules + 1, sizeof(*rules));
	cleanup_free struct flat_ports *ports = NULL;
	struct flat_ports *at;
	size_t n = 0, nports = 0;

	for (size_t i = 0; i < p->nrules; i++)
		if (!i || p->rules[i].ports != p->rules[i - 1].ports ||
			p->rules[i].nports != p->rules[i - 1].nports)
			nports += p->rules[i].nports;
	at = ports = cl_calloc(nports + 1, sizeof(*ports));
	rules[n++] = (struct flat_rule){
		.family = 6, .protos = FLAT_EVERY_PROTO, .id = -1, .reason = EG_SAY_MAPPED};
	flat_prefix_range(&mapped, &rules[0].lo, &rules[0].hi);
	for (size_t i = 0; i < p->nrules; i++) {
		const struct eg_rule *r = &p->rules[i];
		struct flat_rule *to = &rules[n];

		to->ports = ranges(r, i ? r - 1 : NULL, &at);
		if ((wire && r->local) || (!internet && r->internet))
			continue;
		to->family = r->prefix.addr.family;
		to->protos =
			(uint8_t)(r->proto == EG_PROTO_ANY ? FLAT_EVERY_PROTO : 1u << r->proto);
		to->verdict = (uint8_t)r->verdict;
		to->nports = r->nports;
		to->id = (int)i;
		to->reason = r->reason;
		flat_prefix_range(&r->prefix, &to->lo, &to->hi);
		n++;
	}
	flat_build_rules(rules, n, out);
}

void flat_build(const struct eg_policy *p, bool wire, struct flat *out)
{
	build(p, wire, true, out);
}

void flat_build_named(const struct eg_policy *p, struct flat *out)
{
	build(p, true, false, out);
}

void flat_release(struct flat *f)
{
	for (int i = 0; i < FLAT_FAMILIES; i++) {
		flat_view_release(&f->sense[i]);
		flat_view_release(&f->why[i]);
	}
	free(f->classes);
	free(f->spans);
	free(f->rules);
	free(f->ports);
	free(f->pool);
	*f = FLAT_INIT;
}
