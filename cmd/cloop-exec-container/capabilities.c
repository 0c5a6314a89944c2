/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * capabilities: what placement may count on (facts/executors.md 3). Answered from the
 * configuration and this process alone, so that an executor whose engine is down still has
 * the capabilities of its runtime's name. What a spec cannot ask of this driver is false.
 */
#include "engine_verbs.h"
#include "base/mem.h"
#include "policy/runtime_name.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct facts {
	const struct cfg_executor *x;
	bool rootless; /* podman, or whichever is found, without root */
	bool virtualized, userspace;
};

static bool yes(const struct facts *f)
{
	(void)f;
	return true;
}

static bool no(const struct facts *f)
{
	(void)f;
	return false;
}

static bool virtualized(const struct facts *f)
{
	return f->virtualized;
}

static bool kernel_isolated(const struct facts *f)
{
	return f->virtualized || f->userspace;
}

static bool network_egress(const struct facts *f)
{
	return strcmp(f->x->network, "none") != 0;
}

/* A filter under rootless podman would not filter (DECISIONS C4). */
static bool filtered_egress(const struct facts *f)
{
	return f->x->egress.enabled && !f->rootless;
}

static bool not_rootless(const struct facts *f)
{
	return !f->rootless;
}

static const struct {
	const char *name;
	bool (*is)(const struct facts *f);
} rows[] = {
	{"virtualized", virtualized},
	{"kernel_isolated", kernel_isolated},
	{"supports_stream", yes},
	{"supports_signal", yes},
	{"supports_resource_limits", yes},
	{"shares_host_filesystem", yes},
	{"network_egress", network_egress},
	{"filtered_egress", filtered_egress},
	{"supports_egress_scope", not_rootless},
	{"supports_image_override", yes},
	{"supports_sandbox_build", yes},
	{"supports_sandbox_mounts", yes},
	/* These come with grants: no spec can ask for them yet. */
	{"supports_host_mounts", no},
	{"supports_secret_files", no},
	{"supports_devices", no},
	{"supports_interfaces", no},
	{"secret_files_from_host_path", no},
	{"supports_workspace_provisioning", no},
	{"supports_branch_bundle", no},
	{"supports_write_back", no},
	{"supports_project_seed", no},
	{"returns_project_state", no},
};

int cmd_capabilities(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec spec = WORK_SPEC_INIT;
	struct facts f = {0};
	struct utsname u;
	json_t *out;

	(void)c;
	if (exec_read_executor(&spec, e))
		return -1;
	f.x = spec.executor;
	f.virtualized = rn_virtualized(f.x->oci_runtime);
	f.userspace = rn_userspace_kernel(f.x->oci_runtime);
	f.rootless = geteuid() != 0 && strcmp(f.x->runtime, "docker") != 0;
	if (uname(&u))
		memset(&u, 0, sizeof(u));
	out = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "driver", "container", "executor_id",
		f.x->id, "isolation", f.virtualized ? "vm" : "container", "disk_enforcement",
		"sampled", "platform", "linux", "arch", u.machine, "max_concurrent", 0);
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++)
		(void)json_object_set_new(out, rows[i].name, json_boolean(rows[i].is(&f)));
	cl_take_json(out);
	return 0;
}
