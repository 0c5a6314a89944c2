/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "sys/net/net_internal.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

static uint8_t af(const struct pol_addr *a)
{
	return a->family == 4 ? AF_INET : AF_INET6;
}

static size_t len(const struct pol_addr *a)
{
	return a->family == 4 ? 4 : 16;
}

int net_address_put(struct sys_nl *nl, unsigned index, const struct pol_addr *a, uint8_t length,
	struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY], text[POL_ADDR_TEXT];
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	int err;

	h->nlmsg_type = RTM_NEWADDR;
	h->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	m->ifa_family = af(a);
	m->ifa_prefixlen = length;
	m->ifa_index = index;
	/* Nobody else can have it: without this it is unusable for a second. */
	if (a->family == 6)
		m->ifa_flags = IFA_F_NODAD;
	mnl_attr_put(h, IFA_LOCAL, len(a), a->b);
	mnl_attr_put(h, IFA_ADDRESS, len(a), a->b);
	err = sys_nl_ask(nl, h, NULL, NULL, why);
	pol_addr_text(a, text);
	return !err || err == EEXIST ? 0 : sys_nl_fail(e, err, why, "set address %s", text);
}

int net_address_add(struct sys_nl *nl, unsigned index, const struct pol_addr *a, struct cl_err *e)
{
	return net_address_put(nl, index, a, pol_bits(a->family), e);
}

static struct nlmsghdr *route(char room[SYS_NL_SIZE], uint16_t type, uint16_t flags, uint8_t family,
	unsigned index, const struct pol_addr *dst)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct rtmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	h->nlmsg_type = type;
	h->nlmsg_flags = flags;
	m->rtm_family = family;
	m->rtm_table = RT_TABLE_MAIN;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_type = RTN_UNICAST;
	m->rtm_scope = RT_SCOPE_LINK;
	if (dst) {
		m->rtm_dst_len = pol_bits(dst->family);
		mnl_attr_put(h, RTA_DST, len(dst), dst->b);
	}
	mnl_attr_put_u32(h, RTA_OIF, index);
	return h;
}

int net_route_add(struct sys_nl *nl, unsigned index, const struct pol_addr *dst,
	const struct pol_addr *via, struct cl_err *e)
{
	uint8_t family = dst ? af(dst) : via ? af(via) : AF_UNSPEC;
	char room[SYS_NL_SIZE], text[POL_ADDR_TEXT] = "everything";
	struct nlmsghdr *h =
		route(room, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, family, index, dst);
	struct rtmsg *m = mnl_nlmsg_get_payload(h);

	if (dst)
		pol_addr_text(dst, text);
	if (via) {
		m->rtm_scope = RT_SCOPE_UNIVERSE;
		mnl_attr_put(h, RTA_GATEWAY, len(via), via->b);
	}
	return sys_nl_do(nl, h, NULL, NULL, e, "set a route to %s", text);
}

int net_route_delete(
	struct sys_nl *nl, unsigned index, const struct pol_addr *dst, struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY], text[POL_ADDR_TEXT];
	struct nlmsghdr *h = route(room, RTM_DELROUTE, 0, af(dst), index, dst);
	int err = sys_nl_ask(nl, h, NULL, NULL, why);

	pol_addr_text(dst, text);
	return !err || err == ESRCH || err == ENODEV
		       ? 0
		       : sys_nl_fail(e, err, why, "remove the route to %s", text);
}

static struct nlmsghdr *neighbour(char room[SYS_NL_SIZE], uint16_t type, uint16_t flags,
	unsigned index, const struct pol_addr *a)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct ndmsg *n = mnl_nlmsg_put_extra_header(h, sizeof(*n));

	h->nlmsg_type = type;
	h->nlmsg_flags = flags;
	n->ndm_family = af(a);
	n->ndm_ifindex = (int)index;
	n->ndm_state = NUD_PERMANENT;
	mnl_attr_put(h, NDA_DST, len(a), a->b);
	return h;
}

int net_neighbour_add(struct sys_nl *nl, unsigned index, const struct pol_addr *a,
	const uint8_t mac[6], struct cl_err *e)
{
	char room[SYS_NL_SIZE], text[POL_ADDR_TEXT];
	struct nlmsghdr *h = neighbour(room, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, index, a);

	mnl_attr_put(h, NDA_LLADDR, 6, mac);
	pol_addr_text(a, text);
	return sys_nl_do(nl, h, NULL, NULL, e, "set the neighbour %s", text);
}

int net_neighbour_delete(
	struct sys_nl *nl, unsigned index, const struct pol_addr *a, struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY], text[POL_ADDR_TEXT];
	int err = sys_nl_ask(nl, neighbour(room, RTM_DELNEIGH, 0, index, a), NULL, NULL, why);

	pol_addr_text(a, text);
	return !err || err == ENOENT || err == ENODEV
		       ? 0
		       : sys_nl_fail(e, err, why, "remove the neighbour %s", text);
}

void net_routes_release(struct net_routes *r)
{
	free(r->v);
	*r = (struct net_routes){0};
}

static void add_route(struct net_routes *r, const struct pol_prefix *dst, unsigned index)
{
	r->v = cl_grow(r->v, &r->cap, r->n + 1, sizeof(*r->v));
	r->v[r->n++] = (struct net_route){*dst, index};
}

static int keep_attr(const struct nlattr *a, void *data)
{
	const struct nlattr **by_type = data;

	if (mnl_attr_get_type(a) <= RTA_MAX)
		by_type[mnl_attr_get_type(a)] = a;
	return MNL_CB_OK;
}

/* Every interface of a route over several. */
static void add_hops(struct net_routes *r, const struct pol_prefix *dst, const struct nlattr *hops)
{
	const char *at = mnl_attr_get_payload(hops);
	size_t left = mnl_attr_get_payload_len(hops);
	struct rtnexthop hop;
	size_t step;

	while (left >= sizeof(hop)) {
		memcpy(&hop, at, sizeof(hop));
		if (hop.rtnh_len < sizeof(hop) || hop.rtnh_len > left)
			return;
		add_route(r, dst, (unsigned)hop.rtnh_ifindex);
		step = RTNH_ALIGN((size_t)hop.rtnh_len);
		if (step >= left)
			return;
		at += step;
		left -= step;
	}
}

static int on_route(const struct nlmsghdr *h, void *data)
{
	const struct rtmsg *m = mnl_nlmsg_get_payload(h);
	const struct nlattr *a[RTA_MAX + 1] = {0};
	struct pol_prefix dst = {
		.addr.family = m->rtm_family == AF_INET ? 4 : 6, .len = m->rtm_dst_len};
	uint32_t table = m->rtm_table;

	(void)mnl_attr_parse(h, sizeof(*m), keep_attr, (void *)a);
	if (a[RTA_TABLE])
		table = mnl_attr_get_u32(a[RTA_TABLE]);
	if (h->nlmsg_type != RTM_NEWROUTE || table == RT_TABLE_LOCAL)
		return MNL_CB_OK;
	if (a[RTA_DST] && mnl_attr_get_payload_len(a[RTA_DST]) == len(&dst.addr))
		memcpy(dst.addr.b, mnl_attr_get_payload(a[RTA_DST]), len(&dst.addr));
	if (a[RTA_MULTIPATH])
		add_hops(data, &dst, a[RTA_MULTIPATH]);
	else
		add_route(data, &dst, a[RTA_OIF] ? mnl_attr_get_u32(a[RTA_OIF]) : 0);
	return MNL_CB_OK;
}

int net_routes(struct sys_nl *nl, uint8_t family, struct net_routes *out, struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	int err = EINTR;

	for (int i = 0; err == EINTR && i < 10; i++) {
		struct nlmsghdr *h = mnl_nlmsg_put_header(room);
		struct rtmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

		h->nlmsg_type = RTM_GETROUTE;
		h->nlmsg_flags = NLM_F_DUMP;
		m->rtm_family = family == 4 ? AF_INET : AF_INET6;
		out->n = 0;
		err = sys_nl_ask(nl, h, on_route, out, why);
	}
	return err ? sys_nl_fail(e, err, why, "list the routes") : 0;
}
