/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules of prepared networks, held to their records and put back: an operator's `nft
 * flush ruleset`, or the reload of another firewall, takes them away under live sandboxes.
 */
#include "base/mem.h"
#include "sys/net/net_internal.h"
#include "sys/nft/nft_dump.h"

#include <string.h>

static bool uses(const struct net_state *r, const char *table)
{
	return r->table && !strcmp(r->table, table);
}

static bool any_uses(const struct net_states *all, const char *table)
{
	for (size_t i = 0; i < all->n; i++)
		if (uses(&all->v[i], table))
			return true;
	return false;
}

/* A device that is gone needs no rules: the sandbox's end went with it. */
static int put_port(struct nft_batch *b, const struct net_state *r, struct cl_err *e)
{
	struct nft_port p = {.table = r->port_table,
		.device = r->host_if,
		.source4 = r->address,
		.source6 = r->address6};

	net_mac("sandbox", r->handle, p.mac);
	return nft_put_port(b, &p, e) && e->code != CL_ENOTFOUND ? -1 : 0;
}

static int put_ports(
	struct nft_batch *b, const struct net_states *all, const char *table, struct cl_err *e)
{
	for (size_t i = 0; i < all->n; i++)
		if (uses(&all->v[i], table) && put_port(b, &all->v[i], e))
			return -1;
	return 0;
}

/* Is the table in the kernel what the batch makes? */
static int stands(
	const struct nft_batch *b, uint32_t family, const char *table, bool *out, struct cl_err *e)
{
	cleanup_ruleset struct vf_ruleset want = VF_RULESET_INIT, have = VF_RULESET_INIT;
	const struct nlmsghdr *h = (const void *)b->buf.p;
	int left = (int)b->buf.len;

	for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left))
		nft_decode(h, family, table, &want);
	if (nft_dump_read(family, table, &have, e))
		return -1;
	*out = !want.there || nft_dump_same(&want, &have);
	return 0;
}

int net_verify(const char *rundir, const char *table, struct cl_strv *wrong, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_states struct net_states all = {0};
	cleanup_batch struct nft_batch b;
	char host[NET_HOST_NAME];
	bool ok;

	nft_batch_begin(&b);
	if (net_dirs_open(&d, rundir, true, e) || net_states(&d, NULL, &all, e) ||
		put_ports(&b, &all, table, e) || net_host_put(&d, &all, &b, e))
		return -1;
	for (size_t i = 0; i < all.n; i++) {
		if (!uses(&all.v[i], table))
			continue;
		if (stands(&b, NFPROTO_NETDEV, all.v[i].port_table, &ok, e))
			return -1;
		if (!ok)
			cl_strv_add(wrong, all.v[i].port_table);
	}
	if (!any_uses(&all, table))
		return 0;
	net_host_table(&d, host);
	if (stands(&b, NFPROTO_INET, host, &ok, e))
		return -1;
	if (!ok)
		cl_strv_add(wrong, host);
	return 0;
}

int net_restore(const char *rundir, const char *table, const struct eg_policy *policy, bool *there,
	size_t *cut, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_states struct net_states all = {0};
	struct nft_filter f = {.table = table};
	cleanup_batch struct nft_batch b;

	nft_batch_begin(&b);
	/* Under the lock a network is whole or gone. */
	if (net_dirs_open(&d, rundir, true, e) || net_states(&d, NULL, &all, e))
		return -1;
	*there = any_uses(&all, table);
	for (size_t i = 0; i < all.n; i++)
		if (uses(&all.v[i], table))
			f.bridge = all.v[i].bridge;
	if (!*there)
		return 0;
	if (nft_put_filter(&b, &f, policy, e) || put_ports(&b, &all, table, e) ||
		net_host_put(&d, &all, &b, e) || nft_batch_send(&b, e))
		return -1;
	for (size_t i = 0; i < all.n; i++)
		if (uses(&all.v[i], table) &&
			(net_forget_denied(&all.v[i].address, policy, cut, e) ||
				net_forget_denied(&all.v[i].address6, policy, cut, e)))
			return -1;
	return 0;
}
