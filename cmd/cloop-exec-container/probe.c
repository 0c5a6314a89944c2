/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * probe: evidence of the kernel that the executor's runtime puts a sandbox on. The probe is
 * cloop's own program, bound read-only and run alone: with the executor's image, but nothing of
 * it, not even a shell; under the limits, the seccomp profile and the user's rights of a run. A
 * probe that cannot run is an answer, with the reason.
 */
#include "alone.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/isolation.h"
#include "sys/id.h"
#include "sys/engine/runtime_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "cloop-isolation-probe"

struct probe {
	struct work_spec spec;
	struct engine engine;
	struct engine_info info;
	struct engine_image image;
	int64_t timeout_ms;
	char *program; /* on this host */
	char nonce[33];
	/* answers */
	struct cl_err failure; /* code CL_OK: none */
	json_t *evidence, *reference;
	char identity[RUNTIME_ID_SIZE];
};

static void probe_release(struct probe *p)
{
	json_decref(p->evidence);
	json_decref(p->reference);
	engine_image_release(&p->image);
	engine_info_release(&p->info);
	engine_release(&p->engine);
	work_spec_release(&p->spec);
	free(p->program);
}

/* What a probe printed: evidence with our nonce, or nothing that counts. */
static int take(const struct probe *p, const struct cl_buf *text, json_t **out, struct cl_err *e)
{
	struct iso_evidence read;

	if (!text->len)
		return cl_fail(e, CL_EDATA, "it printed nothing");
	if (iso_evidence_read("its answer", text->p, text->len, &read, e))
		return cl_wrap(e, "what it printed is none");
	if (strcmp(read.nonce, p->nonce) != 0)
		return cl_fail(e, CL_EDATA, "its answer is of another run");
	*out = json_loadb(text->p, text->len, 0, NULL);
	return *out ? 0 : cl_fail(e, CL_EDATA, "its answer is no JSON");
}

/* This machine's kernel, before the sandbox's: a machine that boots in between is younger. */
static int read_reference(struct probe *p, struct cl_err *e)
{
	char *const argv[] = {p->program, (char *)"--nonce", p->nonce, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	r.spawn.path = p->program;
	r.spawn.argv = argv;
	r.timeout_ms = p->timeout_ms;
	r.max_output = ISO_MAX_EVIDENCE;
	if (sys_run(&r, e))
		return -1;
	return take(p, &r.out, &p->reference, e);
}

static int run_inside(struct probe *p, struct cl_err *e)
{
	const char *const argv[] = {"--nonce", p->nonce};
	const struct alone a = {.spec = &p->spec,
		.engine = &p->engine,
		.image = &p->image,
		.what = "the probe",
		.program = p->program,
		.argv = argv,
		.nargv = CL_ARRAY_LEN(argv),
		.timeout_ms = p->timeout_ms,
		.max_output = ISO_MAX_EVIDENCE + 1};
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	return alone_run(&a, &text, e) ? -1 : take(p, &text, &p->evidence, e);
}

static int make_names(struct probe *p, struct cl_err *e)
{
	p->program = cl_sibling(PROGRAM);
	return sys_new_id("", 32, p->nonce, sizeof(p->nonce), e);
}

/* Everything that may fail without being an error of this verb. */
static int gather(struct probe *p, struct cl_err *e)
{
	const struct cfg_executor *x = p->spec.executor;

	if (make_names(p, e) || engine_find(x->runtime, environ, &p->engine, e))
		return -1;
	runtime_id(&p->engine, x->oci_runtime, "", p->identity);
	if (engine_info_of(&p->engine, x->oci_runtime, &p->info, e))
		return -1;
	runtime_id(&p->engine, x->oci_runtime, p->info.runtime_path, p->identity);
	if (read_reference(p, e))
		return cl_wrap(e, "the kernel of this machine");
	return engine_image_inspect(&p->engine, x->image, &p->image, e) || run_inside(p, e) ? -1
											    : 0;
}

static json_t *or_null(json_t *j)
{
	return j ? json_incref(j) : json_null();
}

int cmd_probe(struct cl_ctx *c, struct cl_err *e)
{
	struct probe p = {.spec = WORK_SPEC_INIT, .timeout_ms = ALONE_TIMEOUT_MS};
	int rc = -1;

	(void)c;
	if (!work_executor_in("container", &p.spec, e) &&
		!cl_doc_int(&p.spec.doc, p.spec.doc.root, "timeout_ms", 1000, 600000, &p.timeout_ms,
			e)) {
		const struct cfg_executor *x = p.spec.executor;
		bool failed = gather(&p, &p.failure) != 0;

		rc = 0;
		cl_take_json(json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "executor_id",
			x->id, "oci_runtime", x->oci_runtime, "evidence", or_null(p.evidence),
			"reference", or_null(p.reference), "failure",
			failed ? cl_json_string(p.failure.msg) : json_null(), "engine_release",
			cl_json_string(p.info.kernel ? p.info.kernel : ""), "runtime_path",
			cl_json_string(p.info.runtime_path ? p.info.runtime_path : ""), "identity",
			json_string(p.identity)));
	}
	probe_release(&p);
	return rc;
}
