/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of ports: sorted ranges that neither overlap nor touch. */
#include "policy/flat/flat_internal.h"

static void add(struct cl_buf *out, unsigned lo, unsigned hi, uint32_t *n)
{
	struct flat_ports p = {(uint16_t)lo, (uint16_t)hi};

	cl_buf_add(out, &p, sizeof(p));
	++*n;
}

uint32_t flat_ports_minus(const struct flat_ports *a, size_t na, const struct flat_ports *b,
	size_t nb, struct cl_buf *out)
{
	uint32_t n = 0;

	for (size_t i = 0, first = 0; i < na; i++) {
		unsigned lo = a[i].lo, hi = a[i].hi;

		while (first < nb && b[first].hi < lo)
			first++;
		for (size_t k = first; lo <= hi; k++) {
			if (k == nb || b[k].lo > hi) {
				add(out, lo, hi, &n);
				break;
			}
			if (b[k].lo > lo)
				add(out, lo, b[k].lo - 1u, &n);
			lo = b[k].hi + 1u;
		}
	}
	return n;
}

uint32_t flat_ports_both(const struct flat_ports *a, size_t na, const struct flat_ports *b,
	size_t nb, struct cl_buf *out)
{
	uint32_t n = 0;

	for (size_t i = 0, k = 0; i < na && k < nb;) {
		unsigned lo = a[i].lo > b[k].lo ? a[i].lo : b[k].lo;
		unsigned hi = a[i].hi < b[k].hi ? a[i].hi : b[k].hi;

		if (lo <= hi)
			add(out, lo, hi, &n);
		if (a[i].hi < b[k].hi)
			i++;
		else
			k++;
	}
	return n;
}

uint32_t flat_ports_either(const struct flat_ports *a, size_t na, const struct flat_ports *b,
	size_t nb, struct cl_buf *out)
{
	unsigned lo = 0, hi = 0;
	uint32_t n = 0;
	bool open = false;

	for (size_t i = 0, k = 0; i < na || k < nb;) {
		const struct flat_ports *p =
			k == nb || (i < na && a[i].lo <= b[k].lo) ? &a[i++] : &b[k++];

		if (open && p->lo <= hi + 1) {
			hi = p->hi > hi ? p->hi : hi;
			continue;
		}
		if (open)
			add(out, lo, hi, &n);
		lo = p->lo;
		hi = p->hi;
		open = true;
	}
	if (open)
		add(out, lo, hi, &n);
	return n;
}
