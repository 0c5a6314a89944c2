/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What connection tracking still knows about an address. A flow of an earlier run that
 * had it would pass the filter as established, whatever the new run's policy says.
 */
#include "base/mem.h"
#include "sys/net_internal.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct tuples {
	const struct pol_addr *source;
	struct cl_buf bytes; /* CTA_TUPLE_ORIG attributes, one after the other */
};

static struct nlmsghdr *request(char *room, uint16_t type, uint16_t flags, const struct pol_addr *a)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	h->nlmsg_type = (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | type);
	h->nlmsg_flags = flags;
	g->nfgen_family = a->family == 4 ? AF_INET : AF_INET6;
	g->version = NFNETLINK_V0;
	return h;
}

static uint16_t source_type(const struct pol_addr *a)
{
	return a->family == 4 ? CTA_IP_V4_SRC : CTA_IP_V6_SRC;
}

static size_t source_len(const struct pol_addr *a)
{
	return a->family == 4 ? 4 : 16;
}

struct pick {
	uint16_t type;
	const struct nlattr *found;
};

static int pick_attr(const struct nlattr *a, void *data)
{
	struct pick *p = data;

	if (mnl_attr_get_type(a) == p->type)
		p->found = a;
	return MNL_CB_OK;
}

static const struct nlattr *inside(const struct nlattr *nest, uint16_t type)
{
	struct pick p = {type, NULL};

	if (nest)
		(void)mnl_attr_parse_nested(nest, pick_attr, &p);
	return p.found;
}

static int on_flow(const struct nlmsghdr *h, void *data)
{
	struct tuples *t = data;
	struct pick tuple = {CTA_TUPLE_ORIG, NULL};
	const struct nlattr *source;

	(void)mnl_attr_parse(h, sizeof(struct nfgenmsg), pick_attr, &tuple);
	source = inside(inside(tuple.found, CTA_TUPLE_IP), source_type(t->source));
	if (source && mnl_attr_get_payload_len(source) == source_len(t->source) &&
		!memcmp(mnl_attr_get_payload(source), t->source->b, source_len(t->source)))
		cl_buf_add(&t->bytes, tuple.found, MNL_ALIGN(tuple.found->nla_len));
	return MNL_CB_OK;
}

static int find(struct sys_nl *nl, struct tuples *t, char *why)
{
	char room[SYS_NL_SIZE];
	int err = EINTR;

	for (int i = 0; err == EINTR && i < 10; i++) {
		cl_buf_reset(&t->bytes);
		err = sys_nl_ask(nl, request(room, IPCTNL_MSG_CT_GET, NLM_F_DUMP, t->source),
			on_flow, t, why);
	}
	return err;
}

int net_forget_flows(const struct pol_addr *source, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	struct tuples t = {.source = source, .bytes = CL_BUF_INIT};
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	int err;

	if (!source->family)
		return 0;
	if (sys_nl_open(&nl, NETLINK_NETFILTER, e))
		return -1;
	err = find(&nl, &t, why);
	for (size_t at = 0; !err && at < t.bytes.len;) {
		struct nlmsghdr *h = request(room, IPCTNL_MSG_CT_DELETE, 0, source);
		struct nlattr a;

		memcpy(&a, t.bytes.p + at, sizeof(a));
		memcpy(mnl_nlmsg_put_extra_header(h, MNL_ALIGN(a.nla_len)), t.bytes.p + at,
			MNL_ALIGN(a.nla_len));
		at += MNL_ALIGN(a.nla_len);
		err = sys_nl_ask(&nl, h, NULL, NULL, why);
		/* It ended by itself. */
		if (err == ENOENT)
			err = 0;
	}
	cl_buf_release(&t.bytes);
	/* EINVAL: a kernel built without this interface to its table. */
	if (!err || err == EINVAL || err == EOPNOTSUPP)
		return 0;
	return sys_nl_fail(e, err, why, "read the tracked connections");
}
