/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/change.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void change_side_release(struct change_side *s)
{
	flat_release(&s->flat);
	eg_policy_release(&s->policy);
}

/* --- segments --- */

struct walk {
	const struct change_side *a, *b;
	const struct flat_areas *areas;
	change_fn *fn;
	void *data;
};

/* 443 and 53 where they differ: what a person would ask about first. */
static uint16_t example_port(const struct change_segment *s)
{
	uint16_t known = s->proto == EG_PROTO_TCP ? 443 : 53;

	if (s->proto == EG_PROTO_ANY)
		return s->ports[0].lo;
	for (size_t i = 0; i < s->nports; i++)
		if (known >= s->ports[i].lo && known <= s->ports[i].hi)
			return known;
	/* Port 0 is no destination that anybody means. */
	return s->ports[0].lo || !s->ports[0].hi ? s->ports[0].lo : 1;
}

static void segment(const struct walk *w, const struct flat_area *area, flat_u128 lo, flat_u128 hi)
{
	static const enum eg_proto order[] = {EG_PROTO_TCP, EG_PROTO_UDP, EG_PROTO_ANY};
	const struct flat_class *c = &w->areas->classes[area->ports];

	for (size_t i = 0; i < CL_ARRAY_LEN(order); i++) {
		struct change_segment s = {area->family, order[i], lo, hi,
			w->areas->spans + c->at[order[i]], c->n[order[i]], area->ports, {0}, {0},
			{0}};
		struct pol_addr to = flat_addr(s.family, lo);
		uint16_t port;

		if (!s.nports)
			continue;
		port = example_port(&s);
		s.example = (struct flat_region){s.family, s.proto, lo, lo, {port, port}};
		s.before = flat_evaluate(&w->a->flat, &to, port, s.proto);
		s.after = flat_evaluate(&w->b->flat, &to, port, s.proto);
		w->fn(w->data, &s);
	}
}

void change_each(const struct change_side *a, const struct change_side *b,
	const struct flat_areas *areas, change_fn *fn, void *data)
{
	const struct walk w = {a, b, areas, fn, data};

	for (size_t i = 0; i < areas->n; i++) {
		const struct flat_area *area = &areas->v[i];
		const struct flat_view *va = &a->flat.why[flat_half(area->family)];
		const struct flat_view *vb = &b->flat.why[flat_half(area->family)];
		size_t ia = flat_find(va, area->family, area->lo);
		size_t ib = flat_find(vb, area->family, area->lo);
		flat_u128 lo = area->lo;

		for (;;) {
			flat_u128 ha = flat_hi(va, ia, area->family);
			flat_u128 hb = flat_hi(vb, ib, area->family);
			flat_u128 hi = ha < hb ? ha : hb;

			if (hi > area->hi)
				hi = area->hi;
			segment(&w, area, lo, hi);
			if (hi == area->hi)
				break;
			ia += hi == ha;
			ib += hi == hb;
			lo = hi + 1;
		}
	}
}

/* --- groups --- */

struct gather {
	const struct change_side *a, *b;
	struct change *out;
	size_t last;
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_answer(
	const struct change_side *s, const struct eg_answer *x, const struct eg_answer *y)
{
	return same_text(x->reason, y->reason) &&
	       same_text(eg_level_of(&s->policy, x->rule), eg_level_of(&s->policy, y->rule));
}

static bool alike(
	const struct gather *g, const struct change_group *group, const struct change_segment *s)
{
	const struct change_segment *l = &group->like;

	return l->family == s->family && l->proto == s->proto && l->class == s->class &&
	       same_answer(g->a, &l->before, &s->before) && same_answer(g->b, &l->after, &s->after);
}

static void on_segment(void *data, const struct change_segment *s)
{
	struct gather *g = data;
	struct change *c = g->out;
	struct change_group *group;
	flat_u128 n = s->hi - s->lo + 1;

	if (g->last >= c->n || !alike(g, &c->v[g->last], s))
		for (g->last = 0; g->last < c->n && !alike(g, &c->v[g->last], s);)
			g->last++;
	if (g->last == c->n) {
		c->v = cl_grow(c->v, &c->cap, c->n + 1, sizeof(*c->v));
		c->v[c->n++] = (struct change_group){.like = *s};
	}
	group = &c->v[g->last];
	group->addresses = n && group->addresses + n >= n ? group->addresses + n : ~(flat_u128)0;
	if (group->n && group->v[group->n - 1].hi + 1 == s->lo) {
		group->v[group->n - 1].hi = s->hi;
		return;
	}
	group->v = cl_grow(group->v, &group->cap, group->n + 1, sizeof(*group->v));
	group->v[group->n++] = (struct change_range){s->lo, s->hi};
}

void change_make(const struct change_side *a, const struct change_side *b, struct change *out)
{
	struct gather g = {a, b, out, 0};

	flat_difference(&a->flat, &b->flat, &out->areas, NULL);
	change_each(a, b, &out->areas, on_segment, &g);
}

void change_release(struct change *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i].v);
	free(c->v);
	flat_areas_release(&c->areas);
	*c = CHANGE_INIT;
}

/* --- texts --- */

void change_range_text(uint8_t family, flat_u128 lo, flat_u128 hi, char out[CHANGE_RANGE_TEXT])
{
	struct pol_addr first = flat_addr(family, lo), last = flat_addr(family, hi);
	char text[POL_ADDR_TEXT];

	for (uint8_t len = 0; len <= pol_bits(family); len++) {
		struct pol_prefix p = {first, len};
		flat_u128 plo, phi;

		pol_prefix_mask(&p);
		flat_prefix_range(&p, &plo, &phi);
		if (plo == lo && phi == hi) {
			pol_prefix_text(&p, out);
			return;
		}
	}
	pol_addr_text(&first, out);
	pol_addr_text(&last, text);
	(void)snprintf(out + strlen(out), CHANGE_RANGE_TEXT - strlen(out), "-%s", text);
}

void change_ports_text(const struct change_segment *s, struct cl_buf *out)
{
	if (s->proto == EG_PROTO_ANY) {
		cl_buf_adds(out, "other protocols");
		return;
	}
	cl_buf_addf(out, "%s ", eg_proto_name(s->proto));
	for (size_t i = 0; i < s->nports; i++) {
		const struct flat_ports *p = &s->ports[i];

		if (p->lo <= 1 && p->hi == FLAT_MAX_PORT)
			cl_buf_adds(out, "every port");
		else if (p->lo == p->hi)
			cl_buf_addf(out, "%s%u", i ? ", " : "", p->lo);
		else
			cl_buf_addf(out, "%s%u-%u", i ? ", " : "", p->lo, p->hi);
	}
}

void change_example_text(const struct flat_region *r, struct cl_buf *out)
{
	struct pol_endpoint to = {flat_addr(r->family, r->lo), r->ports.lo};
	char text[POL_ENDPOINT_TEXT];

	pol_endpoint_text(&to, text);
	cl_buf_addf(out, "%s/%s", text, eg_proto_name(r->proto));
}

void change_number(flat_u128 n, char out[CHANGE_NUMBER_TEXT])
{
	char digits[CHANGE_NUMBER_TEXT];
	size_t at = sizeof(digits);

	digits[--at] = '\0';
	do
		digits[--at] = (char)('0' + (int)(n % 10));
	while ((n /= 10) != 0);
	memcpy(out, digits + at, sizeof(digits) - at);
}

void change_number_short(flat_u128 n, char out[CHANGE_NUMBER_TEXT])
{
	unsigned bits = 0;
	bool up;

	if (n < 1000000000000000u) {
		change_number(n, out);
		return;
	}
	while (n >> 1 >> bits)
		bits++;
	if (n == (flat_u128)1 << bits) {
		(void)snprintf(out, CHANGE_NUMBER_TEXT, "2^%u", bits);
		return;
	}
	/* To the nearer of the two powers around it, halfway counts up. */
	up = n - ((flat_u128)1 << bits) >= (flat_u128)1 << (bits - 1);
	(void)snprintf(out, CHANGE_NUMBER_TEXT, "about 2^%u", bits + up);
}
