/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tun devices in a prepared network (DECISIONS I2; Documentation/networking/tuntap.rst). Making one
 * takes CAP_NET_ADMIN, attaching to one that is there takes being its owner: so it is made before
 * the sandbox starts, for the sandbox's user.
 *
 * It goes up, without an address: in a sandbox nobody may give it one, but the kernel its
 * link-local one of IPv6. It has one queue, for the kernel lets nobody attach to several who does
 * not ask for several. Whatever is written into it comes from outside for the namespace, so
 * forwarding is switched off there; what leaves by the sandbox's own link is held to the sandbox's
 * own addresses by the rules of its port (net.h). It ends with the namespace.
 */
#ifndef CL_SYS_NET_TUN_H
#define CL_SYS_NET_TUN_H

#include "base/err.h"

#include <sys/types.h>

/* Borrowed. */
struct net_tun {
	const char *node; /* a path of the character device 10:200 */
	const char *name; /* of the interface */
	uid_t owner;
};

/*
 * Into the network that net_prepare made for the handle; again for another one. CL_ENOTFOUND: no
 * such network. CL_EREFUSED, constraint "devices": the name is taken there, or the node is another
 * device. CL_EUNAVAIL: this kernel has no tun. On failure there is no device.
 */
int net_tun_add(const char *rundir, const char *handle, const struct net_tun *t, struct cl_err *e);

#endif
