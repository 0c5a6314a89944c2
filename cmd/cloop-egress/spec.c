/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "egress.h"
#include "operand.h"
#include "spec_rules.h"
#include "cli/rows.h"

static const char *const formats[] = {"rules", "nft", "nft-bridge", "networkpolicy", "json", NULL};

/* Where a policy is from, for every verb that takes one. */
#define POLICY_OPTS                                                                                \
	{.name = "internet",                                                                       \
		.type = CL_FLAG,                                                                   \
		.help = "allow the public Internet: all that the block set leaves"},               \
		{.name = "cidrs",                                                                  \
			.type = CL_CSV,                                                            \
			.arg = "CIDR,...",                                                         \
			.help = "allow address ranges, private ones too"},                         \
		{.name = "deny",                                                                   \
			.type = CL_CSV,                                                            \
			.arg = "CIDR,...",                                                         \
			.help = "deny address ranges, whatever else allows them"},                 \
		{.name = "ports",                                                                  \
			.type = CL_CSV,                                                            \
			.arg = "PORT,...",                                                         \
			.help = "TCP ports that --internet and --cidrs open"},                     \
		{.name = "all-ports",                                                              \
			.type = CL_FLAG,                                                           \
			.help = "open every TCP port instead of a list"},                          \
		{.name = "resolver",                                                               \
			.type = CL_CSV,                                                            \
			.arg = "ADDR[:PORT]",                                                      \
			.help = "allow a DNS resolver, by UDP and TCP; port 53 unless named"},     \
		{.name = "broker",                                                                 \
			.type = CL_CSV,                                                            \
			.arg = "ADDR:PORT",                                                        \
			.help = "allow an egress broker, by TCP"},                                 \
		{.name = "host",                                                                   \
			.type = CL_CSV,                                                            \
			.arg = "PATTERN",                                                          \
			.help = "host patterns of the grant: named in a warning, not enforceable " \
				"here"},                                                           \
		{.name = "block-special-use",                                                      \
			.type = CL_FLAG,                                                           \
			.help = "block IANA's special-purpose ranges too"},                        \
		{.name = "silent",                                                                 \
			.type = CL_FLAG,                                                           \
			.help = "drop denied packets instead of refusing them at once"},           \
		{.name = "policy",                                                                 \
			.type = CL_STR,                                                            \
			.arg = "FILE",                                                             \
			.complete = CL_COMP_FILE,                                                  \
			.help = "read the authorisation, JSON or YAML; '-' is standard input"},    \
		{.name = "from-spec",                                                              \
			.type = CL_STR,                                                            \
			.arg = "FILE",                                                             \
			.complete = CL_COMP_FILE,                                                  \
			.help = "read it from the egress member of a driver's Spec"},              \
	{                                                                                          \
		.name = "executor", .letter = 'e', .type = CL_STR, .arg = "ID",                    \
		.complete = CL_COMP_EXECUTOR,                                                      \
		.help = "take what the hub configures for this executor's sandboxes"               \
	}

static const struct cl_opt firewall_opts[] = {
	POLICY_OPTS,
	{.name = "format",
		.type = CL_ENUM,
		.arg = "FORMAT",
		.values = formats,
		.def = "rules",
		.help = "what to print"},
	{.name = "table",
		.type = CL_STR,
		.arg = "NAME",
		.def = EGRESS_TABLE,
		.help = "name of the nft table; a NetworkPolicy's has '-' for '_'"},
	{.name = "bridge",
		.type = CL_STR,
		.arg = "NAME",
		.help = "the sandbox's bridge, for --format nft-bridge"},
	{.name = "namespace",
		.type = CL_STR,
		.arg = "NAME",
		.def = "cloop",
		.help = "namespace of the NetworkPolicy"},
	{.name = "name",
		.type = CL_STR,
		.arg = "NAME",
		.help = "name of the NetworkPolicy, instead of the table's"},
	{.name = "selector",
		.type = CL_LIST,
		.arg = "KEY=VALUE",
		.help = "label of the Pod that the NetworkPolicy governs; again for more"},
	{.name = "no-dns",
		.type = CL_FLAG,
		.help = "leave the cluster's DNS out of the NetworkPolicy"},
	{.name = "yaml",
		.type = CL_FLAG,
		.help = "print the NetworkPolicy as YAML instead of JSON"},
	{.name = "check",
		.type = CL_LIST,
		.arg = "ADDR:PORT[/PROTO]",
		.help = "ask about one destination instead; tcp (default), udp or any"},
	{.name = "check-file",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.help = "ask about one destination a line, from standard input for '-'"},
	{0},
};

static const struct cl_exit firewall_exits[] = {
	{0, "printed; with --check or --check-file: every destination is allowed"},
	{1, "with --check or --check-file: a destination is dropped"},
	{0},
};

static const struct cl_example firewall_examples[] = {
	{"cloop egress firewall --internet --ports 443 --resolver 9.9.9.9:53",
		"list what the filter does, in order", true},
	{"cloop egress firewall --internet --ports 443 --check 10.4.5.6:443",
		"ask about one address; the exit status is the answer", true},
	{"cloop egress firewall --cidrs 10.8.0.0/24 --ports 5432 --check 10.8.0.9:5432 "
	 "--check 10.8.1.9:5432 --json",
		"ask about two, one JSON object a line", true},
	{"seq -f '93.184.216.%.0f:443' 1 3 | cloop egress firewall --internet --ports 443 "
	 "--check-file -",
		"ask about many, a line each", true},
	{"cloop egress firewall --internet --ports 443 --block-special-use --silent --check "
	 "198.18.0.1:443",
		"ask the stricter set, without an answer to what is denied", true},
	{"cloop egress firewall --internet --ports 443 --format nft --table mine",
		"print the script that nft(8) loads inside a network namespace", true},
	{"cloop egress firewall --internet --ports 443 --format nft-bridge --bridge "
	 "csbx-0123456789",
		"print the script that nft(8) loads for a bridge", true},
	{"cloop egress firewall --internet --ports 443 --format networkpolicy --yaml "
	 "--namespace builds --selector cloop.dev/handle-id=c-0123456789ab",
		"print the NetworkPolicy of one Pod", true},
	{"cloop egress firewall --policy policy.json --format json",
		"compile a stored policy, with its warnings", false},
	{"cloop egress firewall --executor build-box --check 10.4.5.6:443",
		"ask what stands before an executor's sandboxes", false},
	{0},
};

static const char *const test_formats[] = {"tap", "junit", "json", NULL};

static const struct cl_opt test_opts[] = {
	{.name = "policy",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.help = "the policy (JSON or YAML) of files that carry none"},
	{.name = "format",
		.type = CL_ENUM,
		.arg = "FORMAT",
		.values = test_formats,
		.def = "tap",
		.help = "how to report"},
	{0},
};

static const struct cl_operand test_operands[] = {
	{"FILE", "file of expectations, YAML or JSON; '-' for standard input", .repeat = true,
		.complete = CL_COMP_FILE},
	{0},
};

static const struct cl_exit test_exits[] = {
	{0, "every expectation holds"},
	{1, "one does not"},
	{0},
};

static const struct cl_example test_examples[] = {
	{"cloop egress firewall test firewall-tests.yaml", "hold a policy to its tests", false},
	{"cloop egress firewall test --policy policy.json --format junit tests/*.yaml",
		"hold one policy to many, for a CI server", false},
	{"echo '{policy: {allow_public_internet: true, allow_ports: [443]}, tests: [{drop: "
	 "blocked}]}' | cloop egress firewall test -",
		"nothing of the block set is open", true},
	{0},
};

static const struct cl_opt verify_opts[] = {
	POLICY_OPTS,
	{.name = "table",
		.type = CL_STR,
		.arg = "NAME",
		.help = "the nft table; the executor's with --executor"},
	{.name = "bridge",
		.type = CL_STR,
		.arg = "NAME",
		.help = "the bridge that it filters; the executor's with --executor"},
	{0},
};

static const struct cl_exit verify_exits[] = {
	{0, "the kernel enforces the policy, and nothing else"},
	{1, "it does not, or something stands there that cannot be judged"},
	{0},
};

static const struct cl_example verify_examples[] = {
	{"cloop egress firewall verify --internet --ports 443 --table cloop_sbx_ci --bridge "
	 "csbx-0123456789",
		"hold an installed table to a policy", false},
	{"cloop egress firewall verify --executor build-box --json",
		"hold what stands for an executor to its configuration", false},
	{0},
};

static const struct cl_opt blocked_opts[] = {
	{.name = "run",
		.type = CL_STR,
		.arg = "RUN",
		.complete = CL_COMP_RUN,
		.help = "only what this run was refused"},
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.help = "only what runs of this project were refused"},
	{.name = "limit",
		.letter = 'n',
		.type = CL_INT,
		.arg = "N",
		.min = 0,
		.def = "100",
		.help = "how many of the newest rows; 0: all"},
	{.name = "trace",
		.type = CL_FLAG,
		.help = "follow packets as they are refused, until Ctrl-C"},
	{.name = "group",
		.type = CL_INT,
		.arg = "N",
		.min = 1,
		.max = 65535,
		.def = "6510",
		.help = "the kernel's log group that --trace listens to; it has one listener"},
	{0},
};

static const struct cl_example blocked_examples[] = {
	{"cloop egress blocked --run run_4f1c2a", "what a run was refused, and by which rule",
		false},
	{"cloop egress blocked -p /srv/projects/api --json | jq -r .destination | sort | uniq -c",
		"what a project's runs keep trying", false},
	{"cloop egress blocked --trace --run run_4f1c2a",
		"watch what a run is refused while it works", false},
	{0},
};

static const char *const diff_formats[] = {"text", "markdown", "json", NULL};

static const struct cl_opt diff_opts[] = {
	{.name = "format",
		.type = CL_ENUM,
		.arg = "FORMAT",
		.values = diff_formats,
		.def = "text",
		.help = "how to print; markdown is for a pull request"},
	{.name = "limit",
		.type = CL_INT,
		.arg = "N",
		.min = 0,
		.def = "5, with --json all",
		.help = "ranges to print of each group; 0 for all"},
	{0},
};

static const struct cl_operand diff_operands[] = {
	{"FROM", "the policy before: " OPERAND_HELP, .complete = CL_COMP_FILE},
	{"TO", "the policy after, in the same forms", .complete = CL_COMP_FILE},
	{0},
};

static const struct cl_exit diff_exits[] = {
	{0, "nothing is newly allowed"},
	{1, "something is newly allowed"},
	{0},
};

static const struct cl_example diff_examples[] = {
	{"echo '{\"allow_public_internet\": true, \"allow_ports\": [443]}' | cloop egress firewall "
	 "diff none -",
		"what a new policy opens", true},
	{"cloop egress firewall diff git:origin/main:egress.json egress.json",
		"what a branch opens that the main one does not", false},
	{"cloop egress firewall diff rules:executor:build-box executor:build-box",
		"what an executor's filter opens beyond the rules that are stored for it", false},
	{"cloop egress firewall diff executor:build-box egress.json --format markdown",
		"what a policy opens beside an executor's filter, for a pull request", false},
	{0},
};

static const struct cl_opt fits_opts[] = {
	{.name = "own-denies",
		.type = CL_FLAG,
		.help = "judge CHILD by its own denies alone, without those of PARENT"},
	{.name = "limit",
		.type = CL_INT,
		.arg = "N",
		.min = 0,
		.def = "5, with --json all",
		.help = "ranges to print of each group; 0 for all"},
	{0},
};

static const struct cl_operand fits_operands[] = {
	{"CHILD", "the level below: " OPERAND_HELP, .complete = CL_COMP_FILE},
	{"PARENT", "the level above, in the same forms", .complete = CL_COMP_FILE},
	{0},
};

static const struct cl_exit fits_exits[] = {
	{0, "CHILD lies inside PARENT"},
	{1, "it does not"},
	{0},
};

static const struct cl_example fits_examples[] = {
	{"echo '{allow_cidrs: [10.8.1.0/24], allow_ports: [5432]}' | cloop egress fits - none",
		"nothing fits inside nothing", true},
	{"cloop egress fits project.yaml executor:build-box",
		"would a project's rules fit an executor?", false},
	{0},
};

static const struct cl_opt verify_all_opts[] = {
	{.name = "all", .type = CL_FLAG, .help = "every filter of the workloads that are live"},
	{.name = "table",
		.type = CL_LIST,
		.arg = "NAME",
		.help = "the filter in this table; again for more"},
	{0},
};

static const struct cl_exit verify_all_exits[] = {
	{0, "every filter stands and means what its policy says"},
	{1, "one does not"},
	{0},
};

static const struct cl_example verify_all_examples[] = {
	{"cloop egress verify --all", "look at every filter that should stand now", false},
	{0},
};

static const struct cl_opt watch_opts[] = {
	{.name = "all", .type = CL_FLAG, .help = "every filter of the workloads that are live"},
	{.name = "table",
		.type = CL_LIST,
		.arg = "NAME",
		.help = "the filter in this table; again for more"},
	{.name = "once",
		.type = CL_FLAG,
		.help = "look once, put back what is not as it should be, and leave"},
	{0},
};

static const struct cl_exit watch_exits[] = {
	{0, "told to stop; with --once: every filter stood, or stands again"},
	{1, "with --once: one could not be put back"},
	{0},
};

static const struct cl_example watch_examples[] = {
	{"cloop egress watch --all", "put back at once what anybody takes away", false},
	{"cloop egress watch --all --once", "the same from cron", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "firewall",
		.summary = "show what an egress policy installs, or what it answers",
		.opts = firewall_opts,
		.exits = firewall_exits,
		.examples = firewall_examples,
		.run = egress_firewall},
	{.name = "firewall diff",
		.summary = "say what a change of a policy opens and closes",
		.opts = diff_opts,
		.operands = diff_operands,
		.exits = diff_exits,
		.examples = diff_examples,
		.run = egress_diff},
	{.name = "firewall test",
		.summary = "hold policies to what is expected of them",
		.opts = test_opts,
		.operands = test_operands,
		.exits = test_exits,
		.examples = test_examples,
		.run = egress_test},
	{.name = "firewall verify",
		.summary = "hold what a kernel enforces to a policy",
		.opts = verify_opts,
		.exits = verify_exits,
		.examples = verify_examples,
		.run = egress_firewall_verify},
	{.name = "verify",
		.summary = "hold every filter that should stand to what it should mean",
		.opts = verify_all_opts,
		.exits = verify_all_exits,
		.examples = verify_all_examples,
		.run = egress_verify},
	{.name = "watch",
		.summary = "put back what is changed of the filters that should stand",
		.opts = watch_opts,
		.exits = watch_exits,
		.examples = watch_examples,
		.run = egress_watch},
	{.name = "blocked",
		.summary = "show what sandboxes tried to reach and were refused",
		.opts = blocked_opts,
		.examples = blocked_examples,
		.run = egress_blocked},
	{.name = "fits",
		.summary = "say whether one level of rules lies inside another",
		.opts = fits_opts,
		.operands = fits_operands,
		.exits = fits_exits,
		.examples = fits_examples,
		.run = egress_fits},
	{.name = "rules set",
		.summary = "store the rules of an executor or a project",
		.opts = egress_rules_set_opts,
		.exits = egress_rules_set_exits,
		.examples = egress_rules_set_examples,
		.run = egress_rules_set},
	{.name = "rules show",
		.summary = "show stored rules",
		.opts = egress_rules_show_opts,
		.exits = egress_rules_show_exits,
		.examples = egress_rules_show_examples,
		.run = egress_rules_show},
	{.name = "rules clear",
		.summary = "take the rules of an executor or a project away",
		.opts = egress_rules_clear_opts,
		.examples = egress_rules_clear_examples,
		.run = egress_rules_clear},
	{.name = "effective",
		.summary = "show what a run would reach, all its levels together",
		.opts = egress_effective_opts,
		.exits = egress_effective_exits,
		.examples = egress_effective_examples,
		.run = egress_effective},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_HUB,
	CL_ROW_ENV_RUN_DIR,
	{"NO_COLOR", "when set and not empty: no colour on a terminal"},
	{0},
};

static const struct cl_text files[] = {
	CL_ROW_FILE_CONFIG,
	{"HUB/.cloop/egress-rules", "digests of the newest stored rules; in backups with state.db"},
	{0},
};

static const char *const see_also[] = {"cloop(1)", "cloop-run(1)", "cloop-runs(1)",
	"cloop-secret(1)", "cloop-config.yaml(5)", "nft(8)", NULL};

const struct cl_spec egress_spec = {
	.name = "cloop-egress",
	.summary = "compile, explain and check what a sandbox may reach",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
