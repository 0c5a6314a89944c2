/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An installed table read back: what the kernel dumps, as policy/verify/verify.h has it. Nothing
 * is left out: an expression or a set that is not known here is kept as that, by name.
 */
#ifndef CL_SYS_NFT_DUMP_H
#define CL_SYS_NFT_DUMP_H

#include "policy/verify/verify.h"

/*
 * Reads the table of a family (NFPROTO_INET, NFPROTO_NETDEV); `there` is false when there is none. Two reads of which something
 * changed in between are made again: CL_EBUSY when that does not end. CL_EDENIED without
 * CAP_NET_ADMIN or when netlink is forbidden, CL_EUNAVAIL, CL_EOS. *out is VF_RULESET_INIT.
 */
int nft_dump_read(uint32_t family, const char *table, struct vf_ruleset *out, struct cl_err *e);
/* The two have the same chains with the same expressions; sets are not looked into. */
bool nft_dump_same(const struct vf_ruleset *a, const struct vf_ruleset *b);

struct nlmsghdr;
/*
 * One message of a dump (NFT_MSG_NEWTABLE, NEWCHAIN, NEWSET, NEWSETELEM, NEWRULE, in this
 * order) taken into the ruleset; what is about another table is ignored, and so is what
 * breaks off. vf_settle is called for the sets when all are in.
 */
void nft_decode(
	const struct nlmsghdr *h, uint32_t family, const char *table, struct vf_ruleset *out);
/* The expressions of a rule (nft_decode_expr.c): the attribute NFTA_RULE_EXPRESSIONS. */
struct nlattr;
void nft_decode_expressions(const struct nlattr *list, struct vf_rule *out);
/* NFTA_DATA_VERDICT as enum vf_verdict; false: one that is not known. chain: borrowed, or NULL. */
bool nft_decode_verdict(const struct nlattr *verdict, uint32_t *what, const char **chain);

/* The attribute of a nest behind `before` (NULL: the first); NULL: there is none. */
const struct nlattr *nft_attr_in(const struct nlattr *nest, const struct nlattr *before);
/* Attributes of a message (of at least a struct nfgenmsg), or of a nest, by type, 0 to n - 1; those that are not there are NULL. */
void nft_message(const struct nlmsghdr *h, const struct nlattr **tb, unsigned n);
void nft_attributes(const struct nlattr *nest, const struct nlattr **tb, unsigned n);
bool nft_attr_u32(const struct nlattr *a, uint32_t *out); /* of network order */
const char *nft_attr_text(const struct nlattr *a);        /* NULL: absent or no text */
/* NFTA_DATA_VALUE of a nest: bytes, or NULL. */
const uint8_t *nft_attr_value(const struct nlattr *nest, uint32_t *len);

#endif
