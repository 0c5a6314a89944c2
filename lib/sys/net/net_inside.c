/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What addresses a sandbox has that somebody else gave it. */
#include "base/mem.h"
#include "sys/net/net_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int find_address(const struct nlattr *a, void *data)
{
	const struct nlattr **found = data;

	/* On a point-to-point link IFA_LOCAL is the own one; elsewhere both are. */
	if (mnl_attr_get_type(a) == IFA_LOCAL || (mnl_attr_get_type(a) == IFA_ADDRESS && !*found))
		*found = a;
	return MNL_CB_OK;
}

static int on_address(const struct nlmsghdr *h, void *data)
{
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
	const struct nlattr *found = NULL;
	struct pol_addr *out = data, a = {0};
	size_t len;

	if (h->nlmsg_type != RTM_NEWADDR || h->nlmsg_len < mnl_nlmsg_size(sizeof(*m)) ||
		m->ifa_scope != RT_SCOPE_UNIVERSE)
		return MNL_CB_OK;
	a.family = m->ifa_family == AF_INET ? 4 : 6;
	len = a.family == 4 ? 4 : 16;
	out += a.family == 6;
	(void)mnl_attr_parse(h, sizeof(*m), find_address, &found);
	if (out->family || !found || mnl_attr_get_payload_len(found) != len)
		return MNL_CB_OK;
	memcpy(a.b, mnl_attr_get_payload(found), len);
	*out = a;
	return MNL_CB_OK;
}

/* In the namespace. */
static int ask(void *arg, struct cl_err *e)
{
	cleanup_nl struct sys_nl nl = SYS_NL_INIT;
	char room[SYS_NL_SIZE], why[SYS_NL_WHY];
	struct pol_addr *out = arg;
	int err = EINTR;

	if (sys_nl_open(&nl, NETLINK_ROUTE, e))
		return -1;
	for (int i = 0; err == EINTR && i < 10; i++) {
		struct nlmsghdr *h = mnl_nlmsg_put_header(room);
		struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

		h->nlmsg_type = RTM_GETADDR;
		h->nlmsg_flags = NLM_F_DUMP;
		m->ifa_family = AF_UNSPEC;
		out[0] = out[1] = (struct pol_addr){0};
		err = sys_nl_ask(&nl, h, on_address, out, why);
	}
	return err ? sys_nl_fail(e, err, why, "list the sandbox's addresses") : 0;
}

int net_addresses_of(pid_t pid, struct pol_addr out[2], struct cl_err *e)
{
	cleanup_fd int fd = -1;
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", path);
	return net_in_namespace(fd, ask, out, e);
}
