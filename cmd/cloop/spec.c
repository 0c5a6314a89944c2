/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "front.h"
#include "cli/rows.h"

static const struct cl_operand help_operands[] = {
	{.name = "NAME",
		.help = "the command to show help for",
		.optional = true,
		.complete = CL_COMP_COMMAND},
	{0},
};

static const struct cl_example help_examples[] = {
	{"cloop help", "list the commands", true},
	{"cloop help egress", "show what one command does", true},
	{0},
};

static const struct cl_example version_examples[] = {
	{"cloop version --json", "what a script compares", true},
	{0},
};

static const struct cl_opt list_opts[] = {
	{.name = "names", .type = CL_FLAG, .help = "only the names, one a line"},
	{0},
};

static const struct cl_example list_examples[] = {
	{"cloop list --json", "the commands as JSON lines", true},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "help",
		.summary = "show the commands, or the help of one",
		.operands = help_operands,
		.examples = help_examples,
		.run = front_help},
	{.name = "version",
		.summary = "print version, protocol and commit",
		.examples = version_examples,
		.run = front_version},
	{.name = "list",
		.summary = "list the commands that can be found",
		.opts = list_opts,
		.examples = list_examples,
		.run = front_list},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROW_ENV_DIR,
	{"PATH", "searched for third-party commands named cloop-NAME"},
	{0},
};

const struct cl_spec front_spec = {
	.name = "cloop",
	.summary = "run programs written by others, confined and explained",
	.verbs = verbs,
	.environment = environment,
};
