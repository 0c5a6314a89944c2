/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions of a rule as a dump has them. */
#include "base/mem.h"
#include "sys/nft/nft_dump.h"
#include "sys/nft/nft_internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define ATTRS 16

/* The tables below name attributes of one expression each. */
typedef bool decode_fn(const struct nlattr **tb, struct vf_rule *out);

/* Registers in words behind that of the verdict; false for one that does not exist. */
static bool reg(const struct nlattr *a, uint8_t *out)
{
	uint32_t n;

	if (!nft_attr_u32(a, &n))
		return false;
	if (n >= NFT_REG_1 && n <= NFT_REG_4)
		*out = (uint8_t)((n - NFT_REG_1) * 4);
	else if (n >= NFT_REG32_00 && n <= NFT_REG32_15)
		*out = (uint8_t)(n - NFT_REG32_00);
	else
		return false;
	return true;
}

static bool is_verdict(const struct nlattr *a)
{
	uint32_t n;

	return nft_attr_u32(a, &n) && n == NFT_REG_VERDICT;
}

static bool load(struct vf_rule *out, const struct nlattr *dreg, enum vf_field field,
	uint32_t offset, uint32_t len)
{
	struct vf_op *op;
	uint8_t to;

	if (!reg(dreg, &to))
		return false;
	op = vf_add_op(out, VF_LOAD);
	op->field = field;
	op->offset = offset;
	op->len = len;
	op->to = to;
	return true;
}

/* As long as anything that one expression loads. */
static bool load_opaque(struct vf_rule *out, const struct nlattr *dreg)
{
	return load(out, dreg, VF_OPAQUE, 0, 16);
}

static bool nothing(const struct nlattr **tb, struct vf_rule *out)
{
	(void)tb;
	(void)vf_add_op(out, VF_NOTHING);
	return true;
}

static bool maybe(const struct nlattr **tb, struct vf_rule *out)
{
	(void)tb;
	(void)vf_add_op(out, VF_MAYBE);
	return true;
}

static bool meta(const struct nlattr **tb, struct vf_rule *out)
{
	static const struct {
		uint32_t key;
		enum vf_field field;
		uint32_t len;
	} known[] = {
		{NFT_META_IIFNAME, VF_IIF, 16},
		{NFT_META_OIFNAME, VF_OIF, 16},
		{NFT_META_NFPROTO, VF_FAMILY, 1},
		{NFT_META_L4PROTO, VF_PROTO, 1},
		{NFT_META_PROTOCOL, VF_ETHERTYPE, 2},
	};
	uint32_t key;

	if (!nft_attr_u32(tb[NFTA_META_KEY], &key))
		return false;
	if (tb[NFTA_META_SREG])
		return (key == NFT_META_MARK || key == NFT_META_PRIORITY ||
			       key == NFT_META_NFTRACE) &&
		       nothing(tb, out);
	for (size_t i = 0; i < CL_ARRAY_LEN(known); i++)
		if (known[i].key == key)
			return load(out, tb[NFTA_META_DREG], known[i].field, 0, known[i].len);
	return load_opaque(out, tb[NFTA_META_DREG]);
}

static bool payload(const struct nlattr **tb, struct vf_rule *out)
{
	uint32_t base, offset, len;

	if (tb[NFTA_PAYLOAD_SREG] || !nft_attr_u32(tb[NFTA_PAYLOAD_BASE], &base) ||
		!nft_attr_u32(tb[NFTA_PAYLOAD_OFFSET], &offset) ||
		!nft_attr_u32(tb[NFTA_PAYLOAD_LEN], &len) || !len || len > 16)
		return false;
	return load(out, tb[NFTA_PAYLOAD_DREG],
		base == NFT_PAYLOAD_NETWORK_HEADER     ? VF_NETWORK
		: base == NFT_PAYLOAD_TRANSPORT_HEADER ? VF_TRANSPORT
						       : VF_OPAQUE,
		offset, len);
}

static bool ct(const struct nlattr **tb, struct vf_rule *out)
{
	uint32_t key;

	if (!nft_attr_u32(tb[NFTA_CT_KEY], &key))
		return false;
	if (tb[NFTA_CT_SREG])
		return key == NFT_CT_MARK && nothing(tb, out);
	if (key == NFT_CT_STATE)
		return load(out, tb[NFTA_CT_DREG], VF_STATE, 0, 4);
	return load_opaque(out, tb[NFTA_CT_DREG]);
}

static bool take(const struct nlattr *nest, uint8_t to[16], uint32_t *len)
{
	const uint8_t *v = nft_attr_value(nest, len);

	if (!v || !*len)
		return false;
	memcpy(to, v, *len < 16 ? *len : 16);
	return true;
}

static bool bitwise(const struct nlattr **tb, struct vf_rule *out)
{
	uint32_t len, mask_len = 0, xor_len = 0, how = NFT_BITWISE_BOOL;
	uint8_t mask[16], xor[16], from, to;
	struct vf_op *op;

	if (!reg(tb[NFTA_BITWISE_SREG], &from) || !reg(tb[NFTA_BITWISE_DREG], &to) ||
		!nft_attr_u32(tb[NFTA_BITWISE_LEN], &len))
		return false;
	(void)nft_attr_u32(tb[NFTA_BITWISE_OP], &how);
	if (how != NFT_BITWISE_BOOL || len > 16 || !take(tb[NFTA_BITWISE_MASK], mask, &mask_len) ||
		!take(tb[NFTA_BITWISE_XOR], xor, &xor_len) || mask_len != len || xor_len != len)
		return load_opaque(out, tb[NFTA_BITWISE_DREG]);
	op = vf_add_op(out, VF_BITWISE);
	op->from = from;
	op->to = to;
	op->len = len;
	memcpy(op->a, mask, len);
	memcpy(op->b, xor, len);
	return true;
}

static bool byteorder(const struct nlattr **tb, struct vf_rule *out)
{
	return load_opaque(out, tb[NFTA_BYTEORDER_DREG]);
}

static bool cmp(const struct nlattr **tb, struct vf_rule *out)
{
	uint32_t what, len = 0;
	uint8_t from, data[16] = {0};
	struct vf_op *op;

	if (!reg(tb[NFTA_CMP_SREG], &from) || !nft_attr_u32(tb[NFTA_CMP_OP], &what) ||
		what > NFT_CMP_GTE || !take(tb[NFTA_CMP_DATA], data, &len))
		return false;
	op = vf_add_op(out, VF_CMP);
	op->from = from;
	op->what = what;
	op->len = len;
	memcpy(op->a, data, sizeof(data));
	return true;
}

static bool range(const struct nlattr **tb, struct vf_rule *out)
{
	uint32_t what, len = 0, len_to = 0;
	uint8_t from, lo[16] = {0}, hi[16] = {0};
	struct vf_op *op;

	if (!reg(tb[NFTA_RANGE_SREG], &from) || !nft_attr_u32(tb[NFTA_RANGE_OP], &what) ||
		what > NFT_RANGE_NEQ || !take(tb[NFTA_RANGE_FROM_DATA], lo, &len) ||
		!take(tb[NFTA_RANGE_TO_DATA], hi, &len_to) || len != len_to)
		return false;
	op = vf_add_op(out, VF_RANGE);
	op->from = from;
	op->invert = what == NFT_RANGE_NEQ;
	op->len = len;
	memcpy(op->a, lo, sizeof(lo));
	memcpy(op->b, hi, sizeof(hi));
	return true;
}

static bool lookup(const struct nlattr **tb, struct vf_rule *out)
{
	const char *set = nft_attr_text(tb[NFTA_LOOKUP_SET]);
	uint32_t flags = 0;
	struct vf_op *op;
	uint8_t from;

	if (!set || !reg(tb[NFTA_LOOKUP_SREG], &from))
		return false;
	(void)nft_attr_u32(tb[NFTA_LOOKUP_FLAGS], &flags);
	if (tb[NFTA_LOOKUP_DREG] && !is_verdict(tb[NFTA_LOOKUP_DREG]))
		return maybe(tb, out) && load_opaque(out, tb[NFTA_LOOKUP_DREG]);
	op = vf_add_op(out, VF_LOOKUP);
	op->from = from;
	op->invert = flags & NFT_LOOKUP_F_INV;
	op->verdict = tb[NFTA_LOOKUP_DREG] != NULL;
	op->name = cl_strdup(set);
	return true;
}

bool nft_decode_verdict(const struct nlattr *verdict, uint32_t *what, const char **chain)
{
	const struct nlattr *tb[ATTRS];
	uint32_t code;

	nft_attributes(verdict, tb, ATTRS);
	*chain = nft_attr_text(tb[NFTA_VERDICT_CHAIN]);
	if (!nft_attr_u32(tb[NFTA_VERDICT_CODE], &code))
		return false;
	switch ((int32_t)code) {
	case NFT_CONTINUE:
	case NFT_BREAK:
		*what = VF_CONTINUE;
		return true;
	case NFT_JUMP:
		*what = VF_JUMP;
		return true;
	case NFT_GOTO:
		*what = VF_GOTO;
		return true;
	case NFT_RETURN:
		*what = VF_RETURN;
		return true;
	default:
		*what = (code & NF_VERDICT_MASK) == NF_DROP ? VF_DROP : VF_ACCEPT;
		return (code & NF_VERDICT_MASK) == NF_DROP || code == NF_ACCEPT;
	}
}

static bool immediate(const struct nlattr **tb, struct vf_rule *out)
{
	const struct nlattr *data[ATTRS];
	const char *chain = NULL;
	struct vf_op *op;
	uint32_t what;

	if (!is_verdict(tb[NFTA_IMMEDIATE_DREG]))
		return load(out, tb[NFTA_IMMEDIATE_DREG], VF_DATA, 0, 16);
	nft_attributes(tb[NFTA_IMMEDIATE_DATA], data, ATTRS);
	if (!nft_decode_verdict(data[NFTA_DATA_VERDICT], &what, &chain))
		return false;
	op = vf_add_op(out, VF_VERDICT);
	op->what = what;
	op->name = chain ? cl_strdup(chain) : NULL;
	return true;
}

#define ICMP_ADMIN_PROHIBITED 13 /* RFC 1812 */

static bool reject(const struct nlattr **tb, struct vf_rule *out)
{
	const struct nlattr *code = tb[NFTA_REJECT_ICMP_CODE];
	uint8_t n = code && mnl_attr_get_payload_len(code) ? mnl_attr_get_u8(code) : 0;
	uint32_t type;

	if (!nft_attr_u32(tb[NFTA_REJECT_TYPE], &type))
		return false;
	vf_add_op(out, VF_VERDICT)->what =
		type == NFT_REJECT_TCP_RST ? VF_RESET
		: (type == NFT_REJECT_ICMPX_UNREACH && n == NFT_REJECT_ICMPX_ADMIN_PROHIBITED) ||
				(type == NFT_REJECT_ICMP_UNREACH && n == ICMP_ADMIN_PROHIBITED)
			? VF_PROHIBITED
			: VF_REFUSED;
	return true;
}

static bool masquerade(const struct nlattr **tb, struct vf_rule *out)
{
	(void)tb;
	vf_add_op(out, VF_VERDICT)->what = VF_MASQUERADE;
	return true;
}

/*
 * What is not here ends in "cannot be judged": nat, redir, tproxy, queue, fwd, dup,
 * flow_offload, synproxy, notrack, fib, rt, socket, objref, those of x_tables ...
 */
static const struct {
	const char *name;
	decode_fn *decode;
} expressions[] = {
	{"meta", meta},
	{"payload", payload},
	{"ct", ct},
	{"bitwise", bitwise},
	{"byteorder", byteorder},
	{"cmp", cmp},
	{"range", range},
	{"lookup", lookup},
	{"immediate", immediate},
	{"reject", reject},
	{"masq", masquerade},
	{"counter", nothing},
	{"log", nothing},
	{"last", nothing},
	{"limit", maybe},
	{"quota", maybe},
	{"connlimit", maybe},
	/* A full set ends the rule. */
	{"dynset", maybe},
};

static void expression(const struct nlattr *a, struct vf_rule *out)
{
	const struct nlattr *tb[ATTRS], *data[ATTRS];
	const char *name;
	size_t before = out->n;

	nft_attributes(a, tb, ATTRS);
	name = nft_attr_text(tb[NFTA_EXPR_NAME]);
	nft_attributes(tb[NFTA_EXPR_DATA], data, ATTRS);
	for (size_t i = 0; name && i < CL_ARRAY_LEN(expressions); i++)
		if (!strcmp(expressions[i].name, name) && expressions[i].decode(data, out))
			return;
	while (out->n > before)
		free(out->v[--out->n].name);
	vf_add_op(out, VF_UNKNOWN)->name = cl_strdup(name ? name : "what has no name");
}

void nft_decode_expressions(const struct nlattr *list, struct vf_rule *out)
{
	for (const struct nlattr *a = list ? nft_attr_in(list, NULL) : NULL; a;
		a = nft_attr_in(list, a))
		expression(a, out);
}
