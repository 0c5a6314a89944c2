/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an interface loses when it leaves its namespace: addresses and routes, kept as the kernel
 * lists them and given back as they were, the way of `ip address save` and `ip route save`.
 */
#include "base/mem.h"
#include "sys/net/net_lend_internal.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096 /* addresses and routes each: what has more is a router's */

struct keeping {
	unsigned index;
	struct cl_buf *out;
	size_t n;
	bool shared; /* a route that goes over several interfaces */
};

static void keep(struct keeping *k, const struct nlmsghdr *h)
{
	if (++k->n <= MOST)
		cl_buf_add(k->out, h, NLMSG_ALIGN(h->nlmsg_len));
}

struct number {
	uint16_t type;
	uint32_t value;
};

static int number_attr(const struct nlattr *a, void *data)
{
	struct number *n = data;

	if (mnl_attr_get_type(a) == n->type && mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
		n->value = mnl_attr_get_u32(a);
	return MNL_CB_OK;
}

/* The number in the attribute of that type, or what it is without one. */
static uint32_t number(const struct nlmsghdr *h, size_t header, uint16_t type, uint32_t otherwise)
{
	struct number n = {type, otherwise};

	(void)mnl_attr_parse(h, (unsigned)header, number_attr, &n);
	return n.value;
}

/* Those that the kernel makes again by itself, as from a router's word, are left to it. */
static int on_address(const struct nlmsghdr *h, void *data)
{
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
	struct keeping *k = data;
	uint32_t flags;

	if (h->nlmsg_type != RTM_NEWADDR || h->nlmsg_len < mnl_nlmsg_size(sizeof(*m)) ||
		m->ifa_index != k->index)
		return MNL_CB_OK;
	flags = number(h, sizeof(*m), IFA_FLAGS, m->ifa_flags);
	if (m->ifa_family == AF_INET6 &&
		(flags & (IFA_F_TEMPORARY | IFA_F_DADFAILED) || !(flags & IFA_F_PERMANENT)))
		return MNL_CB_OK;
	keep(k, h);
	return MNL_CB_OK;
}

static int hop_attr(const struct nlattr *a, void *data)
{
	const char *at = mnl_attr_get_payload(a);
	size_t left = mnl_attr_get_payload_len(a);
	struct keeping *k = data;
	struct rtnexthop hop;

	if (mnl_attr_get_type(a) != RTA_MULTIPATH)
		return MNL_CB_OK;
	while (left >= sizeof(hop)) {
		memcpy(&hop, at, sizeof(hop));
		k->shared = k->shared || (unsigned)hop.rtnh_ifindex == k->index;
		if (hop.rtnh_len < sizeof(hop) || RTNH_ALIGN((size_t)hop.rtnh_len) >= left)
			break;
		at += RTNH_ALIGN((size_t)hop.rtnh_len);
		left -= RTNH_ALIGN((size_t)hop.rtnh_len);
	}
	return MNL_CB_OK;
}

/* Routes of the kernel's own come with the addresses, those of a router with its next word. */
static int on_route(const struct nlmsghdr *h, void *data)
{
	const struct rtmsg *m = mnl_nlmsg_get_payload(h);
	struct keeping *k = data;

	if (h->nlmsg_type != RTM_NEWROUTE || h->nlmsg_len < mnl_nlmsg_size(sizeof(*m)) ||
		m->rtm_flags & RTM_F_CLONED || m->rtm_protocol == RTPROT_KERNEL ||
		m->rtm_protocol == RTPROT_REDIRECT || m->rtm_protocol == RTPROT_RA)
		return MNL_CB_OK;
	(void)mnl_attr_parse(h, sizeof(*m), hop_attr, k);
	if (number(h, sizeof(*m), RTA_OIF, 0) == k->index)
		keep(k, h);
	return MNL_CB_OK;
}

static int dump(struct sys_nl *nl, uint16_t type, uint8_t family, mnl_cb_t cb, struct keeping *k,
	struct cl_err *e)
{
	size_t before = k->n, len = k->out->len;
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	int err = EINTR;

	for (int i = 0; err == EINTR && i < 10; i++) {
		struct nlmsghdr *h = mnl_nlmsg_put_header(room);
		struct rtgenmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(struct rtmsg));

		h->nlmsg_type = type;
		h->nlmsg_flags = NLM_F_DUMP;
		m->rtgen_family = family;
		k->n = before;
		k->out->len = len;
		err = sys_nl_ask(nl, h, cb, k, why);
	}
	return err ? sys_nl_fail(e, err, why, "list what an interface has") : 0;
}

static int refuse(const struct lent *l, const char *why, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "interface '%s' (%s) %s, which could not be put back",
		l->name, l->source, why);
	(void)cl_constraint(e, "interfaces");
	return cl_fix(e, "grant an interface that the host itself does not route over");
}

int lent_keep(struct sys_nl *nl, struct lent *l, struct cl_err *e)
{
	struct keeping a = {.index = l->index, .out = &l->addresses},
		       r = {.index = l->index, .out = &l->routes};

	if (dump(nl, RTM_GETADDR, AF_UNSPEC, on_address, &a, e) ||
		dump(nl, RTM_GETROUTE, AF_INET, on_route, &r, e) ||
		dump(nl, RTM_GETROUTE, AF_INET6, on_route, &r, e))
		return -1;
	if (r.shared)
		return refuse(l, "is one of several that a route of this host goes over", e);
	if (a.n > MOST || r.n > MOST)
		return refuse(l, "has thousands of addresses or routes", e);
	return 0;
}

/* ---- giving back ---- */

struct copy {
	struct nlmsghdr *to;
	const uint16_t *without; /* ends with 0 */
};

static int copy_attr(const struct nlattr *a, void *data)
{
	const struct copy *c = data;

	for (const uint16_t *w = c->without; *w; w++)
		if (mnl_attr_get_type(a) == *w)
			return MNL_CB_OK;
	mnl_attr_put(
		c->to, mnl_attr_get_type(a), mnl_attr_get_payload_len(a), mnl_attr_get_payload(a));
	return MNL_CB_OK;
}

/* A request that makes what was listed; owned, with room for one more number. */
static struct nlmsghdr *again(const struct nlmsghdr *from, size_t header, const uint16_t *without)
{
	char *room = cl_calloc(1, NLMSG_ALIGN(from->nlmsg_len) + 64);
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct copy c = {h, without};

	h->nlmsg_type = from->nlmsg_type;
	h->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	memcpy(mnl_nlmsg_put_extra_header(h, header), mnl_nlmsg_get_payload(from), header);
	(void)mnl_attr_parse(from, (unsigned)header, copy_attr, &c);
	return h;
}

static void send_again(struct sys_nl *nl, struct nlmsghdr *take_h, const struct lent *l,
	const char *what, struct cl_strv *said)
{
	char why[SYS_NL_WHY];
	int err = sys_nl_ask(nl, take_h, NULL, NULL, why);

	if (err && err != EEXIST)
		cl_strv_addf(said, "%s (%s): %s could not be put back: %s", l->name, l->source,
			what, *why ? why : strerror(err));
	free(take_h);
}

/* It was tried out when it was set first: nobody needs to be asked whether it is free. */
static void put_address(struct sys_nl *nl, const struct nlmsghdr *from, unsigned index,
	const struct lent *l, struct cl_strv *said)
{
	static const uint16_t without[] = {IFA_FLAGS, 0};
	const uint32_t kept = IFA_F_NOPREFIXROUTE | IFA_F_HOMEADDRESS | IFA_F_MANAGETEMPADDR;
	struct nlmsghdr *h = again(from, sizeof(struct ifaddrmsg), without);
	struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
	uint32_t flags = number(from, sizeof(*m), IFA_FLAGS, m->ifa_flags) & kept;

	if (m->ifa_family == AF_INET6)
		flags |= IFA_F_NODAD;
	m->ifa_index = index;
	m->ifa_flags = (uint8_t)flags;
	mnl_attr_put_u32(h, IFA_FLAGS, flags);
	send_again(nl, h, l, "an address", said);
}

static void put_route(struct sys_nl *nl, const struct nlmsghdr *from, unsigned index,
	const struct lent *l, struct cl_strv *said)
{
	static const uint16_t without[] = {RTA_OIF, RTA_CACHEINFO, RTA_NH_ID, 0};
	struct nlmsghdr *h = again(from, sizeof(struct rtmsg), without);
	struct rtmsg *m = mnl_nlmsg_get_payload(h);

	m->rtm_flags &= RTNH_F_ONLINK;
	mnl_attr_put_u32(h, RTA_OIF, index);
	send_again(nl, h, l, "a route", said);
}

static int via_attr(const struct nlattr *a, void *data)
{
	if (mnl_attr_get_type(a) == RTA_GATEWAY || mnl_attr_get_type(a) == RTA_VIA)
		*(bool *)data = true;
	return MNL_CB_OK;
}

static bool has_gateway(const struct nlmsghdr *h)
{
	bool found = false;

	(void)mnl_attr_parse(h, sizeof(struct rtmsg), via_attr, &found);
	return found;
}

/* A gateway is only taken when there is a way to it: those over the link itself go first. */
static void put_routes(
	struct sys_nl *nl, unsigned index, const struct lent *l, struct cl_strv *said)
{
	for (int via = 0; via < 2; via++) {
		const struct nlmsghdr *h = (const void *)l->routes.p;
		int left = (int)l->routes.len;

		for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left))
			if (h->nlmsg_type == RTM_NEWROUTE &&
				h->nlmsg_len >= mnl_nlmsg_size(sizeof(struct rtmsg)) &&
				has_gateway(h) == via)
				put_route(nl, h, index, l, said);
	}
}

static void note(const struct lent *l, const struct cl_err *e, struct cl_strv *said)
{
	cl_strv_addf(said, "%s (%s): %s", l->name, l->source, e->msg);
}

void lent_restore(struct sys_nl *nl, unsigned index, const struct lent *l, struct cl_strv *said)
{
	const struct nlmsghdr *h = (const void *)l->addresses.p;
	int left = (int)l->addresses.len;
	struct cl_err e;

	for (size_t i = 0; i < l->altnames.n; i++)
		if (net_altname_add(nl, index, l->altnames.v[i], &e))
			note(l, &e, said);
	if (net_link_mtu(nl, index, l->mtu, &e))
		note(l, &e, said);
	for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left))
		if (h->nlmsg_type == RTM_NEWADDR &&
			h->nlmsg_len >= mnl_nlmsg_size(sizeof(struct ifaddrmsg)))
			put_address(nl, h, index, l, said);
	if (!l->up)
		return;
	if (net_link_up(nl, index, &e))
		note(l, &e, said);
	put_routes(nl, index, l, said);
}
