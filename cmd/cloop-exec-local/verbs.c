/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"
#include "base/mem.h"
#include "policy/place/capability.h"
#include "work/ctx.h"
#include "work/process.h"
#include "work/shim/shim.h"
#include "work/verbs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/*
 * The hub's own word, read here and now: whatever went wrong before us, nothing becomes a
 * process of this host that its operator has not allowed.
 */
static int allowed(const struct cl_ctx *c, const struct work_spec *s, struct cl_err *e)
{
	cleanup_hub_env struct hub_env env = HUB_ENV_INIT;
	cleanup_cfg struct cfg cfg = CFG_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_hub struct hub hub = HUB_INIT;

	hub_env_from_ctx(c, &env);
	env.ask.dir = s->hub;
	if (hub_find(&env.ask, &hub, e) || hub_config(&hub, geteuid(), &d, &cfg, e))
		return -1;
	if (cfg.allow_host_process)
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "%s has executors.allow_host_process: false", cfg.file);
	(void)cl_constraint(e, "host_execution_policy");
	return cl_fix(e, "run it on an executor that isolates");
}

int cmd_local_capabilities(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec s = WORK_SPEC_INIT;
	struct cap_set caps;
	struct utsname u;

	(void)c;
	if (work_executor_in("local", &s, e))
		return -1;
	if (uname(&u))
		memset(&u, 0, sizeof(u));
	cap_of_process(process_limits(), u.machine, &caps);
	cl_take_json(cap_json(&caps, "localprocess", s.executor->id));
	return 0;
}

static json_t *finding(const char *check, const char *status, const char *detail, const char *fix)
{
	return json_pack("{s:s, s:s, s:s, s:s?}", "check", check, "status", status, "detail",
		detail, "fix", fix);
}

int cmd_local_preflight(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec s = WORK_SPEC_INIT;
	json_t *list = json_array();
	bool may, limits = process_limits();

	if (work_executor_in("local", &s, e)) {
		json_decref(list);
		return -1;
	}
	may = !allowed(c, &s, e);
	(void)json_array_append_new(
		list, may ? finding("host_execution_policy", "ok",
				    "executors.allow_host_process allows plain processes", NULL)
			  : finding("host_execution_policy", "fail", e->msg, e->fix));
	(void)json_array_append_new(
		list, finding("isolation", "warn",
			      "nothing stands between a workload and this host but its account",
			      "run what you do not trust on a container executor"));
	(void)json_array_append_new(
		list, limits ? finding("cgroups", "ok",
				       "memory, processors and processes can be limited", NULL)
			     : finding("cgroups", "warn",
				       "no limits hold here, and a process that drops its "
				       "environment and outlives its supervisor is not found",
				       "run cloop as root, with control groups mounted"));
	cl_take_json(json_pack(
		"{s:s, s:b, s:o}", "executor_id", s.executor->id, "fatal", !may, "findings", list));
	return !may;
}

int cmd_local_prepare(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec s = WORK_SPEC_INIT;

	if (work_spec_in("local", &s, e) || allowed(c, &s, e) || process_check(&s, e))
		return -1;
	cl_take_json(json_pack("{s:b, s:[]}", "reproducible", 0, "warnings"));
	return 0;
}

int cmd_local_start(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec s = WORK_SPEC_INIT;
	struct process_ask ask = {.spec = &s, .driver = "localprocess", .as_owner = true};

	shim_close_inherited();
	if (work_spec_in("local", &s, e) || allowed(c, &s, e) || process_check(&s, e))
		return -1;
	return process_start(&ask, e);
}

int cmd_local_adopt(struct cl_ctx *c, struct cl_err *e)
{
	(void)c;
	return process_adopt(e);
}

int cmd_local_reap(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec s = WORK_SPEC_INIT;
	json_t *removed, *failed;
	int rc;

	(void)c;
	if (work_executor_in("local", &s, e))
		return -1;
	removed = json_array();
	failed = json_array();
	rc = process_reap(s.hub, "localprocess", removed, failed, e);
	return work_reaped_out(rc, s.executor->id, removed, failed);
}
