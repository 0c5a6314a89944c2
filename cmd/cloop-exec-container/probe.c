/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * probe: evidence of the kernel that the executor's runtime puts a sandbox on. The probe is
 * cloop's own program, bound read-only and run alone: with the executor's image, but nothing of
 * it, not even a shell; under the limits, the seccomp profile and the user's rights of a run. A
 * probe that cannot run is an answer, with the reason.
 */
#include "engine_verbs.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/isolation.h"
#include "sys/cgroup.h"
#include "sys/id.h"
#include "sys/runtime_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM    "cloop-isolation-probe"
#define TIMEOUT_MS 60000 /* a virtual machine may take some seconds to boot */
#define NOBODY     65534
#define BACKSTOP_S 30

struct probe {
	struct work_spec spec;
	struct engine engine;
	struct engine_info info;
	struct engine_image image;
	struct cg cg;
	bool has_cg;
	int64_t timeout_ms;
	char *program; /* on this host */
	char handle[CT_HANDLE_LEN], nonce[33];
	char *name, *cgroup; /* of the container; "probe-..." */
	/* answers */
	struct cl_err failure; /* code CL_OK: none */
	json_t *evidence, *reference;
	char identity[RUNTIME_ID_SIZE];
};

static void probe_release(struct probe *p)
{
	json_decref(p->evidence);
	json_decref(p->reference);
	cg_release(&p->cg);
	engine_image_release(&p->image);
	engine_info_release(&p->info);
	engine_release(&p->engine);
	work_spec_release(&p->spec);
	free(p->program);
	free(p->name);
	free(p->cgroup);
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

static int make_cgroup(struct probe *p, struct cl_err *e)
{
	if (p->engine.rootless)
		return 0;
	if (cg_open(&p->cg, NULL, e))
		return -1;
	if (!p->cg.n)
		return 0;
	if (cg_create(&p->cg, p->cgroup, e))
		return -1;
	p->has_cg = true;
	return 0;
}

static int build_argv(struct probe *p, struct cl_strv *argv, struct cl_err *e)
{
	const struct cfg_executor *x = p->spec.executor;
	cleanup_free char *profile = NULL, *parent = cl_asprintf(CG_PARENT "/%s", p->cgroup);
	const char *const command[] = {"--nonce", p->nonce};
	const struct ct_mount mount = {
		.source = p->program, .target = CT_PROBE, .read_only = true, .label = ""};
	const struct ct_label labels[] = {{CT_LABEL_MANAGED, "true"}, {CT_LABEL_EXECUTOR, x->id},
		{CT_LABEL_HANDLE, p->handle}, {CT_LABEL_HUB, p->spec.hub}};
	struct ct_request r = {.engine = p->engine.kind,
		.rootless = p->engine.rootless,
		.mode = CT_ATTACHED,
		.oci_runtime = *x->oci_runtime ? x->oci_runtime : NULL,
		.name = p->name,
		.cgroup_parent = p->has_cg ? parent : NULL,
		.uid = NOBODY,
		.gid = NOBODY,
		.hostname = "probe",
		.cpu_milli = x->defaults.v[SB_CPU],
		.memory_mb = x->defaults.v[SB_MEMORY],
		.pids = x->defaults.v[SB_PIDS],
		.timeout_s = p->timeout_ms / 1000 + BACKSTOP_S,
		.alone = CT_PROBE,
		.mounts = &mount,
		.nmounts = 1,
		.labels = labels,
		.nlabels = CL_ARRAY_LEN(labels),
		.extra_args = (const char *const *)x->extra_args.v,
		.nextra = x->extra_args.n,
		.image = p->image.id,
		.argv = command,
		.nargv = CL_ARRAY_LEN(command)};

	engine_hard_limits(&r.hard_nofile, &r.hard_nproc);
	r.seccomp = profile = exec_seccomp(x, e);
	if (!profile && x->seccomp != CFG_SECCOMP_ENGINE)
		return -1;
	return ct_argv(&r, argv, e);
}

/* Whatever became of it, nothing of it stays. */
static void clear(struct probe *p)
{
	struct cl_err e;

	(void)engine_remove(&p->engine, p->name, &e);
	if (!p->has_cg)
		return;
	(void)cg_kill(&p->cg, p->cgroup, 5000, &e);
	(void)cg_remove(&p->cg, p->cgroup, &e);
}

/* The client's words, where it is the engine that could not; else how the probe ended. */
static int ended(const struct probe *p, const struct sys_run *r, struct cl_err *e)
{
	if (r->err.len) {
		(void)ct_classify(p->engine.kind, "run the probe", r->status, r->err.p,
			p->image.requested, e);
		return -1;
	}
	if (r->status > 128)
		return cl_fail(
			e, CL_EUNAVAIL, "the probe was killed by signal %d", r->status - 128);
	return cl_fail(e, CL_EUNAVAIL, "the probe ended with status %d", r->status);
}

static int run_inside(struct probe *p, struct cl_err *e)
{
	cleanup_strv struct cl_strv argv = CL_STRV_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	int rc;

	if (build_argv(p, &argv, e))
		return -1;
	r.spawn.path = p->engine.path;
	r.spawn.argv = argv.v;
	r.spawn.envp = p->engine.env.v;
	r.spawn.cwd = ENGINE_CWD;
	r.spawn.new_session = true;
	r.input = ""; /* a pipe that is closed, never /dev/null: gVisor would chown that */
	r.timeout_ms = p->timeout_ms;
	r.max_output = ISO_MAX_EVIDENCE + 1;
	rc = sys_run(&r, e);
	if (!rc && r.status)
		rc = ended(p, &r, e);
	return rc ? rc : take(p, &r.out, &p->evidence, e);
}

static int make_names(struct probe *p, struct cl_err *e)
{
	if (sys_new_id("c-", 12, p->handle, sizeof(p->handle), e) ||
		sys_new_id("", 32, p->nonce, sizeof(p->nonce), e))
		return -1;
	p->name = ct_name("probe", p->handle);
	p->cgroup = cl_asprintf("probe-%s", p->handle + 2);
	p->program = cl_sibling(PROGRAM);
	return 0;
}

/* Everything that may fail without being an error of this verb. */
static int gather(struct probe *p, struct cl_err *e)
{
	const struct cfg_executor *x = p->spec.executor;
	int rc;

	if (make_names(p, e) || engine_find(x->runtime, environ, &p->engine, e))
		return -1;
	runtime_id(&p->engine, x->oci_runtime, "", p->identity);
	if (engine_info_of(&p->engine, x->oci_runtime, &p->info, e))
		return -1;
	runtime_id(&p->engine, x->oci_runtime, p->info.runtime_path, p->identity);
	if (read_reference(p, e))
		return cl_wrap(e, "the kernel of this machine");
	if (engine_image_inspect(&p->engine, x->image, &p->image, e) || make_cgroup(p, e))
		return -1;
	rc = run_inside(p, e);
	clear(p);
	return rc;
}

static json_t *or_null(json_t *j)
{
	return j ? json_incref(j) : json_null();
}

int cmd_probe(struct cl_ctx *c, struct cl_err *e)
{
	struct probe p = {.spec = WORK_SPEC_INIT, .timeout_ms = TIMEOUT_MS};
	int rc = -1;

	(void)c;
	if (!exec_read_executor(&p.spec, e) &&
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
