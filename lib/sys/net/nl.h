/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One netlink socket (RFC 3549), asked and answered: a request, its acknowledgement or
 * dump, and the kernel's own words when it refuses (NETLINK_EXT_ACK). The socket belongs
 * to the network namespace of the thread that opened it, for as long as it lives.
 */
#ifndef CL_SYS_NL_H
#define CL_SYS_NL_H

#include "base/err.h"

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

struct sys_nl {
	struct mnl_socket *s;
	uint32_t seq;
};
#define SYS_NL_INIT ((struct sys_nl){NULL, 0})

/* bus: NETLINK_ROUTE or NETLINK_NETFILTER. CL_EUNAVAIL without it, CL_EDENIED, CL_EOS. */
int sys_nl_open(struct sys_nl *nl, int bus, struct cl_err *e);
void sys_nl_close(struct sys_nl *nl);
#define cleanup_nl __attribute__((cleanup(sys_nl_close)))

#define SYS_NL_SIZE 4096  /* of a request that is built in place */
#define SYS_NL_READ 65536 /* of what is read at once */
#define SYS_NL_WHY  160   /* of the kernel's explanation */

/*
 * Sends h and reads to the end of what comes back: with `cb`, an answer or a dump (each
 * message is passed to it; what it returns does not matter), without, an
 * acknowledgement. 0, or the errno that the kernel sent, with its text (or "") in
 * why[SYS_NL_WHY]; EINTR when a dump changed while it was read: ask again.
 */
int sys_nl_ask(struct sys_nl *nl, struct nlmsghdr *h, mnl_cb_t cb, void *data, char *why);

/* sys_nl_ask where any refusal is a failure: "cannot <what>: <reason>". */
int sys_nl_do(struct sys_nl *nl, struct nlmsghdr *h, mnl_cb_t cb, void *data, struct cl_err *e,
	const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The error for a refusal of sys_nl_ask; returns -1. */
int sys_nl_fail(struct cl_err *e, int err, const char *why, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
