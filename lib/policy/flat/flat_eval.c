/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/flat/flat_internal.h"

static bool decides(
	const struct flat *f, const struct flat_decider *r, uint16_t port, enum eg_proto proto)
{
	const struct flat_ports *p = f->ports + r->at;
	size_t lo = 0, hi = r->n;

	if (!(r->protos & 1u << proto))
		return false;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (port < p[mid].lo)
			hi = mid;
		else if (port > p[mid].hi)
			lo = mid + 1;
		else
			return true;
	}
	return !r->n;
}

struct eg_answer flat_decide(
	const struct flat *f, const uint32_t *candidates, uint16_t port, enum eg_proto proto)
{
	for (uint32_t i = 1; i <= candidates[0]; i++) {
		const struct flat_decider *r = &f->rules[candidates[i]];

		if (decides(f, r, port, proto))
			return (struct eg_answer){(enum eg_verdict)r->verdict, r->reason, r->id};
	}
	return (struct eg_answer){EG_DROP, EG_SAY_DEFAULT, -1};
}

struct eg_answer flat_evaluate(
	const struct flat *f, const struct pol_addr *a, uint16_t port, enum eg_proto proto)
{
	struct pol_addr to = *a;
	const struct flat_view *v;

	if (to.family != 4 && to.family != 6)
		return (struct eg_answer){EG_DROP, "invalid address", -1};
	(void)pol_addr_unmap(&to);
	v = &f->why[flat_half(to.family)];
	return flat_decide(
		f, f->pool + v->id[flat_find(v, to.family, flat_number(&to))], port, proto);
}

const struct flat_class *flat_class_at(const struct flat *f, const struct pol_addr *a)
{
	const struct flat_view *v = &f->sense[flat_half(a->family)];

	return &f->classes[v->id[flat_find(v, a->family, flat_number(a))]];
}

bool flat_allows(const struct flat *f, const struct pol_addr *a, uint16_t port, enum eg_proto proto)
{
	struct pol_addr to = *a;

	if (to.family != 4 && to.family != 6)
		return false;
	(void)pol_addr_unmap(&to);
	return flat_class_allows(f, flat_class_at(f, &to), port, proto);
}
