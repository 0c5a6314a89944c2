/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "sys/net/net_internal.h"

#include <errno.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct nlmsghdr *request(
	char room[SYS_NL_SIZE], uint16_t type, uint16_t flags, uint8_t family, unsigned index)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct ifinfomsg *i = mnl_nlmsg_put_extra_header(h, sizeof(*i));

	h->nlmsg_type = type;
	h->nlmsg_flags = flags;
	i->ifi_family = family;
	i->ifi_index = (int)index;
	return h;
}

void net_links_release(struct net_links *l)
{
	free(l->v);
	*l = (struct net_links){0};
}

static void take_text(const struct nlattr *a, char *to, size_t size)
{
	if (mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
		(void)snprintf(to, size, "%s", mnl_attr_get_str(a));
}

static void take_number(const struct nlattr *a, unsigned *to)
{
	if (mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
		*to = mnl_attr_get_u32(a);
}

static int info_attr(const struct nlattr *a, void *data)
{
	struct net_link *l = data;

	if (mnl_attr_get_type(a) == IFLA_INFO_KIND)
		take_text(a, l->kind, sizeof(l->kind));
	return MNL_CB_OK;
}

static int link_attr(const struct nlattr *a, void *data)
{
	struct net_link *l = data;

	switch (mnl_attr_get_type(a)) {
	case IFLA_IFNAME:
		take_text(a, l->name, sizeof(l->name));
		break;
	case IFLA_MASTER:
		take_number(a, &l->master);
		break;
	case IFLA_LINK:
		take_number(a, &l->lower);
		break;
	case IFLA_MTU:
		take_number(a, &l->mtu);
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(a) <= sizeof(l->mac)) {
			l->nmac = mnl_attr_get_payload_len(a);
			memcpy(l->mac, mnl_attr_get_payload(a), l->nmac);
		}
		break;
	case IFLA_LINKINFO:
		(void)mnl_attr_parse_nested(a, info_attr, l);
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

/* The other end, or what it stands on, is in another namespace: its index means nothing here. */
static int elsewhere_attr(const struct nlattr *a, void *data)
{
	if (mnl_attr_get_type(a) == IFLA_LINK_NETNSID)
		((struct net_link *)data)->lower = 0;
	return MNL_CB_OK;
}

static void read_link(const struct nlmsghdr *h, struct net_link *l)
{
	const struct ifinfomsg *i = mnl_nlmsg_get_payload(h);

	*l = (struct net_link){.index = (unsigned)i->ifi_index, .flags = i->ifi_flags};
	(void)mnl_attr_parse(h, sizeof(*i), link_attr, l);
	(void)mnl_attr_parse(h, sizeof(*i), elsewhere_attr, l);
}

static int on_link(const struct nlmsghdr *h, void *data)
{
	struct net_links *l = data;

	if (h->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	l->v = cl_grow(l->v, &l->cap, l->n + 1, sizeof(*l->v));
	read_link(h, &l->v[l->n++]);
	return MNL_CB_OK;
}

int net_links(struct sys_nl *nl, struct net_links *out, struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	int err = EINTR;

	for (int i = 0; err == EINTR && i < 10; i++) {
		out->n = 0;
		err = sys_nl_ask(nl, request(room, RTM_GETLINK, NLM_F_DUMP, AF_UNSPEC, 0), on_link,
			out, why);
	}
	return err ? sys_nl_fail(e, err, why, "list the interfaces") : 0;
}

struct looking {
	struct net_link *link;
	struct cl_strv *altnames; /* or NULL */
};

static int altname_attr(const struct nlattr *a, void *data)
{
	if (mnl_attr_get_type(a) == IFLA_ALT_IFNAME &&
		mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
		cl_strv_add(data, mnl_attr_get_str(a));
	return MNL_CB_OK;
}

static int names_attr(const struct nlattr *a, void *data)
{
	if (mnl_attr_get_type(a) == IFLA_PROP_LIST)
		(void)mnl_attr_parse_nested(a, altname_attr, data);
	return MNL_CB_OK;
}

static int on_looked(const struct nlmsghdr *h, void *data)
{
	struct looking *l = data;

	if (h->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	read_link(h, l->link);
	if (l->altnames)
		(void)mnl_attr_parse(h, sizeof(struct ifinfomsg), names_attr, l->altnames);
	return MNL_CB_OK;
}

int net_link_look(struct sys_nl *nl, const char *name, unsigned index, struct net_link *out,
	struct cl_strv *altnames, struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	struct nlmsghdr *h = request(room, RTM_GETLINK, 0, AF_UNSPEC, name ? 0 : index);
	struct looking l = {out, altnames};
	int err;

	*out = (struct net_link){0};
	if (name)
		mnl_attr_put_strz(h, strlen(name) < IFNAMSIZ ? IFLA_IFNAME : IFLA_ALT_IFNAME, name);
	err = sys_nl_ask(nl, h, on_looked, &l, why);
	if (!err || err == ENODEV)
		return 0;
	return name ? sys_nl_fail(e, err, why, "look at interface '%s'", name)
		    : sys_nl_fail(e, err, why, "look at interface %u", index);
}

int net_link_index(struct sys_nl *nl, const char *name, unsigned *index, struct cl_err *e)
{
	struct net_link l = {0};
	int rc = net_link_look(nl, name, 0, &l, NULL, e);

	*index = l.index;
	return rc;
}

/* Inside IFLA_AF_SPEC: IPv6 makes no address of its own on the link. */
static void no_link_local(struct nlmsghdr *h)
{
	struct nlattr *six = mnl_attr_nest_start(h, AF_INET6);

	mnl_attr_put_u8(h, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	mnl_attr_nest_end(h, six);
}

int net_bridge_add(struct sys_nl *nl, const char *name, const uint8_t mac[6], struct cl_err *e)
{
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = request(room, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, AF_UNSPEC, 0);
	struct nlattr *info, *data;

	mnl_attr_put_strz(h, IFLA_IFNAME, name);
	/* Given, so that it does not become the lowest of the ports' and change with them. */
	mnl_attr_put(h, IFLA_ADDRESS, 6, mac);
	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_strz(h, IFLA_INFO_KIND, "bridge");
	data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	mnl_attr_put_u32(h, IFLA_BR_STP_STATE, 0);
	mnl_attr_put_u8(h, IFLA_BR_MCAST_SNOOPING, 0);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
	return sys_nl_do(nl, h, NULL, NULL, e, "make bridge '%s'", name);
}

int net_altname_add(struct sys_nl *nl, unsigned index, const char *altname, struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	struct nlmsghdr *h = request(
		room, RTM_NEWLINKPROP, NLM_F_CREATE | NLM_F_EXCL | NLM_F_APPEND, AF_UNSPEC, index);
	struct nlattr *list = mnl_attr_nest_start(h, IFLA_PROP_LIST);
	int err;

	mnl_attr_put_strz(h, IFLA_ALT_IFNAME, altname);
	mnl_attr_nest_end(h, list);
	err = sys_nl_ask(nl, h, NULL, NULL, why);
	/* Before Linux 5.5 there are no alternative names; nothing depends on them. */
	if (!err || err == EEXIST || err == EOPNOTSUPP)
		return 0;
	return sys_nl_fail(e, err, why, "give a bridge the name '%s'", altname);
}

int net_altname_delete(struct sys_nl *nl, unsigned index, const char *altname, struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	struct nlmsghdr *h = request(room, RTM_DELLINKPROP, 0, AF_UNSPEC, index);
	struct nlattr *list = mnl_attr_nest_start(h, IFLA_PROP_LIST);
	int err;

	mnl_attr_put_strz(h, IFLA_ALT_IFNAME, altname);
	mnl_attr_nest_end(h, list);
	err = sys_nl_ask(nl, h, NULL, NULL, why);
	return !err || err == ENOENT || err == ENODEV
		       ? 0
		       : sys_nl_fail(e, err, why, "take the name '%s' from an interface", altname);
}

int net_bridge_route(struct sys_nl *nl, unsigned index, struct cl_err *e)
{
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = request(room, RTM_SETLINK, 0, AF_UNSPEC, index);
	struct nlattr *spec = mnl_attr_nest_start(h, IFLA_AF_SPEC), *four, *conf;

	four = mnl_attr_nest_start(h, AF_INET);
	conf = mnl_attr_nest_start(h, IFLA_INET_CONF);
	mnl_attr_put_u32(h, IPV4_DEVCONF_FORWARDING, 1);
	mnl_attr_put_u32(h, IPV4_DEVCONF_SEND_REDIRECTS, 0);
	mnl_attr_put_u32(h, IPV4_DEVCONF_ACCEPT_REDIRECTS, 0);
	mnl_attr_put_u32(h, IPV4_DEVCONF_ARP_IGNORE, 1);
	mnl_attr_nest_end(h, conf);
	mnl_attr_nest_end(h, four);
	no_link_local(h);
	mnl_attr_nest_end(h, spec);
	return sys_nl_do(nl, h, NULL, NULL, e, "set up the bridge");
}

int net_veth_add(
	struct sys_nl *nl, const char *host_if, int peer_fd, const uint8_t mac[6], struct cl_err *e)
{
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = request(room, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, AF_UNSPEC, 0);
	struct nlattr *info, *data, *peer;

	mnl_attr_put_strz(h, IFLA_IFNAME, host_if);
	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_strz(h, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(h, VETH_INFO_PEER);
	(void)mnl_nlmsg_put_extra_header(h, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(h, IFLA_IFNAME, "eth0");
	mnl_attr_put(h, IFLA_ADDRESS, 6, mac);
	mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)peer_fd);
	mnl_attr_nest_end(h, peer);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
	return sys_nl_do(nl, h, NULL, NULL, e, "make interface '%s'", host_if);
}

static int join(struct sys_nl *nl, unsigned port, unsigned bridge, struct cl_err *e)
{
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = request(room, RTM_SETLINK, 0, AF_UNSPEC, port);
	struct nlattr *spec;

	mnl_attr_put_u32(h, IFLA_MASTER, bridge);
	spec = mnl_attr_nest_start(h, IFLA_AF_SPEC);
	no_link_local(h);
	mnl_attr_nest_end(h, spec);
	return sys_nl_do(nl, h, NULL, NULL, e, "put a port into its bridge");
}

/* A request of its own: together with IFLA_MASTER these are ignored. */
static int isolate(struct sys_nl *nl, unsigned port, struct cl_err *e)
{
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = request(room, RTM_SETLINK, 0, AF_BRIDGE, port);
	struct nlattr *info = mnl_attr_nest_start(h, IFLA_PROTINFO);

	mnl_attr_put_u8(h, IFLA_BRPORT_ISOLATED, 1);
	mnl_attr_put_u8(h, IFLA_BRPORT_LEARNING, 0);
	mnl_attr_put_u8(h, IFLA_BRPORT_UNICAST_FLOOD, 0);
	mnl_attr_put_u8(h, IFLA_BRPORT_GUARD, 1);
	mnl_attr_nest_end(h, info);
	return sys_nl_do(nl, h, NULL, NULL, e, "isolate a port of the bridge");
}

static int fdb_add(struct sys_nl *nl, unsigned port, const uint8_t mac[6], struct cl_err *e)
{
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct ndmsg *n = mnl_nlmsg_put_extra_header(h, sizeof(*n));

	h->nlmsg_type = RTM_NEWNEIGH;
	h->nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE;
	n->ndm_family = AF_BRIDGE;
	n->ndm_ifindex = (int)port;
	n->ndm_state = NUD_NOARP;
	n->ndm_flags = NTF_MASTER;
	mnl_attr_put(h, NDA_LLADDR, 6, mac);
	return sys_nl_do(nl, h, NULL, NULL, e, "tell the bridge where the sandbox is");
}

int net_port_join(
	struct sys_nl *nl, unsigned port, unsigned bridge, const uint8_t mac[6], struct cl_err *e)
{
	return join(nl, port, bridge, e) || isolate(nl, port, e) || fdb_add(nl, port, mac, e) ? -1
											      : 0;
}

int net_link_up(struct sys_nl *nl, unsigned index, struct cl_err *e)
{
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = request(room, RTM_NEWLINK, 0, AF_UNSPEC, index);
	struct ifinfomsg *i = mnl_nlmsg_get_payload(h);

	i->ifi_flags = i->ifi_change = IFF_UP;
	return sys_nl_do(nl, h, NULL, NULL, e, "bring an interface up");
}

int net_link_rename(struct sys_nl *nl, unsigned index, const char *name, struct cl_err *e)
{
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = request(room, RTM_SETLINK, 0, AF_UNSPEC, index);
	struct ifinfomsg *i = mnl_nlmsg_get_payload(h);

	i->ifi_change = IFF_UP;
	if (sys_nl_do(nl, h, NULL, NULL, e, "take interface %u down", index))
		return -1;
	h = request(room, RTM_SETLINK, 0, AF_UNSPEC, index);
	mnl_attr_put_strz(h, IFLA_IFNAME, name);
	return sys_nl_do(nl, h, NULL, NULL, e, "name an interface '%s'", name);
}

int net_link_mtu(struct sys_nl *nl, unsigned index, unsigned mtu, struct cl_err *e)
{
	char room[SYS_NL_SIZE];
	struct nlmsghdr *h = request(room, RTM_SETLINK, 0, AF_UNSPEC, index);

	mnl_attr_put_u32(h, IFLA_MTU, mtu);
	return sys_nl_do(nl, h, NULL, NULL, e, "set the mtu of an interface to %u", mtu);
}

/*
 * In one request, so that it is never there under a name that somebody else's may have: where the
 * name it comes with is taken, it arrives with the new one.
 */
int net_link_move(struct sys_nl *nl, unsigned index, int fd, const char *name, unsigned want,
	unsigned mtu, struct cl_err *e)
{
	char why[SYS_NL_WHY];
	int err = EBUSY;

	/* Linux before 5.17 knows no wish for an index; where it is taken it is any. */
	for (int wish = want != 0; err == EBUSY && wish >= 0; wish--) {
		char room[SYS_NL_SIZE];
		struct nlmsghdr *h = request(room, RTM_SETLINK, 0, AF_UNSPEC, index);

		mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)fd);
		mnl_attr_put_strz(h, IFLA_IFNAME, name);
		if (wish)
			mnl_attr_put_u32(h, IFLA_NEW_IFINDEX, want);
		if (mtu)
			mnl_attr_put_u32(h, IFLA_MTU, mtu);
		err = sys_nl_ask(nl, h, NULL, NULL, why);
	}
	return err ? sys_nl_fail(e, err, why, "move an interface into place as '%s'", name) : 0;
}

int net_link_delete(struct sys_nl *nl, const char *name, struct cl_err *e)
{
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	struct nlmsghdr *h = request(room, RTM_DELLINK, 0, AF_UNSPEC, 0);
	int err;

	mnl_attr_put_strz(h, IFLA_IFNAME, name);
	err = sys_nl_ask(nl, h, NULL, NULL, why);
	return !err || err == ENODEV ? 0 : sys_nl_fail(e, err, why, "remove interface '%s'", name);
}
