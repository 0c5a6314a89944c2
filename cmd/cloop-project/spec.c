/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "project.h"
#include "cli/rows.h"

static const struct cl_operand dir_operand[] = {
	{.name = "DIR",
		.help = "the project's directory; with --create a bare name is made in "
			"ui.projects_root",
		.complete = CL_COMP_DIR},
	{0},
};

static const struct cl_operand project_operand[] = {
	{.name = "PROJECT", .help = "its directory, or its name", .complete = CL_COMP_DIR},
	{0},
};

static const struct cl_opt add_opts[] = {
	{.name = "create", .type = CL_FLAG, .help = "make the directory"},
	{.name = "owner",
		.type = CL_STR,
		.arg = "USER",
		.def = "whom the directory belongs to",
		.help = "whose project it is"},
	{.name = "name",
		.type = CL_STR,
		.arg = "NAME",
		.def = "that of the directory",
		.help = "a name for people"},
	{0},
};

static const struct cl_opt remove_opts[] = {
	{.name = "delete-root",
		.type = CL_FLAG,
		.help = "delete the directory too; only one that the hub made"},
	{0},
};

static const struct cl_example add_examples[] = {
	{"cloop project add /srv/projects/api", "register a directory as it is", false},
	{"cloop project add --create --owner ada web", "make ui.projects_root/web for ada", false},
	{0},
};
static const struct cl_example list_examples[] = {
	{"cloop project list", "every project of the hub", false},
	{0},
};
static const struct cl_example show_examples[] = {
	{"cloop project show .", "where its runs go, and whether they may start", false},
	{0},
};
static const struct cl_example remove_examples[] = {
	{"cloop project remove api", "forget it; the directory stays", false},
	{"cloop project remove --delete-root web", "and delete what the hub made for it", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "add",
		.summary = "register a directory as a project, or make one",
		.opts = add_opts,
		.operands = dir_operand,
		.examples = add_examples,
		.run = cmd_project_add},
	{.name = "list",
		.summary = "list the projects of the hub",
		.examples = list_examples,
		.run = cmd_project_list},
	{.name = "show",
		.summary = "show one project, and whether it may still be one",
		.operands = project_operand,
		.examples = show_examples,
		.run = cmd_project_show},
	{.name = "remove",
		.summary = "forget a project",
		.opts = remove_opts,
		.operands = project_operand,
		.examples = remove_examples,
		.run = cmd_project_remove},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_HUB,
	{0},
};

static const struct cl_text files[] = {
	CL_ROW_FILE_CONFIG,
	CL_ROW_FILE_STATE,
	{0},
};

static const char *const see_also[] = {
	"cloop(1)", "cloop-run(1)", "cloop-executor(1)", "cloop-config.yaml(5)", NULL};

const struct cl_spec project_spec = {
	.name = "cloop-project",
	.summary = "say which directories are projects",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
