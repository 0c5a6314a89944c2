/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The constraints: one row each, in the order of facts/executors.md 4. */
#include "policy/place/place_internal.h"

#define ASKED(n, a, f)     .constraint = (n), .need = -1, .cap = -1, .asked = (a), .fails = (f)
#define NEEDED(n, k, w, f) .constraint = (n), .key = (k), .need = (w), .cap = -1, .fails = (f)
#define HAS(n, k, w, c)    .constraint = (n), .key = (k), .need = (w), .cap = (c)

const struct pl_rule pl_rules[PL_NROWS] = {
	[PL_PIN] = {ASKED("executor_id", plr_pinned, plr_another), .key = "the pin (executor_id)",
		.say = plr_say_pin,
		.remedy = "drop the pin, or pin it to an executor that there is"},
	[PL_HEALTH] = {ASKED("health", plr_unbound, plr_out_of_service), .say = plr_say_health,
		.cure = plr_cure_health},
	[PL_NOT_DEGRADED] = {ASKED("health", plr_forbids_degraded, plr_degraded),
		.key = "forbid_degraded", .say = plr_say_degraded,
		.remedy = "mend it, or drop forbid_degraded"},
	[PL_HOST_POLICY] = {ASKED("host_execution_policy", plr_strict, plr_no_isolation),
		.gap = true,
		.detail = "runs workloads on the hub's own host, which "
			  "executors.allow_host_process: false forbids",
		.remedy = "run it on an executor that isolates"},
	[PL_AGENT_BUILD] = {ASKED("agent_build", plr_has_floor, plr_below_floor),
		.say = plr_say_build, .cure = plr_cure_build},
	[PL_ISOLATION] = {NEEDED("isolation", "isolation", PL_NEED_ISOLATION, plr_no_isolation),
		.gap = true, .detail = "does not isolate a workload from its host",
		.remedy = "run it on an executor that isolates"},
	[PL_ISOLATION_SET] = {ASKED("isolation", plr_has_set, plr_not_in_set),
		.key = "allowed_isolations", .gap = true, .say = plr_say_set,
		.remedy = "run it on an executor with one of those, or accept this one too"},
	[PL_VIRTUALIZATION] = {HAS("virtualization", "capabilities.virtualized",
				       PL_NEED_VIRTUALIZATION, CAP_VIRTUALIZED),
		.gap = true,
		.detail = "shares the executing machine's kernel: no hypervisor stands between",
		.remedy = "set oci_runtime: kata on a container executor (runtime_class: kata on "
			  "Kubernetes) and run it there, or drop capabilities.virtualized"},
	[PL_KERNEL_ISOLATION] = {HAS("kernel_isolation", "capabilities.kernel_isolated",
					 PL_NEED_KERNEL_ISOLATION, CAP_KERNEL_ISOLATED),
		.gap = true,
		.detail = "serves a workload's system calls by the executing machine's kernel",
		.remedy = "set oci_runtime: runsc (gVisor) or kata on a container executor "
			  "(runtime_class on Kubernetes) and run it there, or drop "
			  "capabilities.kernel_isolated"},
	[PL_EVIDENCE] = {ASKED("isolation_evidence", plr_asks_isolation, plr_no_evidence),
		.say = plr_say_evidence, .cure = plr_cure_evidence},
	[PL_LABELS] = {ASKED("labels", plr_has_labels, plr_labels_differ), .key = "labels",
		.say = plr_say_labels, .cure = plr_cure_labels},
	[PL_PLATFORM] = {ASKED("platform", plr_has_platform, plr_platform_differs),
		.key = "platform", .say = plr_say_platform,
		.remedy = "run it on a machine of that platform"},
	[PL_ARCH] = {ASKED("arch", plr_has_arch, plr_arch_differs), .key = "arch",
		.say = plr_say_arch, .remedy = "run it on a machine of that architecture"},
	[PL_HARNESS] = {ASKED("harness", plr_has_harnesses, plr_lacks_harness),
		.key = "the harness", .say = plr_say_harness,
		.remedy = "install it there, or run it where it is"},
	[PL_RUNTIME] = {NEEDED("container_runtime", "container_runtime", PL_NEED_CONTAINER_RUNTIME,
				plr_no_runtime),
		.detail = "has no container runtime", .remedy = "install podman or docker there"},
	[PL_NETWORK_EGRESS] = {HAS("network_egress", "capabilities.network", PL_NEED_NETWORK_EGRESS,
				       CAP_NETWORK_EGRESS),
		.gap = true,
		.detail = "gives its workloads no network, and this one asks for one "
			  "(capabilities.network, or egress: public)",
		.remedy = "set network: bridge on a container executor and run it there, or ask "
			  "for no network"},
	[PL_RESOURCE_LIMITS] =
		{HAS("resource_limits", "resources", PL_NEED_RESOURCE_LIMITS, CAP_RESOURCE_LIMITS),
			.gap = true,
			.detail = "does not enforce resources: (processors, memory, processes)",
			.remedy =
				"run it on a container or Kubernetes executor, or drop resources:"},
	[PL_DISK_LIMIT] = {NEEDED("disk_limit", "resources.disk", PL_NEED_DISK_LIMIT, plr_no_disk),
		.gap = true, .detail = "does not enforce resources.disk", .cure = plr_cure_disk},
	[PL_IMAGE_OVERRIDE] =
		{HAS("image_override", "image", PL_NEED_IMAGE_OVERRIDE, CAP_IMAGE_OVERRIDE),
			.gap = true, .detail = "does not run the image that image: names",
			.remedy = "run it on a container executor, or drop image:"},
	[PL_SANDBOX_BUILD] =
		{HAS("sandbox_build", "setup", PL_NEED_SANDBOX_BUILD, CAP_SANDBOX_BUILD),
			.gap = true, .detail = "does not build an image out of setup:",
			.remedy =
				"build the steps into an image, publish it, and name it in image:"},
	[PL_SANDBOX_MOUNTS] =
		{HAS("sandbox_mounts", "mounts", PL_NEED_SANDBOX_MOUNTS, CAP_SANDBOX_MOUNTS),
			.gap = true,
			.detail = "cannot show parts of the workspace elsewhere (mounts:)",
			.remedy = "run it on a container executor, or drop mounts:"},
	[PL_HOST_MOUNTS] =
		{HAS("host_mounts", "the local_repo grant", PL_NEED_HOST_MOUNTS, CAP_HOST_MOUNTS),
			.gap = true,
			.detail = "cannot bind directories of the hub's host: a local_repo grant "
				  "would "
				  "deliver nothing",
			.remedy = "run it on a container executor of the hub, or revoke the grant"},
	[PL_DEVICES] = {HAS("devices", "capabilities.devices", PL_NEED_DEVICES, CAP_DEVICES),
		.gap = true,
		.detail = "cannot pass a device into a sandbox: a host_device grant would deliver "
			  "nothing",
		.remedy = "run it on a container executor of the machine with the hardware, not "
			  "under Kata or gVisor"},
	[PL_INTERFACES] =
		{HAS("interfaces", "capabilities.interfaces", PL_NEED_INTERFACES, CAP_INTERFACES),
			.gap = true, .detail = "cannot move a network interface into a sandbox",
			.remedy =
				"run it on a container executor, as root, of the machine with the "
				"interface, not under Kata or gVisor"},
	[PL_EGRESS_SCOPE] =
		{HAS("egress_scope", "capabilities.egress", PL_NEED_EGRESS_SCOPE, CAP_EGRESS_SCOPE),
			.gap = true,
			.detail =
				"cannot confine the network of one workload apart from the others",
			.cure = plr_cure_scope},
	[PL_PROVISIONING] = {HAS("workspace", "the repository (workspace_provisioning)",
				     PL_NEED_WORKSPACE_PROVISIONING, CAP_WORKSPACE_PROVISIONING),
		.detail = "does not fetch projects: the workload would start in an empty directory",
		.remedy = "run it on an executor that fetches, or from a directory of the hub's"},
	[PL_HOST_FILESYSTEM] = {HAS("workspace", "the directory (host_filesystem_workspace)",
					PL_NEED_HOST_FILESYSTEM_WORKSPACE, CAP_HOST_FILESYSTEM),
		.detail = "does not share the hub's file system: the project would be empty there",
		.remedy = "run it on an executor of the hub's host, or give the project a "
			  "repository"},
	[PL_WRITE_BACK] = {HAS("write_back", "write-back", PL_NEED_WRITE_BACK, CAP_WRITE_BACK),
		.detail = "cannot send changed files back: the work would be lost",
		.remedy = "run it on an executor that can, or without write-back"},
	[PL_BRANCH_BUNDLE] =
		{HAS("workspace", "the feature's branch", PL_NEED_BRANCH_BUNDLE, CAP_BRANCH_BUNDLE),
			.detail = "takes no branch along: a feature's work has no way in",
			.remedy = "run it on an executor that takes branches"},
	[PL_PROJECT_SEED] =
		{HAS("workspace", "the project's state", PL_NEED_PROJECT_SEED, CAP_PROJECT_SEED),
			.detail = "takes no project state along: the workload would find no cloop "
				  "project",
			.remedy = "upgrade its agent, or run it elsewhere"},
	[PL_SECRET_FILES] = {HAS("secret_files", "the secrets that are files", PL_NEED_SECRET_FILES,
				     CAP_SECRET_FILES),
		.detail = "cannot receive secret files: variables would name paths at which "
			  "nothing is",
		.remedy = "run it on an executor that can, or revoke the grant"},
	[PL_REVOCATION] =
		{HAS("revocation", "the leased credentials", PL_NEED_REVOCATION, CAP_REVOCATION),
			.gap = true,
			.detail = "cannot take a lease back: a revoked credential would go on "
				  "working",
			.remedy = "run it on an executor whose driver revokes, or without "
				  "credentials"},
	[PL_STREAM] = {HAS("stream", "stream", PL_NEED_STREAM, CAP_STREAM), .gap = true,
		.detail = "cannot show output while it comes",
		.remedy = "run it on an executor that can"},
	[PL_SIGNAL] = {HAS("signal", "signal", PL_NEED_SIGNAL, CAP_SIGNAL), .gap = true,
		.detail = "cannot signal a workload", .remedy = "run it on an executor that can"},
	[PL_MEMORY] = {ASKED("memory", plr_wants_memory, plr_less_memory), .key = "min_memory_mb",
		.say = plr_say_memory, .remedy = "run it on a larger machine, or ask for less"},
	[PL_CAPACITY] = {ASKED("capacity", plr_counts_capacity, plr_full), .say = plr_say_full,
		.remedy = "wait for one to end, or raise its max_concurrent"},
};
