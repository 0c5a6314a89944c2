/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/nft/nft_watch.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/nft/nft_dump.h"
#include "sys/nft/nft_internal.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int nft_watch_open(struct nft_watch *w, struct cl_err *e)
{
	int group = NFNLGRP_NFTABLES, room = 4 << 20;

	if (sys_nl_open(&w->nl, NETLINK_NETFILTER, e))
		return -1;
	(void)setsockopt(
		mnl_socket_get_fd(w->nl.s), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (!mnl_socket_setsockopt(w->nl.s, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
		return 0;
	return sys_nl_fail(e, errno, "", "follow the packet filter");
}

void nft_watch_close(struct nft_watch *w)
{
	sys_nl_close(&w->nl);
}

int nft_watch_fd(const struct nft_watch *w)
{
	return mnl_socket_get_fd(w->nl.s);
}

/* The last message of a change says who made it. */
static void on_generation(const struct nlattr **tb, char *who)
{
	const char *name = nft_attr_text(tb[NFTA_GEN_PROC_NAME]);
	uint32_t pid = 0;

	(void)nft_attr_u32(tb[NFTA_GEN_PROC_PID], &pid);
	/* What we put back ourselves is no news. */
	if (!name || pid == (uint32_t)getpid())
		return;
	(void)snprintf(who, NFT_WATCH_WHO, "%.20s (%u)", name, (unsigned)pid);
	cl_mask(who, "");
}

/* In every message but that of a generation the name of the table is attribute 1. */
static void on_message(const struct nlmsghdr *h, bool *changed, bool *ours, char *who)
{
	const struct nlattr *tb[NFTA_GEN_MAX + 1];
	const char *table;

	if (NFNL_SUBSYS_ID(h->nlmsg_type) != NFNL_SUBSYS_NFTABLES ||
		h->nlmsg_len < mnl_nlmsg_size(sizeof(struct nfgenmsg)))
		return;
	nft_message(h, tb, CL_ARRAY_LEN(tb));
	if (NFNL_MSG_TYPE(h->nlmsg_type) == NFT_MSG_NEWGEN) {
		if (*ours)
			on_generation(tb, who);
		*ours = false;
		return;
	}
	table = nft_attr_text(tb[NFTA_TABLE_NAME]);
	if (table && cl_starts(table, "cloop_"))
		*ours = *changed = true;
}

int nft_watch_read(struct nft_watch *w, bool *changed, char who[NFT_WATCH_WHO], struct cl_err *e)
{
	cleanup_free char *buf = cl_malloc(SYS_NL_READ);
	bool lost = false;

	for (;;) {
		ssize_t n = recv(nft_watch_fd(w), buf, SYS_NL_READ, MSG_DONTWAIT);
		const struct nlmsghdr *h = (const void *)buf;
		int left = (int)n;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/* The rest of a change may be what was lost, and with it who made it. */
			if (lost) {
				w->ours = false;
				who[0] = '\0';
			}
			return 0;
		}
		if (n < 0 && errno == ENOBUFS) {
			*changed = lost = true;
			continue;
		}
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "cannot follow the packet filter");
		for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left))
			on_message(h, changed, &w->ours, who);
	}
}
