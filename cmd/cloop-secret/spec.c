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
	{1, "refused: it would open nothing, or everybody's use of a personal secret"},
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

static const char *const actions[] = {"scrub", "kill", NULL};

static const struct cl_opt revoke_opts[] = {
	{.name = "action",
		.type = CL_ENUM,
		.arg = "ACTION",
		.def = "scrub",
		.values = actions,
		.help = "wipe what is held, or end the workload as well"},
	{.name = "wait",
		.type = CL_DURATION,
		.arg = "DURATION",
		.def = "60s",
		.help = "how long to wait for those who hold it"},
	{.name = "reason", .type = CL_STR, .arg = "TEXT", .help = "why, for those who look for it"},
	{0},
};

static const struct cl_operand revoke_operands[] = {
	{.name = "ID",
		.help = "grant, or its first six digits; or lease, with its lease_ in front",
		.complete = CL_COMP_GRANT},
	{0},
};

static const struct cl_exit revoke_exits[] = {
	{0, "revoked, and nobody has it any more"},
	{1, "revoked, but somebody has not given it up, or GitHub has not destroyed a token of it"},
	{0},
};

static const struct cl_example revoke_examples[] = {
	{"cloop secret revoke grant_8ce0ad", "take it back from everybody, for good", false},
	{"cloop secret revoke lease_8ce0add1 --action kill --reason 'PAT leaked'",
		"take all that one run holds, and end it", false},
	{0},
};

static const struct cl_opt leases_opts[] = {
	{.name = "run",
		.type = CL_STR,
		.arg = "RUN",
		.help = "only those of this run",
		.complete = CL_COMP_RUN},
	{.name = "grant",
		.type = CL_STR,
		.arg = "GRANT",
		.help = "only those that stand on this grant",
		.complete = CL_COMP_GRANT},
	{.name = "all", .type = CL_FLAG, .help = "also those that have ended"},
	{.name = "limit",
		.letter = 'n',
		.type = CL_INT,
		.arg = "N",
		.def = "100",
		.help = "the newest so many; 0: all"},
	{0},
};

static const struct cl_example leases_examples[] = {
	{"cloop secret leases", "what is lent now, to which run and for how long", false},
	{"cloop secret leases --grant grant_8ce0ad --all --json", "everything ever lent of a grant",
		false},
	{0},
};

static const struct cl_exit holders_exits[] = {
	{0, "somebody holds it"},
	{1, "nobody does"},
	{0},
};

static const struct cl_example holders_examples[] = {
	{"cloop secret holders grant_8ce0ad", "who would lose it, before it is revoked", false},
	{0},
};

static const struct cl_operand access_operands[] = {
	{.name = "SUBJECT",
		.help = "project:PATH, executor:ID, label:KEY=VALUE[,KEY=VALUE] or any"},
	{0},
};

static const struct cl_exit access_exits[] = {
	{0, "at least one grant is for it"},
	{1, "none is"},
	{0},
};

static const struct cl_example access_examples[] = {
	{"cloop secret access project:/srv/app", "all that a project may be lent", false},
	{"cloop secret access executor:edge-01",
		"the same of an executor, with the labels that the hub records", false},
	{0},
};

static const struct cl_example blast_examples[] = {
	{"cloop secret blast deploy-pat", "how far a leak of it would reach, and for how long",
		false},
	{0},
};

static const struct cl_example sweep_examples[] = {
	{"cloop secret sweep", "one pass by hand, or from cron", false},
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
		.summary = "take a grant or a lease back from whoever holds it",
		.opts = revoke_opts,
		.operands = revoke_operands,
		.exits = revoke_exits,
		.examples = revoke_examples,
		.run = cmd_secret_revoke},
	{.name = "access",
		.summary = "list what a project, an executor or labels may be lent",
		.operands = access_operands,
		.exits = access_exits,
		.examples = access_examples,
		.run = cmd_secret_access},
	{.name = "leases",
		.summary = "list what is lent now",
		.opts = leases_opts,
		.examples = leases_examples,
		.run = cmd_secret_leases},
	{.name = "holders",
		.summary = "say who holds a grant, and how",
		.operands = grant_operands,
		.exits = holders_exits,
		.examples = holders_examples,
		.run = cmd_secret_holders},
	{.name = "blast",
		.summary = "say what a secret reaches, who has it, and until when at worst",
		.operands = secret_operands,
		.examples = blast_examples,
		.run = cmd_secret_blast},
	{.name = "sweep",
		.summary = "end leases that lapsed or whose run is over, and tokens that outlived "
			   "theirs",
		.examples = sweep_examples,
		.run = cmd_secret_sweep},
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
	{.name = "drop",
		.summary = "have a token of a lease destroyed: a question on standard input",
		.needs = CL_HIDDEN,
		.run = cmd_secret_drop},
	{.name = "hardware",
		.summary = "list the hardware that grants open: a question on standard input",
		.needs = CL_HIDDEN,
		.run = cmd_secret_hardware},
	APP_VERBS,
	{.name = "names",
		.summary = "print live names, for completion",
		.operands = names_operands,
		.needs = CL_HIDDEN | CL_NO_JSON,
		.run = cmd_secret_names},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_KEY, CL_ROWS_ENV_HUB, CL_ROW_ENV_RUN_DIR, {0}};

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
