/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/net/nl.h"
#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int sys_nl_open(struct sys_nl *nl, int bus, struct cl_err *e)
{
	int on = 1;

	nl->seq = 0;
	nl->s = mnl_socket_open2(bus, SOCK_CLOEXEC);
	if (!nl->s && (errno == EPERM || errno == EACCES))
		return cl_fail_sys(e, CL_EDENIED, errno, "netlink sockets are forbidden here");
	if (!nl->s)
		return cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot open a netlink socket");
	if (mnl_socket_bind(nl->s, 0, MNL_SOCKET_AUTOPID) < 0) {
		int err = errno;

		sys_nl_close(nl);
		return cl_fail_sys(e, CL_EOS, err, "cannot bind a netlink socket");
	}
	/* Refusals with a text, and without the request in them; older kernels do without. */
	(void)mnl_socket_setsockopt(nl->s, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)mnl_socket_setsockopt(nl->s, NETLINK_CAP_ACK, &on, sizeof(on));
	return 0;
}

void sys_nl_close(struct sys_nl *nl)
{
	if (nl->s)
		(void)mnl_socket_close(nl->s);
	nl->s = NULL;
}

static int ext_ack_attr(const struct nlattr *a, void *why)
{
	if (mnl_attr_get_type(a) == NLMSGERR_ATTR_MSG &&
		mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
		(void)snprintf(why, SYS_NL_WHY, "%s", mnl_attr_get_str(a));
	return MNL_CB_OK;
}

static int answer_error(const struct nlmsghdr *h, char *why)
{
	const struct nlmsgerr *m = mnl_nlmsg_get_payload(h);

	if (h->nlmsg_len < mnl_nlmsg_size(sizeof(*m)))
		return EBADMSG;
	if (h->nlmsg_flags & NLM_F_ACK_TLVS)
		(void)mnl_attr_parse(h, sizeof(*m), ext_ack_attr, why);
	return -m->error;
}

struct ask {
	mnl_cb_t cb;
	void *data;
	char *why;
	bool changed; /* the dump is of more than one moment */
	int err;      /* -1: not answered yet */
};

static void on_message(struct ask *a, const struct nlmsghdr *h)
{
	if (h->nlmsg_flags & NLM_F_DUMP_INTR)
		a->changed = true;
	if (h->nlmsg_type == NLMSG_ERROR) {
		a->err = answer_error(h, a->why);
	} else if (h->nlmsg_type == NLMSG_DONE) {
		a->err = a->changed ? EINTR : 0;
	} else if (h->nlmsg_type >= NLMSG_MIN_TYPE && a->cb) {
		(void)a->cb(h, a->data);
		if (!(h->nlmsg_flags & NLM_F_MULTI))
			a->err = 0;
	}
}

int sys_nl_ask(struct sys_nl *nl, struct nlmsghdr *h, mnl_cb_t cb, void *data, char *why)
{
	struct ask a = {.cb = cb, .data = data, .why = why, .err = -1};
	unsigned port = mnl_socket_get_portid(nl->s);
	cleanup_free char *buf = cl_malloc(SYS_NL_READ);

	*why = 0;
	h->nlmsg_seq = ++nl->seq;
	h->nlmsg_flags |= NLM_F_REQUEST;
	if (!cb)
		h->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_sendto(nl->s, h, h->nlmsg_len) < 0)
		return errno;
	while (a.err < 0) {
		ssize_t n = mnl_socket_recvfrom(nl->s, buf, SYS_NL_READ);
		const struct nlmsghdr *m = (const void *)buf;
		int left = (int)n;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		for (; a.err < 0 && mnl_nlmsg_ok(m, left); m = mnl_nlmsg_next(m, &left))
			if (m->nlmsg_seq == nl->seq && m->nlmsg_pid == port)
				on_message(&a, m);
	}
	return a.err;
}

__attribute__((format(printf, 4, 0))) static int vfail(
	struct cl_err *e, int err, const char *why, const char *fmt, va_list ap)
{
	char what[200];

	(void)vsnprintf(what, sizeof(what), fmt, ap);
	if (err == EPERM || err == EACCES) {
		(void)cl_fail(e, CL_EDENIED, "cannot %s: not permitted", what);
		return cl_fix(e, "run as root (CAP_NET_ADMIN in this network namespace is needed)");
	}
	if (*why)
		return cl_fail_sys(e, CL_EOS, err, "cannot %s: %s", what, why);
	return cl_fail_sys(e, CL_EOS, err, "cannot %s", what);
}

int sys_nl_fail(struct cl_err *e, int err, const char *why, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = vfail(e, err, why, fmt, ap);
	va_end(ap);
	return rc;
}

int sys_nl_do(struct sys_nl *nl, struct nlmsghdr *h, mnl_cb_t cb, void *data, struct cl_err *e,
	const char *fmt, ...)
{
	char why[SYS_NL_WHY];
	int err = sys_nl_ask(nl, h, cb, data, why);
	va_list ap;

	if (!err)
		return 0;
	va_start(ap, fmt);
	(void)vfail(e, err, why, fmt, ap);
	va_end(ap);
	return -1;
}
