/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The maps of the ruleset (the top of egress_nft.c) as text for nft(8). */
#include "policy/egress/egress_lookup.h"

void eg_range_text(uint8_t family, flat_u128 lo, flat_u128 hi, struct cl_buf *b)
{
	struct pol_addr first = flat_addr(family, lo), last = flat_addr(family, hi);
	char from[POL_ADDR_TEXT], to[POL_ADDR_TEXT];

	pol_addr_text(&first, from);
	pol_addr_text(&last, to);
	cl_buf_adds(b, from);
	if (lo != hi) {
		cl_buf_addc(b, '-');
		cl_buf_adds(b, to);
	}
}

static void map_head(const char *name, uint8_t family, bool map, struct cl_buf *b)
{
	cl_buf_addf(b, "\n\t%s %s {\n\t\ttype ipv%d_addr%s\n", map ? "map" : "set", name, family,
		map ? " : verdict" : "");
}

/* What is done with an element: goes to a chain, or is accepted (NULL). */
static void verdict(const char *chain, struct cl_buf *b)
{
	cl_buf_adds(b, chain ? " : goto " : " : accept");
	cl_buf_adds(b, chain ? chain : "");
}

#define FIRST_ELEMENT "\n\t\telements = {\n\t\t\t"
#define NEXT_ELEMENT  ",\n\t\t\t"

static void intervals(
	const struct eg_part *part, const struct flat *flat, uint8_t family, struct cl_buf *b)
{
	const char *before = FIRST_ELEMENT, *none = before;
	flat_u128 lo, hi;
	uint32_t class;

	map_head(part->map[flat_half(family)], family, true, b);
	cl_buf_adds(b, "\t\tflags interval");
	for (size_t i = 0; eg_map_next(flat, family, &i, &lo, &hi, &class);) {
		char name[EG_CHAIN_NAME];

		eg_chain_name(part, class, name);
		cl_buf_adds(b, before);
		eg_range_text(family, lo, hi, b);
		verdict(class == FLAT_ALLOW_ALL ? NULL : name, b);
		before = NEXT_ELEMENT;
	}
	cl_buf_addf(b, "%s\n\t}\n", before == none ? "" : "\n\t\t}");
}

static void prefixes(const struct eg_part *part, const struct eg_lookup *l, struct cl_buf *b)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct eg_length *at = &l->at[i];
		const char *before = FIRST_ELEMENT;
		char name[EG_MAP_NAME];

		eg_length_name(part, l, i, name);
		map_head(name, l->family, at->mixed, b);
		cl_buf_addf(b, "\t\tsize %zu", at->n);
		for (size_t k = 0; k < at->n; k++) {
			cl_buf_adds(b, before);
			eg_range_text(l->family, at->v[k].key, at->v[k].key, b);
			if (at->mixed)
				verdict(eg_entry_says(part, l, at->v[k].to, name), b);
			before = NEXT_ELEMENT;
		}
		cl_buf_adds(b, "\n\t\t}\n\t}\n");
	}
}

void eg_maps_text(const struct eg_part *part, const struct flat *flat, const struct eg_maps *m,
	struct cl_buf *b)
{
	for (uint8_t family = 4; m->there && family <= 6; family += 2) {
		const struct eg_lookup *l = &m->of[flat_half(family)];

		if (l->n)
			prefixes(part, l, b);
		else
			intervals(part, flat, family, b);
	}
}
