/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "place_cmd.h"

#define SHARED_OPTS                                                                         \
	{.name = "request",                                                                 \
		.letter = 'r',                                                              \
		.type = CL_STR,                                                             \
		.arg = "FILE",                                                              \
		.complete = CL_COMP_FILE,                                                   \
		.def = "standard input",                                                    \
		.help = "the request, as JSON"},                                            \
	{                                                                                   \
		.name = "bound", .type = CL_STR, .arg = "ID", .complete = CL_COMP_EXECUTOR, \
		.help = "judge only this candidate, whatever its health and load: the one " \
			"that a project is bound to"                                        \
	}

static const struct cl_opt choose_opts[] = {
	SHARED_OPTS,
	{.name = "all",
		.type = CL_FLAG,
		.help = "every candidate: those that fit, best first, then the others with every "
			"reason"},
	{0},
};

static const struct cl_opt why_opts[] = {SHARED_OPTS, {0}};

static const struct cl_operand why_operands[] = {
	{.name = "EXECUTOR",
		.help = "one candidate; none: each of them",
		.optional = true,
		.complete = CL_COMP_EXECUTOR},
	{0},
};

static const struct cl_exit choose_exits[] = {
	{1, "no executor takes the workload; the answer has every reason"},
	{0},
};

static const struct cl_exit why_exits[] = {
	{1, "the candidate (or, without EXECUTOR, every one) is refused"},
	{0},
};

static const struct cl_example choose_examples[] = {
	{"echo '{\"candidates\":[{\"executor_id\":\"a\"}]}' | cloop place",
		"the executor that takes the workload", true},
	{"echo '{\"candidates\":[{\"executor_id\":\"a\"}],\"requirements\":{\"virtualization\":"
	 "true}}' | cloop place --json",
		"a refusal: every reason, and the changes that would place it", true},
	{"cloop place --all --request request.json", "the whole fleet, ranked", false},
	{0},
};

static const struct cl_example why_examples[] = {
	{"echo '{\"candidates\":[{\"executor_id\":\"a\",\"health\":\"cordoned\"}]}' | cloop place "
	 "why a",
		"each constraint, held against one executor", true},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "",
		.summary = "choose the executor for a workload, or say of each why not",
		.opts = choose_opts,
		.exits = choose_exits,
		.examples = choose_examples,
		.run = place_choose},
	{.name = "why",
		.summary = "hold every constraint of a request against an executor",
		.opts = why_opts,
		.operands = why_operands,
		.exits = why_exits,
		.examples = why_examples,
		.run = place_why},
	{0},
};

static const struct cl_text files[] = {
	{"/usr/local/share/cloop/json-schema/place-request.json", "the request"},
	{"/usr/local/share/cloop/json-schema/place-choice.json", "the answer of --json"},
	{"/usr/local/share/cloop/json-schema/place-refusal.json", "the answer of --json, refused"},
	{0},
};

static const char *const see_also[] = {"cloop(1)", "cloop-run(1)", "cloop-sandbox(1)",
	"cloop-config.yaml(5)", "cloop-exec(7)", NULL};

const struct cl_spec place_spec = {
	.name = "cloop-place",
	.summary = "choose an executor for a workload, or say of each one why not",
	.verbs = verbs,
	.files = files,
	.see_also = see_also,
};
