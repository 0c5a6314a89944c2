/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sweep.h"
#include "cli/rows.h"

static const struct cl_opt opts[] = {
	{.name = "only",
		.type = CL_CSV,
		.arg = "PART",
		.help = "do these parts and no others: adopt, leases, sessions, orphans, staging, "
			"mounts, networks, worktrees, evidence, images"},
	{.name = "guardian",
		.type = CL_FLAG,
		.help = "go on every 30 seconds while anything is live, then leave; one a hub"},
	{0},
};

static const struct cl_exit exits[] = {
	{0, "the pass is done, whatever it found"},
	{0},
};

static const struct cl_example examples[] = {
	{"cloop sweep", "one pass by hand", false},
	{"cloop sweep --only adopt,sessions", "only what must not wait", false},
	{"cloop sweep --json", "the same for a timer, with what was done as JSON", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "",
		.summary = "one pass of every janitor",
		.opts = opts,
		.exits = exits,
		.examples = examples,
		.run = cmd_sweep},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_HUB,
	CL_ROW_ENV_RUN_DIR,
	{0},
};

static const struct cl_text files[] = {
	{"HUB/.cloop/guardian.lock", "held by the hub's guardian"},
	{"/run/cloop/w/HANDLE", "what belongs to one live workload"},
	{"share/systemd/cloop-sweep.timer, share/cron/cloop-sweep", "a pass from a timer or cron"},
	{0},
};

static const char *const see_also[] = {
	"cloop(1)", "cloop-executor(1)", "cloop-run(1)", "cloop-runs(1)", NULL};

const struct cl_spec sweep_spec = {
	.name = "cloop-sweep",
	.summary = "adopt workloads that lost their supervisor and collect what is left over",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
