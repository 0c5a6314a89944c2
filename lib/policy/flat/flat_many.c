/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many questions at once: a block of them goes down the trees side by side. */
#include "policy/flat/flat_internal.h"

#define BLOCK 32

/* The questions of one family in a block, and where they are found in a view. */
struct column {
	uint8_t which[BLOCK]; /* their places in the block */
	flat_u128 a[BLOCK];
	size_t at[BLOCK];
	size_t n;
};

/* Into a column by family, IPv4-mapped ones as IPv4; what is no address is in none. */
static void sort_out(const struct eg_question *q, size_t n, struct column c[FLAT_FAMILIES])
{
	c[FLAT_V4].n = c[FLAT_V6].n = 0;
	for (size_t i = 0; i < n; i++) {
		struct pol_addr to = q[i].to.addr;
		struct column *into;

		if (to.family != 4 && to.family != 6)
			continue;
		(void)pol_addr_unmap(&to);
		into = &c[flat_half(to.family)];
		into->which[into->n] = (uint8_t)i;
		into->a[into->n++] = flat_number(&to);
	}
}

static void evaluate_block(
	const struct flat *f, const struct eg_question *q, size_t n, struct eg_answer *out)
{
	struct column c[FLAT_FAMILIES];

	for (size_t i = 0; i < n; i++)
		out[i] = (struct eg_answer){EG_DROP, "invalid address", -1};
	sort_out(q, n, c);
	for (int half = FLAT_V4; half <= FLAT_V6; half++) {
		const struct flat_view *v = &f->why[half];

		flat_find_all(v, half == FLAT_V4 ? 4 : 6, c[half].a, c[half].n, c[half].at);
		for (size_t i = 0; i < c[half].n; i++)
			__builtin_prefetch(&f->pool[v->id[c[half].at[i]]]);
		for (size_t i = 0; i < c[half].n; i++) {
			const struct eg_question *one = &q[c[half].which[i]];

			out[c[half].which[i]] = flat_decide(
				f, f->pool + v->id[c[half].at[i]], one->to.port, one->proto);
		}
	}
}

static void allow_block(const struct flat *f, const struct eg_question *q, size_t n, bool *out)
{
	struct column c[FLAT_FAMILIES];

	for (size_t i = 0; i < n; i++)
		out[i] = false;
	sort_out(q, n, c);
	for (int half = FLAT_V4; half <= FLAT_V6; half++) {
		const struct flat_view *v = &f->sense[half];

		flat_find_all(v, half == FLAT_V4 ? 4 : 6, c[half].a, c[half].n, c[half].at);
		for (size_t i = 0; i < c[half].n; i++) {
			const struct eg_question *one = &q[c[half].which[i]];

			out[c[half].which[i]] = flat_class_allows(
				f, &f->classes[v->id[c[half].at[i]]], one->to.port, one->proto);
		}
	}
}

void flat_evaluate_all(
	const struct flat *f, const struct eg_question *q, size_t n, struct eg_answer *out)
{
	for (size_t i = 0; i < n; i += BLOCK)
		evaluate_block(f, q + i, n - i < BLOCK ? n - i : BLOCK, out + i);
}

void flat_allows_all(const struct flat *f, const struct eg_question *q, size_t n, bool *out)
{
	for (size_t i = 0; i < n; i += BLOCK)
		allow_block(f, q + i, n - i < BLOCK ? n - i : BLOCK, out + i);
}
