/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "confine.h"
#include "cli/rows.h"

static const struct cl_opt test_opts[] = {
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.def = ".",
		.help = "the project whose sandbox is tried"},
	{.name = "executor",
		.letter = 'e',
		.type = CL_STR,
		.arg = "ID",
		.complete = CL_COMP_EXECUTOR,
		.help = "the executor that runs it"},
	{.name = "strict",
		.type = CL_FLAG,
		.help = "count what the shared workspace holds for others to run"},
	{0},
};

static const struct cl_operand names[] = {
	{.name = "NAME",
		.help = "a family of attempts, or FAMILY.ATTEMPT; none: all of them",
		.optional = true,
		.repeat = true},
	{0},
};

static const struct cl_exit test_exits[] = {
	{1, "an attempt got out of the sandbox"},
	{125, "the sandbox was refused, as in cloop-run(1)"},
	{0},
};

static const struct cl_example test_examples[] = {
	{"cloop confine test -p ~/src/app", "try the sandbox that a run of the project gets",
		false},
	{"podman run --rm -v /usr/local/libexec/cloop/cloop-confine-test:/t:ro IMAGE /t",
		"try another tool's sandbox", false},
	{0},
};

static const struct cl_example list_examples[] = {
	{"cloop confine list mounts", "what is tried, and what its failing proves", true},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "test",
		.summary = "try to get out of a project's sandbox",
		.opts = test_opts,
		.operands = names,
		.exits = test_exits,
		.examples = test_examples,
		.run = confine_test},
	{.name = "list",
		.summary = "list the attempts",
		.operands = names,
		.examples = list_examples,
		.run = confine_list},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_HUB,
	{0},
};

static const struct cl_text files[] = {
	{"/usr/local/libexec/cloop/cloop-confine-test",
		"the static program with the attempts, for any sandbox"},
	{0},
};

static const char *const see_also[] = {"cloop(1)", "cloop-probe(1)", "cloop-run(1)", NULL};

const struct cl_spec confine_spec = {
	.name = "cloop-confine",
	.summary = "try to get out of a sandbox",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
