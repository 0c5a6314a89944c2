/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hub.h"

#define KEY_RUN(name) cmd_hub_key
#include "key_spec.h"
#include "cli/rows.h"

static const struct cl_opt bootstrap_opts[] = {
	{.name = "external-url",
		.type = CL_STR,
		.arg = "URL",
		.help = "where people and devices will reach the hub, for the settings that need "
			"it"},
	{.name = "git-proxy-port",
		.type = CL_INT,
		.arg = "PORT",
		.def = "8443",
		.min = 1,
		.max = 65535,
		.help = "port written for the git proxy"},
	{.name = "kube-guard-port",
		.type = CL_INT,
		.arg = "PORT",
		.def = "8444",
		.min = 1,
		.max = 65535,
		.help = "port written for the cluster access monitor"},
	{0},
};

static const struct cl_example bootstrap_examples[] = {
	{"cloop hub bootstrap", "make the hub in the usual place", false},
	{"cloop -C /srv/cloop hub bootstrap --external-url https://hub.internal:8080",
		"make it elsewhere, with its own name in the configuration", false},
	{0},
};

static const struct cl_operand check_operands[] = {
	{.name = "FILE",
		.help = "a file to check instead of the hub's, or - for standard input",
		.optional = true,
		.complete = CL_COMP_FILE},
	{0},
};

static const struct cl_exit check_exits[] = {
	{0, "the file is right; there may be warnings"},
	{0},
};

static const struct cl_example check_examples[] = {
	{"cloop hub config check", "check the hub's own file", false},
	{"cloop hub config check /dev/null", "check another one: an empty file is right", true},
	{0},
};

static const struct cl_operand show_operands[] = {
	{.name = "KEY",
		.help = "show only this key, or what is below it",
		.optional = true,
		.complete = CL_COMP_CONFIG_KEY},
	{0},
};

static const struct cl_example show_examples[] = {
	{"cloop hub config show", "what is in force, and where each value comes from", false},
	{"cloop hub config show executors.container.network", "one key", false},
	{0},
};

static const struct cl_example keys_examples[] = {
	{"cloop hub config keys", "every key with its type, default and meaning", true},
	{"cloop hub config keys --json", "the same, one object a line", true},
	{0},
};

static const struct cl_opt list_opts[] = {
	{.name = "limit",
		.letter = 'n',
		.type = CL_INT,
		.arg = "N",
		.def = "100",
		.min = 0,
		.help = "show the newest N rows; 0 shows all"},
	{.name = "action",
		.type = CL_STR,
		.arg = "ACTION",
		.help = "only this action, such as run.start; run.* takes all of run"},
	{.name = "actor", .type = CL_STR, .arg = "ACTOR", .help = "only this actor, such as uid:0"},
	{.name = "id", .type = CL_STR, .arg = "ID", .help = "only rows about this id"},
	{.name = "secret",
		.type = CL_STR,
		.arg = "SECRET",
		.help = "only rows about this secret, by name or id, deleted ones too"},
	{.name = "grant", .type = CL_STR, .arg = "ID", .help = "only rows about this grant"},
	{.name = "project",
		.type = CL_STR,
		.arg = "DIR",
		.help = "only rows about this project",
		.complete = CL_COMP_DIR},
	{.name = "since",
		.type = CL_STR,
		.arg = "AGE",
		.help = "only rows no older than this, such as 24h, or since 2026-01-31T09:00:00Z"},
	{0},
};

static const struct cl_example list_examples[] = {
	{"cloop hub audit list -n 20", "the last twenty rows", false},
	{"cloop hub audit list --action 'run.*' --since 24h --json", "what ran today, for a script",
		false},
	{"cloop hub audit list --secret deploy-pat --action secret.lease -n 0",
		"every run that was lent a secret, or refused it", false},
	{0},
};

static const struct cl_opt verify_opts[] = {
	{.name = "head",
		.type = CL_STR,
		.arg = "SEQ:HASH",
		.help = "also demand that row SEQ has this hash, as an earlier verify printed it"},
	{0},
};

static const struct cl_exit verify_exits[] = {
	{0, "the chain is whole"},
	{1, "the chain is broken; the first row that does not hold is named"},
	{0},
};

static const struct cl_example verify_examples[] = {
	{"cloop hub audit verify", "walk the chain and print its head", false},
	{0},
};

static const struct cl_operand names_operands[] = {
	{.name = "KIND", .help = "executor or config-key"},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "bootstrap",
		.summary = "make the hub's directory, configuration and state",
		.opts = bootstrap_opts,
		.examples = bootstrap_examples,
		.run = cmd_hub_bootstrap},
	{.name = "config check",
		.summary = "say what is wrong with a configuration",
		.operands = check_operands,
		.exits = check_exits,
		.examples = check_examples,
		.run = cmd_hub_config_check},
	{.name = "config show",
		.summary = "show what is in force and where it comes from",
		.operands = show_operands,
		.examples = show_examples,
		.run = cmd_hub_config_show},
	{.name = "config keys",
		.summary = "list every key of the configuration",
		.examples = keys_examples,
		.run = cmd_hub_config_keys},
	KEY_VERBS,
	{.name = "audit list",
		.summary = "list what was done, the newest first",
		.opts = list_opts,
		.examples = list_examples,
		.run = cmd_hub_audit_list},
	{.name = "audit verify",
		.summary = "prove that the audit trail was not altered",
		.opts = verify_opts,
		.exits = verify_exits,
		.examples = verify_examples,
		.run = cmd_hub_audit_verify},
	{.name = "names",
		.summary = "print live names, for completion",
		.operands = names_operands,
		.needs = CL_HIDDEN | CL_NO_JSON,
		.run = cmd_hub_names},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_KEY,
	CL_ROWS_ENV_HUB,
	{0},
};

static const struct cl_text files[] = {
	{"HUB/.cloop/hub.env", "marks a hub's directory"},
	CL_ROW_FILE_CONFIG,
	CL_ROW_FILE_STATE,
	CL_ROW_FILE_KEY,
	{"/var/lib/cloop", "root's hub, unless another one is named"},
	{"/etc/cloop/hubs", "root's list of hubs, one directory a line"},
	{0},
};

static const char *const see_also[] = {
	"cloop(1)", "cloop-run(1)", "cloop-runs(1)", "cloop-config.yaml(5)", NULL};

const struct cl_spec hub_spec = {
	.name = "cloop-hub",
	.summary = "make and look after a hub: directory, configuration, keys, audit trail",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
