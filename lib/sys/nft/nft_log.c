/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A listener of one group of nfnetlink_log. */
#include "base/mem.h"
#include "sys/nft/nft_trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <string.h>
#include <sys/socket.h>

#define MESSAGES 64        /* at one reading */
#define ROOM     (1 << 20) /* of the socket: some thousand packets */

static struct nlmsghdr *config(char *room, uint16_t group)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	h->nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG;
	g->nfgen_family = AF_UNSPEC;
	g->version = NFNETLINK_V0;
	g->res_id = htons(group);
	return h;
}

static int skip(const struct nlmsghdr *h, void *data)
{
	(void)h;
	(void)data;
	return MNL_CB_OK;
}

static int bind_group(struct sys_nl *nl, uint16_t group, char *why)
{
	const struct nfulnl_msg_config_cmd cmd = {.command = NFULNL_CFG_CMD_BIND};
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = config(room, group);

	mnl_attr_put(h, NFULA_CFG_CMD, sizeof(cmd), &cmd);
	return sys_nl_ask(nl, h, NULL, NULL, why);
}

/* The kernel has one word for a group that is taken and for a caller who may not. */
static bool may_ask(struct sys_nl *nl)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	h->nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN;
	g->version = NFNETLINK_V0;
	return !sys_nl_ask(nl, h, skip, NULL, why);
}

/* Every packet at once, its first bytes, with numbers that show what was lost. */
static int set_up(struct sys_nl *nl, uint16_t group, char *why)
{
	const struct nfulnl_msg_config_mode mode = {
		.copy_range = htonl(NFT_TRACE_SNAP), .copy_mode = NFULNL_COPY_PACKET};
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = config(room, group);

	mnl_attr_put(h, NFULA_CFG_MODE, sizeof(mode), &mode);
	mnl_attr_put_u32(h, NFULA_CFG_QTHRESH, htonl(1));
	mnl_attr_put_u16(h, NFULA_CFG_FLAGS, htons(NFULNL_CFG_F_SEQ));
	return sys_nl_ask(nl, h, NULL, NULL, why);
}

int nft_log_open(struct nft_log *l, uint16_t group, struct cl_err *e)
{
	int room = ROOM, err;
	char why[SYS_NL_WHY];

	if (sys_nl_open(&l->nl, NETLINK_NETFILTER, e))
		return -1;
	(void)setsockopt(
		mnl_socket_get_fd(l->nl.s), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	err = bind_group(&l->nl, group, why);
	if (!err)
		err = set_up(&l->nl, group, why);
	if (!err)
		return 0;
	if (err == EBUSY || (err == EPERM && may_ask(&l->nl))) {
		(void)cl_fail(e, CL_EBUSY, "another program listens to log group %u", group);
		return cl_fix(e, "end that one, or give this one another with --group");
	}
	if (err == EINVAL || err == EOPNOTSUPP || err == EPROTONOSUPPORT) {
		(void)cl_fail_sys(e, CL_EUNAVAIL, err, "this kernel hands no packets to listeners");
		return cl_fix(e, "a kernel with CONFIG_NETFILTER_NETLINK_LOG is needed; what was "
				 "blocked is counted without it");
	}
	return sys_nl_fail(e, err, why, "listen to log group %u", group);
}

void nft_log_close(struct nft_log *l)
{
	sys_nl_close(&l->nl);
}

int nft_log_fd(const struct nft_log *l)
{
	return mnl_socket_get_fd(l->nl.s);
}

static int pick(const struct nlattr *a, void *data)
{
	struct nft_log_packet *p = data;

	switch (mnl_attr_get_type(a)) {
	case NFULA_PAYLOAD:
		p->bytes = mnl_attr_get_payload(a);
		p->len = mnl_attr_get_payload_len(a);
		break;
	case NFULA_SEQ:
		if (mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
			p->seq = ntohl(mnl_attr_get_u32(a));
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

bool nft_log_packet(const struct nlmsghdr *h, struct nft_log_packet *out)
{
	*out = (struct nft_log_packet){.len = 0};
	if (h->nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) ||
		h->nlmsg_len < mnl_nlmsg_size(sizeof(struct nfgenmsg)))
		return false;
	(void)mnl_attr_parse(h, sizeof(struct nfgenmsg), pick, out);
	return out->bytes != NULL;
}

static void on_packet(struct nft_log *l, const struct nft_log_packet *p, nft_log_fn fn, void *arg)
{
	if (l->started && p->seq != l->next)
		l->missed += p->seq - l->next;
	l->started = true;
	l->next = p->seq + 1;
	fn(p, arg);
}

int nft_log_read(struct nft_log *l, nft_log_fn fn, void *arg, struct cl_err *e)
{
	cleanup_free char *buf = cl_malloc(SYS_NL_READ);

	for (int i = 0; i < MESSAGES; i++) {
		ssize_t n = recv(nft_log_fd(l), buf, SYS_NL_READ, MSG_DONTWAIT);
		const struct nlmsghdr *h = (const void *)buf;
		int left = (int)n;

		/* Too slow: the gap in the numbers says how many. */
		if (n < 0 && (errno == ENOBUFS || errno == EINTR))
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "cannot read refused packets");
		for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
			struct nft_log_packet p;

			if (nft_log_packet(h, &p))
				on_packet(l, &p, fn, arg);
		}
	}
	return 0;
}
