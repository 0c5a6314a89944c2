/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"
#include "cli/rows.h"

static const struct cl_operand run_operand[] = {
	{.name = "RUN",
		.help = "id of a run, or 6 or more of its first hex digits",
		.complete = CL_COMP_RUN},
	{0},
};

static const struct cl_operand run_optional[] = {
	{.name = "RUN",
		.help = "id of a run; without it the whole project's",
		.optional = true,
		.complete = CL_COMP_RUN},
	{0},
};

static const struct cl_opt list_opts[] = {
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.help = "only runs of this project"},
	{.name = "executor",
		.letter = 'e',
		.type = CL_STR,
		.arg = "ID",
		.complete = CL_COMP_EXECUTOR,
		.help = "only runs on this executor"},
	{.name = "task", .type = CL_STR, .arg = "LABEL", .help = "only runs with this label"},
	{.name = "live", .type = CL_FLAG, .help = "only runs that are not finished"},
	{.name = "limit",
		.letter = 'n',
		.type = CL_INT,
		.arg = "N",
		.min = 0,
		.def = "50",
		.help = "how many, the newest first; 0: all"},
	{0},
};

static const struct cl_opt logs_opts[] = {
	{.name = "follow",
		.letter = 'f',
		.type = CL_FLAG,
		.help = "go on until the run is finished"},
	{.name = "from",
		.type = CL_INT,
		.arg = "N",
		.min = 0,
		.def = "the oldest kept",
		.help = "start at this chunk"},
	{.name = "notes",
		.type = CL_FLAG,
		.help = "show the supervisor's own lines too, on standard error"},
	{0},
};

static const struct cl_opt stop_opts[] = {
	{.name = "grace",
		.type = CL_DURATION,
		.arg = "TIME",
		.min = 0,
		.def = "10s",
		.help = "time between the request to end and the kill; 0 kills at once"},
	{0},
};

static const struct cl_opt journal_opts[] = {
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.help = "the project, when no run is named",
		.def = "the current directory"},
	{.name = "limit",
		.letter = 'n',
		.type = CL_INT,
		.arg = "N",
		.min = 0,
		.def = "100",
		.help = "how many of the newest rows; 0: all"},
	{0},
};

static const struct cl_exit wait_exits[] = {
	{0, "the workload ended by itself with status 0"},
	{1, "it ended in any other way; its status is on standard output"},
	{0},
};

static const struct cl_exit stop_exits[] = {
	{0, "the run is finished"},
	{0},
};

static const struct cl_example list_examples[] = {
	{"cloop runs list --live", "what runs now", false},
	{0},
};
static const struct cl_example logs_examples[] = {
	{"cloop runs logs -f run_4f1c2a", "follow the output of a detached run", false},
	{0},
};
static const struct cl_example stop_examples[] = {
	{"cloop runs stop --grace 30s run_4f1c2a", "ask it to end, kill it after 30 seconds",
		false},
	{0},
};
static const struct cl_example wait_examples[] = {
	{"cloop runs wait run_4f1c2a && echo good", "go on only when it succeeded", false},
	{0},
};
static const struct cl_example journal_examples[] = {
	{"cloop runs journal -p /srv/projects/api", "why a project's runs stopped", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "list",
		.summary = "list runs, the newest first",
		.opts = list_opts,
		.examples = list_examples,
		.run = cmd_runs_list},
	{.name = "show",
		.summary = "show all that is recorded of one run",
		.operands = run_operand,
		.run = cmd_runs_show},
	{.name = "logs",
		.summary = "print the output of a run",
		.opts = logs_opts,
		.operands = run_operand,
		.examples = logs_examples,
		.run = cmd_runs_logs},
	{.name = "stop",
		.summary = "ask a run to end, then kill it",
		.opts = stop_opts,
		.operands = run_operand,
		.exits = stop_exits,
		.examples = stop_examples,
		.run = cmd_runs_stop},
	{.name = "wait",
		.summary = "wait until a run is finished and print its status",
		.operands = run_operand,
		.exits = wait_exits,
		.examples = wait_examples,
		.run = cmd_runs_wait},
	{.name = "journal",
		.summary = "print what happened to a run or a project, in words",
		.opts = journal_opts,
		.operands = run_optional,
		.examples = journal_examples,
		.run = cmd_runs_journal},
	{.name = "names",
		.summary = "ids of the newest runs, for completion",
		.needs = CL_HIDDEN | CL_NO_JSON,
		.run = cmd_runs_names},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_HUB,
	CL_ROW_ENV_RUN_DIR,
	{0},
};

static const struct cl_text files[] = {
	CL_ROW_FILE_STATE,
	{"HUB/.cloop/logs/HANDLE", "the newest 64 MiB of a workload's output"},
	{0},
};

static const char *const see_also[] = {"cloop(1)", "cloop-run(1)", "cloop-sweep(1)", NULL};

const struct cl_spec runs_spec = {
	.name = "cloop-runs",
	.summary = "list, show, follow, stop and wait for runs",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
