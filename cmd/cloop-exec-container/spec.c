/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine_verbs.h"
#include "verbs.h"
#include "cli/rows.h"
#include "work/driver_rows.h"

extern const struct cl_spec exec_container_spec;

static const struct cl_example capabilities_examples[] = {
	DRIVER_EXAMPLE("exec-container", "capabilities", "what placement may count on", true),
	{0},
};

static const struct cl_exit preflight_exits[] = {
	DRIVER_EXITS_PREFLIGHT,
	{0},
};

static const struct cl_example preflight_examples[] = {
	DRIVER_EXAMPLE(
		"exec-container", "preflight", "everything that can be known before a run", true),
	{0},
};

static const struct cl_example probe_examples[] = {
	{"echo '{\"executor\":{\"enabled\":true,\"oci_runtime\":\"kata\"},"
	 "\"hub\":\"/var/lib/cloop\"}' | cloop exec-container probe",
		"what the kernel of a sandbox says of itself", false},
	{0},
};

static const struct cl_example device_trial_examples[] = {
	DRIVER_EXAMPLE("exec-container", "device-trial",
		"whether a device that is granted for reading can be written to", true),
	{0},
};

static const struct cl_exit prepare_exits[] = {
	{1, "the image is refused, or a setup step failed"},
	{0},
};

static const struct cl_example prepare_examples[] = {
	{"cloop exec-container prepare < spec.json", "the one image that start would run", false},
	{0},
};

static const struct cl_example reap_examples[] = {
	DRIVER_EXAMPLE("exec-container", "reap", "collect what a killed process left", false),
	{0},
};

static const struct cl_example reap_images_examples[] = {
	DRIVER_EXAMPLE("exec-container", "reap-images",
		"remove built images that nothing has used for 14 days", false),
	{0},
};

static const struct cl_exit start_exits[] = {
	DRIVER_EXITS_START,
	{0},
};

static const struct cl_example start_examples[] = {
	{"cloop exec-container start < spec.json",
		"start what prepare judged; the handle comes back", false},
	{0},
};

static const struct cl_example logs_examples[] = {
	{"echo '{\"handle\":\"c-0123456789ab\",\"hub\":\"/var/lib/cloop\"}' | cloop exec-container "
	 "logs",
		"the kept output as JSON lines", false},
	{0},
};

static const struct cl_verb verbs[] = {
	DRIVER_ROW_CAPABILITIES(capabilities_examples, cmd_capabilities),
	DRIVER_ROW_PREFLIGHT(preflight_exits, preflight_examples, cmd_preflight),
	{.name = "probe",
		.summary = "read evidence of the kernel that serves this executor's sandboxes",
		.examples = probe_examples,
		.run = cmd_probe},
	{.name = "device-trial",
		.summary = "try whether the engine's device rules hold a read-only device",
		.examples = device_trial_examples,
		.run = cmd_device_trial},
	{.name = "prepare",
		.summary = "judge, find and pin the image of a spec, and build its setup",
		.exits = prepare_exits,
		.examples = prepare_examples,
		.run = cmd_prepare},
	DRIVER_ROW_START(start_exits, start_examples, cmd_start),
	DRIVER_ROWS_WATCH(logs_examples),
	DRIVER_ROW_ADOPT(cmd_adopt),
	{.name = "reap",
		.summary = "collect what belongs to nobody any more",
		.examples = reap_examples,
		.run = cmd_reap},
	{.name = "reap-images",
		.summary = "remove images of setup commands that nothing uses any more",
		.examples = reap_images_examples,
		.run = cmd_reap_images},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROW_ENV_RUN_DIR,
	{"CONTAINERS_CONF", "podman's configuration, passed on"},
	{"CONTAINERS_STORAGE_CONF", "podman's storage configuration, passed on"},
	{"DOCKER_HOST", "docker's socket on this machine, passed on"},
	{"XDG_RUNTIME_DIR", "runtime folder of a user who is not root"},
	{0},
};

static const struct cl_text files[] = {
	{"HUB/.cloop/cache", "what the engine said of images, for as long as it holds"},
	{"HUB/.cloop/cache/built", "when each image of setup commands was last used"},
	{"/run/cloop", "runtime folders of live workloads and setup builds"},
	{"/usr/local/share/cloop/seccomp", "the profiles for seccomp: strict and userns"},
	{0},
};

static const char *const see_also[] = {
	"cloop-exec(7)", "cloop-run(1)", "cloop-config.yaml(5)", "cloop-sandbox.yaml(5)", NULL};

const struct cl_spec exec_container_spec = {
	.name = "cloop-exec-container",
	.summary = "the driver for containers of podman and docker",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
