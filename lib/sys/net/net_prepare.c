/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/sha256.h"
#include "sys/net/net_internal.h"

#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void net_mac(const char *what, const char *name, uint8_t mac[6])
{
	cleanup_free char *text = cl_asprintf("%s %s", what, name);
	unsigned char hash[CL_SHA256_LEN];

	cl_sha256(text, strlen(text), hash);
	mac[0] = 2;
	memcpy(mac + 1, hash, 5);
}

struct building {
	const struct net_want *want;
	struct net_dirs *dirs;
	struct net_state *run;
	struct net_states *all; /* run included */
	struct sys_nl host, inside;
	int ns; /* the namespace */
	struct pol_addr gateway, gateway6;
	uint8_t mac[6], bridge_mac[6];
	unsigned bridge, port, eth0;
};

static void building_release(struct building *b)
{
	sys_nl_close(&b->host);
	sys_nl_close(&b->inside);
	cl_cleanup_fd(&b->ns);
}
#define cleanup_building __attribute__((cleanup(building_release)))

/* The bridge, as it must be; a killed process may have left it half made. */
static int make_bridge(struct building *b, struct cl_err *e)
{
	const struct net_state *r = b->run;

	if (net_link_index(&b->host, r->bridge, &b->bridge, e))
		return -1;
	if (!b->bridge && (net_bridge_add(&b->host, r->bridge, b->bridge_mac, e) ||
				  net_link_index(&b->host, r->bridge, &b->bridge, e)))
		return -1;
	if (net_altname_add(&b->host, b->bridge, r->network, e) ||
		net_bridge_route(&b->host, b->bridge, e) ||
		net_address_add(&b->host, b->bridge, &b->gateway, e))
		return -1;
	if (r->address6.family && net_address_add(&b->host, b->bridge, &b->gateway6, e))
		return -1;
	return net_link_up(&b->host, b->bridge, e);
}

static int make_port(struct building *b, struct cl_err *e)
{
	const struct net_state *r = b->run;

	if (net_veth_add(&b->host, r->host_if, b->ns, b->mac, e) ||
		net_link_index(&b->host, r->host_if, &b->port, e) ||
		net_link_index(&b->inside, "eth0", &b->eth0, e) ||
		net_port_join(&b->host, b->port, b->bridge, b->mac, e))
		return -1;
	if (r->address6.family)
		return 0;
	return net_sysctl(b->ns, "ipv6/conf/eth0/disable_ipv6", "1", true, e);
}

/* One transaction for the filter, the port and the host. */
static int make_rules(struct building *b, struct cl_err *e)
{
	const struct net_state *r = b->run;
	const struct nft_filter f = {
		.table = r->table, .bridge = r->bridge, .fresh = {r->address, r->address6}};
	struct nft_port p = {.table = r->port_table,
		.device = r->host_if,
		.source4 = r->address,
		.source6 = r->address6};
	cleanup_strv struct cl_strv opened = CL_STRV_INIT;
	cleanup_batch struct nft_batch batch;

	nft_batch_begin(&batch);
	memcpy(p.mac, b->mac, sizeof(p.mac));
	if (nft_put_filter(&batch, &f, b->want->policy, e) || nft_put_port(&batch, &p, e) ||
		net_host_plan(b->dirs, &b->host, b->all, b->want->policy, r, &opened, &batch, e) ||
		nft_batch_send(&batch, e))
		return -1;
	return net_host_open(r, &opened, e);
}

static int make_way(struct building *b, const struct pol_addr *own, const struct pol_addr *gateway,
	struct cl_err *e)
{
	if (!own->family)
		return 0;
	return net_route_add(&b->host, b->bridge, own, NULL, e) ||
			       net_neighbour_add(&b->host, b->bridge, own, b->mac, e) ||
			       net_address_add(&b->inside, b->eth0, own, e) ||
			       net_route_add(&b->inside, b->eth0, gateway, NULL, e) ||
			       net_route_add(&b->inside, b->eth0, NULL, gateway, e) ||
			       net_neighbour_add(&b->inside, b->eth0, gateway, b->bridge_mac, e)
		       ? -1
		       : 0;
}

/* In this order: nothing can pass before the last step, and the rules stand long before. */
static int build(struct building *b, struct cl_err *e)
{
	const struct net_state *r = b->run;

	if (sys_nl_open(&b->host, NETLINK_ROUTE, e) ||
		net_ns_make(b->dirs, r->handle, &b->ns, &b->inside, e))
		return -1;
	return make_bridge(b, e) || make_port(b, e) || make_rules(b, e) ||
			       net_link_up(&b->inside, b->eth0, e) ||
			       make_way(b, &r->address, &b->gateway, e) ||
			       make_way(b, &r->address6, &b->gateway6, e) ||
			       net_forget_flows(&r->address, e) ||
			       net_forget_flows(&r->address6, e) ||
			       net_link_up(&b->host, b->port, e)
		       ? -1
		       : 0;
}

/* Judges what is wanted before anything is touched; fills in the run but its address. */
static int plan(const struct net_want *w, struct net_state *r, struct cl_err *e)
{
	struct pol_addr gateway;

	if (net_check_handle(w->handle, e) || eg_check_table(w->table, e) ||
		net_gateway(w->pool, &gateway, NULL, e))
		return -1;
	if (!*w->network || strlen(w->network) > 127)
		return cl_fail(e, CL_EDATA, "'%s' is not the name of a network", w->network);
	(void)snprintf(r->handle, sizeof(r->handle), "%s", w->handle);
	r->network = cl_strdup(w->network);
	r->table = cl_strdup(w->table);
	r->pool = cl_strdup(w->pool);
	r->hub = cl_strdup_null(w->hub);
	net_state_names(r);
	return 0;
}

/* An address that nobody has; the records of all others are in `all`. */
static int take_address(const struct net_want *w, struct net_state *r, const struct net_states *all,
	struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	cleanup_routes struct net_routes routes = {0};
	struct pol_prefix pool;
	struct pol_addr found;

	if (net_pool_parse(w->pool, &pool, e) || sys_nl_open(&nl, NETLINK_ROUTE, e) ||
		net_routes(&nl, 4, &routes, e) ||
		net_pool_take(&pool, w->handle, all, &routes, &found, e))
		return -1;
	r->address = found;
	if (w->ipv6 && net_forwards6("default"))
		r->address6 = net_ula(&r->address);
	return 0;
}

static int refuse_second(const struct net_dirs *d, const char *handle, struct cl_err *e)
{
	cleanup_strv struct cl_strv have = CL_STRV_INIT;

	if (net_handles(d->net, &have, e) || net_handles(d->netns, &have, e))
		return -1;
	if (!cl_strv_has(&have, handle))
		return 0;
	(void)cl_fail(e, CL_EBUSY, "workload '%s' has a network already", handle);
	return cl_fix(e, "'cloop sweep' takes it away if the workload has ended");
}

/* What is said of a network that another hub has, and what helps. */
static int refuse_shared(const struct net_want *w, const char *other, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "the network '%s' is another hub's: %s", w->network, other);
	(void)cl_constraint(e, "network_name");
	return cl_fix(e,
		"run it again; if it is so each time, write CLOOP_HUB_MARK=, and up to 16 "
		"lower-case letters and digits, to %s/.cloop/hub.env",
		w->hub);
}

static int own(const struct net_want *w, struct net_dirs *d, const struct net_states *all,
	struct cl_err *e)
{
	cleanup_free char *other = NULL;

	if (!w->hub)
		return 0;
	/* Two hubs with run directories of their own would both find it free. */
	net_lock_host(d);
	other = net_owner_else(all, &all->v[0], w->network, w->hub);
	return other ? refuse_shared(w, other, e) : 0;
}

static void describe(const struct building *b, struct net_have *out)
{
	const struct net_state *r = b->run;

	*out = (struct net_have){.address = r->address, .address6 = r->address6};
	(void)snprintf(out->netns, sizeof(out->netns), "%s/netns/%s", b->dirs->root, r->handle);
	(void)snprintf(out->bridge, sizeof(out->bridge), "%s", r->bridge);
	(void)snprintf(out->host_if, sizeof(out->host_if), "%s", r->host_if);
	(void)snprintf(out->table, sizeof(out->table), "%s", r->table);
	out->gateway = b->gateway;
	if (r->address6.family)
		out->gateway6 = b->gateway6;
}

/* A long run directory would be cut in net_have. */
static int check_root(const struct net_dirs *d, struct cl_err *e)
{
	if (strlen(d->root) + sizeof("/netns/c-0123456789ab") <=
		sizeof(((struct net_have *)0)->netns))
		return 0;
	(void)cl_fail(e, CL_EDATA, "the run directory '%s' has too long a name", d->root);
	return cl_fix(e, "set CLOOP_RUN_DIR to a shorter path");
}

int net_prepare(const struct net_want *w, struct net_have *out, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_states struct net_states all = {0};
	struct cl_err second;
	struct net_state *r;

	/* The list owns the run from here on. */
	all.v = cl_grow(NULL, &all.cap, 1, sizeof(*all.v));
	all.v[all.n++] = (struct net_state){0};
	if (plan(w, &all.v[0], e) || net_dirs_open(&d, w->rundir, true, e) || check_root(&d, e) ||
		refuse_second(&d, w->handle, e) || net_states(&d, NULL, &all, e))
		return -1;
	r = &all.v[0];
	if (own(w, &d, &all, e) || take_address(w, r, &all, e) || net_state_write(&d, r, e))
		return -1;
	{
		cleanup_building struct building b = {.want = w,
			.dirs = &d,
			.run = r,
			.all = &all,
			.host = SYS_NL_INIT,
			.inside = SYS_NL_INIT,
			.ns = -1};

		net_mac("sandbox", w->handle, b.mac);
		net_mac("bridge", w->network, b.bridge_mac);
		if (!net_gateway(w->pool, &b.gateway, &b.gateway6, e) && !build(&b, e)) {
			describe(&b, out);
			return 0;
		}
	}
	/* What cannot be undone now is found by the record, which then stays. */
	(void)net_undo(&d, r, &second);
	return -1;
}

int net_prepare_empty(
	const char *rundir, const char *handle, struct net_have *out, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_nl struct sys_nl inside = SYS_NL_INIT;
	cleanup_fd int ns = -1;
	struct net_state r = {0};
	struct cl_err second;

	if (net_check_handle(handle, e) || net_dirs_open(&d, rundir, true, e) ||
		check_root(&d, e) || refuse_second(&d, handle, e))
		return -1;
	(void)snprintf(r.handle, sizeof(r.handle), "%s", handle);
	if (net_ns_make(&d, handle, &ns, &inside, e)) {
		(void)net_ns_remove(&d, handle, &second);
		return -1;
	}
	*out = (struct net_have){0};
	(void)snprintf(out->netns, sizeof(out->netns), "%s/netns/%s", d.root, handle);
	return 0;
}
