/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/net/net_tun.h"
#include "base/mem.h"
#include "sys/net/net_internal.h"
#include "sys/net/net_lend_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct making {
	const struct net_tun *want;
	int node; /* O_PATH */
};

static int no_tun(const struct net_tun *t, struct cl_err *e)
{
	(void)cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot open '%s'", t->node);
	return cl_fix(e, "load the kernel's module: modprobe tun");
}

static int taken(const struct net_tun *t, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "the sandbox has a '%s' already", t->name);
	(void)cl_constraint(e, "devices");
	return cl_fix(e,
		"give the device another target in the secret's inventory, such as /dev/net/vpn0, "
		"whose last part is the name; or give the interface that has it another target=");
}

/* The node takes the namespace of whoever opens it. */
static int make(void *arg, struct cl_err *e)
{
	const struct making *m = arg;
	const struct net_tun *t = m->want;
	struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_TUN_EXCL};
	cleanup_fd int fd = -1;
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", m->node);
	(void)snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", t->name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return no_tun(t, e);
	if (ioctl(fd, TUNSETIFF, &r) < 0)
		return errno == EBUSY ? taken(t, e)
				      : cl_fail_sys(e, CL_EOS, errno,
						"cannot make a tun device '%s'", t->name);
	if (ioctl(fd, TUNSETOWNER, (unsigned long)t->owner) < 0 ||
		ioctl(fd, TUNSETPERSIST, 1UL) < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot give the tun device '%s' to user %u",
			t->name, (unsigned)t->owner);
	return 0;
}

static int open_node(const struct net_tun *t, struct cl_err *e)
{
	cleanup_fd int fd = open(t->node, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return no_tun(t, e);
	if (!fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(10, 200))
		return cl_steal_fd(&fd);
	(void)cl_fail(e, CL_EREFUSED, "'%s' is not the node of tun devices, 10:200", t->node);
	(void)cl_constraint(e, "devices");
	return cl_fix(e, "look at what was put in its place, then run again");
}

/* One of that name that is no tun device would be EINVAL, which says nothing. */
static int check_name(struct sys_nl *inside, const struct net_tun *t, struct cl_err *e)
{
	unsigned index;

	if (!*t->name || strlen(t->name) >= IFNAMSIZ)
		return cl_fail(e, CL_EDATA, "'%s' is no name of an interface", t->name);
	if (net_link_index(inside, t->name, &index, e))
		return -1;
	return index ? taken(t, e) : 0;
}

int net_tun_add(const char *rundir, const char *handle, const struct net_tun *t, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	cleanup_nl struct sys_nl inside = SYS_NL_INIT;
	cleanup_fd int ns = -1, node = -1;
	struct making m = {.want = t};
	struct cl_err second;
	unsigned index;

	if (net_check_handle(handle, e) || net_dirs_open(&d, rundir, true, e) ||
		lent_inside(&d, handle, &ns, &inside, e) || check_name(&inside, t, e))
		return -1;
	m.node = node = open_node(t, e);
	if (node < 0 || net_ns_routes_nothing(ns, e) || net_in_namespace(ns, make, &m, e))
		return -1;
	if (!net_link_index(&inside, t->name, &index, e) && !net_link_up(&inside, index, e))
		return 0;
	(void)net_link_delete(&inside, t->name, &second);
	return -1;
}
