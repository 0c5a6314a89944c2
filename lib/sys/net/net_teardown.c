/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "sys/net/net_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The host's way to an address; the bridge may stay for others. */
static int remove_way(
	struct sys_nl *nl, unsigned bridge, const struct pol_addr *a, struct cl_err *e)
{
	if (!a->family || !bridge)
		return 0;
	return net_neighbour_delete(nl, bridge, a, e) || net_route_delete(nl, bridge, a, e) ? -1
											    : 0;
}

static bool other_has(const struct net_states *others, const char *bridge, const char *table)
{
	for (size_t i = 0; i < others->n; i++) {
		const struct net_state *o = &others->v[i];

		if ((bridge && !strcmp(o->bridge, bridge)) ||
			(table && o->table && !strcmp(o->table, table)))
			return true;
	}
	return false;
}

/* A port that no record knows is still somebody's. */
static int bridge_in_use(struct sys_nl *nl, unsigned bridge, bool *used, struct cl_err *e)
{
	cleanup_links struct net_links links = {0};

	*used = false;
	if (net_links(nl, &links, e))
		return -1;
	for (size_t i = 0; i < links.n; i++)
		if (links.v[i].master == bridge)
			*used = true;
	return 0;
}

int net_bridge_used(const char *bridge, bool *used, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	unsigned index = 0;

	*used = false;
	if (sys_nl_open(&nl, NETLINK_ROUTE, e) || net_link_index(&nl, bridge, &index, e))
		return -1;
	return index ? bridge_in_use(&nl, index, used, e) : 0;
}

static bool handed_on(const char *path)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char c = '0';

	return fd >= 0 && read(fd, &c, 1) == 1 && c == '1';
}

bool net_bridge_bypasses(bool ipv6)
{
	return !handed_on("/proc/sys/net/bridge/bridge-nf-call-iptables") ||
	       (ipv6 && !handed_on("/proc/sys/net/bridge/bridge-nf-call-ip6tables"));
}

static int remove_port(
	struct sys_nl *nl, const struct net_state *r, unsigned *bridge, struct cl_err *e)
{
	if (net_link_delete(nl, r->host_if, e))
		return -1;
	if (!*r->bridge)
		return 0;
	return net_link_index(nl, r->bridge, bridge, e) ||
			       remove_way(nl, *bridge, &r->address, e) ||
			       remove_way(nl, *bridge, &r->address6, e)
		       ? -1
		       : 0;
}

static int remove_bridge(struct sys_nl *nl, const struct net_state *r, unsigned bridge,
	const struct net_states *others, struct cl_err *e)
{
	bool used;

	if (!bridge || other_has(others, r->bridge, NULL))
		return 0;
	if (bridge_in_use(nl, bridge, &used, e))
		return -1;
	return used ? 0 : net_link_delete(nl, r->bridge, e);
}

static int remove_rules(struct net_dirs *d, const struct net_state *r,
	const struct net_states *others, struct cl_err *e)
{
	cleanup_batch struct nft_batch b;

	nft_batch_begin(&b);
	nft_batch_table(&b, NFPROTO_NETDEV, r->port_table);
	nft_remove_table(&b);
	if (r->table && !other_has(others, NULL, r->table)) {
		nft_batch_table(&b, NFPROTO_INET, r->table);
		nft_remove_table(&b);
	}
	if (net_host_close(d, others, &b, e))
		return -1;
	/* An empty namespace needs no packet filter, and without one there are no tables. */
	return !nft_batch_send(&b, e) || (!r->table && e->code == CL_EUNAVAIL) ? 0 : -1;
}

/* The port first: from then on nothing passes, whatever of the rest succeeds. */
int net_undo(struct net_dirs *d, const struct net_state *r, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	cleanup_states struct net_states others = {0};
	unsigned bridge = 0;

	if (sys_nl_open(&nl, NETLINK_ROUTE, e) || net_states(d, r->handle, &others, e) ||
		remove_port(&nl, r, &bridge, e) || net_lend_undo(d, r->handle, e) ||
		net_ns_remove(d, r->handle, e) || remove_bridge(&nl, r, bridge, &others, e) ||
		remove_rules(d, r, &others, e))
		return -1;
	if (unlinkat(d->net, r->handle, 0) && errno != ENOENT)
		return cl_fail_sys(
			e, CL_EOS, errno, "cannot remove '%s/net/%s'", d->root, r->handle);
	return 0;
}

int net_teardown(const char *rundir, const char *handle, const char *table, const char *network,
	struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_state struct net_state r = {0};

	if (net_check_handle(handle, e) || (table && eg_check_table(table, e)) ||
		net_dirs_open(&d, rundir, true, e))
		return -1;
	if (net_state_read(&d, handle, &r, e) && e->code != CL_ENOTFOUND)
		return -1;
	if (!r.table && table)
		r.table = cl_strdup(table);
	if (!r.network && network)
		r.network = cl_strdup(network);
	net_state_names(&r);
	return net_undo(&d, &r, e);
}
