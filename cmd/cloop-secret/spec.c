/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "app_spec.h"
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

/* What narrows a grant: one option for each of sec_lists. */
/* clang-format off */
#define CONSTRAINTS \
	{.name = "repos", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "github_pat, github_app: OWNER/NAME globs; local_repo: directory names"}, \
	{.name = "permissions", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "github_pat, github_app: SCOPE:LEVEL, such as contents:read"}, \
	{.name = "branches", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "github_pat, github_app: branches that may be pushed to"}, \
	{.name = "contexts", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "kubeconfig: its contexts"}, \
	{.name = "namespaces", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "kubeconfig: namespaces; these or contexts are required"}, \
	{.name = "verbs", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "kubeconfig: verbs; left out: get,list,watch"}, \
	{.name = "registries", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "registry: hosts whose logins are delivered"}, \
	{.name = "env-keys", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "env: variables; left out: every one"}, \
	{.name = "hosts", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "egress_proxy: hosts that may be reached through it"}, \
	{.name = "devices", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "host_device: names of the inventory"}, \
	{.name = "interfaces", \
		.type = CL_LIST, \
		.arg = "LIST", \
		.help = "host_interface: names of the inventory"}, \
	{.name = "writable", \
		.type = CL_FLAG, \
		.help = "local_repo, host_device: may be written to; the one option that widens"}
/* clang-format on */

static const struct cl_opt grant_opts[] = {
	{.name = "to",
		.type = CL_STR,
		.arg = "SUBJECT",
		.help = "project:PATH, executor:ID, label:KEY=VALUE[,KEY=VALUE] or any"},
	CONSTRAINTS,
	{.name = "ttl",
		.type = CL_STR,
		.arg = "DURATION",
		.def = "24h",
		.help = "how long it lasts"},
	{.name = "scope",
		.type = CL_STR,
		.arg = "LABEL",
		.help = "a label for people; it grants nothing"},
	{0},
};

static const struct cl_exit grant_exits[] = {
	{0, "granted"},
	{1, "refused: it would open nothing on this host, or everybody's use of a personal secret"},
	{0},
};

static const struct cl_example grant_examples[] = {
	{"cloop secret grant deploy-pat --to project:/srv/app --repos 'myorg/*' --permissions "
	 "contents:read",
		"a token for one organisation's repositories", false},
	{"cloop secret grant app-env --to project:/srv/app --env-keys API_KEY --ttl 8h",
		"one variable, for a working day", false},
	{"cloop secret grant bench-hw --to project:/srv/fw --devices serial0,analyser --writable",
		"two devices of an inventory", false},
	{0},
};

static const struct cl_opt edit_opts[] = {
	CONSTRAINTS,
	{.name = "read-only", .type = CL_FLAG, .help = "take --writable away"},
	{0},
};

static const struct cl_operand grant_operands[] = {
	{.name = "GRANT",
		.help = "id of the grant, or the first six digits of it",
		.complete = CL_COMP_GRANT},
	{0},
};

static const struct cl_exit edit_exits[] = {
	{0, "replaced"},
	{1, "refused: it is revoked, expired or not signed by this hub"},
	{0},
};

static const struct cl_example edit_examples[] = {
	{"cloop secret grant edit grant_8ce0ad --repos 'myorg/*,other/tool'",
		"allow one more repository, until the same time", false},
	{0},
};

static const struct cl_opt grants_opts[] = {
	{.name = "subject",
		.type = CL_STR,
		.arg = "SUBJECT",
		.help = "only grants to this subject"},
	{.name = "secret",
		.type = CL_STR,
		.arg = "SECRET",
		.help = "only grants of this secret",
		.complete = CL_COMP_SECRET},
	{.name = "all", .type = CL_FLAG, .help = "also those that are revoked or expired"},
	{0},
};

static const struct cl_example grants_examples[] = {
	{"cloop secret grants", "who may use what, the newest first", false},
	{"cloop secret grants --subject project:/srv/app --all", "what one project has and had",
		false},
	{0},
};

static const struct cl_example revoke_examples[] = {
	{"cloop secret revoke grant_8ce0ad", "it is never leased again", false},
	{0},
};

static const struct cl_opt lease_opts[] = {
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.def = ".",
		.help = "as a run of this project",
		.complete = CL_COMP_DIR},
	{.name = "executor",
		.letter = 'e',
		.type = CL_STR,
		.arg = "ID",
		.help = "on this executor, with the labels that the hub records for it",
		.complete = CL_COMP_EXECUTOR},
	{0},
};

static const struct cl_example lease_examples[] = {
	{"cloop secret lease --project /srv/app --executor edge-01",
		"what a run would get, and what not and why", false},
	{0},
};

static const struct cl_operand why_operands[] = {
	{.name = "SECRET",
		.help = "only grants of this one, and of it also those that have ended",
		.optional = true,
		.complete = CL_COMP_SECRET},
	{0},
};

static const struct cl_exit why_exits[] = {
	{0, "at least one grant is delivered"},
	{1, "none is"},
	{0},
};

static const struct cl_example why_examples[] = {
	{"cloop secret why --project /srv/app --executor edge-01 deploy-pat",
		"why a run does not get one secret, and what to type", false},
	{0},
};

static const struct cl_operand names_operands[] = {
	{.name = "KIND", .help = "secret or grant"},
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
	{.name = "grant",
		.summary = "say who may use a secret, how narrowed and for how long",
		.opts = grant_opts,
		.operands = secret_operands,
		.exits = grant_exits,
		.examples = grant_examples,
		.run = cmd_secret_grant},
	{.name = "grant edit",
		.summary = "replace a grant by one with other constraints",
		.opts = edit_opts,
		.operands = grant_operands,
		.exits = edit_exits,
		.examples = edit_examples,
		.run = cmd_secret_grant_edit},
	{.name = "grants",
		.summary = "list grants",
		.opts = grants_opts,
		.examples = grants_examples,
		.run = cmd_secret_grants},
	{.name = "revoke",
		.summary = "take a grant back",
		.operands = grant_operands,
		.examples = revoke_examples,
		.run = cmd_secret_revoke},
	{.name = "lease",
		.summary = "show what a run would be lent, and what not and why",
		.opts = lease_opts,
		.examples = lease_examples,
		.run = cmd_secret_lease},
	{.name = "why",
		.summary = "say of each grant why a run would get it or not, and what changes that",
		.opts = lease_opts,
		.operands = why_operands,
		.exits = why_exits,
		.examples = why_examples,
		.run = cmd_secret_why},
	{.name = "take",
		.summary = "lend: a question on standard input, a lease into a pipe",
		.needs = CL_HIDDEN,
		.run = cmd_secret_take},
	{.name = "renew",
		.summary = "lend on: a question on standard input, a lease into a pipe",
		.needs = CL_HIDDEN,
		.run = cmd_secret_renew},
	APP_VERBS,
	{.name = "names",
		.summary = "print live names, for completion",
		.operands = names_operands,
		.needs = CL_HIDDEN | CL_NO_JSON,
		.run = cmd_secret_names},
	{0},
};

static const struct cl_text environment[] = {CL_ROWS_ENV_KEY, CL_ROWS_ENV_HUB, {0}};

static const struct cl_text files[] = {CL_ROW_FILE_STATE, CL_ROW_FILE_KEY,
	{"HUB/.cloop/grants.pub", "public half of the key that signs grants"}, {0}};

static const char *const see_also[] = {"cloop(1)", "cloop-hub(1)", NULL};

const struct cl_spec secret_spec = {
	.name = "cloop-secret",
	.summary = "store credentials sealed, and say who may use them for how long",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
