/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/verify/verify_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define CACHE 4096

void vf_sets_init(struct vf_sets *s)
{
	static const struct flat_ports all = {0, FLAT_MAX_PORT};
	const uint32_t n[FLAT_PROTOS] = {[EG_PROTO_TCP] = 1};

	*s = (struct vf_sets){
		.classes = FLAT_CLASSES_INIT, .cache = cl_calloc(CACHE, sizeof(struct vf_made))};
	flat_classes_begin(&s->classes);
	s->full = flat_class_of(&s->classes, &all, n);
}

void vf_sets_release(struct vf_sets *s)
{
	flat_classes_release(&s->classes);
	free(s->cache);
	s->cache = NULL;
}

static uint32_t make(struct vf_sets *s, enum vf_set_op op, uint32_t a, uint32_t b)
{
	static flat_ports_fn *const fn[] = {flat_ports_both, flat_ports_minus, flat_ports_either};
	const struct flat_class *ca = &s->classes.v[a], *cb = &s->classes.v[b];
	cleanup_buf struct cl_buf spans = CL_BUF_INIT;
	uint32_t n[FLAT_PROTOS] = {0};

	n[EG_PROTO_TCP] = fn[op](s->classes.spans + ca->at[EG_PROTO_TCP], ca->n[EG_PROTO_TCP],
		s->classes.spans + cb->at[EG_PROTO_TCP], cb->n[EG_PROTO_TCP], &spans);
	return flat_class_of(&s->classes, (const struct flat_ports *)(const void *)spans.p, n);
}

static uint32_t class_op(struct vf_sets *s, enum vf_set_op op, uint32_t a, uint32_t b)
{
	struct vf_made *m = &s->cache[(a * 31 + b * 7 + op) % CACHE];

	if (a == b)
		return op == VF_MINUS ? FLAT_DROP_ALL : a;
	if (b == FLAT_DROP_ALL)
		return op == VF_AND ? FLAT_DROP_ALL : a;
	if (a == FLAT_DROP_ALL)
		return op == VF_OR ? b : FLAT_DROP_ALL;
	if (m->op != op + 1 || m->a != a || m->b != b)
		*m = (struct vf_made){a, b, make(s, op, a, b), (uint8_t)(op + 1)};
	return m->made;
}

void vf_combine(struct vf_sets *s, uint8_t family, enum vf_set_op op, const struct flat_view *a,
	const struct flat_view *b, struct flat_view *out)
{
	struct flat_view made = {0};
	flat_u128 lo = 0;

	for (size_t i = 0, k = 0;;) {
		flat_u128 ha = flat_hi(a, i, family), hb = flat_hi(b, k, family);
		flat_u128 hi = ha < hb ? ha : hb;

		flat_view_add(&made, lo, class_op(s, op, a->id[i], b->id[k]));
		s->walked++;
		if (hi == flat_last(family))
			break;
		i += hi == ha;
		k += hi == hb;
		lo = hi + 1;
	}
	vf_forget(out);
	*out = made;
}

void vf_forget(struct flat_view *v)
{
	flat_view_release(v);
	*v = (struct flat_view){0};
}

/* Room that there is is kept: this is done some twenty times a situation. */
static void whole(struct flat_view *v, uint32_t class)
{
	v->n = 0;
	flat_view_add(v, 0, class);
}

void vf_nothing(struct flat_view *v)
{
	whole(v, FLAT_DROP_ALL);
}

void vf_everything(const struct vf_sets *s, struct flat_view *v)
{
	whole(v, s->full);
}

void vf_copy(const struct flat_view *from, struct flat_view *to)
{
	if (to->cap < from->n) {
		vf_forget(to);
		*to = (struct flat_view){.lo = cl_calloc(from->n, sizeof(*to->lo)),
			.id = cl_calloc(from->n, sizeof(*to->id)),
			.cap = from->n};
	}
	memcpy(to->lo, from->lo, from->n * sizeof(*to->lo));
	memcpy(to->id, from->id, from->n * sizeof(*to->id));
	to->n = from->n;
}

bool vf_empty(const struct flat_view *v)
{
	return v->n == 1 && v->id[0] == FLAT_DROP_ALL;
}

bool vf_same(const struct flat_view *a, const struct flat_view *b)
{
	return a->n == b->n && !memcmp(a->lo, b->lo, a->n * sizeof(*a->lo)) &&
	       !memcmp(a->id, b->id, a->n * sizeof(*a->id));
}

void vf_span_add(struct vf_spans *s, flat_u128 lo, flat_u128 hi)
{
	if (lo > hi)
		return;
	s->v = cl_grow(s->v, &s->cap, s->n + 1, sizeof(*s->v));
	s->v[s->n++] = (struct vf_span){lo, hi};
}

bool vf_spans_have(const struct vf_spans *s, flat_u128 x)
{
	for (size_t i = 0; i < s->n; i++)
		if (x >= s->v[i].lo && x <= s->v[i].hi)
			return !s->invert;
	return s->invert;
}

void vf_addresses(
	const struct vf_sets *s, uint8_t family, const struct vf_spans *spans, struct flat_view *v)
{
	uint32_t in = spans->invert ? FLAT_DROP_ALL : s->full;
	uint32_t out = spans->invert ? s->full : FLAT_DROP_ALL;
	flat_u128 next = 0;

	vf_forget(v);
	for (size_t i = 0; i < spans->n; i++) {
		if (spans->v[i].lo > next)
			flat_view_add(v, next, out);
		flat_view_add(v, spans->v[i].lo, in);
		next = spans->v[i].hi + 1;
		if (spans->v[i].hi >= flat_last(family))
			return;
	}
	flat_view_add(v, next, out);
}

void vf_ports(struct vf_sets *s, const struct vf_spans *spans, struct flat_view *v)
{
	cleanup_buf struct cl_buf ports = CL_BUF_INIT;
	uint32_t n[FLAT_PROTOS] = {0};
	flat_u128 next = 0;

	/* Sets of ports are kept as ranges that do not touch. */
	for (size_t i = 0; i <= spans->n; i++) {
		flat_u128 lo = i < spans->n ? spans->v[i].lo : FLAT_MAX_PORT + 1u;
		flat_u128 hi = i < spans->n ? spans->v[i].hi : FLAT_MAX_PORT + 1u;
		struct flat_ports *last =
			n[EG_PROTO_TCP] ? (struct flat_ports *)(void *)(ports.p + ports.len) - 1
					: NULL;
		struct flat_ports p = {(uint16_t)lo, (uint16_t)hi};

		if (spans->invert) {
			p = (struct flat_ports){(uint16_t)next, (uint16_t)(lo - 1)};
			if (lo == next) {
				next = hi + 1;
				continue;
			}
		} else if (lo > FLAT_MAX_PORT) {
			break;
		}
		next = hi + 1;
		if (last && last->hi + 1 == p.lo) {
			last->hi = p.hi;
			continue;
		}
		cl_buf_add(&ports, &p, sizeof(p));
		n[EG_PROTO_TCP]++;
	}
	whole(v, flat_class_of(&s->classes, (const struct flat_ports *)(const void *)ports.p, n));
}

void vf_of_flat(struct vf_sets *s, const struct flat *f, uint8_t family, enum eg_proto proto,
	struct flat_view *v)
{
	const struct flat_view *from = &f->sense[flat_half(family)];
	cleanup_free uint32_t *made = cl_calloc(f->nclasses + 1, sizeof(*made));

	for (size_t i = 0; i < f->nclasses; i++) {
		const uint32_t n[FLAT_PROTOS] = {[EG_PROTO_TCP] = f->classes[i].n[proto]};

		made[i] = flat_class_of(&s->classes, f->spans + f->classes[i].at[proto], n);
	}
	vf_forget(v);
	for (size_t i = 0; i < from->n; i++)
		flat_view_add(v, from->lo[i], made[from->id[i]]);
	s->walked += from->n;
}
