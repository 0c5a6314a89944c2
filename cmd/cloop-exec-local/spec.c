/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"
#include "cli/rows.h"
#include "work/verbs.h"

static const struct cl_example capabilities_examples[] = {
	{"echo '{\"executor\":{\"enabled\":true},\"hub\":\"/var/lib/cloop\"}' | cloop exec-local "
	 "capabilities",
		"what placement may count on", true},
	{0},
};

static const struct cl_exit preflight_exits[] = {
	{1, "a finding is fatal: nothing would start"},
	{0},
};

static const struct cl_example preflight_examples[] = {
	{"echo '{\"executor\":{\"enabled\":true},\"hub\":\"/var/lib/cloop\"}' | cloop exec-local "
	 "preflight",
		"what holds here, and whether anything may run", false},
	{0},
};

static const struct cl_exit prepare_exits[] = {
	{1, "refused: the spec asks for what no plain process can be held to"},
	{0},
};

static const struct cl_exit start_exits[] = {
	{1, "refused; the message names the constraint"},
	{0},
};

static const struct cl_example start_examples[] = {
	{"cloop exec-local start < spec.json", "start a process; the handle comes back", false},
	{0},
};

static const struct cl_example reap_examples[] = {
	{"echo '{\"executor\":{\"enabled\":true},\"hub\":\"/var/lib/cloop\"}' | cloop exec-local "
	 "reap",
		"end what an ended workload has left running", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "capabilities",
		.summary = "say what this executor can do",
		.examples = capabilities_examples,
		.run = cmd_local_capabilities},
	{.name = "preflight",
		.summary = "look for everything that would stop a run",
		.exits = preflight_exits,
		.examples = preflight_examples,
		.run = cmd_local_preflight},
	{.name = "prepare",
		.summary = "judge whether a process can be held to a spec",
		.exits = prepare_exits,
		.run = cmd_local_prepare},
	{.name = "start",
		.summary = "start a workload and print its handle",
		.exits = start_exits,
		.examples = start_examples,
		.run = cmd_local_start},
	{.name = "status",
		.summary = "say whether a workload runs, or how it ended",
		.run = work_verb_status},
	{.name = "wait",
		.summary = "wait until a workload has ended, then say how",
		.run = work_verb_wait},
	{.name = "logs", .summary = "print the kept output of a workload", .run = work_verb_logs},
	{.name = "signal",
		.summary = "send interrupt, terminate or kill to a workload",
		.run = work_verb_signal},
	{.name = "adopt",
		.summary = "give a workload whose supervisor died a new one",
		.run = cmd_local_adopt},
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
