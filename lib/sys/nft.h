/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's packet filter, through libnftnl and libmnl: one atomic batch an
 * operation, no child process that holds CAP_NET_ADMIN. Needs CAP_NET_ADMIN in the
 * network namespace of the calling thread.
 */
#ifndef CL_SYS_NFT_H
#define CL_SYS_NFT_H

#include "policy/egress.h"

/* What one ruleset is for. */
struct nft_filter {
	const char *table;  /* "cloop_sbx_..." */
	const char *bridge; /* the sandbox's own bridge or veth on the host */
	/* The only addresses the sandbox may send from and receive on; family 0: none. */
	struct pol_addr source4, source6;
	bool masquerade;    /* add a NAT chain for source4/6 (prepared namespaces) */
	const char *uplink; /* masquerade only out of other interfaces than the bridge; NULL ok */
};

/* What stands between a batch and success, told apart for preflight. */
enum nft_state { NFT_USABLE, NFT_NO_KERNEL, NFT_NO_PERMISSION, NFT_BROKEN };
enum nft_state nft_probe(struct cl_err *e);

/* Replaces (or makes) the table so that it enforces p on the bridge; idempotent, atomic. */
int nft_apply(const struct nft_filter *f, const struct eg_policy *p, struct cl_err *e);
/* Removes the table; an absent one is success. */
int nft_remove(const char *table, struct cl_err *e);
/* Names of inet tables that start with prefix. */
int nft_tables(const char *prefix, struct cl_strv *out, struct cl_err *e);
/*
 * Chains of other tables at the forward hook that drop or reject, or whose policy is
 * drop (DECISIONS E13): "ip filter FORWARD (policy drop)" each.
 */
int nft_foreign_drops(struct cl_strv *out, struct cl_err *e);

#endif
