/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the files of the packet filter build one transaction of nf_tables messages: a
 * batch is bytes in order, so what is referred to is added first. Building cannot fail;
 * the kernel judges the whole at once when it is sent.
 */
#ifndef CL_SYS_NFT_INTERNAL_H
#define CL_SYS_NFT_INTERNAL_H

#include "policy/egress/egress_lookup.h"
#include "sys/nft/nft.h"
#include "sys/net/nl.h"

/* Before linux/netfilter.h, which would define its own. */
#include <netinet/in.h>

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

struct nft_label {
	const char *table, *kind, *name; /* borrowed for the life of the batch */
};

struct nft_batch {
	struct cl_buf buf;
	uint32_t family;   /* of what is added now: NFPROTO_INET, NFPROTO_NETDEV */
	const char *table; /* in which it is added */
	uint32_t seq, sets;
	struct nft_label *labels; /* what message seq - 1 is about, for errors */
	size_t labels_cap;
	struct cl_strv names; /* that labels borrow and nobody else keeps */
};

void nft_batch_begin(struct nft_batch *b);
/* What follows is about this table; a batch may be about several. */
void nft_batch_table(struct nft_batch *b, uint32_t family, const char *table);
void nft_batch_release(struct nft_batch *b);
#define cleanup_batch __attribute__((cleanup(nft_batch_release)))

/* The text as long as the batch lives: names are borrowed for errors. */
const char *nft_batch_keep(struct nft_batch *b, const char *text);

/* Ends the batch and has the kernel take all of it or nothing. CL_EDENIED, CL_EUNAVAIL, CL_EOS. */
int nft_batch_send(struct nft_batch *b, struct cl_err *e);
/* As nft_batch_send, and the kernel forgets it again: is there everything that it needs? */
int nft_batch_try(struct nft_batch *b, struct cl_err *e);

/* A message of the caller's: starts one of NFT_MSG_*, to be filled in place, and ends it. */
struct nlmsghdr *nft_batch_open(
	struct nft_batch *b, uint16_t type, uint16_t flags, const char *kind, const char *name);
void nft_batch_close(struct nft_batch *b, const struct nlmsghdr *h);

void nft_add_table(struct nft_batch *b);
void nft_del_table(struct nft_batch *b);
/* The table as new, whether it is there or not: add, so that it can be deleted, and add. */
void nft_replace_table(struct nft_batch *b);
/* Without the table, whether it is there or not. */
void nft_remove_table(struct nft_batch *b);

/* A base chain with `type`, else a regular one. dev: for the ingress hook. */
struct nft_hook {
	const char *type; /* "filter", "nat" */
	uint32_t hook;
	int32_t priority;
	const char *dev;
};
void nft_add_chain(struct nft_batch *b, const char *name, const struct nft_hook *hook);

struct nftnl_set;

/* Sets. Key types are nft(8)'s, so that it can list them. */
enum {
	NFT_KEY_IPV4 = 7,
	NFT_KEY_IPV6 = 8,
	NFT_KEY_PROTO = 12,
	NFT_KEY_SERVICE = 13,
	NFT_KEY_ICMPV6 = 29,
	NFT_KEY_IFNAME = 41,
};
struct nft_set {
	const char *name; /* NULL: anonymous and constant */
	uint32_t flags, key_type, key_len;
	uint32_t size;
	uint64_t timeout_ms;
	bool verdicts; /* a map to verdicts */
	/* NFT_SET_INTERVAL: keys 0, 2, ... (0) or 1, 3, ... (1) are ends of intervals. */
	unsigned ends;
};
/* Adds the set and returns its id in this batch. */
uint32_t nft_add_set(struct nft_batch *b, const struct nft_set *s);
/* Adds n keys of the set's length each. */
void nft_add_keys(
	struct nft_batch *b, const struct nft_set *s, uint32_t id, const void *keys, size_t n);
/* The libnftnl form, to be filled with elements, and what adds those; it is freed. */
struct nftnl_set *nft_set_new(const struct nft_batch *b, const struct nft_set *s, uint32_t id);
void nft_add_elements(struct nft_batch *b, struct nftnl_set *take_set);
/* Takes these out of a set that is there; one that is not in it fails the batch. */
void nft_del_elements(struct nft_batch *b, struct nftnl_set *take_set);

/* One rule being built; nft_rule_end adds it. What is loaded is remembered as nft(8) does. */
struct nft_rule {
	struct nft_batch *b;
	struct nftnl_rule *r;
	const char *chain;
	uint8_t nfproto; /* already compared, 0: not yet */
};
struct nft_rule nft_rule_begin(struct nft_batch *b, const char *chain);
void nft_rule_end(struct nft_rule *r, const char *comment);
/* The same, in front of the chain. */
void nft_rule_end_first(struct nft_rule *r, const char *comment);

void nft_meta(struct nft_rule *r, uint32_t key, uint32_t reg);
void nft_payload(struct nft_rule *r, uint32_t base, uint32_t offset, uint32_t len, uint32_t reg);
/* Register 1 without the bits that are not in the mask. */
void nft_mask(struct nft_rule *r, const void *mask, uint32_t len);
void nft_cmp(struct nft_rule *r, uint32_t op, const void *data, uint32_t len);
/* Compares an interface name as a whole. key: NFT_META_IIFNAME or OIFNAME. */
void nft_ifname(struct nft_rule *r, uint32_t key, uint32_t op, const char *name);
void nft_nfproto(struct nft_rule *r, uint8_t family); /* 4 or 6; once a rule */
void nft_l4proto(struct nft_rule *r, uint8_t proto);
/* Source or destination inside (NFT_CMP_EQ) or outside (NFT_CMP_NEQ) a prefix of len > 0. */
void nft_address(struct nft_rule *r, bool source, uint32_t op, const struct pol_prefix *p);
/* Looks the key in register 1 up in a new anonymous set of n keys. */
void nft_in(
	struct nft_rule *r, bool invert, uint32_t type, uint32_t len, const void *keys, size_t n);
/* Looks the key in register 1 up in a set or map that is there or in this batch. */
enum nft_lookup { NFT_LOOKUP_IN, NFT_LOOKUP_NOT_IN, NFT_LOOKUP_VERDICT };
void nft_look_up(struct nft_rule *r, const char *set, uint32_t id, enum nft_lookup how);
/* Register 1 is between two values, both included. */
void nft_between(struct nft_rule *r, const void *lo, const void *hi, uint32_t len);
/* The destination port is in one of n ranges; n > 0. The protocol is compared already. */
void nft_dport(struct nft_rule *r, const struct flat_ports *p, size_t n);
void nft_ct_state(struct nft_rule *r, uint32_t bits);
void nft_counter(struct nft_rule *r);
/* One that goes on from what another has counted; _new: for an element of a set. */
void nft_counter_from(struct nft_rule *r, uint64_t packets, uint64_t bytes);
struct nftnl_expr *nft_counter_new(uint64_t packets, uint64_t bytes);
/* NF_ACCEPT, NF_DROP, NFT_RETURN, NFT_GOTO (with chain). */
void nft_verdict(struct nft_rule *r, int verdict, const char *chain);
void nft_reject(struct nft_rule *r, uint32_t type, uint8_t code);
void nft_masquerade(struct nft_rule *r);

/* What the kernel sends (nft_wire.c): any bytes that are a whole message. */
struct nft_wire_element {
	const uint8_t *key;
	uint32_t len;
	uint64_t expiration;     /* milliseconds; 0: none */
	uint64_t packets, bytes; /* of its counters */
};
typedef void (*nft_wire_fn)(const struct nft_wire_element *el, void *arg);
void nft_wire_elements(const struct nlmsghdr *h, nft_wire_fn fn, void *arg);

#define NFT_COMMENT 129
struct nft_wire_rule {
	uint64_t handle;
	char comment[NFT_COMMENT]; /* "": none */
	uint64_t packets;          /* of its counters */
};
void nft_wire_rule(const struct nlmsghdr *h, struct nft_wire_rule *out);

/* Asks for the rules of one chain of an inet table. */
struct nlmsghdr *nft_ask_rules(char room[SYS_NL_SIZE], const char *table, const char *chain);
/* Takes x. */
void nft_expr(struct nft_rule *r, struct nftnl_expr *take_expr);
/* libnftnl's own failure is out of memory only. */
struct nftnl_expr *nft_expr_new(const char *name);

/*
 * A filter or a port as a whole, its table replaced. Names are checked, and what is recorded
 * as blocked is carried over.
 */
int nft_put_filter(struct nft_batch *b, const struct nft_filter *f, const struct eg_policy *p,
	struct cl_err *e);
int nft_put_port(struct nft_batch *b, const struct nft_port *p, struct cl_err *e);

/*
 * The parts of a ruleset with maps (egress_maps.h, egress_lookup.h), in the order in which a batch needs
 * them: chains, maps with their elements, the rules that look up, and those of the chains.
 */
struct nft_map_ids {
	uint32_t of[FLAT_FAMILIES][EG_LENGTHS]; /* of a map of intervals: the first */
};
void nft_add_map_chains(struct nft_batch *b, const struct eg_part *part, const struct flat *flat,
	const struct eg_maps *m);
void nft_add_maps(struct nft_batch *b, const struct eg_part *part, const struct flat *flat,
	const struct eg_maps *m, struct nft_map_ids *ids);
void nft_map_rules(struct nft_batch *b, const struct eg_part *part, const struct flat *flat,
	const struct eg_maps *m, const struct nft_map_ids *ids);
void nft_map_chain_rules(struct nft_batch *b, const struct eg_part *part, const char *bridge,
	const struct flat *flat, const struct eg_maps *m, const struct nft_map_ids *ids);
/* The last rule of a chain that lets through: what else came from the bridge is denied. */
void nft_deny_rule(
	struct nft_batch *b, const struct eg_part *part, const char *chain, const char *bridge);
/* What stands for all of that where there are no maps. */
void nft_linear_rules(struct nft_batch *b, const struct eg_part *part, const struct flat *flat);

/* The sets, chains and rules of a filter, into a batch whose table is already there. */
void nft_build_filter(struct nft_batch *b, const struct nft_filter *f, const struct eg_policy *p,
	const struct nft_blocked_list *kept);
/* The ingress chain of a port, into a netdev batch whose table is already there. */
void nft_build_port(struct nft_batch *b, const struct nft_port *p);
/* The four sets that record, filled with what is kept; their ids. */
struct nft_blocked_ids {
	uint32_t blocked4, blocked6, since4, since6;
};
struct nft_blocked_ids nft_add_blocked(struct nft_batch *b, const struct nft_blocked_list *kept);

/*
 * Callbacks of sys_nl_ask for what the kernel answers: elements of a set that records, and
 * rules of the chain that does. Both take any bytes that are a whole message.
 */
struct nft_blocked_reading {
	uint8_t family; /* of the set */
	const struct pol_addr *sources;
	size_t nsources; /* 0: everybody */
	struct nft_blocked_list *out;
};
int nft_blocked_elements(const struct nlmsghdr *h, void *reading);
int nft_blocked_rule(const struct nlmsghdr *h, void *reading);

#endif
