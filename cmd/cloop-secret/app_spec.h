/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `cloop secret app`, which are part of cloop-secret's table. */
#ifndef CLOOP_SECRET_APP_SPEC_H
#define CLOOP_SECRET_APP_SPEC_H

#include "secret.h"

static const struct cl_opt app_opts[] = {
	{.name = "file",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.help = "credentials that are not stored, as mint takes them; - is standard input"},
	{0},
};

static const struct cl_operand app_operands[] = {
	{.name = "SECRET",
		.help = "name or id of a github_app",
		.optional = true,
		.complete = CL_COMP_SECRET},
	{0},
};

static const struct cl_exit app_exits[] = {
	{0, "GitHub answered"},
	{1, "GitHub refuses: the key, the App or the installation is not what it was"},
	{0},
};

static const struct cl_example app_installations_examples[] = {
	{"cloop secret app installations deploy-app", "every account that the App is installed on",
		false},
	{"cloop secret app installations --file app.json",
		"find installation_id, before there is a secret", false},
	{0},
};

static const struct cl_example app_repositories_examples[] = {
	{"cloop secret app repositories deploy-app", "the repositories that a grant of it can name",
		false},
	{"cloop secret app repositories deploy-app --json", "the same, one object a line", false},
	{0},
};

#define APP_VERBS                                                                              \
	{.name = "app installations",                                                          \
		.summary = "ask GitHub where an App is installed",                             \
		.opts = app_opts,                                                              \
		.operands = app_operands,                                                      \
		.exits = app_exits,                                                            \
		.examples = app_installations_examples,                                        \
		.run = cmd_secret_app_installations},                                          \
	{                                                                                      \
		.name = "app repositories",                                                    \
		.summary = "ask GitHub which repositories an App can reach", .opts = app_opts, \
		.operands = app_operands, .exits = app_exits,                                  \
		.examples = app_repositories_examples, .run = cmd_secret_app_repositories      \
	}

#endif
