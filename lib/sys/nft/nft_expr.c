/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions of a rule, in the order and form in which nft(8) writes them. */
#include "base/mem.h"
#include "sys/nft/nft_internal.h"

#include <arpa/inet.h>
#include <libnftnl/common.h>
#include <libnftnl/udata.h>
#include <linux/if.h>
#include <stdlib.h>
#include <string.h>

struct nftnl_expr *nft_expr_new(const char *name)
{
	struct nftnl_expr *x = nftnl_expr_alloc(name);

	if (!x)
		abort();
	return x;
}

void nft_expr(struct nft_rule *r, struct nftnl_expr *take_expr)
{
	nftnl_rule_add_expr(r->r, take_expr);
}

struct nft_rule nft_rule_begin(struct nft_batch *b, const char *chain)
{
	struct nft_rule r = {.b = b, .r = nftnl_rule_alloc(), .chain = chain};

	if (!r.r)
		abort();
	nftnl_rule_set_u32(r.r, NFTNL_RULE_FAMILY, b->family);
	nftnl_rule_set_str(r.r, NFTNL_RULE_TABLE, b->table);
	nftnl_rule_set_str(r.r, NFTNL_RULE_CHAIN, chain);
	return r;
}

static void end(struct nft_rule *r, const char *comment, uint16_t place)
{
	struct nftnl_udata_buf *u = NULL;
	struct nlmsghdr *h;

	if (comment && *comment) {
		u = nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN);
		if (!u || !nftnl_udata_put_strz(u, NFTNL_UDATA_RULE_COMMENT, comment))
			abort();
		nftnl_rule_set_data(
			r->r, NFTNL_RULE_USERDATA, nftnl_udata_buf_data(u), nftnl_udata_buf_len(u));
	}
	h = nft_batch_open(r->b, NFT_MSG_NEWRULE, (uint16_t)(NLM_F_CREATE | place),
		"a rule of chain", r->chain);
	nftnl_rule_nlmsg_build_payload(h, r->r);
	nft_batch_close(r->b, h);
	nftnl_rule_free(r->r);
	r->r = NULL;
	if (u)
		nftnl_udata_buf_free(u);
}

void nft_rule_end(struct nft_rule *r, const char *comment)
{
	end(r, comment, NLM_F_APPEND);
}

void nft_rule_end_first(struct nft_rule *r, const char *comment)
{
	end(r, comment, 0);
}

struct nlmsghdr *nft_ask_rules(char room[SYS_NL_SIZE], const char *table, const char *chain)
{
	struct nlmsghdr *h =
		nftnl_nlmsg_build_hdr(room, NFT_MSG_GETRULE, NFPROTO_INET, NLM_F_DUMP, 0);
	struct nftnl_rule *r = nftnl_rule_alloc();

	if (!r)
		abort();
	nftnl_rule_set_str(r, NFTNL_RULE_TABLE, table);
	nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, chain);
	nftnl_rule_nlmsg_build_payload(h, r);
	nftnl_rule_free(r);
	return h;
}

void nft_meta(struct nft_rule *r, uint32_t key, uint32_t reg)
{
	struct nftnl_expr *x = nft_expr_new("meta");

	nftnl_expr_set_u32(x, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(x, NFTNL_EXPR_META_DREG, reg);
	nft_expr(r, x);
}

void nft_payload(struct nft_rule *r, uint32_t base, uint32_t offset, uint32_t len, uint32_t reg)
{
	struct nftnl_expr *x = nft_expr_new("payload");

	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_LEN, len);
	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_DREG, reg);
	nft_expr(r, x);
}

void nft_cmp(struct nft_rule *r, uint32_t op, const void *data, uint32_t len)
{
	struct nftnl_expr *x = nft_expr_new("cmp");

	nftnl_expr_set_u32(x, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_CMP_OP, op);
	nftnl_expr_set(x, NFTNL_EXPR_CMP_DATA, data, len);
	nft_expr(r, x);
}

void nft_mask(struct nft_rule *r, const void *mask, uint32_t len)
{
	static const uint8_t zero[16];
	struct nftnl_expr *x = nft_expr_new("bitwise");

	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL);
	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_LEN, len);
	nftnl_expr_set(x, NFTNL_EXPR_BITWISE_MASK, mask, len);
	nftnl_expr_set(x, NFTNL_EXPR_BITWISE_XOR, zero, len);
	nft_expr(r, x);
}

void nft_ifname(struct nft_rule *r, uint32_t key, uint32_t op, const char *name)
{
	char text[IFNAMSIZ] = "";

	memcpy(text, name, strnlen(name, sizeof(text) - 1));
	nft_meta(r, key, NFT_REG_1);
	nft_cmp(r, op, text, sizeof(text));
}

void nft_nfproto(struct nft_rule *r, uint8_t family)
{
	uint8_t proto = family == 4 ? NFPROTO_IPV4 : NFPROTO_IPV6;

	if (r->nfproto == proto)
		return;
	r->nfproto = proto;
	nft_meta(r, NFT_META_NFPROTO, NFT_REG_1);
	nft_cmp(r, NFT_CMP_EQ, &proto, sizeof(proto));
}

void nft_l4proto(struct nft_rule *r, uint8_t proto)
{
	nft_meta(r, NFT_META_L4PROTO, NFT_REG_1);
	nft_cmp(r, NFT_CMP_EQ, &proto, sizeof(proto));
}

void nft_address(struct nft_rule *r, bool source, uint32_t op, const struct pol_prefix *p)
{
	uint32_t size = p->addr.family == 4 ? 4 : 16;
	uint32_t at = p->addr.family == 4 ? (source ? 12 : 16) : (source ? 8 : 24);
	uint32_t bytes = p->len / 8, rest = p->len % 8;
	uint8_t mask[16] = {0};

	nft_nfproto(r, p->addr.family);
	if (!rest) {
		nft_payload(r, NFT_PAYLOAD_NETWORK_HEADER, at, bytes, NFT_REG_1);
		nft_cmp(r, op, p->addr.b, bytes);
		return;
	}
	memset(mask, 0xff, bytes);
	mask[bytes] = (uint8_t)(0xff << (8 - rest));
	nft_payload(r, NFT_PAYLOAD_NETWORK_HEADER, at, size, NFT_REG_1);
	nft_mask(r, mask, size);
	nft_cmp(r, op, p->addr.b, size);
}

void nft_look_up(struct nft_rule *r, const char *set, uint32_t id, enum nft_lookup how)
{
	struct nftnl_expr *x = nft_expr_new("lookup");

	nftnl_expr_set_u32(x, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
	nftnl_expr_set_str(x, NFTNL_EXPR_LOOKUP_SET, set);
	nftnl_expr_set_u32(x, NFTNL_EXPR_LOOKUP_SET_ID, id);
	if (how == NFT_LOOKUP_NOT_IN)
		nftnl_expr_set_u32(x, NFTNL_EXPR_LOOKUP_FLAGS, NFT_LOOKUP_F_INV);
	if (how == NFT_LOOKUP_VERDICT)
		nftnl_expr_set_u32(x, NFTNL_EXPR_LOOKUP_DREG, NFT_REG_VERDICT);
	nft_expr(r, x);
}

void nft_in(
	struct nft_rule *r, bool invert, uint32_t type, uint32_t len, const void *keys, size_t n)
{
	struct nft_set s = {.key_type = type, .key_len = len, .size = (uint32_t)n};
	uint32_t id = nft_add_set(r->b, &s);

	nft_add_keys(r->b, &s, id, keys, n);
	nft_look_up(r, "__set%d", id, invert ? NFT_LOOKUP_NOT_IN : NFT_LOOKUP_IN);
}

void nft_between(struct nft_rule *r, const void *lo, const void *hi, uint32_t len)
{
	nft_cmp(r, NFT_CMP_GTE, lo, len);
	nft_cmp(r, NFT_CMP_LTE, hi, len);
}

/* Port ranges as a set: as the intervals of a map (the top of egress_nft.c). */
static void in_ranges(struct nft_rule *r, const struct flat_ports *p, size_t n)
{
	cleanup_free uint16_t *keys = cl_calloc(2 * n + 1, sizeof(*keys));
	struct nft_set s = {.flags = NFT_SET_INTERVAL, .key_type = NFT_KEY_SERVICE, .key_len = 2};
	size_t k = 0;
	uint32_t id;

	/* Ends stand at even places: at 0, unless that is a start, and behind each range. */
	s.ends = p[0].lo ? 0 : 1;
	if (p[0].lo)
		keys[k++] = 0;
	for (size_t i = 0; i < n; i++) {
		keys[k++] = htons(p[i].lo);
		if (p[i].hi < FLAT_MAX_PORT)
			keys[k++] = htons((uint16_t)(p[i].hi + 1));
	}
	s.size = (uint32_t)k;
	id = nft_add_set(r->b, &s);
	nft_add_keys(r->b, &s, id, keys, k);
	nft_look_up(r, "__set%d", id, NFT_LOOKUP_IN);
}

static bool single_ports(const struct flat_ports *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i].lo != p[i].hi)
			return false;
	return true;
}

void nft_dport(struct nft_rule *r, const struct flat_ports *p, size_t n)
{
	uint16_t lo = htons(p[0].lo), hi = htons(p[0].hi);
	cleanup_free uint16_t *keys = cl_calloc(n, sizeof(*keys));

	nft_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, NFT_REG_1);
	if (n == 1 && lo == hi) {
		nft_cmp(r, NFT_CMP_EQ, &lo, sizeof(lo));
	} else if (n == 1) {
		nft_between(r, &lo, &hi, sizeof(lo));
	} else if (single_ports(p, n)) {
		for (size_t i = 0; i < n; i++)
			keys[i] = htons(p[i].lo);
		nft_in(r, false, NFT_KEY_SERVICE, sizeof(*keys), keys, n);
	} else {
		in_ranges(r, p, n);
	}
}

void nft_ct_state(struct nft_rule *r, uint32_t bits)
{
	struct nftnl_expr *x = nft_expr_new("ct");
	uint32_t zero = 0;

	nftnl_expr_set_u32(x, NFTNL_EXPR_CT_KEY, NFT_CT_STATE);
	nftnl_expr_set_u32(x, NFTNL_EXPR_CT_DREG, NFT_REG_1);
	nft_expr(r, x);
	nft_mask(r, &bits, sizeof(bits));
	nft_cmp(r, NFT_CMP_NEQ, &zero, sizeof(zero));
}

struct nftnl_expr *nft_counter_new(uint64_t packets, uint64_t bytes)
{
	struct nftnl_expr *x = nft_expr_new("counter");

	nftnl_expr_set_u64(x, NFTNL_EXPR_CTR_PACKETS, packets);
	nftnl_expr_set_u64(x, NFTNL_EXPR_CTR_BYTES, bytes);
	return x;
}

void nft_counter_from(struct nft_rule *r, uint64_t packets, uint64_t bytes)
{
	nft_expr(r, nft_counter_new(packets, bytes));
}

void nft_counter(struct nft_rule *r)
{
	nft_expr(r, nft_expr_new("counter"));
}

void nft_verdict(struct nft_rule *r, int verdict, const char *chain)
{
	struct nftnl_expr *x = nft_expr_new("immediate");

	nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_VERDICT, (uint32_t)verdict);
	if (chain)
		nftnl_expr_set_str(x, NFTNL_EXPR_IMM_CHAIN, chain);
	nft_expr(r, x);
}

void nft_reject(struct nft_rule *r, uint32_t type, uint8_t code)
{
	struct nftnl_expr *x = nft_expr_new("reject");

	nftnl_expr_set_u32(x, NFTNL_EXPR_REJECT_TYPE, type);
	nftnl_expr_set_u8(x, NFTNL_EXPR_REJECT_CODE, code);
	nft_expr(r, x);
}

void nft_masquerade(struct nft_rule *r)
{
	nft_expr(r, nft_expr_new("masq"));
}
