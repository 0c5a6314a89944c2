/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spec_rules.h"

static const char *const levels[] = {"device", "executor", "virtual", NULL};

/* clang-format off */
#define WHOSE \
	{.name = "executor", \
		.letter = 'e', \
		.type = CL_STR, \
		.arg = "ID", \
		.complete = CL_COMP_EXECUTOR, \
		.help = "of this executor, for every run on it"}, \
	{.name = "level", \
		.type = CL_ENUM, \
		.arg = "LEVEL", \
		.values = levels, \
		.def = "executor", \
		.help = "with --executor: rules of the device that it is on, its own, or those of " \
			"the virtual executor that it is"}, \
	{.name = "project", \
		.letter = 'p', \
		.type = CL_STR, \
		.arg = "DIR", \
		.complete = CL_COMP_DIR, \
		.help = "of this project, for every run of it"}
/* clang-format on */

const struct cl_opt egress_rules_set_opts[] = {
	WHOSE,
	{.name = "on",
		.type = CL_STR,
		.arg = "ID",
		.complete = CL_COMP_EXECUTOR,
		.def = "what the project is bound to, or the default",
		.help = "the executor that a project's rules must fit"},
	{.name = "policy",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.help = "the rules as JSON or YAML, from standard input for '-', instead of "
			"options"},
	{.name = "internet", .type = CL_FLAG, .help = "allow the public Internet"},
	{.name = "cidrs", .type = CL_CSV, .arg = "CIDR,...", .help = "allow address ranges"},
	{.name = "deny",
		.type = CL_CSV,
		.arg = "CIDR,...",
		.help = "deny address ranges, here and at every level below"},
	{.name = "ports",
		.type = CL_CSV,
		.arg = "PORT,...",
		.def = "every port",
		.help = "TCP ports of what is allowed"},
	{.name = "all-ports", .type = CL_FLAG, .help = "say that every port is meant"},
	{.name = "resolver",
		.type = CL_CSV,
		.arg = "ADDR[:PORT]",
		.help = "allow a DNS resolver, by UDP and TCP; port 53 unless named"},
	{.name = "broker",
		.type = CL_CSV,
		.arg = "ADDR:PORT",
		.help = "allow an egress broker, by TCP"},
	{.name = "block-special-use",
		.type = CL_FLAG,
		.help = "block IANA's special-purpose ranges too"},
	{.name = "silent",
		.type = CL_FLAG,
		.help = "drop denied packets instead of refusing them at once"},
	{0},
};

const struct cl_exit egress_rules_set_exits[] = {
	{0, "stored, or already so"},
	{1, "the rules reach further than the level above, or nothing would enforce them"},
	{0},
};

const struct cl_example egress_rules_set_examples[] = {
	{"cloop egress rules set --executor build-box --internet --ports 443 --resolver 9.9.9.9 "
	 "--deny 203.0.113.0/24",
		"narrow every run on an executor", false},
	{"cloop egress rules set -p /srv/projects/api --policy api-egress.yaml",
		"narrow every run of a project, from a file", false},
	{"cloop egress rules set -e bench --level device --internet --ports 443 --deny "
	 "203.0.113.0/24",
		"bound everything that runs on the machine of an executor", false},
	{"cloop egress rules set -p /srv/projects/api", "let a project reach nothing", false},
	{0},
};

const struct cl_opt egress_rules_show_opts[] = {WHOSE, {0}};

const struct cl_exit egress_rules_show_exits[] = {
	{0, "shown"},
	{1, "the executor or project has none"},
	{0},
};

const struct cl_example egress_rules_show_examples[] = {
	{"cloop egress rules show", "list every stored set", false},
	{"cloop egress rules show -p /srv/projects/api --json | jq .rules",
		"a project's rules, as 'rules set --policy' takes them", false},
	{0},
};

const struct cl_opt egress_rules_clear_opts[] = {WHOSE, {0}};

const struct cl_example egress_rules_clear_examples[] = {
	{"cloop egress rules clear --executor build-box",
		"leave an executor its configuration alone", false},
	{0},
};

const struct cl_opt egress_effective_opts[] = {
	{.name = "executor",
		.letter = 'e',
		.type = CL_STR,
		.arg = "ID",
		.complete = CL_COMP_EXECUTOR,
		.def = "what the project is bound to, or the default",
		.help = "where it would run"},
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.help = "whose run: its stored rules and its .cloop/sandbox.yaml count"},
	{.name = "policy",
		.type = CL_FLAG,
		.help = "print the levels as JSON that 'firewall --policy' takes"},
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

const struct cl_exit egress_effective_exits[] = {
	{0, "printed; with --check or --check-file: every destination is allowed"},
	{1, "with --check or --check-file: a destination is dropped"},
	{0},
};

const struct cl_example egress_effective_examples[] = {
	{"cloop egress effective -p /srv/projects/api", "what a project's runs reach, by level",
		false},
	{"cloop egress effective -e build-box -p . --check 10.8.0.5:5432",
		"would a run reach the database, and which level decides?", false},
	{0},
};
