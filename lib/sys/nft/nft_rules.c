/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ruleset that the top of lib/policy/egress/egress_nft.c lays down, as messages. */
#include "base/mem.h"
#include "sys/nft/nft_internal.h"

#include <arpa/inet.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <netinet/icmp6.h>
#include <stdlib.h>

/* What has a port in the first four bytes after its IP header. */
static const uint8_t ported[] = {
	IPPROTO_TCP, IPPROTO_UDP, IPPROTO_DCCP, IPPROTO_SCTP, IPPROTO_UDPLITE};

#define MLD2_LISTENER_REPORT 143 /* RFC 3810 */

#define CT_BIT(state)  NF_CT_STATE_BIT(state)
#define CT_ESTABLISHED (CT_BIT(IP_CT_ESTABLISHED) | CT_BIT(IP_CT_RELATED))

static void say(struct nft_rule *r, int verdict, const char *chain, const char *comment)
{
	nft_counter(r);
	nft_verdict(r, verdict, chain);
	nft_rule_end(r, comment);
}

static void go(struct nft_batch *b, const char *from, const char *to)
{
	struct nft_rule r = nft_rule_begin(b, from);

	nft_verdict(&r, NFT_GOTO, to);
	nft_rule_end(&r, NULL);
}

/* Packets that do not come from the bridge (or go to it) are none of our business. */
static void foreign(struct nft_batch *b, const char *chain, uint32_t key, const char *bridge)
{
	struct nft_rule r = nft_rule_begin(b, chain);

	nft_ifname(&r, key, NFT_CMP_NEQ, bridge);
	nft_verdict(&r, NFT_RETURN, NULL);
	nft_rule_end(&r, EG_SAY_FOREIGN);
}

static void icmpv6(struct nft_rule *r, const uint8_t *types, size_t n)
{
	nft_nfproto(r, 6);
	nft_l4proto(r, IPPROTO_ICMPV6);
	nft_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1, NFT_REG_1);
	nft_in(r, false, NFT_KEY_ICMPV6, 1, types, n);
}

/* RFC 4861 7.1: a hop limit of 255 proves that the packet was not routed here. */
static void neighbours(struct nft_batch *b, const char *chain, uint8_t first)
{
	const uint8_t types[] = {first, ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT}, far = 255;
	struct nft_rule r = nft_rule_begin(b, chain);

	icmpv6(&r, types, CL_ARRAY_LEN(types));
	nft_payload(&r, NFT_PAYLOAD_NETWORK_HEADER, 7, 1, NFT_REG_1);
	nft_cmp(&r, NFT_CMP_EQ, &far, 1);
	say(&r, NF_ACCEPT, NULL, EG_SAY_NEIGHBOUR);
}

static void listeners(struct nft_batch *b, const char *chain)
{
	static const uint8_t types[] = {
		MLD_LISTENER_REPORT, MLD_LISTENER_REDUCTION, MLD2_LISTENER_REPORT};
	struct nft_rule r = nft_rule_begin(b, chain);

	icmpv6(&r, types, CL_ARRAY_LEN(types));
	say(&r, NF_DROP, NULL, EG_SAY_LISTENER);
}

static void filter_chain(struct nft_batch *b, const char *name, uint32_t hook)
{
	nft_add_chain(b, name, &(struct nft_hook){.type = "filter", .hook = hook});
}

/* Only the sandbox's own address may be the source (E11). */
static void sources(struct nft_batch *b, const char *chain, const struct nft_filter *f)
{
	struct pol_prefix link = {.addr = {.family = 6, .b = {0xfe, 0x80}}, .len = 10}, own;
	struct nft_rule r;

	r = nft_rule_begin(b, chain);
	own = pol_host(&f->source4);
	if (f->source4.family)
		nft_address(&r, true, NFT_CMP_NEQ, &own);
	else
		nft_nfproto(&r, 4);
	nft_ifname(&r, NFT_META_IIFNAME, NFT_CMP_EQ, f->bridge);
	say(&r, NF_DROP, NULL, EG_SAY_SOURCE);

	r = nft_rule_begin(b, chain);
	nft_address(&r, true, NFT_CMP_NEQ, &link);
	own = pol_host(&f->source6);
	if (f->source6.family)
		nft_address(&r, true, NFT_CMP_NEQ, &own);
	nft_ifname(&r, NFT_META_IIFNAME, NFT_CMP_EQ, f->bridge);
	say(&r, NF_DROP, NULL, EG_SAY_SOURCE);
}

/* own NULL: from whatever address. */
static void established(struct nft_batch *b, const char *chain, const struct pol_addr *own)
{
	struct nft_rule r;

	if (own && !own->family)
		return;
	r = nft_rule_begin(b, chain);
	if (own) {
		const struct pol_prefix p = pol_host(own);

		nft_address(&r, true, NFT_CMP_EQ, &p);
	}
	nft_ct_state(&r, CT_ESTABLISHED);
	say(&r, NF_ACCEPT, NULL, NULL);
}

/* bridge NULL: whatever it came in by. */
static void invalid(struct nft_batch *b, const char *chain, const char *bridge)
{
	struct nft_rule r = nft_rule_begin(b, chain);

	nft_ct_state(&r, NF_CT_STATE_INVALID_BIT);
	if (bridge)
		nft_ifname(&r, NFT_META_IIFNAME, NFT_CMP_EQ, bridge);
	say(&r, NF_DROP, NULL, NULL);
}

static void forward(struct nft_batch *b, const struct nft_filter *f)
{
	bool any = f->source4.family || f->source6.family;
	struct nft_rule r;

	if (!any)
		established(b, "forward", NULL);
	established(b, "forward", &f->source4);
	established(b, "forward", &f->source6);
	r = nft_rule_begin(b, "forward");
	nft_ifname(&r, NFT_META_OIFNAME, NFT_CMP_EQ, f->bridge);
	nft_verdict(&r, NFT_GOTO, "inbound");
	nft_rule_end(&r, NULL);
	if (any) {
		sources(b, "forward", f);
		established(b, "forward", NULL);
	}
	invalid(b, "forward", f->bridge);
	go(b, "forward", "outbound");
}

static void hooks(struct nft_batch *b, const struct nft_filter *f, bool to_host)
{
	forward(b, f);

	foreign(b, "input", NFT_META_IIFNAME, f->bridge);
	neighbours(b, "input", ND_ROUTER_SOLICIT);
	listeners(b, "input");
	if (f->source4.family || f->source6.family)
		sources(b, "input", f);
	established(b, "input", NULL);
	invalid(b, "input", f->bridge);
	go(b, "input", to_host ? eg_to_host.chain : eg_leaving.chain);

	foreign(b, "output", NFT_META_OIFNAME, f->bridge);
	neighbours(b, "output", ND_ROUTER_ADVERT);
	go(b, "output", "inbound");
}

static void refuse(struct nft_batch *b, const char *chain, bool silent, const char *comment)
{
	struct nft_rule r = nft_rule_begin(b, chain);

	if (silent) {
		say(&r, NF_DROP, NULL, comment);
		return;
	}
	nft_l4proto(&r, IPPROTO_TCP);
	nft_counter(&r);
	nft_reject(&r, NFT_REJECT_TCP_RST, 0);
	nft_rule_end(&r, comment);
	r = nft_rule_begin(b, chain);
	nft_counter(&r);
	nft_reject(&r, NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
	nft_rule_end(&r, comment);
}

/* The register after one that holds an address, counted in 32-bit ones. */
static uint32_t after(uint32_t reg32, uint32_t len)
{
	return reg32 + len / 4;
}

/* Source, destination, protocol and port into the registers from 1 on. */
static void load_key(struct nft_rule *r, uint8_t family, bool has_port)
{
	uint32_t len = family == 4 ? 4 : 16, reg = after(NFT_REG32_00, len);
	struct nftnl_expr *x;
	uint16_t none = 0;

	nft_payload(r, NFT_PAYLOAD_NETWORK_HEADER, family == 4 ? 12 : 8, len, NFT_REG_1);
	nft_payload(r, NFT_PAYLOAD_NETWORK_HEADER, family == 4 ? 16 : 24, len,
		family == 4 ? reg : NFT_REG_2);
	reg = after(reg, len);
	nft_meta(r, NFT_META_L4PROTO, reg);
	if (has_port) {
		nft_payload(r, NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, after(reg, 4));
		return;
	}
	x = nft_expr_new("immediate");
	nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_DREG, after(reg, 4));
	nftnl_expr_set(x, NFTNL_EXPR_IMM_DATA, &none, sizeof(none));
	nft_expr(r, x);
}

static struct nftnl_expr *into_set(
	struct nft_rule *r, uint32_t op, const char *set, uint32_t set_id)
{
	struct nftnl_expr *x = nft_expr_new("dynset");

	nftnl_expr_set_u32(x, NFTNL_EXPR_DYNSET_SREG_KEY, NFT_REG_1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_DYNSET_OP, op);
	nftnl_expr_set_str(x, NFTNL_EXPR_DYNSET_SET_NAME, set);
	nftnl_expr_set_u32(x, NFTNL_EXPR_DYNSET_SET_ID, set_id);
	nft_expr(r, x);
	return x;
}

static void record(
	struct nft_batch *b, uint8_t family, bool has_port, const struct nft_blocked_ids *ids)
{
	struct nft_rule r = nft_rule_begin(b, "denied");
	bool four = family == 4;
	struct nftnl_expr *x;

	nft_meta(&r, NFT_META_L4PROTO, NFT_REG_1);
	nft_in(&r, !has_port, NFT_KEY_PROTO, 1, ported, sizeof(ported));
	nft_nfproto(&r, family);
	load_key(&r, family, has_port);
	x = into_set(&r, NFT_DYNSET_OP_UPDATE, four ? "blocked4" : "blocked6",
		four ? ids->blocked4 : ids->blocked6);
	nftnl_expr_add_expr(x, NFTNL_EXPR_DYNSET_EXPR, nft_expr_new("counter"));
	load_key(&r, family, has_port);
	(void)into_set(&r, NFT_DYNSET_OP_ADD, four ? "since4" : "since6",
		four ? ids->since4 : ids->since6);
	nft_verdict(&r, NFT_GOTO, "refused");
	nft_rule_end(&r, NULL);
}

/* Counted, then refused; what found no room was counted before the replace too. */
static void denied(struct nft_batch *b, const struct nft_blocked_ids *ids,
	const struct nft_blocked_list *kept, bool silent)
{
	struct nft_rule r;

	record(b, 4, true, ids);
	record(b, 6, true, ids);
	record(b, 4, false, ids);
	record(b, 6, false, ids);
	r = nft_rule_begin(b, "denied");
	nft_counter_from(&r, kept->unrecorded, 0);
	nft_verdict(&r, NFT_GOTO, "refused");
	nft_rule_end(&r, EG_SAY_FULL);
	refuse(b, "refused", silent, NULL);
}

static void inbound(struct nft_batch *b, const char *bridge, bool silent)
{
	static const uint8_t link_talk[] = {MLD_LISTENER_REPORT, MLD_LISTENER_REDUCTION,
		ND_ROUTER_SOLICIT, ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT, MLD2_LISTENER_REPORT};
	struct nft_rule r;

	established(b, "inbound", NULL);
	invalid(b, "inbound", NULL);
	r = nft_rule_begin(b, "inbound");
	nft_ifname(&r, NFT_META_IIFNAME, NFT_CMP_EQ, bridge);
	icmpv6(&r, link_talk, CL_ARRAY_LEN(link_talk));
	say(&r, NF_DROP, NULL, EG_SAY_LINK);
	r = nft_rule_begin(b, "inbound");
	nft_ifname(&r, NFT_META_IIFNAME, NFT_CMP_EQ, bridge);
	say(&r, NFT_GOTO, "denied", EG_SAY_PEER);
	refuse(b, "inbound", silent, EG_SAY_INTO);
}

/* A chain that judges destinations, with what it needs. */
struct judging {
	const struct eg_part *part;
	struct flat flat;
	bool there;
	struct eg_maps maps;
	struct nft_map_ids ids;
};

static void judging_chains(struct nft_batch *b, const struct judging *j)
{
	if (j->there)
		nft_add_chain(b, j->part->chain, NULL);
	if (j->maps.there)
		nft_add_map_chains(b, j->part, &j->flat, &j->maps);
}

static void judging_rules(struct nft_batch *b, const struct nft_filter *f, const struct judging *j)
{
	if (!j->there)
		return;
	if (j->maps.there)
		nft_map_rules(b, j->part, &j->flat, &j->maps, &j->ids);
	else
		nft_linear_rules(b, j->part, &j->flat);
	nft_deny_rule(b, j->part, j->part->chain, f->bridge);
	if (j->maps.there)
		nft_map_chain_rules(b, j->part, f->bridge, &j->flat, &j->maps, &j->ids);
}

static void everything_leaves(struct nft_batch *b)
{
	struct nft_rule r = nft_rule_begin(b, eg_leaving.chain);

	say(&r, NF_ACCEPT, NULL, "no filter");
}

static void masquerade(struct nft_batch *b, const struct pol_addr *source, const char *bridge)
{
	struct pol_prefix own = pol_host(source);
	struct nft_rule r;

	if (!source->family)
		return;
	r = nft_rule_begin(b, "postrouting");
	nft_address(&r, true, NFT_CMP_EQ, &own);
	nft_ifname(&r, NFT_META_OIFNAME, NFT_CMP_NEQ, bridge);
	nft_counter(&r);
	nft_masquerade(&r);
	nft_rule_end(&r, NULL);
}

static void chains(struct nft_batch *b, const struct nft_filter *f, const struct judging *leaving,
	const struct judging *to_host)
{
	filter_chain(b, "forward", NF_INET_FORWARD);
	filter_chain(b, "input", NF_INET_LOCAL_IN);
	filter_chain(b, "output", NF_INET_LOCAL_OUT);
	judging_chains(b, leaving);
	judging_chains(b, to_host);
	nft_add_chain(b, "inbound", NULL);
	nft_add_chain(b, "denied", NULL);
	nft_add_chain(b, "refused", NULL);
	if (f->masquerade)
		nft_add_chain(b, "postrouting",
			&(struct nft_hook){
				.type = "nat", .hook = NF_INET_POST_ROUTING, .priority = 100});
}

void nft_build_filter(struct nft_batch *b, const struct nft_filter *f, const struct eg_policy *p,
	const struct nft_blocked_list *kept)
{
	const struct nft_blocked_ids ids = nft_add_blocked(b, kept);
	struct judging leaving = {.part = &eg_leaving, .flat = FLAT_INIT, .there = true};
	struct judging to_host = {.part = &eg_to_host, .flat = FLAT_INIT};
	bool silent = p && p->silent;

	if (p)
		flat_build(p, true, &leaving.flat);
	to_host.there = p && eg_has_internet(p);
	if (to_host.there)
		flat_build_named(p, &to_host.flat);
	eg_maps_make(&leaving.flat, &leaving.maps);
	eg_maps_make(&to_host.flat, &to_host.maps);
	chains(b, f, &leaving, &to_host);
	if (leaving.maps.there)
		nft_add_maps(b, leaving.part, &leaving.flat, &leaving.maps, &leaving.ids);
	if (to_host.maps.there)
		nft_add_maps(b, to_host.part, &to_host.flat, &to_host.maps, &to_host.ids);
	hooks(b, f, to_host.there);
	if (p)
		judging_rules(b, f, &leaving);
	else
		everything_leaves(b);
	judging_rules(b, f, &to_host);
	inbound(b, f->bridge, silent);
	denied(b, &ids, kept, silent);
	if (f->masquerade) {
		masquerade(b, &f->source4, f->bridge);
		masquerade(b, &f->source6, f->bridge);
	}
	eg_maps_release(&leaving.maps);
	eg_maps_release(&to_host.maps);
	flat_release(&leaving.flat);
	flat_release(&to_host.flat);
}
