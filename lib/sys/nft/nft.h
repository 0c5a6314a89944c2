/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's packet filter, through libnftnl and libmnl: one atomic batch an
 * operation, no child process that holds CAP_NET_ADMIN. Needs CAP_NET_ADMIN in the
 * network namespace of the calling thread, whose tables it changes.
 *
 * Errors everywhere: CL_EDENIED without the capability, CL_EUNAVAIL when the kernel (or
 * what confines this process) has no nf_tables or lacks an expression, CL_EOS else. A
 * batch that fails leaves everything as it was.
 */
#ifndef CL_SYS_NFT_H
#define CL_SYS_NFT_H

#include "policy/egress/egress.h"

/* What one ruleset is for. */
struct nft_filter {
	const char *table;  /* "cloop_sbx_..." */
	const char *bridge; /* the sandbox's own bridge or veth on the host */
	/*
	 * The only addresses that may come from the bridge; family 0: none. With both 0
	 * nothing is checked here: for a bridge of several sandboxes, whose ports are
	 * checked each (nft_apply_port).
	 */
	struct pol_addr source4, source6;
	bool masquerade; /* add a NAT chain for source4/6, out of other interfaces than bridge */
	/* Addresses that have a new owner: what is recorded of them was another's, and goes. */
	struct pol_addr fresh[2];
};

/* What stands between a batch and success, told apart for preflight. */
enum nft_state { NFT_USABLE, NFT_NO_KERNEL, NFT_NO_PERMISSION, NFT_BROKEN };
/* Tries every expression that we use, and changes nothing; *e says what is missing. */
enum nft_state nft_probe(struct cl_err *e);

/*
 * Replaces (or makes) the table so that it enforces p on the bridge; atomic. The ruleset
 * is the one that eg_render_nft_form prints (the top of egress_nft.c). p NULL: everything
 * may leave, and still nobody connects into the sandbox. What was recorded as blocked is
 * kept.
 */
int nft_apply(const struct nft_filter *f, const struct eg_policy *p, struct cl_err *e);
/* Removes the inet table; an absent one is success. */
int nft_remove(const char *table, struct cl_err *e);
/* Names of inet tables that start with prefix, added to out. */
int nft_tables(const char *prefix, struct cl_strv *out, struct cl_err *e);

/*
 * One port of a bridge (DECISIONS E11): a netdev table whose ingress chain drops every
 * frame that does not come from the sandbox's own addresses, whatever it can open:
 * other Ethernet or IP sources, other protocols than ARP, IPv4 and IPv6, forged ARP.
 */
struct nft_port {
	const char *table;                /* a netdev table */
	const char *device;               /* the host's end of the veth; must exist */
	uint8_t mac[6];                   /* of the sandbox's end */
	struct pol_addr source4, source6; /* family 0: that family is dropped whole */
};
/* CL_ENOTFOUND when there is no such device. */
int nft_apply_port(const struct nft_port *p, struct cl_err *e);
int nft_remove_port(const char *table, struct cl_err *e);

/* One destination that was refused, of the last EG_BLOCKED_SECONDS (DECISIONS E4). */
struct nft_blocked {
	struct pol_addr source, dest;
	uint8_t proto; /* IPPROTO_* */
	uint16_t port; /* 0: a protocol without ports */
	uint64_t packets, bytes;
	/* When it is forgotten, from the time of reading: NFT_BLOCKED_MS after the last packet. */
	uint64_t expires_ms;
	uint64_t since_expires_ms; /* the same after the first, no later than that */
};
#define NFT_BLOCKED_MS (EG_BLOCKED_SECONDS * 1000LL)
struct nft_blocked_list {
	struct nft_blocked *v;
	size_t n, cap;
	uint64_t unrecorded; /* refused packets of all sandboxes that found the sets full */
};
#define NFT_BLOCKED_INIT ((struct nft_blocked_list){.v = NULL})
void nft_blocked_release(struct nft_blocked_list *l);
#define cleanup_blocked __attribute__((cleanup(nft_blocked_release)))
/*
 * What the table has recorded, sorted by source, destination, protocol and port; added to
 * out. Of n sources: only what these tried (one of family 0 has tried nothing); n 0:
 * everybody's. An absent table is CL_ENOTFOUND.
 */
int nft_blocked_read(const char *table, const struct pol_addr *sources, size_t n,
	struct nft_blocked_list *out, struct cl_err *e);
/* Refused packets that found the sets full, since the table was made. CL_ENOTFOUND. */
int nft_blocked_unrecorded(const char *table, uint64_t *packets, struct cl_err *e);
/* Takes out what these sources tried: their addresses may be others' from then on. */
int nft_blocked_forget(
	const char *table, const struct pol_addr *sources, size_t n, struct cl_err *e);
/* The same of a list that was read. */
void nft_blocked_drop(struct nft_blocked_list *l, const struct pol_addr *sources, size_t n);
/* When the last packet and the first one were refused; now: the time of reading (Unix ms). */
int64_t nft_blocked_last(const struct nft_blocked *r, int64_t now);
int64_t nft_blocked_first(const struct nft_blocked *r, int64_t now);

/*
 * What in other programs' tables stands between a sandbox and its uplink (DECISIONS E13).
 * The base chains at the forward hook of ip, ip6 and inet tables (iptables-nft's too) are
 * followed through jumps and verdict maps for a new connection out of a bridge of ours and
 * for its answers; conditions on interfaces and connection states are decided, others are
 * not. Added to `all`: a drop or reject that no other condition limits, or a policy drop
 * that is reached; to `some` (NULL: not wanted): one that further conditions limit. Texts as
 * "ip filter FORWARD (policy drop)", "inet firewalld filter_FORWARD (reject in filter_FWDI)".
 * Tables whose name starts with cloop_ are ours.
 */
int nft_foreign_drops(struct cl_strv *all, struct cl_strv *some, struct cl_err *e);
/*
 * The commands that let prepared networks through what nft_foreign_drops found, for the
 * remediation of a refusal: joined by "; ", appended to out. pool: the sandboxes' addresses.
 */
void nft_foreign_fix(const char *found, const char *pool, struct cl_buf *out);

#endif
