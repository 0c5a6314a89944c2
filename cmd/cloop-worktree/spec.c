/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "worktree_cmd.h"
#include "cli/rows.h"

#define PROJECT_OPT                                                             \
	{                                                                       \
		.name = "project", .letter = 'p', .type = CL_STR, .arg = "DIR", \
		.complete = CL_COMP_DIR, .def = "the current directory",        \
		.help = "the project whose worktrees are"                       \
			" meant"                                                \
	}
#define AGE_OPT                                                                               \
	{                                                                                     \
		.name = "min-age", .type = CL_DURATION, .arg = "TIME", .min = 1, .def = "2h", \
		.help = "one that was changed since is in use, whatever else is "             \
			"known"                                                               \
	}

static const struct cl_opt list_opts[] = {PROJECT_OPT, AGE_OPT, {0}};

static const struct cl_opt prune_opts[] = {
	PROJECT_OPT,
	AGE_OPT,
	{.name = "delete-branches",
		.type = CL_FLAG,
		.help = "delete branches cloop/task-* too, of which all is in the branch that is "
			"checked out"},
	{0},
};

static const struct cl_exit prune_exits[] = {
	{1, "one that is left over could not be removed"},
	{0},
};

static const struct cl_example list_examples[] = {
	{"cloop worktree list", "what runs have left here, and why it would stay", false},
	{0},
};
static const struct cl_example prune_examples[] = {
	{"cloop worktree prune -p /srv/projects/api", "remove what is left over", false},
	{"cloop worktree prune --delete-branches", "and the branches that are merged", false},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "list",
		.summary = "list the worktrees of a project, and which are left over",
		.opts = list_opts,
		.examples = list_examples,
		.run = cmd_worktree_list},
	{.name = "prune",
		.summary = "remove those that are left over",
		.opts = prune_opts,
		.exits = prune_exits,
		.examples = prune_examples,
		.run = cmd_worktree_prune},
	{0},
};

static const struct cl_text environment[] = {
	CL_ROWS_ENV_HUB,
	{0},
};

static const struct cl_text files[] = {
	{".cloop/worktrees", "where parallel runs work, below a project"},
	CL_ROW_FILE_STATE,
	{0},
};

static const char *const see_also[] = {
	"cloop(1)", "cloop-project(1)", "cloop-sweep(1)", "git-worktree(1)", NULL};

const struct cl_spec worktree_spec = {
	.name = "cloop-worktree",
	.summary = "the git worktrees that runs leave in a project",
	.verbs = verbs,
	.environment = environment,
	.files = files,
	.see_also = see_also,
};
