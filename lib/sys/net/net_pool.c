/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/sha256.h"
#include "sys/net/net_internal.h"

#include <stdlib.h>
#include <string.h>

/* fd, "cloop": a unique local prefix (RFC 4193) that never leaves the host. */
static const uint8_t ula[12] = {0xfd, 'c', 'l', 'o', 'o', 'p'};

int net_pool_parse(const char *text, struct pol_prefix *out, struct cl_err *e)
{
	if (pol_prefix_parse(text, false, "address pool", out, e))
		return -1;
	if (out->addr.family == 4 && out->len >= 8 && out->len <= 29)
		return 0;
	(void)cl_fail(e, CL_EDATA, "address pool '%s' is not an IPv4 range of /8 to /29", text);
	return cl_fix(e, "name a private range that nothing else uses, such as 10.211.0.0/16");
}

struct pol_addr net_ula(const struct pol_addr *v4)
{
	struct pol_addr a = {.family = 6};

	memcpy(a.b, ula, sizeof(ula));
	memcpy(a.b + sizeof(ula), v4->b, 4);
	return a;
}

struct pol_prefix net_ula_pool(const struct pol_prefix *pool)
{
	return (struct pol_prefix){.addr = net_ula(&pool->addr), .len = (uint8_t)(96 + pool->len)};
}

static uint32_t number(const struct pol_addr *a)
{
	return (uint32_t)a->b[0] << 24 | (uint32_t)a->b[1] << 16 | (uint32_t)a->b[2] << 8 | a->b[3];
}

static struct pol_addr address(uint32_t n)
{
	return (struct pol_addr){.family = 4,
		.b = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n}};
}

int net_gateway(const char *pool, struct pol_addr *v4, struct pol_addr *v6, struct cl_err *e)
{
	struct pol_prefix p;

	if (net_pool_parse(pool, &p, e))
		return -1;
	*v4 = address(number(&p.addr) + 1);
	if (v6)
		*v6 = net_ula(v4);
	return 0;
}

/*
 * A record, or a route of the host's inside the pool. One that holds the whole pool is
 * what the operator chose the pool out of.
 */
static bool taken(const struct pol_addr *a, const struct pol_prefix *pool,
	const struct net_states *used, const struct net_routes *routes)
{
	for (size_t i = 0; i < used->n; i++)
		if (!pol_addr_cmp(&used->v[i].address, a))
			return true;
	for (size_t i = 0; i < routes->n; i++)
		if (pol_prefix_has(&routes->v[i].dst, a) &&
			!pol_prefix_holds(&routes->v[i].dst, pool))
			return true;
	return false;
}

int net_pool_take(const struct pol_prefix *pool, const char *handle, const struct net_states *used,
	const struct net_routes *routes, struct pol_addr *out, struct cl_err *e)
{
	uint32_t size = (1U << (32 - pool->len)) - 3, start;
	unsigned char hash[CL_SHA256_LEN];
	char text[POL_PREFIX_TEXT];

	/* Spread, so that an address is not used again while the kernel still tracks its flows. */
	cl_sha256(handle, strlen(handle), hash);
	memcpy(&start, hash, sizeof(start));
	start %= size;
	for (uint32_t i = 0; i < size; i++) {
		*out = address(number(&pool->addr) + 2 + (start + i) % size);
		if (!taken(out, pool, used, routes))
			return 0;
	}
	pol_prefix_text(pool, text);
	(void)cl_fail(e, CL_EUNAVAIL, "no address is free in the pool %s", text);
	return cl_fix(e, "configure a larger executors.container.address_pool, or end some runs");
}
