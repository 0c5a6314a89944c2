/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The normal form of an authorisation: facts/egress.md 2, "Normalisation". */
#include "policy/egress/egress_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static int by_prefix(const void *a, const void *b)
{
	return pol_prefix_cmp(a, b);
}

static int by_port(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static int by_endpoint(const void *va, const void *vb)
{
	const struct pol_endpoint *a = va, *b = vb;
	int c = pol_addr_cmp(&a->addr, &b->addr);

	return c ? c : (int)a->port - (int)b->port;
}

/* Sorts and drops repetitions; the new count. */
static size_t settle(void *v, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
	char *p = v;
	size_t kept = 0;

	if (n > 1)
		qsort(v, n, size, cmp);
	for (size_t i = 0; i < n; i++) {
		if (kept && !cmp(p + (kept - 1) * size, p + i * size))
			continue;
		if (kept != i)
			memcpy(p + kept * size, p + i * size, size);
		kept++;
	}
	return kept;
}

static struct pol_prefix *prefixes(const struct pol_prefix *from, size_t n, size_t *count)
{
	struct pol_prefix *out = cl_calloc(n + 1, sizeof(*out));
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (!pol_prefix_valid(&from[i]))
			continue;
		out[k] = from[i];
		(void)pol_prefix_unmap(&out[k]);
		pol_prefix_mask(&out[k++]);
	}
	*count = settle(out, k, sizeof(*out), by_prefix);
	return out;
}

static struct pol_endpoint *endpoints(const struct pol_endpoint *from, size_t n, size_t *count)
{
	struct pol_endpoint *out = cl_calloc(n + 1, sizeof(*out));

	for (size_t i = 0; i < n; i++) {
		out[i] = from[i];
		(void)pol_addr_unmap(&out[i].addr);
	}
	*count = settle(out, n, sizeof(*out), by_endpoint);
	return out;
}

/* In this order a range comes before everything it holds. */
static void widest(struct eg_plan *p)
{
	p->wide = cl_calloc(p->ndeny + 1, sizeof(*p->wide));
	for (size_t i = 0; i < p->ndeny; i++)
		if (!p->nwide || !pol_prefix_holds(&p->wide[p->nwide - 1], &p->deny[i]))
			p->wide[p->nwide++] = p->deny[i];
}

void eg_plan_make(const struct eg_auth *a, struct eg_plan *out)
{
	out->allow = prefixes(a->allow, a->nallow, &out->nallow);
	out->deny = prefixes(a->deny, a->ndeny, &out->ndeny);
	widest(out);
	out->ports = cl_calloc(a->nports + 1, sizeof(*out->ports));
	if (a->nports)
		memcpy(out->ports, a->ports, a->nports * sizeof(*out->ports));
	out->nports = settle(out->ports, a->nports, sizeof(*out->ports), by_port);
	out->brokers = endpoints(a->brokers, a->nbrokers, &out->nbrokers);
	out->resolvers = endpoints(a->resolvers, a->nresolvers, &out->nresolvers);
}

void eg_plan_release(struct eg_plan *p)
{
	free(p->allow);
	free(p->deny);
	free(p->wide);
	free(p->ports);
	free(p->brokers);
	free(p->resolvers);
	*p = (struct eg_plan){0};
}

/* How many of v[0..n) sort before p or are equal to it. */
static size_t upto(const struct pol_prefix *v, size_t n, const struct pol_prefix *p)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (pol_prefix_cmp(&v[mid], p) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct pol_prefix *eg_plan_denying(const struct eg_plan *plan, const struct pol_prefix *p)
{
	size_t n = upto(plan->wide, plan->nwide, p);

	return n && pol_prefix_holds(&plan->wide[n - 1], p) ? &plan->wide[n - 1] : NULL;
}

bool eg_plan_unnamed(const struct eg_plan *plan, const struct eg_block *service)
{
	size_t n = upto(plan->allow, plan->nallow, &service->prefix);

	if (n && !pol_prefix_cmp(&plan->allow[n - 1], &service->prefix))
		return false;
	return !eg_plan_denying(plan, &service->prefix);
}
