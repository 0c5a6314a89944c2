/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Other programs' forward chains, reduced to what they may do with a sandbox's packets.
 * Each rule is judged for two packets: the first of a connection, from a bridge of ours to
 * an uplink, and the answer. A condition that cannot be decided is "maybe".
 */
#ifndef CL_SYS_NFT_FOREIGN_H
#define CL_SYS_NFT_FOREIGN_H

#include "sys/net/net_internal.h"

#include <stdbool.h>
#include <stdint.h>

enum { FW_OUT, FW_BACK, FW_FLOWS };
enum fw_match { FW_NO, FW_MAYBE, FW_YES };
enum fw_do { FW_DROP, FW_REJECT, FW_ACCEPT, FW_RETURN, FW_JUMP, FW_GOTO };

struct fw_outcome {
	enum fw_match match[FW_FLOWS];
	enum fw_do what;
	char *chain; /* to go to */
};

struct fw_chain {
	uint32_t family;
	char *table, *name;
	bool base;        /* at the forward hook */
	bool policy_drop; /* of a base chain */
	struct fw_outcome *v;
	size_t n, cap;
	/* Walked already (by flow, and by whether it is reached for certain), and its answer. */
	bool walked[FW_FLOWS][2], falls[FW_FLOWS][2];
};

/* A verdict map: what its elements do, by their keys. */
struct fw_element {
	uint8_t key[64];
	uint32_t len;
	enum fw_do what;
	char *chain;
};
struct fw_map {
	uint32_t family;
	char *table, *name;
	struct fw_element *v;
	size_t n, cap;
};

struct fw {
	struct fw_chain *chains;
	size_t nchains, chains_cap;
	struct fw_map *maps;
	size_t nmaps, maps_cap;
	struct net_link *uplinks; /* with a default route; none: not known */
	size_t nuplinks, uplinks_cap;
};
void fw_release(struct fw *f);
#define cleanup_fw __attribute__((cleanup(fw_release)))

/* Reads the tables of ip, ip6 and inet but ours, and the uplinks. *f is zero before. */
int fw_read(struct fw *f, struct cl_err *e);
struct fw_chain *fw_chain_named(
	const struct fw *f, uint32_t family, const char *table, const char *name);
const struct fw_map *fw_map_named(
	const struct fw *f, uint32_t family, const char *table, const char *name);

struct nftnl_rule;
/* Adds what the rule may do to its chain (nft_foreign_rule.c). */
void fw_judge(const struct fw *f, struct fw_chain *c, const struct nftnl_rule *rule);

#endif
