/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of prepared networks share: rtnetlink requests, and what a run has. */
#ifndef CL_SYS_NET_INTERNAL_H
#define CL_SYS_NET_INTERNAL_H

#include "sys/net/net.h"
#include "sys/nft/nft_internal.h"
#include "sys/net/nl.h"

#include <net/if.h>

/* --- links (net_link.c); each request acts in the namespace of its socket --- */

struct net_link {
	unsigned index, master;
	unsigned lower; /* what it stands on, or a veth's other end; 0: nothing here */
	unsigned flags; /* IFF_UP, IFF_LOOPBACK */
	unsigned mtu;
	char name[IFNAMSIZ];
	char kind[16]; /* "veth", "bridge"; "": a device of the machine */
	uint8_t mac[32];
	size_t nmac;
};
struct net_links {
	struct net_link *v;
	size_t n, cap;
};
void net_links_release(struct net_links *l);
#define cleanup_links __attribute__((cleanup(net_links_release)))
int net_links(struct sys_nl *nl, struct net_links *out, struct cl_err *e);

/*
 * One link by its name (or altname), or with name NULL by its index; index 0: there is none.
 * altnames may be NULL.
 */
int net_link_look(struct sys_nl *nl, const char *name, unsigned index, struct net_link *out,
	struct cl_strv *altnames, struct cl_err *e);
/* Index of the link, 0 when there is none of that name (or altname). */
int net_link_index(struct sys_nl *nl, const char *name, unsigned *index, struct cl_err *e);
/* A bridge with a fixed Ethernet address, no spanning tree, no snooping, no link-local. */
int net_bridge_add(struct sys_nl *nl, const char *name, const uint8_t mac[6], struct cl_err *e);
int net_altname_add(struct sys_nl *nl, unsigned index, const char *altname, struct cl_err *e);
/* Routing in and out of it without the global switch; no redirects, ARP for itself only. */
int net_bridge_route(struct sys_nl *nl, unsigned index, struct cl_err *e);
/* host_if here and "eth0" with `mac` in the namespace of peer_fd, both down. */
int net_veth_add(struct sys_nl *nl, const char *host_if, int peer_fd, const uint8_t mac[6],
	struct cl_err *e);
/*
 * Puts the link into the bridge and then makes it a port that hears only what is for
 * `mac`, learns nothing and reaches no other such port.
 */
int net_port_join(
	struct sys_nl *nl, unsigned port, unsigned bridge, const uint8_t mac[6], struct cl_err *e);
int net_link_up(struct sys_nl *nl, unsigned index, struct cl_err *e);
int net_altname_delete(struct sys_nl *nl, unsigned index, const char *altname, struct cl_err *e);
/*
 * Moves the link into the namespace of fd as `name`, down, with this mtu (0: as it is). Its
 * index there is the one wanted, where that is free (0: any). The name must be free there: a
 * kernel that finds it taken has moved the link already.
 */
int net_link_move(struct sys_nl *nl, unsigned index, int fd, const char *name, unsigned want,
	unsigned mtu, struct cl_err *e);
/* Takes it down first, which the kernel wants. */
int net_link_rename(struct sys_nl *nl, unsigned index, const char *name, struct cl_err *e);
int net_link_mtu(struct sys_nl *nl, unsigned index, unsigned mtu, struct cl_err *e);
/* Absent is success. */
int net_link_delete(struct sys_nl *nl, const char *name, struct cl_err *e);

/* --- addresses, routes, neighbours (net_route.c) --- */

/* A host address (/32, /128) that is usable at once; one that is there already is success. */
int net_address_add(struct sys_nl *nl, unsigned index, const struct pol_addr *a, struct cl_err *e);
/* The same with a length of its own, so that the network that it is in is on the link. */
int net_address_put(struct sys_nl *nl, unsigned index, const struct pol_addr *a, uint8_t length,
	struct cl_err *e);
/* dst over the link itself, or, with `via`, through that gateway; dst NULL: everything. */
int net_route_add(struct sys_nl *nl, unsigned index, const struct pol_addr *dst,
	const struct pol_addr *via, struct cl_err *e);
int net_route_delete(
	struct sys_nl *nl, unsigned index, const struct pol_addr *dst, struct cl_err *e);
/* Who has the address is known for good: nobody is asked, and no answer changes it. */
int net_neighbour_add(struct sys_nl *nl, unsigned index, const struct pol_addr *a,
	const uint8_t mac[6], struct cl_err *e);
int net_neighbour_delete(
	struct sys_nl *nl, unsigned index, const struct pol_addr *a, struct cl_err *e);

struct net_route {
	struct pol_prefix dst;
	unsigned index; /* the interface; 0: none (blackhole) */
};
struct net_routes {
	struct net_route *v;
	size_t n, cap;
};
void net_routes_release(struct net_routes *r);
#define cleanup_routes __attribute__((cleanup(net_routes_release)))
/* All routes of one family (4 or 6) in every table but the local one. */
int net_routes(struct sys_nl *nl, uint8_t family, struct net_routes *out, struct cl_err *e);

/* --- the run directory (net_state.c) --- */

struct net_state {
	char handle[16];
	char *network, *table, *pool; /* NULL: an empty namespace */
	char *hub;                    /* whose it is; NULL: not said */
	char bridge[16], host_if[16], port_table[32];
	struct pol_addr address, address6;
};
void net_state_release(struct net_state *s);
#define cleanup_state __attribute__((cleanup(net_state_release)))

struct net_dirs {
	char *root;           /* absolute */
	int netns, net, lock; /* descriptors of netns/, net/ and the held lock */
	int host;             /* the held lock of all run directories of the machine, or -1 */
};
#define NET_DIRS_INIT ((struct net_dirs){NULL, -1, -1, -1, -1})
/* Opens (and makes) the run directory; `locked` also waits for its lock. */
int net_dirs_open(struct net_dirs *d, const char *rundir, bool locked, struct cl_err *e);
void net_dirs_close(struct net_dirs *d);
#define cleanup_dirs __attribute__((cleanup(net_dirs_close)))

int net_check_handle(const char *handle, struct cl_err *e);
/* Names that follow from the handle and the network. */
void net_state_names(struct net_state *s);
/*
 * The longest record, written or read: a hub's path of PATH_MAX bytes, each of which JSON may
 * say in six, and the names beside it.
 */
#define NET_STATE_MAX (32 << 10)
/* CL_ENOTFOUND when there is no record. *s is zero before. */
int net_state_read(
	const struct net_dirs *d, const char *handle, struct net_state *s, struct cl_err *e);
/* CL_EDATA: it is no text, or too long to be read again; nothing is written. */
int net_state_write(const struct net_dirs *d, const struct net_state *s, struct cl_err *e);

struct net_states {
	struct net_state *v;
	size_t n, cap;
};
void net_states_release(struct net_states *l);
#define cleanup_states __attribute__((cleanup(net_states_release)))
/* Every record but that of `except` (NULL: every). */
int net_states(
	const struct net_dirs *d, const char *except, struct net_states *out, struct cl_err *e);
/* Names in a directory that are handles. */
int net_handles(int dirfd, struct cl_strv *out, struct cl_err *e);

/* --- namespaces (net_ns.c) --- */

/* Runs fn in a thread of its own in the namespace of fd, or in a new one with fd -1. */
int net_in_namespace(int fd, int (*fn)(void *arg, struct cl_err *e), void *arg, struct cl_err *e);
/* A new namespace, bound to netns/HANDLE, with lo up; nl is a socket inside it. */
int net_ns_make(
	const struct net_dirs *d, const char *handle, int *fd, struct sys_nl *nl, struct cl_err *e);
/* The namespace of fd to netns/HANDLE, which must not be there. */
int net_ns_bind(const struct net_dirs *d, const char *handle, int fd, struct cl_err *e);
int net_ns_remove(const struct net_dirs *d, const char *handle, struct cl_err *e);
/* Writes net.<key> of the namespace of fd (-1: ours); an absent key is success if optional. */
int net_sysctl(int fd, const char *key, const char *value, bool optional, struct cl_err *e);
/*
 * What comes in by one interface of the namespace is for it, and never goes out by another; a new
 * one forwards where the host does.
 */
int net_ns_routes_nothing(int fd, struct cl_err *e);
/* Reads one of ours as a number; -1 when it is not there. */
long net_sysctl_get(const char *key);

/* --- addresses of a pool (net_pool.c) --- */

int net_pool_parse(const char *text, struct pol_prefix *out, struct cl_err *e);
/* The IPv6 address that goes with an IPv4 one. */
struct pol_addr net_ula(const struct pol_addr *v4);
struct pol_prefix net_ula_pool(const struct pol_prefix *pool);
/* An address that no record and no route has; where to start looking follows the handle. */
int net_pool_take(const struct pol_prefix *pool, const char *handle, const struct net_states *used,
	const struct net_routes *routes, struct pol_addr *out, struct cl_err *e);

/*
 * Has the kernel forget the connections that this address opened (net_flows.c). Success
 * where connection tracking cannot be asked.
 */
int net_forget_flows(const struct pol_addr *source, struct cl_err *e);

/* --- what all runs share on the host (net_host.c) --- */

/*
 * One hub at a time, of all run directories, decides who needs an interface to forward and who
 * has a name; held until the directories are closed. Where it cannot be had, as in a user
 * namespace, there is nobody to agree with.
 */
void net_lock_host(struct net_dirs *d);
/* net_of_another by the records of all runs, `except` (NULL: none) left out (net_owner.c). */
char *net_owner_else(const struct net_states *all, const struct net_state *except,
	const char *network, const char *hub);
/* Can the host forward IPv6 through this bridge? */
bool net_forwards6(const char *bridge);
/*
 * Which interfaces must forward for a run of this policy, recorded and named in `opened`,
 * and cloop_net for the runs of `all` put into the batch; once that is in force,
 * net_host_open switches them on.
 */
int net_host_plan(struct net_dirs *d, struct sys_nl *nl, const struct net_states *all,
	const struct eg_policy *policy, const struct net_state *run, struct cl_strv *opened,
	struct nft_batch *b, struct cl_err *e);
int net_host_open(const struct net_state *run, const struct cl_strv *opened, struct cl_err *e);
/*
 * With no run left that has addresses, everything is as it was before, but for what another
 * hub's runs need as well.
 */
int net_host_close(
	struct net_dirs *d, const struct net_states *left, struct nft_batch *b, struct cl_err *e);

/* A locally administered address that follows from what it is for: "sandbox", "bridge". */
void net_mac(const char *what, const char *name, uint8_t mac[6]);
/* cloop_net for the runs of `all`, as recorded, into the batch; nothing without a pool. */
int net_host_put(const struct net_dirs *d, const struct net_states *all, struct nft_batch *b,
	struct cl_err *e);
#define NET_HOST_TABLE "cloop_net"
/* Its name for a run directory: hubs with directories of their own have a table each. */
#define NET_HOST_NAME 24
void net_host_table(const struct net_dirs *d, char out[NET_HOST_NAME]);

/*
 * Interfaces that are with the run go back to where they came from (net_lend_back.c). Under the
 * lock; without a record of any it is success.
 */
int net_lend_undo(const struct net_dirs *d, const char *handle, struct cl_err *e);

/* Removes what the run has, then its record (net_teardown.c). Under the lock. */
int net_undo(struct net_dirs *d, const struct net_state *r, struct cl_err *e);

#endif
