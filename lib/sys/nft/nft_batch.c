/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "sys/nft/nft_internal.h"

#include <errno.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The largest message: a page of set elements, which libnftnl cuts at 64 KiB. */
#define MESSAGE_ROOM (128 * 1024)

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static void *tail(struct nft_batch *b)
{
	return cl_buf_reserve(&b->buf, MESSAGE_ROOM);
}

static void label(struct nft_batch *b, const char *kind, const char *name)
{
	b->labels = cl_grow(b->labels, &b->labels_cap, b->seq + 1, sizeof(*b->labels));
	b->labels[b->seq++] = (struct nft_label){b->table, kind, name};
}

void nft_batch_begin(struct nft_batch *b)
{
	*b = (struct nft_batch){.buf = CL_BUF_INIT, .table = ""};
	label(b, "start", "");
	nft_batch_close(b, nftnl_batch_begin(tail(b), b->seq));
}

void nft_batch_table(struct nft_batch *b, uint32_t family, const char *table)
{
	b->family = family;
	b->table = table;
}

void nft_batch_release(struct nft_batch *b)
{
	cl_buf_release(&b->buf);
	cl_strv_release(&b->names);
	free(b->labels);
	b->labels = NULL;
}

const char *nft_batch_keep(struct nft_batch *b, const char *text)
{
	cl_strv_add(&b->names, text);
	return b->names.v[b->names.n - 1];
}

struct nlmsghdr *nft_batch_open(
	struct nft_batch *b, uint16_t type, uint16_t flags, const char *kind, const char *name)
{
	label(b, kind, name);
	return nftnl_nlmsg_build_hdr(tail(b), type, (uint16_t)b->family, flags, b->seq);
}

void nft_batch_close(struct nft_batch *b, const struct nlmsghdr *h)
{
	b->buf.len += NLMSG_ALIGN(h->nlmsg_len);
}

static void table_message(struct nft_batch *b, uint16_t type, uint16_t flags)
{
	struct nftnl_table *t = must(nftnl_table_alloc());
	struct nlmsghdr *h = nft_batch_open(b, type, flags, "table", b->table);

	nftnl_table_set_str(t, NFTNL_TABLE_NAME, b->table);
	if (type == NFT_MSG_NEWTABLE)
		nftnl_table_set_u32(t, NFTNL_TABLE_FLAGS, 0);
	nftnl_table_nlmsg_build_payload(h, t);
	nft_batch_close(b, h);
	nftnl_table_free(t);
}

void nft_add_table(struct nft_batch *b)
{
	table_message(b, NFT_MSG_NEWTABLE, NLM_F_CREATE);
}

void nft_del_table(struct nft_batch *b)
{
	table_message(b, NFT_MSG_DELTABLE, 0);
}

void nft_add_chain(struct nft_batch *b, const char *name, const struct nft_hook *hook)
{
	struct nftnl_chain *c = must(nftnl_chain_alloc());
	struct nlmsghdr *h = nft_batch_open(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE, "chain", name);

	nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, b->table);
	nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, name);
	if (hook) {
		nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, hook->hook);
		nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, hook->priority);
		nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, NF_ACCEPT);
		nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, hook->type);
		if (hook->dev)
			nftnl_chain_set_str(c, NFTNL_CHAIN_DEV, hook->dev);
	}
	nftnl_chain_nlmsg_build_payload(h, c);
	nft_batch_close(b, h);
	nftnl_chain_free(c);
}

struct nftnl_set *nft_set_new(const struct nft_batch *b, const struct nft_set *s, uint32_t id)
{
	struct nftnl_set *x = must(nftnl_set_alloc());
	uint32_t flags = s->flags | (s->name ? 0 : NFT_SET_ANONYMOUS | NFT_SET_CONSTANT);

	nftnl_set_set_str(x, NFTNL_SET_TABLE, b->table);
	nftnl_set_set_str(x, NFTNL_SET_NAME, s->name ? s->name : "__set%d");
	nftnl_set_set_u32(x, NFTNL_SET_ID, id);
	nftnl_set_set_u32(x, NFTNL_SET_FAMILY, b->family);
	nftnl_set_set_u32(x, NFTNL_SET_FLAGS, flags);
	nftnl_set_set_u32(x, NFTNL_SET_KEY_TYPE, s->key_type);
	nftnl_set_set_u32(x, NFTNL_SET_KEY_LEN, s->key_len);
	if (s->size)
		nftnl_set_set_u32(x, NFTNL_SET_DESC_SIZE, s->size);
	if (s->verdicts) {
		nftnl_set_set_u32(x, NFTNL_SET_DATA_TYPE, NFT_DATA_VERDICT);
		nftnl_set_set_u32(x, NFTNL_SET_DATA_LEN, 0);
	}
	if (s->timeout_ms)
		nftnl_set_set_u64(x, NFTNL_SET_TIMEOUT, s->timeout_ms);
	return x;
}

uint32_t nft_add_set(struct nft_batch *b, const struct nft_set *s)
{
	uint32_t id = ++b->sets;
	struct nftnl_set *x = nft_set_new(b, s, id);
	struct nlmsghdr *h = nft_batch_open(
		b, NFT_MSG_NEWSET, NLM_F_CREATE, "set", s->name ? s->name : "of values");

	nftnl_set_nlmsg_build_payload(h, x);
	nft_batch_close(b, h);
	nftnl_set_free(x);
	return id;
}

static void elements(struct nft_batch *b, uint16_t type, uint16_t flags, struct nftnl_set *take_set)
{
	struct nftnl_set_elems_iter *it = must(nftnl_set_elems_iter_create(take_set));
	int more;

	do {
		struct nlmsghdr *h = nft_batch_open(b, type, flags, "elements of a set", "");

		more = nftnl_set_elems_nlmsg_build_payload_iter(h, it);
		nft_batch_close(b, h);
	} while (more > 0);
	nftnl_set_elems_iter_destroy(it);
	nftnl_set_free(take_set);
}

void nft_add_elements(struct nft_batch *b, struct nftnl_set *take_set)
{
	elements(b, NFT_MSG_NEWSETELEM, NLM_F_CREATE, take_set);
}

void nft_del_elements(struct nft_batch *b, struct nftnl_set *take_set)
{
	elements(b, NFT_MSG_DELSETELEM, 0, take_set);
}

void nft_add_keys(
	struct nft_batch *b, const struct nft_set *s, uint32_t id, const void *keys, size_t n)
{
	struct nftnl_set *x = nft_set_new(b, s, id);

	for (size_t i = 0; i < n; i++) {
		struct nftnl_set_elem *el = must(nftnl_set_elem_alloc());

		nftnl_set_elem_set(
			el, NFTNL_SET_ELEM_KEY, (const char *)keys + i * s->key_len, s->key_len);
		if (s->flags & NFT_SET_INTERVAL && i % 2 == s->ends)
			nftnl_set_elem_set_u32(el, NFTNL_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
		nftnl_set_elem_add(x, el);
	}
	nft_add_elements(b, x);
}

/* What a refusal means, for the one who has to do something about it. */
static int refused(const struct nft_batch *b, uint32_t seq, int err, struct cl_err *e)
{
	const struct nft_label *l = seq - 1 < b->seq ? &b->labels[seq - 1] : &b->labels[0];

	switch (err) {
	case EPERM:
	case EACCES:
		(void)cl_fail(e, CL_EDENIED, "cannot change the packet filter: not permitted");
		return cl_fix(e, "run as root (CAP_NET_ADMIN in this network namespace is needed)");
	case ENOENT:
	case EOPNOTSUPP:
	case EPROTONOSUPPORT:
	case EAFNOSUPPORT:
		(void)cl_fail_sys(e, CL_EUNAVAIL, err,
			"this kernel's packet filter lacks what table '%s' needs, at %s '%s'",
			l->table, l->kind, l->name);
		return cl_fix(e, "a kernel with nf_tables for inet and netdev, conntrack, reject "
				 "and masquerade is needed (Debian's has all as modules)");
	default:
		return cl_fail_sys(e, CL_EOS, err,
			"the kernel refused table '%s' at %s '%s'; nothing was changed", l->table,
			l->kind, l->name);
	}
}

/* Reads what came back: the first refusal, or the one acknowledgement that was asked for. */
static int answers(const struct nft_batch *b, struct sys_nl *nl, uint32_t acked, struct cl_err *e)
{
	cleanup_free char *buf = cl_malloc(SYS_NL_READ);

	for (;;) {
		ssize_t n = recv(mnl_socket_get_fd(nl->s), buf, SYS_NL_READ, MSG_DONTWAIT);
		const struct nlmsghdr *h = (const void *)buf;
		int left = (int)n;

		if (n < 0 && errno == EINTR)
			continue;
		/* The kernel answers before sendto(2) returns: silence is a lost answer. */
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "no answer from the packet filter");
		for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
			const struct nlmsgerr *m = mnl_nlmsg_get_payload(h);

			if (h->nlmsg_type != NLMSG_ERROR)
				continue;
			if (m->error)
				return refused(b, h->nlmsg_seq, -m->error, e);
			if (h->nlmsg_seq == acked)
				return 0;
		}
	}
}

static int transact(struct nft_batch *b, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	int room = (int)b->buf.len + 65536, read_room = 8 << 20;
	/* The first message after the start is acknowledged when all of it was taken. */
	struct nlmsghdr *first =
		(void *)(b->buf.p + NLMSG_ALIGN(((struct nlmsghdr *)(void *)b->buf.p)->nlmsg_len));

	first->nlmsg_flags |= NLM_F_ACK;
	if (sys_nl_open(&nl, NETLINK_NETFILTER, e))
		return cl_wrap(e, "packet filter");
	(void)setsockopt(mnl_socket_get_fd(nl.s), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	(void)setsockopt(
		mnl_socket_get_fd(nl.s), SOL_SOCKET, SO_RCVBUFFORCE, &read_room, sizeof(read_room));
	if (mnl_socket_sendto(nl.s, b->buf.p, b->buf.len) < 0)
		return errno == EPERM || errno == EACCES
			       ? refused(b, 1, errno, e)
			       : cl_fail_sys(e, CL_EOS, errno, "cannot send to the packet filter");
	return answers(b, &nl, first->nlmsg_seq, e);
}

int nft_batch_try(struct nft_batch *b, struct cl_err *e)
{
	return transact(b, e);
}

int nft_batch_send(struct nft_batch *b, struct cl_err *e)
{
	label(b, "end", "");
	nft_batch_close(b, nftnl_batch_end(tail(b), b->seq));
	return transact(b, e);
}
