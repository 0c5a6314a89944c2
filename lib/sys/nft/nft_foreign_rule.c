/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "sys/nft/nft_foreign.h"
#include "sys/nft/nft_internal.h"

#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/xt_conntrack.h>
#include <stdlib.h>
#include <string.h>

#define REGS 24 /* NFT_REG32_15 and below */

/* What a register holds, as far as we can say something about it. */
enum content { UNKNOWN, IN_NAME, OUT_NAME, IN_INDEX, OUT_INDEX, CT_STATE, CT_MASKED };

struct judging {
	const struct fw *f;
	struct fw_chain *chain;
	enum content reg[REGS];
	uint32_t mask; /* of CT_MASKED */
	enum fw_match match[FW_FLOWS];
};

static enum fw_match both(enum fw_match a, enum fw_match b)
{
	return a < b ? a : b;
}

static enum fw_match opposite(enum fw_match m)
{
	return (enum fw_match)(FW_YES - m);
}

static enum fw_match yes_if(bool x)
{
	return x ? FW_YES : FW_NO;
}

/* Does the pattern, as long as it is, hold all names of our bridges, some or none? */
static enum fw_match our_bridge(const char *pattern, uint32_t len)
{
	static const char prefix[] = "csbx-";
	uint32_t n = len < sizeof(prefix) - 1 ? len : (uint32_t)sizeof(prefix) - 1;

	if (memcmp(pattern, prefix, n) != 0)
		return FW_NO;
	return len < sizeof(prefix) ? FW_YES : FW_MAYBE;
}

static enum fw_match an_uplink(const struct fw *f, enum content c, const void *data, uint32_t len)
{
	size_t hits = 0;

	if (!f->nuplinks)
		return FW_MAYBE;
	for (size_t i = 0; i < f->nuplinks; i++) {
		const struct net_link *l = &f->uplinks[i];

		if (c == IN_NAME || c == OUT_NAME)
			hits += len <= sizeof(l->name) && !memcmp(l->name, data, len);
		else
			hits += len == sizeof(l->index) && !memcmp(&l->index, data, len);
	}
	return hits == f->nuplinks ? FW_YES : hits ? FW_MAYBE : FW_NO;
}

static uint32_t state_of(int flow)
{
	return flow == FW_OUT ? NF_CT_STATE_BIT(IP_CT_NEW) : NF_CT_STATE_BIT(IP_CT_ESTABLISHED);
}

/* Is what the register holds equal to the data, for a packet of this flow? */
static enum fw_match equals(
	const struct judging *j, enum content c, int flow, const void *data, uint32_t len)
{
	bool to_bridge = (flow == FW_BACK) == (c == OUT_NAME || c == OUT_INDEX);
	uint32_t bits = 0;

	if (c == UNKNOWN || !data || !len)
		return FW_MAYBE;
	if (c == CT_STATE || c == CT_MASKED) {
		memcpy(&bits, data, len < sizeof(bits) ? len : sizeof(bits));
		return yes_if(bits == (state_of(flow) & (c == CT_MASKED ? j->mask : ~0U)));
	}
	if (!to_bridge)
		return an_uplink(j->f, c, data, len);
	/* No rule knows the index of a bridge that is still to be made. */
	return c == IN_INDEX || c == OUT_INDEX ? FW_NO : our_bridge(data, len);
}

static void narrow(struct judging *j, int flow, enum fw_match m)
{
	j->match[flow] = both(j->match[flow], m);
}

static void narrow_all(struct judging *j, enum fw_match m)
{
	for (int flow = 0; flow < FW_FLOWS; flow++)
		narrow(j, flow, m);
}

static enum content *reg(struct judging *j, const struct nftnl_expr *x, uint16_t attr)
{
	uint32_t r = nftnl_expr_get_u32(x, attr);

	/* The four registers of 16 bytes are the sixteen of 4 under other numbers. */
	if (r >= NFT_REG_1 && r <= NFT_REG_4)
		r = NFT_REG32_00 + (r - NFT_REG_1) * 4;
	return &j->reg[r < REGS ? r : 0];
}

static void do_meta(struct judging *j, const struct nftnl_expr *x)
{
	static const struct {
		uint32_t key;
		enum content content;
	} known[] = {
		{NFT_META_IIFNAME, IN_NAME},
		{NFT_META_OIFNAME, OUT_NAME},
		{NFT_META_IIF, IN_INDEX},
		{NFT_META_OIF, OUT_INDEX},
	};
	enum content *to;

	if (!nftnl_expr_is_set(x, NFTNL_EXPR_META_DREG))
		return;
	to = reg(j, x, NFTNL_EXPR_META_DREG);
	*to = UNKNOWN;
	for (size_t i = 0; i < CL_ARRAY_LEN(known); i++)
		if (known[i].key == nftnl_expr_get_u32(x, NFTNL_EXPR_META_KEY))
			*to = known[i].content;
}

static void do_ct(struct judging *j, const struct nftnl_expr *x)
{
	if (nftnl_expr_is_set(x, NFTNL_EXPR_CT_DREG))
		*reg(j, x, NFTNL_EXPR_CT_DREG) =
			nftnl_expr_get_u32(x, NFTNL_EXPR_CT_KEY) == NFT_CT_STATE ? CT_STATE
										 : UNKNOWN;
}

static void do_bitwise(struct judging *j, const struct nftnl_expr *x)
{
	enum content from = *reg(j, x, NFTNL_EXPR_BITWISE_SREG);
	uint32_t len = 0;
	const void *mask = nftnl_expr_get(x, NFTNL_EXPR_BITWISE_MASK, &len);
	enum content *to = reg(j, x, NFTNL_EXPR_BITWISE_DREG);

	*to = UNKNOWN;
	if (from == CT_STATE && mask && len == sizeof(j->mask)) {
		memcpy(&j->mask, mask, len);
		*to = CT_MASKED;
	}
}

static void do_cmp(struct judging *j, const struct nftnl_expr *x)
{
	enum content c = *reg(j, x, NFTNL_EXPR_CMP_SREG);
	uint32_t op = nftnl_expr_get_u32(x, NFTNL_EXPR_CMP_OP), len = 0;
	const void *data = nftnl_expr_get(x, NFTNL_EXPR_CMP_DATA, &len);

	for (int flow = 0; flow < FW_FLOWS; flow++) {
		enum fw_match m = equals(j, c, flow, data, len);

		if (op == NFT_CMP_NEQ)
			m = opposite(m);
		else if (op != NFT_CMP_EQ)
			m = FW_MAYBE;
		narrow(j, flow, m);
	}
}

static void outcome(
	struct judging *j, const enum fw_match match[FW_FLOWS], enum fw_do what, const char *chain)
{
	struct fw_chain *c = j->chain;

	c->v = cl_grow(c->v, &c->cap, c->n + 1, sizeof(*c->v));
	c->v[c->n] = (struct fw_outcome){.what = what, .chain = chain ? cl_strdup(chain) : NULL};
	memcpy(c->v[c->n++].match, match, sizeof(c->v[0].match));
}

static void do_lookup(struct judging *j, const struct nftnl_expr *x)
{
	enum content c = *reg(j, x, NFTNL_EXPR_LOOKUP_SREG);
	const struct fw_map *m = fw_map_named(j->f, j->chain->family, j->chain->table,
		nftnl_expr_get_str(x, NFTNL_EXPR_LOOKUP_SET));

	if (!nftnl_expr_is_set(x, NFTNL_EXPR_LOOKUP_DREG) || !m) {
		narrow_all(j, FW_MAYBE);
		return;
	}
	for (size_t i = 0; i < m->n; i++) {
		const struct fw_element *el = &m->v[i];
		enum fw_match match[FW_FLOWS];

		for (int flow = 0; flow < FW_FLOWS; flow++)
			match[flow] = both(j->match[flow], equals(j, c, flow, el->key, el->len));
		outcome(j, match, el->what, el->chain);
	}
}

static void do_immediate(struct judging *j, const struct nftnl_expr *x)
{
	const char *chain = NULL;

	if (!nftnl_expr_is_set(x, NFTNL_EXPR_IMM_VERDICT))
		return;
	if (nftnl_expr_is_set(x, NFTNL_EXPR_IMM_CHAIN))
		chain = nftnl_expr_get_str(x, NFTNL_EXPR_IMM_CHAIN);
	switch ((int)nftnl_expr_get_u32(x, NFTNL_EXPR_IMM_VERDICT)) {
	case NF_DROP:
		outcome(j, j->match, FW_DROP, NULL);
		break;
	case NFT_RETURN:
		outcome(j, j->match, FW_RETURN, NULL);
		break;
	case NFT_JUMP:
		outcome(j, j->match, FW_JUMP, chain);
		break;
	case NFT_GOTO:
		outcome(j, j->match, FW_GOTO, chain);
		break;
	case NFT_CONTINUE:
		break;
	default:
		outcome(j, j->match, FW_ACCEPT, NULL);
		break;
	}
}

/* iptables-nft: matches and targets of x_tables, by name. */
static void do_match(struct judging *j, const struct nftnl_expr *x)
{
	const char *name = nftnl_expr_get_str(x, NFTNL_EXPR_MT_NAME);
	uint32_t len = 0;
	const struct xt_conntrack_mtinfo3 *ct = nftnl_expr_get(x, NFTNL_EXPR_MT_INFO, &len);

	if (!strcmp(name, "comment"))
		return;
	if (strcmp(name, "conntrack") != 0 || len < sizeof(*ct) ||
		ct->match_flags != XT_CONNTRACK_STATE || ct->invert_flags & XT_CONNTRACK_STATE) {
		narrow_all(j, FW_MAYBE);
		return;
	}
	narrow(j, FW_OUT, yes_if(ct->state_mask & XT_CONNTRACK_STATE_BIT(IP_CT_NEW)));
	narrow(j, FW_BACK, yes_if(ct->state_mask & XT_CONNTRACK_STATE_BIT(IP_CT_ESTABLISHED)));
}

static void do_target(struct judging *j, const struct nftnl_expr *x)
{
	if (!strcmp(nftnl_expr_get_str(x, NFTNL_EXPR_TG_NAME), "REJECT"))
		outcome(j, j->match, FW_REJECT, NULL);
}

static void do_reject(struct judging *j, const struct nftnl_expr *x)
{
	(void)x;
	outcome(j, j->match, FW_REJECT, NULL);
}

static void do_nothing(struct judging *j, const struct nftnl_expr *x)
{
	(void)j;
	(void)x;
}

static void do_payload(struct judging *j, const struct nftnl_expr *x)
{
	if (nftnl_expr_is_set(x, NFTNL_EXPR_PAYLOAD_DREG))
		*reg(j, x, NFTNL_EXPR_PAYLOAD_DREG) = UNKNOWN;
}

static const struct {
	const char *name;
	void (*judge)(struct judging *j, const struct nftnl_expr *x);
} expressions[] = {
	{"meta", do_meta},
	{"ct", do_ct},
	{"bitwise", do_bitwise},
	{"payload", do_payload},
	{"cmp", do_cmp},
	{"lookup", do_lookup},
	{"immediate", do_immediate},
	{"reject", do_reject},
	{"match", do_match},
	{"target", do_target},
	{"counter", do_nothing},
	{"log", do_nothing},
	{"notrack", do_nothing},
	{"flow_offload", do_nothing},
};

static int on_expr(struct nftnl_expr *x, void *data)
{
	struct judging *j = data;
	const char *name = nftnl_expr_get_str(x, NFTNL_EXPR_NAME);

	for (size_t i = 0; i < CL_ARRAY_LEN(expressions); i++) {
		if (!strcmp(expressions[i].name, name)) {
			expressions[i].judge(j, x);
			return 0;
		}
	}
	/* What it does to registers we cannot say, nor whether the rule goes on. */
	memset(j->reg, 0, sizeof(j->reg));
	narrow_all(j, FW_MAYBE);
	return 0;
}

void fw_judge(const struct fw *f, struct fw_chain *c, const struct nftnl_rule *rule)
{
	struct judging j = {.f = f, .chain = c, .match = {FW_YES, FW_YES}};

	(void)nftnl_expr_foreach((struct nftnl_rule *)(uintptr_t)rule, on_expr, &j);
}
