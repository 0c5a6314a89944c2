/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "drill_cmd.h"
#include "cli/rows.h"

static const struct cl_opt revoke_opts[] = {
	{.name = "executor",
		.letter = 'e',
		.type = CL_STR,
		.arg = "ID",
		.complete = CL_COMP_EXECUTOR,
		.def = "the default executor",
		.help = "which one is to take it back"},
	{.name = "deadline",
		.type = CL_DURATION,
		.arg = "TIME",
		.min = 1,
		.max = 600000,
		.def = "10s",
		.help = "how long each of them may live after it was revoked"},
	{0},
};

static const struct cl_exit revoke_exits[] = {
	{0, "all of it was dead within the deadline, and its holder had said so"},
	{1, "something of it was not, or the executor takes no credentials at all"},
	{69, "the executor could not run the drill's workload: nothing was measured"},
	{0},
};

static const struct cl_example revoke_examples[] = {
	{"cloop drill revoke", "how fast the default executor takes a credential back", false},
	{"cloop drill revoke -e bench-01 --deadline 2s --json",
		"from a timer, with a limit of your own", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "revoke",
		.summary = "revoke what was made up for it under a real workload, and measure",
		.opts = revoke_opts,
		.exits = revoke_exits,
		.examples = revoke_examples,
		.run = cmd_drill_revoke},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_HUB,
	{0},
};

static const struct cl_text files[] = {
	{"/tmp/cloop-drill.*", "the hub that a drill is played in; gone when it ends"},
	CL_ROW_FILE_CONFIG,
	{0},
};

static const char *const see_also[] = {
	"cloop(1)", "cloop-executor(1)", "cloop-run(1)", "cloop-secret(1)", NULL};

const struct cl_spec drill_spec = {
	.name = "cloop-drill",
	.summary = "rehearse what has to work when it matters",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
