/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What connection tracking still knows about an address. A flow of an earlier run that
 * had it would pass the filter as established, whatever the new run's policy says.
 */
#include "base/mem.h"
#include "sys/net/net_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct tuples {
	const struct pol_addr *source;
	bool all;                       /* that it opened */
	const struct eg_policy *policy; /* without `all`: what it may have; NULL: anything */
	struct cl_buf bytes;            /* CTA_TUPLE_ORIG attributes, one after the other */
	size_t n;
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

/* An address of the tuple, of the family that is looked for. */
static bool address_of(
	const struct tuples *t, const struct nlattr *tuple, bool source, struct pol_addr *out)
{
	uint8_t family = t->source->family;
	uint16_t type = family == 4 ? (source ? CTA_IP_V4_SRC : CTA_IP_V4_DST)
				    : (source ? CTA_IP_V6_SRC : CTA_IP_V6_DST);
	const struct nlattr *a = inside(inside(tuple, CTA_TUPLE_IP), type);
	size_t len = family == 4 ? 4 : 16;

	if (!a || mnl_attr_get_payload_len(a) != len)
		return false;
	*out = (struct pol_addr){.family = family};
	memcpy(out->b, mnl_attr_get_payload(a), len);
	return true;
}

/* Can something here be bound to it? Then it is the host's own. */
static bool is_ours(const struct pol_addr *a)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	cleanup_fd int fd =
		socket(a->family == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&in.sin_addr, a->b, 4);
	memcpy(&in6.sin6_addr, a->b, 16);
	return fd >= 0 && !(a->family == 4 ? bind(fd, (struct sockaddr *)&in, sizeof(in))
					   : bind(fd, (struct sockaddr *)&in6, sizeof(in6)));
}

/* Would the policy let the sandbox open this connection now? */
static bool allowed(const struct tuples *t, const struct nlattr *tuple, const struct pol_addr *to)
{
	const struct nlattr *nest = inside(tuple, CTA_TUPLE_PROTO),
			    *num = inside(nest, CTA_PROTO_NUM),
			    *at = inside(nest, CTA_PROTO_DST_PORT);
	uint8_t proto = num && mnl_attr_get_payload_len(num) ? mnl_attr_get_u8(num) : 0;
	uint16_t port = at && mnl_attr_get_payload_len(at) == 2 ? ntohs(mnl_attr_get_u16(at)) : 0;
	struct eg_answer a = eg_evaluate(t->policy, to, port,
		proto == IPPROTO_TCP   ? EG_PROTO_TCP
		: proto == IPPROTO_UDP ? EG_PROTO_UDP
				       : EG_PROTO_ANY,
		true);

	return a.verdict == EG_ALLOW &&
	       (a.rule < 0 || !t->policy->rules[a.rule].internet || !is_ours(to));
}

static int on_flow(const struct nlmsghdr *h, void *data)
{
	struct tuples *t = data;
	struct pick tuple = {CTA_TUPLE_ORIG, NULL};
	struct pol_addr from, to;
	bool its_own;

	(void)mnl_attr_parse(h, sizeof(struct nfgenmsg), pick_attr, &tuple);
	if (!address_of(t, tuple.found, true, &from) || !address_of(t, tuple.found, false, &to))
		return MNL_CB_OK;
	its_own = !pol_addr_cmp(&from, t->source);
	if ((its_own && (t->all || (t->policy && !allowed(t, tuple.found, &to)))) ||
		(!t->all && !its_own && !pol_addr_cmp(&to, t->source))) {
		cl_buf_add(&t->bytes, tuple.found, MNL_ALIGN(tuple.found->nla_len));
		t->n++;
	}
	return MNL_CB_OK;
}

static int find(struct sys_nl *nl, struct tuples *t, char *why)
{
	char room[SYS_NL_SIZE];
	int err = EINTR;

	for (int i = 0; err == EINTR && i < 10; i++) {
		cl_buf_reset(&t->bytes);
		t->n = 0;
		err = sys_nl_ask(nl, request(room, IPCTNL_MSG_CT_GET, NLM_F_DUMP, t->source),
			on_flow, t, why);
	}
	return err;
}

static int forget(struct tuples *t, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	const struct pol_addr *source = t->source;
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	int err;

	if (!source->family)
		return 0;
	if (sys_nl_open(&nl, NETLINK_NETFILTER, e))
		return -1;
	err = find(&nl, t, why);
	for (size_t at = 0; !err && at < t->bytes.len;) {
		struct nlmsghdr *h = request(room, IPCTNL_MSG_CT_DELETE, 0, source);
		struct nlattr a;

		memcpy(&a, t->bytes.p + at, sizeof(a));
		memcpy(mnl_nlmsg_put_extra_header(h, MNL_ALIGN(a.nla_len)), t->bytes.p + at,
			MNL_ALIGN(a.nla_len));
		at += MNL_ALIGN(a.nla_len);
		err = sys_nl_ask(&nl, h, NULL, NULL, why);
		/* It ended by itself. */
		if (err == ENOENT)
			err = 0;
	}
	cl_buf_release(&t->bytes);
	/* EINVAL: a kernel built without this interface to its table. */
	if (!err || err == EINVAL || err == EOPNOTSUPP)
		return 0;
	return sys_nl_fail(e, err, why, "read the tracked connections");
}

int net_forget_flows(const struct pol_addr *source, struct cl_err *e)
{
	struct tuples t = {.source = source, .all = true, .bytes = CL_BUF_INIT};

	return forget(&t, e);
}

int net_forget_denied(
	const struct pol_addr *own, const struct eg_policy *policy, size_t *n, struct cl_err *e)
{
	struct tuples t = {.source = own, .policy = policy, .bytes = CL_BUF_INIT};
	int rc = forget(&t, e);

	*n += t.n;
	return rc;
}
