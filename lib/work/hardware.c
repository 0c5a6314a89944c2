/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/hardware.h"
#include "base/mem.h"

#include <fcntl.h>

static int forbidden(const char *secret, const char *source, const struct sec_node *n,
	const char *why, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "'%s' is %s %u:%u (%s%s), which %s", source,
		n->block ? "block device" : "character device", n->major, n->minor, n->path,
		*n->kernel ? "" : ", unknown to the kernel", why);
	return cl_fix(e, "take it out of the inventory of '%s'", secret);
}

int hardware_device(const char *secret, const char *name, const char *source, const char *target,
	struct sys_device *node, struct cl_err *e)
{
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *why;
	bool own;

	if (root < 0)
		return cl_fail(e, CL_EOS, "cannot open '/'");
	if (sys_device_find(root, source, node, e)) {
		if (e->code == CL_ENOTFOUND)
			(void)cl_fix(e, "plug it in, or correct the inventory of '%s'", secret);
		return -1;
	}
	why = sec_node_forbidden(&node->node);
	if (why)
		return forbidden(secret, source, &node->node, why, e);
	if (sec_node_is_tun(&node->node) && !sec_tun_name(target)) {
		(void)cl_fail(e, CL_EREFUSED,
			"'%s' would make a tun device of a name that no interface of a sandbox can "
			"have",
			target);
		return cl_fix(e,
			"give it another target in the inventory of '%s': %s=%s:/dev/net/tun",
			secret, name, source);
	}
	why = sec_target_taken(target, &node->node, &own);
	if (!why)
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "'%s' cannot be at '%s' in a sandbox, which %s", source,
		target, why);
	return cl_fix(e, "give it another target in the inventory of '%s': %s=%s:/dev/NAME", secret,
		name, source);
}
