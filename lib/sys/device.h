/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Device nodes of this host: what a path below /dev leads to, as the node and the kernel's own
 * record of its number say. Links such as /dev/serial/by-id/... are followed, as long as they end
 * at a node below /dev. Sources: openat2(2), Documentation/ABI/testing/sysfs-dev.
 */
#ifndef CL_SYS_DEVICE_H
#define CL_SYS_DEVICE_H

#include "base/err.h"
#include "policy/secret/secret_node.h"

#include <sys/types.h>

struct sys_device {
	struct sec_node node;            /* its texts are those below */
	struct sec_inside host;          /* owner, group and mode of the node */
	char *path, *kernel, *subsystem; /* owned */
};
#define SYS_DEVICE_INIT ((struct sys_device){0})
void sys_device_release(struct sys_device *d);
#define cleanup_device __attribute__((cleanup(sys_device_release)))

/*
 * `root` is open on the directory whose dev/ and sys/ count: "/" but for tests. Nothing is opened
 * for reading, so no device is disturbed. CL_ENOTFOUND: there is nothing; CL_EREFUSED: it is no
 * device node, or stands elsewhere than below /dev. A number that sysfs does not know has an empty
 * name and subsystem and is no partition.
 */
int sys_device_find(int root, const char *path, struct sys_device *out, struct cl_err *e);
/* The same kind of node with the same number. */
bool sys_device_same(const struct sys_device *a, const struct sys_device *b);

#endif
