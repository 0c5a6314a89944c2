/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rows of `cloop executor` that sign, and so need the key. They belong to cloop-executor's
 * table; what they run is in cloop-executor-key, so that cloop-executor itself has no code that
 * opens a key (DECISIONS K5). Both include this file, and define KEY_RUN(name), the function of a
 * verb, before they do.
 */
#ifndef CLOOP_EXECUTOR_KEY_SPEC_H
#define CLOOP_EXECUTOR_KEY_SPEC_H

#include "cli/cli.h"

static const struct cl_operand key_bind_operands[] = {
	{.name = "ID", .help = "an executor of the hub", .complete = CL_COMP_EXECUTOR},
	{0},
};

static const struct cl_opt key_bind_opts[] = {
	{.name = "project",
		.letter = 'p',
		.type = CL_STR,
		.arg = "DIR",
		.complete = CL_COMP_DIR,
		.def = "the current directory",
		.help = "the project"},
	{.name = "default",
		.type = CL_FLAG,
		.help = "make it the executor of every project that is bound to none"},
	{0},
};

static const struct cl_example key_bind_examples[] = {
	{"cloop executor bind -p /srv/projects/api bench", "let a project's work be done there",
		false},
	{"cloop executor bind --default box", "and that of all others here", false},
	{0},
};

static const struct cl_operand key_labels_operands[] = {
	{.name = "ID", .help = "an executor of the hub", .complete = CL_COMP_EXECUTOR},
	{.name = "LABEL",
		.help = "KEY=VALUE to set one, KEY- to take a stored one away; none: show them",
		.optional = true,
		.repeat = true},
	{0},
};

static const struct cl_opt key_labels_opts[] = {
	{.name = "clear",
		.type = CL_FLAG,
		.help = "take all stored labels away; those of the configuration stay"},
	{0},
};

static const struct cl_example key_labels_examples[] = {
	{"cloop executor labels bench", "its labels, and where each comes from", false},
	{"cloop executor labels bench gpu=true region=eu zone-", "set two, take one away", false},
	{0},
};

#define KEY_VERBS                                                                \
	{.name = "bind",                                                         \
		.summary = "say which executor does a project's work",           \
		.opts = key_bind_opts,                                           \
		.operands = key_bind_operands,                                   \
		.examples = key_bind_examples,                                   \
		.run = KEY_RUN(bind)},                                           \
	{                                                                        \
		.name = "labels", .summary = "show or set an executor's labels", \
		.opts = key_labels_opts, .operands = key_labels_operands,        \
		.examples = key_labels_examples, .run = KEY_RUN(labels)          \
	}

#endif
