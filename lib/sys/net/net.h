/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sandbox's network, prepared before its engine starts (DECISIONS E11, E12): one
 * network namespace a run, a veth pair into a bridge of its scope, a host address of the
 * executor's pool, a host route each way, and the filter installed before the link comes
 * up. Over rtnetlink and nf_tables, from one process, in the network namespace of the
 * calling thread (which stays where it is). Needs CAP_NET_ADMIN and CAP_SYS_ADMIN.
 *
 * What is where, below the run directory (NULL: /run/cloop):
 *   netns/HANDLE  the namespace, for the engine     net/HANDLE  what the run has, as JSON
 *   net/.lock     held while anything changes       net/.forwarding  what we switched on
 *   net/HANDLE.lent  interfaces that it was lent (net_lend.h)
 * A record is written before the first change and removed after the last, so that a
 * process killed in between leaves nothing that net_teardown does not find.
 *
 * On the host: bridge csbx-<10 hex> (the network's name is its altname) with the first
 * address of the pool, the same on every bridge; the inet table of the network, shared by
 * its runs; a netdev table cloop_port_<12 hex> a run; one inet table cloop_net
 * (cloop_net_<8 hex> for another run directory) with the masquerading of all pools.
 *
 * Forwarding: a packet is routed when the interface that it came in by forwards. The
 * bridge always does. The interfaces that the policy's destinations are routed over need
 * it for the replies: where net.ipv4.conf.IF.forwarding is off it is switched on,
 * recorded, and off again after the last run; cloop_net lets in through such an interface
 * only what answers a connection, so the host does not become a router. IPv6 needs the
 * host's own forwarding or force_forwarding (Linux 6.17), used in the same way.
 */
#ifndef CL_SYS_NET_H
#define CL_SYS_NET_H

#include "sys/nft/nft.h"

#include <sys/types.h>

#define NET_RUN_DIR "/run/cloop"

struct net_want {
	const char *handle;  /* "c-<12 hex>": names the namespace */
	const char *network; /* full name "cloop-sbx-..."; the bridge's altname */
	/*
	 * The network's nft table: runs of one network have one table, and the policy of the
	 * last that was prepared holds for all of them.
	 */
	const char *table;
	const char *pool;               /* "10.211.0.0/16"; /8 to /29 */
	const struct eg_policy *policy; /* NULL: no filter (only masquerade) */
	bool ipv6;                      /* give a ULA address too, where IPv6 can be forwarded */
	const char *rundir;             /* NULL: NET_RUN_DIR */
	/* The hub's directory, so that no other hub's runs join; NULL: nobody is asked. */
	const char *hub;
};

struct net_have {
	char netns[128];  /* path to give to the engine */
	char bridge[16];  /* "csbx-<10 hex>" */
	char host_if[16]; /* our end of the veth */
	char table[65];
	struct pol_addr address, gateway;   /* v4 */
	struct pol_addr address6, gateway6; /* family 0: none */
};

/*
 * Builds all of it or nothing. CL_EBUSY when the handle has a network already, CL_EUNAVAIL
 * (pool used up, no nf_tables), CL_EDATA (a bad pool or name), CL_EDENIED, CL_EOS.
 */
int net_prepare(const struct net_want *w, struct net_have *out, struct cl_err *e);
/* An empty namespace with lo up, for `network: none` where the engine is given one. */
int net_prepare_empty(
	const char *rundir, const char *handle, struct net_have *out, struct cl_err *e);
/*
 * Undoes what net_prepare made for the handle; anything absent is success. The table and
 * the bridge go with the last run that has them. table and network (NULL: as recorded) are
 * for a handle whose record is lost. Interfaces of the host that are in it go back first
 * (net_lend.h); CL_EUNAVAIL where they cannot, and then the namespace stays.
 */
int net_teardown(const char *rundir, const char *handle, const char *table, const char *network,
	struct cl_err *e);
/*
 * *left: the kernel has what the runs of this run directory share (cloop_net), though the
 * directory may have been removed under them. What was switched on for them is then recorded
 * again, so that net_teardown of the last run switches it off.
 */
int net_recover(const char *rundir, bool *left, struct cl_err *e);
/*
 * *other: a network of this name stands and is another hub's, or no record of this run directory
 * knows it, as of a hub with another one: a clause for people, owned. NULL: it is free or the hub's
 * own. net_prepare refuses the same, CL_EREFUSED with constraint "network_name".
 */
int net_of_another(
	const char *rundir, const char *network, const char *hub, char **other, struct cl_err *e);
/* Handles that have a namespace or a record, sorted; added to handles. */
int net_list(const char *rundir, struct cl_strv *handles, struct cl_err *e);
/*
 * The addresses that the record of a prepared network names, family 0 where there is none.
 * CL_ENOTFOUND: no record.
 */
int net_addresses(const char *rundir, const char *handle, struct pol_addr out[2], struct cl_err *e);
/*
 * The first global address of each family in the network namespace of a process, for a
 * network of the engine's own; family 0 where there is none.
 */
int net_addresses_of(pid_t pid, struct pol_addr out[2], struct cl_err *e);
/*
 * The tables beside that of the network's filter which the records of its runs ask for,
 * and which are not in the kernel as they were made: names, added to wrong.
 */
int net_verify(const char *rundir, const char *table, struct cl_strv *wrong, struct cl_err *e);
/*
 * Puts back the rules of all runs that have this table: filter, ports, what is shared on the
 * host; in one transaction. Then connections that the policy does not allow are
 * forgotten, so that what was opened without rules does not go on; *cut counts them (added
 * to). *there false: no run has the table any more, and nothing was done.
 */
int net_restore(const char *rundir, const char *table, const struct eg_policy *policy, bool *there,
	size_t *cut, struct cl_err *e);
/*
 * Has the kernel forget what the policy does not let this address have: connections that others opened to it,
 * and those of its own that are denied (of the host's own addresses all that are not
 * named). *n counts them (added to).
 */
int net_forget_denied(
	const struct pol_addr *own, const struct eg_policy *policy, size_t *n, struct cl_err *e);
/* The name of the bridge for a network name: "csbx-" and 10 hex of its SHA-256. */
void net_bridge_name(const char *network, char out[16]);
/*
 * The gateway of every sandbox of the pool (its first address), and the ULA that goes with
 * it, for policies with a broker there; v6 may be NULL. CL_EDATA.
 */
int net_gateway(const char *pool, struct pol_addr *v4, struct pol_addr *v6, struct cl_err *e);

/*
 * Whether two sandboxes that are ports of one bridge can reach each other past a filter at the
 * forward hook: this namespace's bridges hand their packets to it only where br_netfilter is loaded
 * and on, for IPv4 and, where `ipv6` matters, for IPv6.
 */
bool net_bridge_bypasses(bool ipv6);
/* Whether a bridge has a port now; one that is not there has none. CL_EOS and the like. */
int net_bridge_used(const char *bridge, bool *used, struct cl_err *e);

#endif
