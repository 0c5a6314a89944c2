/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judges evidence that was read inside a sandbox. */
#include "probe_cmd.h"
#include "base/doc.h"
#include "base/mem.h"
#include "policy/place/isolation.h"
#include "policy/place/runtime_name.h"
#include "sys/proc.h"

#include <stdio.h>
#include <string.h>

/* What the verb's inputs are read into. */
struct asked {
	struct iso_evidence sandbox, reference;
	struct iso_answer earlier;
	char failure[300];
	struct iso_question q;
};

/* What the sandbox printed. Nothing, or something else than evidence, is an answer too. */
static int read_sandbox(struct asked *a, struct cl_err *e)
{
	cleanup_buf struct cl_buf in = CL_BUF_INIT;
	struct cl_err bad;

	if (cl_read_file("-", ISO_MAX_EVIDENCE, &in, &bad)) {
		if (bad.code != CL_EDATA) {
			*e = bad;
			return -1;
		}
	} else if (!in.len) {
		return 0;
	} else if (!iso_evidence_read("standard input", in.p, in.len, &a->sandbox, &bad)) {
		a->q.sandbox = &a->sandbox;
		return 0;
	}
	(void)snprintf(a->failure, sizeof(a->failure), "what it printed is none: %.240s", bad.msg);
	a->q.failure = a->failure;
	return 0;
}

/* This machine's own kernel, by the same program. */
static int read_own(struct iso_evidence *out, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling(PROBE_PROGRAM);
	char *const argv[] = {path, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	r.spawn.path = path;
	r.spawn.argv = argv;
	r.timeout_ms = 20000;
	r.max_output = ISO_MAX_EVIDENCE;
	if (sys_run(&r, e))
		return -1;
	return iso_evidence_read(PROBE_PROGRAM, r.out.p, r.out.len, out, e);
}

static int read_reference(struct cl_ctx *c, struct asked *a, struct cl_err *e)
{
	const char *file = cl_str(c, "reference");
	cleanup_buf struct cl_buf in = CL_BUF_INIT;

	if (cl_flag(c, "no-reference"))
		return file ? cl_usage(c, e, "--reference and --no-reference exclude each other")
			    : 0;
	a->q.reference = &a->reference;
	if (!file)
		return read_own(&a->reference, e);
	if (cl_read_file(file, ISO_MAX_EVIDENCE, &in, e))
		return -1;
	return iso_evidence_read(file, in.p, in.len, &a->reference, e);
}

/* An answer of this verb, as --json printed it. */
static int read_earlier(const char *file, struct asked *a, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_buf struct cl_buf in = CL_BUF_INIT;
	const char *verdict = "", *standing = "";

	if (cl_read_file(file, ISO_MAX_EVIDENCE, &in, e) ||
		cl_doc_parse(&d, CL_DOC_JSON, file, in.p, in.len, NULL, e) ||
		cl_doc_str(&d, d.root, "verdict", &verdict, e) ||
		cl_doc_str(&d, d.root, "standing", &standing, e))
		return -1;
	if (iso_verdict_of(verdict, &a->earlier.verdict) &&
		iso_standing_of(standing, &a->earlier.standing))
		return 0;
	(void)cl_fail(e, CL_EDATA, "%s: there is no verdict and standing of that name in it", file);
	return cl_fix(e, "give it what 'cloop probe classify --json' printed");
}

int probe_classify(struct cl_ctx *c, struct cl_err *e)
{
	const char *runtime = cl_str_or(c, "runtime", ""), *earlier = cl_str(c, "earlier");
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	struct iso_answer answer;
	struct asked a = {.q = {.runtime = runtime,
				  .engine_release = cl_str(c, "engine-release"),
				  .agent_protocol = cl_int(c, "agent-protocol", 0)}};

	if ((*runtime && rn_check(runtime, e)) || read_reference(c, &a, e) ||
		(earlier && read_earlier(earlier, &a, e)) || read_sandbox(&a, e))
		return -1;
	iso_classify(&a.q, earlier ? &a.earlier : NULL, &answer);
	if (c->json) {
		cl_take_json(iso_answer_json(&answer, runtime));
	} else {
		iso_answer_text(&answer, runtime, &out);
		(void)fputs(out.p, stdout);
	}
	return answer.standing == ISO_CONTRADICTED ? 1 : answer.standing == ISO_UNVERIFIED ? 2 : 0;
}
