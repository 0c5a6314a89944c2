/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel answers about refused packets: one byte says of which kind, then the message
 * behind its netlink header. Whatever the bytes, what is read is within its bounds.
 */
#include "base/mem.h"
#include "policy/egress/packet.h"
#include "sys/nft/nft_internal.h"
#include "sys/nft/nft_trace.h"

#include <linux/netfilter/nfnetlink_log.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

static void packet(const uint8_t *p, size_t len)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct pol_addr source = {0};
	struct eg_packet k;

	if (!eg_packet_read(p, len, &source, &k))
		return;
	must((source.family == 4 || source.family == 6) && source.family == k.dest.family);
	must(!k.port || eg_has_ports(k.proto));
	must(eg_packet_length(p, len) <= 40 + 65535);
	eg_packet_text(&k, &text);
	(void)eg_cause(NULL, "level", &k, &text);
	must(text.len > 0);
}

static void message(const struct nlmsghdr *h, uint8_t kind)
{
	static const struct pol_addr source = {4, {10, 211, 0, 2}};
	cleanup_blocked struct nft_blocked_list l = NFT_BLOCKED_INIT;
	struct nft_blocked_reading rd = {.family = kind & 1 ? 6 : 4,
		.sources = &source,
		.nsources = kind >> 1 & 1,
		.out = &l};

	(void)nft_blocked_elements(h, &rd);
	for (size_t i = 0; i < l.n; i++) {
		must(l.v[i].dest.family == rd.family && l.v[i].source.family == rd.family);
		must(l.v[i].expires_ms <= (uint64_t)NFT_BLOCKED_MS);
		must(!rd.nsources || !pol_addr_cmp(&l.v[i].source, &source));
	}
	(void)nft_blocked_rule(h, &rd);
}

static void log_message(const struct nlmsghdr *h)
{
	struct nft_log_packet p;

	if (!nft_log_packet(h, &p))
		return;
	must(p.bytes >= (const unsigned char *)h &&
		p.bytes + p.len <= (const unsigned char *)h + NLMSG_ALIGN(h->nlmsg_len));
	packet(p.bytes, p.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nlmsghdr *h;
	char comment[200];
	struct nft_tracer who;

	if (size < 1)
		return 0;
	packet(data + 1, size - 1);
	(void)snprintf(comment, sizeof(comment), "%.*s", (int)(size - 1), (const char *)data + 1);
	if (nft_trace_comment_read(comment, &who))
		must(who.pid > 0);
	/* As large as a message is (it is padded) and no larger, so that a byte beyond is seen. */
	h = cl_calloc(1, NLMSG_ALIGN(NLMSG_HDRLEN + size - 1));
	h->nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size - 1);
	memcpy((char *)h + NLMSG_HDRLEN, data + 1, size - 1);
	if (data[0] & 4) {
		h->nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET;
		log_message(h);
	} else {
		h->nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWSETELEM;
		message(h, data[0]);
	}
	free(h);
	return 0;
}
