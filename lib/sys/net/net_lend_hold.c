/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A namespace that an engine made, held as long as interfaces of the host may be in it. */
#include "base/mem.h"
#include "sys/net/net_lend_internal.h"

#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static int check(int ns, struct cl_err *e)
{
	struct lents here = {0};
	struct stat st;

	if (ioctl(ns, NS_GET_NSTYPE) != CLONE_NEWNET || fstat(ns, &st))
		return cl_fail(e, CL_EUNAVAIL, "there is no network namespace of the sandbox's");
	if (lents_here(&here, e))
		return -1;
	if (here.dev != st.st_dev || here.ino != st.st_ino)
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "the sandbox has the host's own network");
	return cl_constraint(e, "interfaces");
}

int net_hold(const char *rundir, const char *handle, int ns, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;
	struct cl_err second;

	if (net_check_handle(handle, e) || check(ns, e) || net_dirs_open(&d, rundir, true, e))
		return -1;
	if (!net_ns_bind(&d, handle, ns, e))
		return 0;
	if (e->sys != EEXIST)
		(void)net_ns_remove(&d, handle, &second);
	return -1;
}

int net_let_go(const char *rundir, const char *handle, struct cl_err *e)
{
	cleanup_dirs struct net_dirs d = NET_DIRS_INIT;

	return net_check_handle(handle, e) || net_dirs_open(&d, rundir, true, e) ||
			       net_lend_undo(&d, handle, e) || net_ns_remove(&d, handle, e)
		       ? -1
		       : 0;
}
