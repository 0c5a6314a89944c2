/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/rows.h"
#include "secret.h"

static const struct cl_opt mint_opts[] = {
	{.name = "kind",
		.letter = 'k',
		.type = CL_STR,
		.arg = "KIND",
		.def = "env",
		.help = "github_pat, github_app, kubeconfig, registry, env, egress_proxy, "
			"local_repo, "
			"host_device or host_interface"},
	{.name = "file",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.help = "read the payload from there; - or left out: standard input"},
	{.name = "value",
		.type = CL_STR,
		.arg = "TEXT",
		.help = "the payload itself, of a kind that is no credential: a path or an "
			"inventory"},
	{.name = "github-host",
		.type = CL_STR,
		.arg = "HOST",
		.help = "the GitHub Enterprise Server that a github_pat belongs to; sealed with "
			"it"},
	{.name = "owner",
		.type = CL_STR,
		.arg = "WHO",
		.help = "whose it is, as an e-mail address or sub:ID; left out: shared"},
	{0},
};

static const struct cl_operand mint_operands[] = {
	{.name = "NAME", .help = "1-128 letters, digits, '-', '_' and '.'"},
	{0},
};

static const struct cl_exit mint_exits[] = {
	{0, "stored"},
	{1, "there is a secret of that name"},
	{0},
};

static const struct cl_example mint_examples[] = {
	{"cloop secret mint deploy-pat --kind github_pat --file token.txt",
		"store a token that is in a file", false},
	{"printf '{\"API_KEY\":\"abc\"}' | cloop secret mint app-env --kind env",
		"store variables by name", false},
	{"cloop secret mint host-src --kind local_repo --value /srv/git",
		"name a directory of repositories", false},
	{0},
};

static const struct cl_operand secret_operands[] = {
	{.name = "SECRET", .help = "name or id", .complete = CL_COMP_SECRET},
	{0},
};

static const struct cl_example list_examples[] = {
	{"cloop secret list", "what is stored, without any value", false},
	{"cloop secret list --json", "the same, one object a line", false},
	{0},
};

static const struct cl_example show_examples[] = {
	{"cloop secret show deploy-pat", "one secret: its fingerprint, never its value", false},
	{0},
};

static const struct cl_opt delete_opts[] = {
	{.name = "reason", .type = CL_STR, .arg = "TEXT", .help = "why, for those who look for it"},
	{0},
};

static const struct cl_example delete_examples[] = {
	{"cloop secret delete deploy-pat --reason 'replaced by deploy-app'",
		"destroy the stored copy", false},
	{0},
};

static const struct cl_operand names_operands[] = {
	{.name = "KIND", .help = "secret"},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "mint",
		.summary = "store a secret, sealed",
		.opts = mint_opts,
		.operands = mint_operands,
		.exits = mint_exits,
		.examples = mint_examples,
		.run = cmd_secret_mint},
	{.name = "list",
		.summary = "list what is stored",
		.examples = list_examples,
		.run = cmd_secret_list},
	{.name = "show",
		.summary = "show one secret, but for its value",
		.operands = secret_operands,
		.examples = show_examples,
		.run = cmd_secret_show},
	{.name = "delete",
		.summary = "destroy a secret and leave a tombstone",
		.opts = delete_opts,
		.operands = secret_operands,
		.examples = delete_examples,
		.run = cmd_secret_delete},
	{.name = "names",
		.summary = "print live names, for completion",
		.operands = names_operands,
		.needs = CL_HIDDEN | CL_NO_JSON,
		.run = cmd_secret_names},
	{0},
};

static const struct cl_text environment[] = {CL_ROWS_ENV_KEY, CL_ROWS_ENV_HUB, {0}};

static const struct cl_text files[] = {CL_ROW_FILE_STATE, CL_ROW_FILE_KEY, {0}};

static const char *const see_also[] = {"cloop(1)", "cloop-hub(1)", NULL};

const struct cl_spec secret_spec = {
	.name = "cloop-secret",
	.summary = "store credentials sealed, and say who may use them for how long",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
