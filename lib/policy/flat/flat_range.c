/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses as numbers, ranges as prefixes, and intervals that are found. */
#include "policy/flat/flat_internal.h"
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

/*
 * A tree over IPv4 addresses, or over the first 64 bits of IPv6 ones: a level is every
 * 16th key of the one below, so that a search reads one group of keys a level, which is one
 * or two cache lines, and does not branch.
 */
#define FAN    16
#define LEVELS 9 /* 2^32 intervals */
struct flat_tree {
	size_t n[LEVELS];
	void *key[LEVELS]; /* uint32_t or uint64_t, padded to whole groups with all ones */
	int levels;
};

static void put_key(void *key, size_t i, uint8_t family, flat_u128 a)
{
	if (family == 4)
		((uint32_t *)key)[i] = (uint32_t)a;
	else
		((uint64_t *)key)[i] = (uint64_t)(a >> 64);
}

/* Every 16^level-th interval. */
static void level(struct flat_tree *t, int l, const struct flat_view *v, uint8_t family)
{
	size_t size = family == 4 ? sizeof(uint32_t) : sizeof(uint64_t);
	size_t step = (size_t)1 << 4 * l, n = (v->n + step - 1) / step;
	size_t room = (n + FAN - 1) / FAN * FAN;

	t->n[l] = n;
	t->key[l] = cl_malloc(room * size);
	memset(t->key[l], 0xff, room * size);
	for (size_t i = 0; i < n; i++)
		put_key(t->key[l], i, family, v->lo[i * step]);
}

static void plant(struct flat_view *v, uint8_t family)
{
	if (v->n < INDEXED)
		return;
	v->tree = cl_calloc(1, sizeof(*v->tree));
	level(v->tree, 0, v, family);
	while (v->tree->n[v->tree->levels] > FAN)
		level(v->tree, ++v->tree->levels, v, family);
}

void flat_index(struct flat *f)
{
	for (int half = FLAT_V4; half <= FLAT_V6; half++) {
		plant(&f->sense[half], half == FLAT_V4 ? 4 : 6);
		plant(&f->why[half], half == FLAT_V4 ? 4 : 6);
	}
}

void flat_view_release(struct flat_view *v)
{
	for (int i = 0; v->tree && i < LEVELS; i++)
		free(v->tree->key[i]);
	free(v->tree);
	free(v->lo);
	free(v->id);
}

static size_t not_above32(const uint32_t *key, uint32_t a)
{
	uint32_t n = 0;

	for (int i = 0; i < FAN; i++)
		n += key[i] <= a;
	return n;
}

static size_t not_above64(const uint64_t *key, uint64_t a)
{
	uint64_t n = 0;

	for (int i = 0; i < FAN; i++)
		n += key[i] <= a;
	return n;
}

/* From a group of one level to one of the next: the last key that is not above that of a. */
static size_t step(const struct flat_tree *t, int l, uint8_t family, flat_u128 a, size_t at)
{
	size_t n;

	at *= FAN;
	if (family == 4)
		n = not_above32((const uint32_t *)t->key[l] + at, (uint32_t)a);
	else
		n = not_above64((const uint64_t *)t->key[l] + at, (uint64_t)(a >> 64));
	at += n - 1;
	/* The padding is not above the highest address. */
	return at < t->n[l] ? at : t->n[l] - 1;
}

/* Of several intervals that start in the same 64 bits the tree knows the last; n: before it. */
static size_t halve(const flat_u128 *from, size_t n, flat_u128 a)
{
	const flat_u128 *lo = from;

	/* lo[0] <= a always. */
	while (n > 1) {
		size_t half = n / 2;

		lo += lo[half] <= a ? half : 0;
		n -= half;
	}
	return (size_t)(lo - from);
}

size_t flat_find(const struct flat_view *v, uint8_t family, flat_u128 a)
{
	size_t at = 0;

	if (!v->tree)
		return halve(v->lo, v->n, a);
	for (int l = v->tree->levels; l >= 0; l--)
		at = step(v->tree, l, family, a, at);
	return family == 4 || v->lo[at] <= a ? at : halve(v->lo, at, a);
}

/* What the next step reads: a group of keys, or, of the last, where the interval starts. */
static void fetch(const struct flat_view *v, int l, uint8_t family, size_t at)
{
	if (l && family == 4) {
		__builtin_prefetch((const uint32_t *)v->tree->key[l - 1] + at * FAN);
	} else if (l) {
		const uint64_t *group = (const uint64_t *)v->tree->key[l - 1] + at * FAN;

		__builtin_prefetch(group);
		__builtin_prefetch(group + FAN / 2);
	} else {
		__builtin_prefetch(&v->id[at]);
		if (family == 6)
			__builtin_prefetch(&v->lo[at]);
	}
}

void flat_find_all(
	const struct flat_view *v, uint8_t family, const flat_u128 *a, size_t n, size_t *at)
{
	for (size_t i = 0; i < n; i++)
		at[i] = v->tree ? 0 : halve(v->lo, v->n, a[i]);
	if (!v->tree)
		return;
	for (int l = v->tree->levels; l >= 0; l--) {
		for (size_t i = 0; i < n; i++) {
			at[i] = step(v->tree, l, family, a[i], at[i]);
			fetch(v, l, family, at[i]);
		}
	}
	for (size_t i = 0; i < n && family == 6; i++)
		if (v->lo[at[i]] > a[i])
			at[i] = halve(v->lo, at[i], a[i]);
}

flat_u128 flat_hi(const struct flat_view *v, size_t i, uint8_t family)
{
	return i + 1 < v->n ? v->lo[i + 1] - 1 : flat_last(family);
}
