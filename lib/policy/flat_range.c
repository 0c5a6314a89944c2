/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses as numbers, ranges as prefixes, and intervals that are found. */
#include "policy/flat_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Fewer intervals than this are searched as fast without an index. */
#define INDEXED 64

flat_u128 flat_last(uint8_t family)
{
	return family == 4 ? UINT32_MAX : ~(flat_u128)0;
}

flat_u128 flat_number(const struct pol_addr *a)
{
	uint64_t half[2];
	uint32_t v4;

	if (a->family == 4) {
		memcpy(&v4, a->b, sizeof(v4));
		return __builtin_bswap32(v4);
	}
	memcpy(half, a->b, sizeof(half));
	return (flat_u128)__builtin_bswap64(half[0]) << 64 | __builtin_bswap64(half[1]);
}

struct pol_addr flat_addr(uint8_t family, flat_u128 n)
{
	struct pol_addr a = {.family = family};
	unsigned bytes = pol_bits(family) / 8u;

	for (unsigned i = bytes; i--; n >>= 8)
		a.b[i] = (uint8_t)n;
	return a;
}

void flat_prefix_range(const struct pol_prefix *p, flat_u128 *lo, flat_u128 *hi)
{
	unsigned rest = pol_bits(p->addr.family) - p->len;

	*lo = flat_number(&p->addr);
	*hi = *lo | (rest == 128 ? ~(flat_u128)0 : ((flat_u128)1 << rest) - 1);
}

size_t flat_prefixes(
	uint8_t family, flat_u128 lo, flat_u128 hi, struct pol_prefix out[FLAT_MAX_PREFIXES])
{
	unsigned bits = pol_bits(family);
	size_t n = 0;

	for (;;) {
		unsigned rest = 0;
		flat_u128 end = lo;

		/* Grow while it starts at lo and ends at or before hi. */
		while (rest < bits && !(lo >> rest & 1) && (end | (flat_u128)1 << rest) <= hi)
			end |= (flat_u128)1 << rest++;
		out[n++] = (struct pol_prefix){flat_addr(family, lo), (uint8_t)(bits - rest)};
		if (end == hi)
			return n;
		lo = end + 1;
	}
}

void flat_view_add(struct flat_view *v, flat_u128 lo, uint32_t id)
{
	size_t cap = v->cap;

	if (v->n && v->id[v->n - 1] == id)
		return;
	if (v->n == cap) {
		v->lo = cl_grow(v->lo, &v->cap, v->n + 1, sizeof(*v->lo));
		v->id = cl_grow(v->id, &cap, v->n + 1, sizeof(*v->id));
	}
	v->lo[v->n] = lo;
	v->id[v->n++] = id;
}

static unsigned first16(uint8_t family, flat_u128 a)
{
	return (unsigned)(a >> (family == 4 ? 16 : 112));
}

static void index_view(struct flat_view *v, uint8_t family)
{
	size_t i = 0;

	if (v->n < INDEXED)
		return;
	/* index[h]: how many intervals start below h << 16. */
	v->index = cl_calloc(65537, sizeof(*v->index));
	for (unsigned h = 0; h < 65536; h++) {
		while (i < v->n && first16(family, v->lo[i]) < h)
			i++;
		v->index[h] = (uint32_t)i;
	}
	v->index[65536] = (uint32_t)v->n;
}

void flat_index(struct flat *f)
{
	for (int half = FLAT_V4; half <= FLAT_V6; half++) {
		index_view(&f->sense[half], half == FLAT_V4 ? 4 : 6);
		index_view(&f->why[half], half == FLAT_V4 ? 4 : 6);
	}
}

size_t flat_find(const struct flat_view *v, uint8_t family, flat_u128 a)
{
	const flat_u128 *lo = v->lo;
	size_t n = v->n;

	if (v->index) {
		unsigned h = first16(family, a);
		size_t from = v->index[h] ? v->index[h] - 1 : 0;

		lo += from;
		n = v->index[h + 1] - from;
	}
	/* lo[0] <= a always: the branch that a processor can do without. */
	while (n > 1) {
		size_t half = n / 2;

		lo += lo[half] <= a ? half : 0;
		n -= half;
	}
	return (size_t)(lo - v->lo);
}

flat_u128 flat_hi(const struct flat_view *v, size_t i, uint8_t family)
{
	return i + 1 < v->n ? v->lo[i + 1] - 1 : flat_last(family);
}
