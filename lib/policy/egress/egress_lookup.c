/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/egress_lookup.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * What the first packet of a connection pays, in nanoseconds (Linux 6.18, AMD EPYC, rounds by
 * turns in one process): for a map of prefixes with the rule that asks it, for a tree to begin
 * with, and for each step down it. A rule that does not match is 20 to 25.
 */
#define NS_HASHED 75
#define NS_TREE   50
#define NS_STEP   36

/*
 * How many prefixes an interval may become. Loading takes a microsecond each: many intervals
 * are for long and may become more, few are for a short run.
 */
#define MANY        1000
#define GROWN_MANY  16
#define GROWN_FEW   4
#define MAX_LENGTHS 129

static unsigned tree_ns(size_t intervals)
{
	unsigned steps = 1;

	while (intervals >> steps)
		steps++;
	return NS_TREE + (steps + 1) * NS_STEP;
}

/* The next prefix of *lo..hi, and *lo behind it; false: that was the last one. */
static bool next_prefix(uint8_t family, flat_u128 *lo, flat_u128 hi, flat_u128 *key, unsigned *len)
{
	unsigned host = 0, bits = pol_bits(family);
	flat_u128 size;

	while (host < bits && !(*lo >> host & 1) &&
		hi - *lo >= ((((flat_u128)1 << host) - 1) << 1 | 1))
		host++;
	*key = *lo;
	*len = bits - host;
	size = host < 128 ? (flat_u128)1 << host : 0;
	*lo += size;
	return size && *lo && *lo <= hi;
}

/* How the lengths that occur are grouped: each is cut to the longest of its group. */
struct grouping {
	uint8_t len[MAX_LENGTHS];
	uint64_t count[MAX_LENGTHS];
	unsigned n;
	uint64_t best[EG_LENGTHS + 1][MAX_LENGTHS + 1]; /* prefixes of the first j in k groups */
	uint8_t from[EG_LENGTHS + 1][MAX_LENGTHS + 1];  /* where the last of these begins */
};
#define NEVER (UINT64_MAX >> 2)

static uint64_t cut(uint64_t count, unsigned by)
{
	return by >= 32 || count >= NEVER >> 33 ? NEVER : count << by;
}

/* The best k groups of the first j lengths, from those of k - 1. */
static void group_last(struct grouping *g, unsigned k, unsigned j)
{
	uint64_t last = 0;

	g->best[k][j] = NEVER;
	for (unsigned i = j; i-- > 0;) {
		last += cut(g->count[i], g->len[j - 1] - g->len[i]);
		if (last >= g->best[k][j])
			break;
		if (g->best[k - 1][i] >= g->best[k][j] - last)
			continue;
		g->best[k][j] = g->best[k - 1][i] + last;
		g->from[k][j] = (uint8_t)i;
	}
}

static void group(struct grouping *g)
{
	for (unsigned j = 1; j <= g->n; j++)
		g->best[0][j] = NEVER;
	for (unsigned k = 1; k <= EG_LENGTHS && k <= g->n; k++) {
		g->best[k][0] = NEVER;
		for (unsigned j = 1; j <= g->n; j++)
			group_last(g, k, j);
	}
}

/* Where a length is looked up, as halves of first to last. */
static void arrange(struct eg_lookup *l)
{
	struct {
		size_t first, behind;
		uint8_t chain;
	} todo[EG_LENGTHS + 1] = {{0, l->n, EG_OWN_CHAIN}};
	size_t n = 1;

	while (n) {
		size_t first = todo[n - 1].first, behind = todo[n - 1].behind;
		size_t middle = first + (behind - first) / 2;
		uint8_t chain = todo[--n].chain;

		if (first == behind)
			continue;
		l->at[middle].chain = chain;
		todo[n].first = first;
		todo[n].behind = middle;
		todo[n++].chain = chain;
		todo[n].first = middle + 1;
		todo[n].behind = behind;
		todo[n++].chain = (uint8_t)(middle + 1 + (behind - middle - 1) / 2);
	}
}

static void add(struct eg_length *at, flat_u128 key, uint32_t to)
{
	if (at->n && at->v[at->n - 1].key == key)
		return;
	at->mixed = at->mixed || (at->n && at->v[0].to != to);
	at->v = cl_grow(at->v, &at->cap, at->n + 1, sizeof(*at->v));
	at->v[at->n++] = (struct eg_entry){key, to};
}

static flat_u128 rest_of(const struct eg_lookup *l, size_t i)
{
	unsigned host = pol_bits(l->family) - l->at[i].len;

	return host < 128 ? ((flat_u128)1 << host) - 1 : ~(flat_u128)0;
}

/* An entry, and on the way to it those that say that there is something longer. */
static void add_entry(struct eg_lookup *l, size_t i, flat_u128 key, uint32_t class)
{
	size_t first = 0, behind = l->n;

	for (;;) {
		size_t middle = first + (behind - first) / 2;

		if (middle == i)
			break;
		if (i < middle) {
			behind = middle;
			continue;
		}
		first = middle + 1;
		add(&l->at[middle], key & ~rest_of(l, middle),
			EG_LONGER | (uint32_t)(first + (behind - first) / 2));
	}
	add(&l->at[i], key, class);
}

static void fill(const struct flat *f, struct eg_lookup *l)
{
	flat_u128 lo, hi, key;
	uint32_t class;

	for (size_t at = 0; eg_map_next(f, l->family, &at, &lo, &hi, &class);) {
		for (bool more = true; more;) {
			flat_u128 last;
			unsigned len;
			size_t i = 0;

			more = next_prefix(l->family, &lo, hi, &key, &len);
			while (l->at[i].len < len)
				i++;
			last = key +
			       (((flat_u128)1 << (l->at[i].len - len)) - 1) * (rest_of(l, i) + 1);
			for (;; key += rest_of(l, i) + 1) {
				add_entry(l, i, key, class);
				if (key == last)
					break;
			}
		}
	}
}

static size_t count_lengths(const struct flat *f, uint8_t family, struct grouping *g)
{
	uint64_t count[MAX_LENGTHS] = {0};
	flat_u128 lo, hi, key;
	uint32_t class;
	size_t n = 0;

	for (size_t i = 0; eg_map_next(f, family, &i, &lo, &hi, &class); n++) {
		unsigned len;

		for (bool more = true; more; count[len]++)
			more = next_prefix(family, &lo, hi, &key, &len);
	}
	g->n = 0;
	for (unsigned len = 0; len < MAX_LENGTHS; len++)
		if (count[len]) {
			g->len[g->n] = (uint8_t)len;
			g->count[g->n++] = count[len];
		}
	return n;
}

static void choose(const struct flat *f, uint8_t family, struct eg_lookup *out)
{
	cleanup_free struct grouping *g = cl_calloc(1, sizeof(*g));
	size_t intervals = count_lengths(f, family, g);
	uint64_t most = intervals * (intervals < MANY ? GROWN_FEW : GROWN_MANY);
	unsigned lookups = 1, groups;

	*out = (struct eg_lookup){.family = family};
	/* A length of 0 is everything, which an interval says better. */
	if (!g->n || !g->len[0])
		return;
	group(g);
	for (; lookups <= EG_LOOKUPS; lookups++) {
		groups = (1u << lookups) - 1 < g->n ? (1u << lookups) - 1 : g->n;
		if (g->best[groups][g->n] <= most)
			break;
	}
	if (lookups > EG_LOOKUPS || lookups * NS_HASHED >= tree_ns(intervals))
		return;
	out->n = groups;
	for (unsigned k = groups, behind = g->n; k; k--) {
		out->at[k - 1].len = g->len[behind - 1];
		behind = g->from[k][behind];
	}
	arrange(out);
	fill(f, out);
}

static bool one_lookup(const struct flat *f, const struct eg_lookup *l)
{
	const struct flat_view *v = &f->sense[flat_half(l->family)];

	return l->n == 1 || (v->n == 1 && v->id[0] == FLAT_DROP_ALL);
}

size_t eg_length_direct(const struct flat *f, const struct eg_lookup *l, size_t i,
	struct eg_opening out[EG_DIRECT_RULES])
{
	uint32_t class = l->at[i].v[0].to;
	struct eg_opening o[FLAT_PROTOS];
	size_t n = 0, protos;

	if (l->at[i].mixed || class & EG_LONGER || class == FLAT_ALLOW_ALL)
		return 0;
	protos = eg_openings(f, class, o);
	for (size_t k = 0; k < protos; k++) {
		size_t rules = eg_opening_rules(&o[k]);

		/* What looks up a set of ports or protocols costs more than to go to a chain. */
		if (o[k].proto == EG_PROTO_ANY || o[k].n > rules || n + rules > EG_DIRECT_RULES)
			return 0;
		for (size_t r = 0; r < rules; r++)
			out[n++] = eg_opening_rule(&o[k], r);
	}
	return n;
}

static void note_classes(const struct flat *f, const struct eg_lookup *l, bool *gone_to)
{
	struct eg_opening o[EG_DIRECT_RULES];
	flat_u128 lo, hi;
	uint32_t class;

	for (size_t i = 0; !l->n && eg_map_next(f, l->family, &i, &lo, &hi, &class);)
		gone_to[class] = true;
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; !eg_length_direct(f, l, i, o) && k < l->at[i].n; k++)
			if (!(l->at[i].v[k].to & EG_LONGER))
				gone_to[l->at[i].v[k].to] = true;
}

void eg_maps_make(const struct flat *f, struct eg_maps *out)
{
	size_t rules = eg_count_rules(f, EG_LINEAR_RULES);

	*out = EG_MAPS_INIT;
	if (rules <= EG_FEW_RULES)
		return;
	choose(f, 4, &out->of[FLAT_V4]);
	choose(f, 6, &out->of[FLAT_V6]);
	out->there = rules > EG_LINEAR_RULES ||
		     (one_lookup(f, &out->of[FLAT_V4]) && one_lookup(f, &out->of[FLAT_V6]));
	if (!out->there) {
		eg_maps_release(out);
		return;
	}
	out->gone_to = cl_calloc(f->nclasses, sizeof(*out->gone_to));
	note_classes(f, &out->of[FLAT_V4], out->gone_to);
	note_classes(f, &out->of[FLAT_V6], out->gone_to);
}

void eg_maps_release(struct eg_maps *m)
{
	for (int half = FLAT_V4; half <= FLAT_V6; half++)
		for (size_t i = 0; i < m->of[half].n; i++)
			free(m->of[half].at[i].v);
	free(m->gone_to);
	*m = EG_MAPS_INIT;
}

void eg_length_name(
	const struct eg_part *part, const struct eg_lookup *l, size_t i, char out[EG_MAP_NAME])
{
	(void)snprintf(out, EG_MAP_NAME, "%s_%u", part->map[flat_half(l->family)], l->at[i].len);
}

const char *eg_entry_says(
	const struct eg_part *part, const struct eg_lookup *l, uint32_t to, char out[EG_MAP_NAME])
{
	if (to & EG_LONGER)
		eg_length_name(part, l, to & ~EG_LONGER, out);
	else
		eg_chain_name(part, to, out);
	return to == FLAT_ALLOW_ALL ? NULL : out;
}

const char *eg_length_says(
	const struct eg_part *part, const struct eg_lookup *l, size_t i, char out[EG_MAP_NAME])
{
	return eg_entry_says(part, l, l->at[i].v[0].to, out);
}

struct pol_addr eg_length_mask(const struct eg_lookup *l, size_t i)
{
	return flat_addr(l->family, flat_last(l->family) & ~rest_of(l, i));
}

bool eg_lookup_next(const struct eg_lookup *l, uint8_t chain, size_t *i)
{
	while (*i > 0)
		if (l->at[--*i].chain == chain)
			return true;
	return false;
}
