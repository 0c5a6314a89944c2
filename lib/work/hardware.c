/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/hardware.h"
#include "base/mem.h"
#include "policy/place/runtime_name.h"
#include "work/driver.h"

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

/* ---- asked of who holds no key ---- */

static int ask(const char *verb, json_t *take_in, struct cl_err *e)
{
	json_t *out = NULL;
	int rc = work_driver("cloop-interfaces", verb, take_in, &out, e);

	json_decref(take_in);
	json_decref(out);
	return rc;
}

int hardware_interfaces(const json_t *v, const char *run_dir, struct cl_err *e)
{
	return ask("look",
		json_pack("{s:o, s:O}", "run_dir", cl_json_string(run_dir), "interfaces", v), e);
}

int hardware_ask_device(const char *secret, const struct sec_device *d, const char *project,
	bool root_too, struct cl_err *e)
{
	return ask("device",
		json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:b}", "secret", secret, "name",
			cl_json_string(d->name), "source", cl_json_string(d->source), "target",
			cl_json_string(d->target), "access", sec_access_name(d->access), "project",
			cl_json_string(project), "root_too", root_too),
		e);
}

/* ---- executors that have none ---- */

const char *hardware_no_devices(const char *oci_runtime, bool rootless)
{
	if (rn_kernel_isolated(oci_runtime))
		return rn_userspace_kernel(oci_runtime) ? "gVisor serves /dev from its own kernel"
							: "a guest kernel has a /dev of its own";
	return rootless ? "the engine runs without root" : NULL;
}

int hardware_cannot(const char *executor, const char *why, const char *device, const char *secret,
	const char *grant_id, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"executor '%s' cannot give a sandbox devices of its host (%s), and '%s' is granted "
		"to this run: host_device '%s' (%s)",
		executor, why, device, secret, grant_id);
	(void)cl_constraint(e, "devices");
	return cl_fix(e,
		"bind the project to a container executor under runc or crun on the host that has "
		"it, or revoke the grant: cloop secret revoke %s",
		grant_id);
}

int hardware_sees_interfaces(const char *executor, const char *oci_runtime, struct cl_err *e)
{
	return rn_kernel_isolated(oci_runtime)
		       ? cl_fail(e, CL_EREFUSED,
				 "executor '%s' runs sandboxes under '%s', which sees the network "
				 "as it was "
				 "when the sandbox began, and never an interface of the host",
				 executor, oci_runtime)
		       : 0;
}
