/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * capabilities: what placement may count on (facts/executors.md 3). Answered from the
 * configuration and this process alone, so that an executor whose engine is down still has
 * the capabilities of its runtime's name.
 */
#include "engine_verbs.h"
#include "policy/place/capability.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

int cmd_capabilities(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec spec = WORK_SPEC_INIT;
	struct cap_set caps;
	struct utsname u;

	(void)c;
	if (work_executor_in("container", &spec, e))
		return -1;
	if (uname(&u))
		memset(&u, 0, sizeof(u));
	cap_of_container(spec.executor, geteuid() == 0, u.machine, &caps);
	cl_take_json(cap_json(&caps, "container", spec.executor->id));
	return 0;
}
