/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A device node as it is on the host that has it: whether a sandbox may be given it, and what the
 * sandbox then gets. The inventory was judged by its words alone (policy/secret/secret_inventory.h); a
 * name says nothing of what the node is. DECISIONS C2; the guides "Granting secrets and egress",
 * Host devices, and "Critical hosts", What the access mode does and does not enforce. Pure.
 */
#ifndef CL_POLICY_SECRET_NODE_H
#define CL_POLICY_SECRET_NODE_H

#include "policy/secret/secret_inventory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sec_node {
	bool block;
	unsigned major, minor;
	const char *path;      /* where it is: absolute, without links */
	const char *kernel;    /* the kernel's own name for it, below /dev; "": unknown */
	const char *subsystem; /* "tty", "block", "mem"; "": unknown */
	bool partition;        /* a part of a disk, as the kernel says */
};
/*
 * Why no sandbox may be given it, or NULL: by its path, by the kernel's name for its number,
 * by number where the kernel has no name, and a block device that is no partition.
 */
const char *sec_node_forbidden(const struct sec_node *n);

/*
 * Why a device cannot stand at `target` in a sandbox, or NULL: what every sandbox has there, and
 * what the engine mounts. *own: it is the very device that stands there anyway, so nothing is to
 * be done.
 */
const char *sec_target_taken(const char *target, const struct sec_node *n, bool *own);

/*
 * The node that tun devices are made through (Documentation/networking/tuntap.rst): it is only of
 * use in a sandbox whose network has one for it (sys/net/net_tun.h).
 */
bool sec_node_is_tun(const struct sec_node *n);
/*
 * The name of the tun device for such a node at `target`: "tun0" at .../tun, else the target's own
 * last part. NULL: no interface of a sandbox can have that name. Points into target or is static.
 */
const char *sec_tun_name(const char *target);

/* The sandbox's user, as this host knows it. */
struct sec_user {
	uint32_t uid, gid;
	const uint32_t *groups; /* of the account; group 0 counts for nothing */
	size_t ngroups;
};
/* The node inside. */
struct sec_inside {
	uint32_t uid, gid;
	unsigned mode;  /* permission bits */
	uint32_t group; /* to be added for the sandbox; 0: none */
	bool reads, writes;
};
/*
 * The rights of the host's node, narrowed to what was granted: nobody writes to what is granted
 * SEC_R, whatever the device rules of the engine do, and its owner cannot change that. A group is
 * added where the node's is one that the account has on this host.
 */
void sec_node_inside(const struct sec_inside *host, enum sec_access access,
	const struct sec_user *who, struct sec_inside *out);

#endif
