/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "supervise.h"
#include "cli/rows.h"
#include "work/driver_rows.h"

static const struct cl_opt start_opts[] = {
	{.name = "as-owner",
		.type = CL_FLAG,
		.help = "as root: run the command as the owner of the project, without the means "
			"to gain privileges"},
	{0},
};

static const struct cl_operand start_operands[] = {
	{.name = "COMMAND",
		.repeat = true,
		.help = "what runs the workload, in the foreground: its output and its status are "
			"the workload's"},
	{0},
};

static const struct cl_exit start_exits[] = {
	DRIVER_EXITS_START,
	{0},
};

static const struct cl_example start_examples[] = {
	{"cloop supervise start -- unshare --net make < spec.json",
		"what a driver's start ends with", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "start",
		.summary = "run a command as the workload of a spec, and print its handle",
		.opts = start_opts,
		.operands = start_operands,
		.exits = start_exits,
		.examples = start_examples,
		.needs = CL_ARGV_REST,
		.run = cmd_supervise_start},
	DRIVER_ROWS_WATCH(NULL),
	DRIVER_ROW_ADOPT(cmd_supervise_adopt),
	{0},
};

static const struct cl_text environment[] = {
	CL_ROW_ENV_RUN_DIR,
	{0},
};

static const struct cl_text files[] = {
	{"/run/cloop/w/HANDLE", "runtime folder of a live workload"},
	{0},
};

static const char *const see_also[] = {
	"cloop-exec(7)", "cloop-exec-local(1)", "cloop-run(1)", NULL};

const struct cl_spec supervise_spec = {
	.name = "cloop-supervise",
	.summary = "a supervisor for the workloads of drivers that have none of their own",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
