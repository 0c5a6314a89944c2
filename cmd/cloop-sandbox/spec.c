/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sandbox_cmd.h"
#include "cli/rows.h"

static const char *const formats[] = {"text", "json", "sarif", "github", NULL};

static const struct cl_opt check_opts[] = {
	{.name = "format",
		.type = CL_ENUM,
		.arg = "FORMAT",
		.help = "how findings are written",
		.def = "text",
		.values = formats},
	{.name = "strict", .type = CL_FLAG, .help = "a warning fails the check"},
	{.name = "project",
		.letter = 'p',
		.type = CL_LIST,
		.arg = "DIR",
		.help = "check this project, as the operand does",
		.complete = CL_COMP_DIR},
	{0},
};

static const struct cl_operand check_operands[] = {
	{.name = "DIR|FILE",
		.help = "a project's directory, a file, or - for standard input; none: the "
			"current directory",
		.optional = true,
		.repeat = true,
		.complete = CL_COMP_FILE},
	{0},
};

static const struct cl_exit check_exits[] = {
	{1, "--strict was given, and there is a warning"},
	{0},
};

static const struct cl_example check_examples[] = {
	{"cloop sandbox check", "check the project in the current directory", true},
	{"cloop sandbox check --format github --strict .",
		"annotate a pull request, warnings included", true},
	{"cloop sandbox check --format sarif services/* > sandbox.sarif",
		"one report about many projects", false},
	{0},
};

static const struct cl_opt resolve_opts[] = {
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.help = "the project, as the operand",
		.complete = CL_COMP_DIR},
	{0},
};

static const struct cl_operand resolve_operands[] = {
	{.name = "DIR|FILE",
		.help = "a project's directory, a file, or - for standard input; none: the "
			"current directory",
		.optional = true,
		.complete = CL_COMP_FILE},
	{0},
};

static const struct cl_example resolve_examples[] = {
	{"cloop sandbox resolve", "what the current project asks for", true},
	{"cloop sandbox resolve --json -p .", "the same for a program, hashes included", true},
	{0},
};

static const struct cl_opt image_opts[] = {
	{.name = "policy",
		.type = CL_STR,
		.arg = "FILE",
		.def = "the hub's",
		.help = "the mapping sandbox.image_policy as YAML or JSON, - for standard input",
		.complete = CL_COMP_FILE},
	{.name = "refs-file",
		.type = CL_STR,
		.arg = "FILE",
		.help = "judge each line of this file too, - for standard input",
		.complete = CL_COMP_FILE},
	{.name = "resolve",
		.type = CL_FLAG,
		.help = "also say which digest it stands for, in the engine's store and at its "
			"registry"},
	{0},
};

static const struct cl_operand image_operands[] = {
	{.name = "REF",
		.help = "a reference as image: names one",
		.optional = true,
		.repeat = true},
	{0},
};

static const struct cl_exit image_exits[] = {
	{1, "a reference is refused"},
	{0},
};

static const struct cl_example image_examples[] = {
	{"echo 'allowed_registries: [ghcr.io]' | cloop sandbox image check --policy - "
	 "ghcr.io/acme/tools:1 evil.example/ghcr.io/tools",
		"which images a policy lets a project name", true},
	{"git grep -h '^image: ' -- '*/sandbox.yaml' | cut -c8- | cloop sandbox image check --json "
	 "--refs-file -",
		"every image of a repository, under the hub's policy", false},
	{"cloop sandbox image check --resolve ghcr.io/acme/tools:1",
		"which digest the tag stands for now, here and at the registry", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "check",
		.summary = "say what is wrong with a project's sandbox.yaml, and where",
		.opts = check_opts,
		.operands = check_operands,
		.exits = check_exits,
		.examples = check_examples,
		.run = sbx_check},
	{.name = "image check",
		.summary = "say whether the image policy lets a project name an image",
		.opts = image_opts,
		.operands = image_operands,
		.exits = image_exits,
		.examples = image_examples,
		.run = sbx_image_check},
	{.name = "resolve",
		.summary = "print the normalised spec: clamps, requirements, hashes",
		.opts = resolve_opts,
		.operands = resolve_operands,
		.examples = resolve_examples,
		.run = sbx_resolve},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_HUB,
	{"DOCKER_CONFIG", "folder of docker's config.json, where a registry's login may be"},
	{"REGISTRY_AUTH_FILE", "file of logins, as podman login writes it"},
	{0},
};

static const struct cl_text files[] = {
	CL_ROW_FILE_CONFIG,
	CL_ROW_FILE_SANDBOX,
	{0},
};

static const char *const see_also[] = {"cloop(1)", "cloop-run(1)", "cloop-egress(1)",
	"cloop-sandbox.yaml(5)", "cloop-config.yaml(5)", NULL};

const struct cl_spec sandbox_spec = {
	.name = "cloop-sandbox",
	.summary = "check and explain what a project asks of its sandbox",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
