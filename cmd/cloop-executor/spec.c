/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "executor.h"

#define KEY_RUN(name) cmd_executor_##name
#include "key_spec.h"
#include "cli/rows.h"

static const struct cl_operand executor_operand[] = {
	{.name = "ID", .help = "an executor of the hub", .complete = CL_COMP_EXECUTOR},
	{0},
};

static const struct cl_opt reason_opts[] = {
	{.name = "reason", .type = CL_STR, .arg = "TEXT", .help = "why, for those who are refused"},
	{0},
};

static const struct cl_opt drain_opts[] = {
	{.name = "reason", .type = CL_STR, .arg = "TEXT", .help = "why, for those who are refused"},
	{.name = "timeout",
		.type = CL_DURATION,
		.arg = "TIME",
		.min = 0,
		.def = "5m",
		.help = "how long to wait for what runs there; 0: until it has ended"},
	{.name = "force", .type = CL_FLAG, .help = "status 0 also when something still runs"},
	{0},
};

static const struct cl_opt unbind_opts[] = {
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.def = "the current directory",
		.help = "the project"},
	{.name = "default", .type = CL_FLAG, .help = "the first configured is the default again"},
	{0},
};

static const struct cl_opt list_opts[] = {
	{.name = "inventory",
		.type = CL_FLAG,
		.help = "also the workloads that two executors were lost with, and what lets each "
			"run again"},
	{0},
};

static const struct cl_operand session_operand[] = {
	{.name = "SESSION", .help = "a session that was lost, as 'list --inventory' names it"},
	{0},
};

static const struct cl_opt test_opts[] = {
	{.name = "workdir",
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.def = "a new directory",
		.help = "a directory to look at, and to run the workload in"},
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.help = "look at the hardware that is granted to this project, as a run of it "
			"would get it"},
	{.name = "skip-preflight", .type = CL_FLAG, .help = "only the workload"},
	{0},
};

static const struct cl_exit test_exits[] = {
	{0, "the workload ran and ended with status 0"},
	{1, "it did not"},
	{2, "a finding of the preflight is fatal: no workload was started"},
	{0},
};

static const struct cl_exit reap_exits[] = {
	{1, "something that is to go could not be removed"},
	{0},
};

static const struct cl_operand executor_optional[] = {
	{.name = "ID",
		.help = "an executor of the hub",
		.optional = true,
		.complete = CL_COMP_EXECUTOR},
	{0},
};

static const struct cl_opt limits_opts[] = {
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.help = "the ceiling of this project instead of an executor's"},
	{.name = "cpu", .type = CL_STR, .arg = "CORES", .help = "most cores; 0: no ceiling"},
	{.name = "memory", .type = CL_STR, .arg = "SIZE", .help = "most memory, such as 4g"},
	{.name = "disk",
		.type = CL_STR,
		.arg = "SIZE",
		.help = "how far a workspace may grow, such as 20g"},
	{.name = "pids", .type = CL_STR, .arg = "N", .help = "most processes and threads"},
	{.name = "clear", .type = CL_FLAG, .help = "take the ceiling away"},
	{0},
};

static const struct cl_opt access_opts[] = {
	{.name = "add",
		.type = CL_CSV,
		.arg = "ENTRY",
		.help = "let user:NAME or group:NAME use it; the first entry shuts out all others"},
	{.name = "remove",
		.type = CL_CSV,
		.arg = "ENTRY",
		.help = "take an entry away; without the last one it is everybody's again"},
	{0},
};

static const struct cl_opt isolation_opts[] = {
	{.name = "stale",
		.type = CL_FLAG,
		.help = "only where the evidence is missing, a day old, or of another engine, "
			"runtime or kernel"},
	{.name = "timeout",
		.type = CL_DURATION,
		.arg = "TIME",
		.min = 1,
		.def = "60s",
		.help = "how long a sandbox may take"},
	{0},
};

static const struct cl_exit isolation_exits[] = {
	{1, "contradicted: a runtime is less than its name claims"},
	{2, "unverified: nothing settles which kernel it is, or the probe could not run"},
	{0},
};

static const struct cl_example isolation_examples[] = {
	{"cloop executor probe kata-box", "look which kernel serves its sandboxes, and keep it",
		false},
	{"cloop executor probe --stale", "from a timer, once a day", false},
	{0},
};

static const struct cl_example evidence_examples[] = {
	{"cloop executor evidence", "what is known, and since when", false},
	{0},
};

static const struct cl_opt probe_opts[] = {
	{.name = "due",
		.type = CL_FLAG,
		.help = "leave it alone while it is backing off; so are all when none is named"},
	{.name = "loop",
		.type = CL_FLAG,
		.help = "go on until SIGTERM: each every 30 seconds, or when its back-off ends"},
	{0},
};

static const struct cl_exit probe_exits[] = {
	{0, "what was probed can take work, or nothing was due"},
	{1, "an executor cannot"},
	{0},
};

static const struct cl_exit drain_exits[] = {
	{0, "nothing runs there any more, or --force"},
	{2, "something still runs there after the time; the executor stays draining"},
	{0},
};

static const struct cl_example list_examples[] = {
	{"cloop executor list", "what is configured, and how each isolates", false},
	{"cloop executor list --inventory", "and what may have taken executors down", false},
	{0},
};
static const struct cl_example ls_examples[] = {
	{"cloop executor ls", "how each one is, and how much it has to do", false},
	{"cloop executor ls --json | jq -r 'select(.schedulable | not) | .executor_id'",
		"those that take no work now", false},
	{0},
};
static const struct cl_example show_examples[] = {
	{"cloop executor show bench", "its state, labels, ceiling, and who may use it", false},
	{0},
};
static const struct cl_example cordon_examples[] = {
	{"cloop executor cordon bench --reason 'new firmware'", "give it no new work", false},
	{0},
};
static const struct cl_example uncordon_examples[] = {
	{"cloop executor uncordon bench", "let it have work again", false},
	{0},
};
static const struct cl_example drain_examples[] = {
	{"cloop executor drain bench --timeout 1h && poweroff",
		"switch the machine off once its work is done", false},
	{0},
};

static const struct cl_example unbind_examples[] = {
	{"cloop executor unbind -p /srv/projects/api", "back to the default", false},
	{0},
};

static const struct cl_example limits_examples[] = {
	{"cloop executor limits bench --memory 8g --pids 2048",
		"no workload there gets more, whatever it asks for", false},
	{"cloop executor limits -p /srv/projects/api --cpu 2", "nor any of this project, anywhere",
		false},
	{0},
};
static const struct cl_example access_examples[] = {
	{"cloop executor access bench", "who may use it", false},
	{"cloop executor access bench --add group:lab,user:ada", "let only these use it", false},
	{0},
};
static const struct cl_example test_examples[] = {
	{"cloop executor test bench", "is it fit for work? every check, then a real workload",
		false},
	{"cloop executor test bench --workdir /srv/projects/api --json",
		"and for work in this directory", false},
	{"cloop executor test bench --project /srv/projects/firmware",
		"are the devices and interfaces there that this project is granted?", false},
	{0},
};
static const struct cl_example reap_examples[] = {
	{"cloop executor reap bench", "collect what killed processes have left there", false},
	{0},
};
static const struct cl_example pardon_examples[] = {
	{"cloop executor pardon ses_5f3a9c", "it was the network: let that workload run again",
		false},
	{0},
};
static const struct cl_example probe_examples[] = {
	{"cloop executor probe-health", "ask those that are due: from cron, every minute", false},
	{"cloop executor probe-health --loop", "the same as a daemon, one a hub", false},
	{"cloop executor probe-health bench", "see at once that it is mended", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "list",
		.summary = "list the configured executors, and how each isolates",
		.opts = list_opts,
		.examples = list_examples,
		.run = cmd_executor_list},
	{.name = "ls",
		.summary = "list how the executors are, and how much they have to do",
		.examples = ls_examples,
		.run = cmd_executor_ls},
	{.name = "show",
		.summary = "show all that is known of one executor",
		.operands = executor_operand,
		.examples = show_examples,
		.run = cmd_executor_show},
	{.name = "cordon",
		.summary = "give an executor no new work",
		.opts = reason_opts,
		.operands = executor_operand,
		.examples = cordon_examples,
		.run = cmd_executor_cordon},
	{.name = "uncordon",
		.summary = "let an executor have work again",
		.operands = executor_operand,
		.examples = uncordon_examples,
		.run = cmd_executor_uncordon},
	{.name = "drain",
		.summary = "give an executor no new work, and wait until it has none",
		.opts = drain_opts,
		.operands = executor_operand,
		.exits = drain_exits,
		.examples = drain_examples,
		.run = cmd_executor_drain},
	KEY_VERBS,
	{.name = "unbind",
		.summary = "let a project's work go to the default executor",
		.opts = unbind_opts,
		.examples = unbind_examples,
		.run = cmd_executor_unbind},
	{.name = "limits",
		.summary = "show or set how much one workload may have",
		.opts = limits_opts,
		.operands = executor_optional,
		.examples = limits_examples,
		.run = cmd_executor_limits},
	{.name = "access",
		.summary = "show or set who may use an executor",
		.opts = access_opts,
		.operands = executor_operand,
		.examples = access_examples,
		.run = cmd_executor_access},
	{.name = "test",
		.summary = "check an executor, and prove by a workload that it can work",
		.opts = test_opts,
		.operands = executor_operand,
		.exits = test_exits,
		.examples = test_examples,
		.run = cmd_executor_test},
	{.name = "reap",
		.summary = "collect what belongs to nobody any more",
		.operands = executor_operand,
		.exits = reap_exits,
		.examples = reap_examples,
		.run = cmd_executor_reap},
	{.name = "pardon",
		.summary = "let a workload run again that two executors were lost with",
		.operands = session_operand,
		.examples = pardon_examples,
		.run = cmd_executor_pardon},
	{.name = "probe",
		.summary = "look which kernel serves the sandboxes of an executor",
		.opts = isolation_opts,
		.operands = executor_optional,
		.exits = isolation_exits,
		.examples = isolation_examples,
		.run = cmd_executor_probe},
	{.name = "evidence",
		.summary = "list what probes have found of runtimes",
		.examples = evidence_examples,
		.run = cmd_executor_evidence},
	{.name = "probe-health",
		.summary = "ask executors whether they can take work, and note the answer",
		.opts = probe_opts,
		.operands = executor_optional,
		.exits = probe_exits,
		.examples = probe_examples,
		.run = cmd_executor_probe_health},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_HUB,
	CL_ROWS_ENV_KEY,
	CL_ROW_ENV_RUN_DIR,
	{0},
};

static const struct cl_text files[] = {
	CL_ROW_FILE_CONFIG,
	CL_ROW_FILE_STATE,
	CL_ROW_FILE_KEY,
	{0},
};

static const char *const see_also[] = {"cloop(1)", "cloop-run(1)", "cloop-runs(1)",
	"cloop-place(1)", "cloop-sweep(1)", "cloop-drill(1)", "cloop-config.yaml(5)", NULL};

const struct cl_spec executor_spec = {
	.name = "cloop-executor",
	.summary = "see how executors are, and take them in and out of service",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
