/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What may come out of one sandbox's port, at the ingress hook of the host's end: before
 * the bridge sees the frame, and whatever sockets the sandbox can open.
 */
#include "base/mem.h"
#include "sys/nft/nft_internal.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <string.h>

#define CHAIN "ingress"

static struct nft_rule of_type(struct nft_batch *b, uint16_t ethertype)
{
	struct nft_rule r = nft_rule_begin(b, CHAIN);
	uint16_t type = htons(ethertype);

	/* From the frame itself: behind a VLAN tag stands another type, which is dropped. */
	nft_payload(&r, NFT_PAYLOAD_LL_HEADER, 12, 2, NFT_REG_1);
	nft_cmp(&r, NFT_CMP_EQ, &type, sizeof(type));
	return r;
}

static void at(struct nft_rule *r, uint32_t base, uint32_t offset, const void *data, uint32_t len)
{
	nft_payload(r, base, offset, len, NFT_REG_1);
	nft_cmp(r, NFT_CMP_EQ, data, len);
}

static void finish(struct nft_rule *r, int verdict, const char *comment)
{
	nft_counter(r);
	nft_verdict(r, verdict, NULL);
	nft_rule_end(r, comment);
}

/* RFC 826: Ethernet and IPv4, and both sender addresses are the sandbox's own. */
static void arp(struct nft_batch *b, const struct nft_port *p)
{
	static const uint8_t kind[] = {0, 1, 8, 0, 6, 4};
	struct nft_rule r = of_type(b, ETH_P_ARP);

	at(&r, NFT_PAYLOAD_NETWORK_HEADER, 0, kind, sizeof(kind));
	at(&r, NFT_PAYLOAD_NETWORK_HEADER, 8, p->mac, 6);
	at(&r, NFT_PAYLOAD_NETWORK_HEADER, 14, p->source4.b, 4);
	finish(&r, NF_ACCEPT, "its own ARP");
}

static void from(struct nft_batch *b, const struct pol_addr *a)
{
	struct nft_rule r = of_type(b, a->family == 4 ? ETH_P_IP : ETH_P_IPV6);
	bool v4 = a->family == 4;

	at(&r, NFT_PAYLOAD_NETWORK_HEADER, v4 ? 12 : 8, a->b, v4 ? 4 : 16);
	finish(&r, NF_ACCEPT, "its own address");
}

/* RFC 4291 appendix A: the link-local address that the kernel makes of an Ethernet one. */
static struct pol_addr link_local(const uint8_t mac[6])
{
	return (struct pol_addr){
		.family = 6,
		.b = {0xfe, 0x80, [8] = mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4],
			mac[5]},
	};
}

/*
 * From its link-local address, or none yet (RFC 4862 5.4), a sandbox speaks with its
 * neighbours and announces its groups (RFC 3810); nothing else.
 */
static void link_talk(struct nft_batch *b, const struct pol_addr *a)
{
	static const uint8_t types[] = {ND_ROUTER_SOLICIT, ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT,
		MLD_LISTENER_REPORT, MLD_LISTENER_REDUCTION, 143};
	struct nft_rule r = of_type(b, ETH_P_IPV6);

	at(&r, NFT_PAYLOAD_NETWORK_HEADER, 8, a->b, 16);
	nft_l4proto(&r, IPPROTO_ICMPV6);
	nft_payload(&r, NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1, NFT_REG_1);
	nft_in(&r, false, NFT_KEY_ICMPV6, 1, types, sizeof(types));
	finish(&r, NF_ACCEPT, "talk on the link");
}

void nft_build_port(struct nft_batch *b, const struct nft_port *p)
{
	const struct pol_addr none = {.family = 6}, own_link = link_local(p->mac);
	struct nft_rule r;

	nft_add_chain(b, CHAIN,
		&(struct nft_hook){.type = "filter",
			.hook = NF_NETDEV_INGRESS,
			.priority = -500,
			.dev = p->device});
	r = nft_rule_begin(b, CHAIN);
	nft_payload(&r, NFT_PAYLOAD_LL_HEADER, 6, 6, NFT_REG_1);
	nft_cmp(&r, NFT_CMP_NEQ, p->mac, 6);
	finish(&r, NF_DROP, "not the sandbox's Ethernet address");
	if (p->source4.family) {
		from(b, &p->source4);
		arp(b, p);
	}
	if (p->source6.family) {
		from(b, &p->source6);
		link_talk(b, &own_link);
		link_talk(b, &none);
	}
	r = nft_rule_begin(b, CHAIN);
	finish(&r, NF_DROP, EG_SAY_SOURCE);
}
