/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run.h"
#include "cli/rows.h"

static const struct cl_opt opts[] = {
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.def = "the current directory",
		.help = "the project; it becomes /workspace"},
	{.name = "executor",
		.letter = 'e',
		.type = CL_STR,
		.arg = "ID",
		.complete = CL_COMP_EXECUTOR,
		.def = "what the project is bound to, else the default",
		.help = "where to run"},
	{.name = "place",
		.type = CL_FLAG,
		.help = "run on the best of the configured executors that take it"},
	{.name = "replaces",
		.type = CL_STR,
		.arg = "SESSION",
		.help = "place it as what was lost with an executor, which it must be: what a "
			"failover does"},
	{.name = "timeout",
		.type = CL_DURATION,
		.arg = "TIME",
		.min = 1,
		.help = "kill the workload when this much time has passed"},
	{.name = "detach",
		.letter = 'd',
		.type = CL_FLAG,
		.help = "print the run's id and leave; 'cloop runs' has the rest"},
	{.name = "task",
		.type = CL_STR,
		.arg = "LABEL",
		.help = "a label for lists, the journal and the record"},
	{.name = "status-fd",
		.type = CL_INT,
		.arg = "N",
		.min = 3,
		.max = 1023,
		.help = "write one JSON object on how it ended to this descriptor"},
	{.name = "trace-steps",
		.type = CL_FLAG,
		.help = "print the same run as a pipeline of commands, on standard error"},
	{0},
};

static const struct cl_operand operands[] = {
	{.name = "COMMAND", .help = "the program to run, as the sandbox finds it"},
	{.name = "ARG", .help = "its arguments", .optional = true, .repeat = true},
	{0},
};

static const struct cl_exit exits[] = {
	{0, "the workload ended with status 0"},
	{125, "refused or failed before the workload ran; the message says by which rule"},
	{126, "the command is in the sandbox but cannot be executed"},
	{127, "the command is not in the sandbox"},
	{128, "and above: 128+N, signal N ended the workload (137 also: deadline, memory or disk "
	      "limit)"},
	{0},
};

static const struct cl_example examples[] = {
	{"cloop run -- make check", "run the tests of the project here", false},
	{"cloop run -p /srv/projects/api --timeout 30m -- ./ci.sh",
		"another project, at most half an hour", false},
	{"cloop run --place -- ./train.sh", "on whichever executor can do what the project asks",
		false},
	{"id=$(cloop run --detach -- ./agent.sh) && cloop runs logs -f $id",
		"start it, then follow it", false},
	{"tar c . | cloop run -- tar t", "standard input reaches the workload", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "",
		.summary = "run a command in the project's sandbox",
		.opts = opts,
		.operands = operands,
		.exits = exits,
		.examples = examples,
		.needs = CL_ARGV_REST,
		.run = cmd_run},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_HUB,
	CL_ROW_ENV_RUN_DIR,
	{"CLOOP_SECRET_KEY_FILE", "file of the root key, instead of secrets.key_file"},
	{"CLOOP_SECRET_KEY", "the root key itself, where there is no file and the run is attached"},
	{0},
};

static const struct cl_text files[] = {
	CL_ROW_FILE_SANDBOX,
	{".cloop/sandbox-run.json", "what the last run was: hashes, image, executor"},
	CL_ROW_FILE_CONFIG,
	{0},
};

static const char *const see_also[] = {"cloop(1)", "cloop-runs(1)", "cloop-sandbox(1)",
	"cloop-place(1)", "cloop-executor(1)", "cloop-project(1)", "cloop-egress(1)",
	"cloop-hub(1)", "cloop-sandbox.yaml(5)", "cloop-config.yaml(5)", "cloop-exec(7)", NULL};

const struct cl_spec run_spec = {
	.name = "cloop-run",
	.summary = "run a program confined: its project, the network it may use, nothing else",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
	.own_failure = 125,
};
