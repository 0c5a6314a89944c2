/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sandbox's network, prepared before its engine starts (DECISIONS E11, E12): one
 * network namespace a run under /run/cloop/netns, a veth pair into a bridge of its
 * scope, an address of the executor's pool, a host route each way, and the filter
 * installed before the link comes up. Over rtnetlink, from one process.
 */
#ifndef CL_SYS_NET_H
#define CL_SYS_NET_H

#include "sys/nft.h"

struct net_want {
	const char *handle;             /* "c-<12 hex>": names the namespace */
	const char *network;            /* full name "cloop-sbx-..."; the bridge's altname */
	const char *table;              /* the nft table of this run */
	const char *pool;               /* "10.211.0.0/16" */
	const struct eg_policy *policy; /* NULL: no filter (only masquerade) */
	bool ipv6; /* give a ULA address too; only where the host forwards v6 */
};

struct net_have {
	char netns[128];  /* path to give to the engine */
	char bridge[16];  /* "csbx-<10 hex>" */
	char host_if[16]; /* our end of the veth */
	char table[65];
	struct pol_addr address, gateway;   /* v4 */
	struct pol_addr address6, gateway6; /* family 0: none */
};

/* Builds all of it or nothing. CL_EOS, CL_EDENIED, CL_EUNAVAIL (pool used up, no netlink). */
int net_prepare(const struct net_want *w, struct net_have *out, struct cl_err *e);
/* An empty namespace with lo up, for `network: none` where the engine is given one. */
/* Undoes what net_prepare made; anything absent is success. The bridge goes with its last port. */
int net_teardown(const char *handle, const char *table, const char *network, struct cl_err *e);
/* Handles that have a namespace under /run/cloop/netns. */
int net_list(struct cl_strv *handles, struct cl_err *e);
/* The name of the bridge for a network name: "csbx-" and 10 hex of its SHA-256. */
void net_bridge_name(const char *network, char out[16]);

#endif
