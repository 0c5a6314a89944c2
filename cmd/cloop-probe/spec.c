/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "probe_cmd.h"

static const struct cl_opt evidence_opts[] = {
	{.name = "nonce",
		.type = CL_STR,
		.arg = "HEX",
		.help = "up to 64 hex digits that come back in the answer: it is of this run"},
	{0},
};

static const struct cl_opt classify_opts[] = {
	{.name = "runtime",
		.letter = 'r',
		.type = CL_STR,
		.arg = "NAME",
		.def = "the engine's default",
		.help = "the name of the OCI runtime, which is the claim"},
	{.name = "reference",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.def = "this machine",
		.help = "evidence of the kernel of the executing machine"},
	{.name = "no-reference",
		.type = CL_FLAG,
		.help = "judge without the executing machine's kernel"},
	{.name = "engine-release",
		.type = CL_STR,
		.arg = "RELEASE",
		.help = "the kernel release that the engine says it runs on"},
	{.name = "agent-protocol",
		.type = CL_INT,
		.arg = "N",
		.min = 1,
		.max = 1000,
		.help = "the protocol of the device's agent that was to run the probe"},
	{.name = "earlier",
		.type = CL_STR,
		.arg = "FILE",
		.complete = CL_COMP_FILE,
		.help = "the answer of --json before; it stands where the probe could not run"},
	{0},
};

static const struct cl_exit classify_exits[] = {
	{1, "contradicted: the evidence shows less than the runtime's name claims"},
	{2, "unverified: nothing settles which kernel it is"},
	{0},
};

static const struct cl_example evidence_examples[] = {
	{"cloop probe", "what the kernel here says of itself", true},
	{"podman run --rm -v /usr/local/libexec/cloop/cloop-isolation-probe:/p:ro IMAGE /p",
		"the same inside any container", false},
	{0},
};

static const struct cl_example classify_examples[] = {
	{"cloop probe | cloop probe classify", "this machine, held against itself", true},
	{"cloop probe | cloop probe classify --runtime kata --json",
		"what a runtime named kata would be that is not", true},
	{0},
};

static const struct cl_verb verbs[] = {
	{.name = "",
		.summary = "print the evidence of the kernel that serves this process",
		.opts = evidence_opts,
		.examples = evidence_examples,
		.needs = CL_NO_JSON,
		.run = probe_evidence},
	{.name = "classify",
		.summary = "judge evidence from standard input against a runtime's claim",
		.opts = classify_opts,
		.exits = classify_exits,
		.examples = classify_examples,
		.run = probe_classify},
	{0},
};

static const struct cl_text files[] = {
	{"/usr/local/libexec/cloop/cloop-isolation-probe",
		"the static program that is bound into a sandbox"},
	{0},
};

static const char *const see_also[] = {"cloop(1)", "cloop-executor(1)", "cloop-place(1)",
	"cloop-run(1)", "cloop-config.yaml(5)", "cloop-exec(7)", NULL};

const struct cl_spec probe_spec = {
	.name = "cloop-probe",
	.summary = "show and judge which kernel serves a sandbox",
	.verbs = verbs,
	.files = files,
	.see_also = see_also,
};
