/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits besides memory, and joining: for workloads that no engine puts into a cgroup. */
#include "sys/cgroup_internal.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>

#define PERIOD_US 100000 /* of the CPU quota, the kernel's own default */

static const struct cg_hierarchy *of_pids(const struct cg *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->h[i].pids)
			return &c->h[i];
	return NULL;
}

static const struct cg_hierarchy *of_cpu(const struct cg *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->h[i].cpu)
			return &c->h[i];
	return NULL;
}

static const struct cg_hierarchy *of_memory(const struct cg *c)
{
	struct cl_err ignored;

	return cg_memory(c, &ignored);
}

bool cg_limits(const struct cg *c)
{
	return of_memory(c) && of_pids(c) && of_cpu(c);
}

static int put(const struct cg_hierarchy *h, const char *handle, const char *what, const char *file,
	const char *text, struct cl_err *e)
{
	cleanup_free char *path = NULL;
	int sys;

	if (cg_check_handle(handle, e))
		return -1;
	if (!h) {
		(void)cl_fail(e, CL_EUNAVAIL, "no %s controller is mounted here", what);
		return cl_fix(e, "mount it, or set no such limit");
	}
	path = cg_path(h, handle, file);
	sys = cg_put(path, text);
	return sys ? cl_fail_sys(e, CL_EOS, sys, "cannot write '%s' to '%s'", text, path) : 0;
}

int cg_set_pids(const struct cg *c, const char *handle, int64_t pids, struct cl_err *e)
{
	char text[24];

	if (pids <= 0)
		return cl_fail(e, CL_EBUG, "a limit of %lld processes", (long long)pids);
	(void)snprintf(text, sizeof(text), "%lld", (long long)pids);
	return put(of_pids(c), handle, "pids", "pids.max", text, e);
}

int cg_set_cpu(const struct cg *c, const char *handle, int64_t milli, struct cl_err *e)
{
	const struct cg_hierarchy *h = of_cpu(c);
	long long quota = (long long)(milli * PERIOD_US / 1000);
	char text[48];

	if (milli <= 0)
		return cl_fail(e, CL_EBUG, "a limit of %lld millicores", (long long)milli);
	/* Less than a millisecond in each period is refused by the kernel. */
	quota = quota < 1000 ? 1000 : quota;
	if (h && h->v2)
		(void)snprintf(text, sizeof(text), "%lld %d", quota, PERIOD_US);
	else
		(void)snprintf(text, sizeof(text), "%lld", quota);
	return put(h, handle, "cpu", h && h->v2 ? "cpu.max" : "cpu.cfs_quota_us", text, e);
}

int cg_join(const struct cg *c, const char *handle, pid_t pid, struct cl_err *e)
{
	if (cg_check_handle(handle, e))
		return -1;
	for (size_t i = 0; i < c->n; i++)
		if (cg_put_process(&c->h[i], handle, "work", pid, e))
			return -1;
	return 0;
}
