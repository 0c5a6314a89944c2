/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"
#include "cli/rows.h"
#include "work/driver_rows.h"

static const struct cl_example capabilities_examples[] = {
	DRIVER_EXAMPLE("exec-local", "capabilities", "what placement may count on", true),
	{0},
};

static const struct cl_exit preflight_exits[] = {
	DRIVER_EXITS_PREFLIGHT,
	{0},
};

static const struct cl_example preflight_examples[] = {
	DRIVER_EXAMPLE(
		"exec-local", "preflight", "what holds here, and whether anything may run", false),
	{0},
};

static const struct cl_exit prepare_exits[] = {
	{1, "refused: the spec asks for what no plain process can be held to"},
	{0},
};

static const struct cl_exit start_exits[] = {
	DRIVER_EXITS_START,
	{0},
};

static const struct cl_example start_examples[] = {
	{"cloop exec-local start < spec.json", "start a process; the handle comes back", false},
	{0},
};

static const struct cl_example reap_examples[] = {
	DRIVER_EXAMPLE("exec-local", "reap", "end what an ended workload has left running", false),
	{0},
};

static const struct cl_verb verbs[] = {
	DRIVER_ROW_CAPABILITIES(capabilities_examples, cmd_local_capabilities),
	DRIVER_ROW_PREFLIGHT(preflight_exits, preflight_examples, cmd_local_preflight),
	{.name = "prepare",
		.summary = "judge whether a process can be held to a spec",
		.exits = prepare_exits,
		.run = cmd_local_prepare},
	DRIVER_ROW_START(start_exits, start_examples, cmd_local_start),
	DRIVER_ROWS_WATCH(NULL),
	DRIVER_ROW_ADOPT(cmd_local_adopt),
	{.name = "reap",
		.summary = "end processes of workloads that are over",
		.examples = reap_examples,
		.run = cmd_local_reap},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROW_ENV_RUN_DIR,
	{"XDG_RUNTIME_DIR", "runtime folder of a user who is not root"},
	{0},
};

static const struct cl_text files[] = {
	{"/run/cloop/w/HANDLE", "runtime folder of a live workload; its file pid holds the pid, "
				"start time and boot id of the first process"},
	{"/sys/fs/cgroup/.../cloop/HANDLE", "the control groups of a live workload, as root"},
	{0},
};

static const char *const see_also[] = {
	"cloop-exec(7)", "cloop-run(1)", "cloop-supervise(1)", "cloop-config.yaml(5)", NULL};

const struct cl_spec exec_local_spec = {
	.name = "cloop-exec-local",
	.summary = "the driver for plain processes of this host, without a sandbox",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
