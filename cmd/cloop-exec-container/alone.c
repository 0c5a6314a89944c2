/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "alone.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/cgroup.h"
#include "sys/id.h"

#include <stdlib.h>

#define NOBODY     65534
#define BACKSTOP_S 30

struct running {
	const struct alone *a;
	struct cg cg;
	bool has_cg;
	char handle[CT_HANDLE_LEN];
	char *name, *cgroup; /* of the container; "probe-..." */
};

static void running_release(struct running *r)
{
	cg_release(&r->cg);
	free(r->name);
	free(r->cgroup);
}

static int make_cgroup(struct running *p, struct cl_err *e)
{
	if (p->a->engine->rootless)
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

static int build_argv(struct running *p, struct cl_strv *argv, struct cl_err *e)
{
	const struct alone *a = p->a;
	const struct cfg_executor *x = a->spec->executor;
	cleanup_free char *profile = NULL, *parent = cl_asprintf(CG_PARENT "/%s", p->cgroup);
	const struct ct_mount mount = {
		.source = a->program, .target = CT_PROBE, .read_only = true, .label = ""};
	const struct ct_label labels[] = {{CT_LABEL_MANAGED, "true"}, {CT_LABEL_EXECUTOR, x->id},
		{CT_LABEL_HANDLE, p->handle}, {CT_LABEL_HUB, a->spec->hub}};
	struct ct_request r = {.engine = a->engine->kind,
		.rootless = a->engine->rootless,
		.mode = CT_ATTACHED,
		.oci_runtime = *x->oci_runtime ? x->oci_runtime : NULL,
		.name = p->name,
		.cgroup_parent = p->has_cg ? parent : NULL,
		.uid = a->as_root ? 0 : NOBODY,
		.gid = a->as_root ? 0 : NOBODY,
		.allow_root = a->as_root,
		.hostname = "probe",
		.cpu_milli = x->defaults.v[SB_CPU],
		.memory_mb = x->defaults.v[SB_MEMORY],
		.pids = x->defaults.v[SB_PIDS],
		.timeout_s = a->timeout_ms / 1000 + BACKSTOP_S,
		.alone = CT_PROBE,
		.mounts = &mount,
		.nmounts = 1,
		.devices = a->devices,
		.ndevices = a->ndevices,
		.labels = labels,
		.nlabels = CL_ARRAY_LEN(labels),
		.extra_args = (const char *const *)x->extra_args.v,
		.nextra = x->extra_args.n,
		.image = a->image->id,
		.argv = a->argv,
		.nargv = a->nargv};

	engine_hard_limits(&r.hard_nofile, &r.hard_nproc);
	r.seccomp = profile = exec_seccomp(x, false, e);
	if (!profile && x->seccomp != CFG_SECCOMP_ENGINE)
		return -1;
	return ct_argv(&r, argv, e);
}

/* Whatever became of it, nothing of it stays. */
static void clear(struct running *p)
{
	struct cl_err e;

	(void)engine_remove(p->a->engine, p->name, &e);
	if (!p->has_cg)
		return;
	(void)cg_kill(&p->cg, p->cgroup, 5000, &e);
	(void)cg_remove(&p->cg, p->cgroup, &e);
}

/* The client's words, where it is the engine that could not; else how the program ended. */
static int ended(const struct alone *a, const struct sys_run *r, struct cl_err *e)
{
	if (r->err.len) {
		cleanup_free char *what = cl_asprintf("run %s", a->what);

		(void)ct_classify(
			a->engine->kind, what, r->status, r->err.p, a->image->requested, e);
		return -1;
	}
	if (r->status > 128)
		return cl_fail(
			e, CL_EUNAVAIL, "%s was killed by signal %d", a->what, r->status - 128);
	return cl_fail(e, CL_EUNAVAIL, "%s ended with status %d", a->what, r->status);
}

static int run_inside(struct running *p, struct cl_buf *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv argv = CL_STRV_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	if (build_argv(p, &argv, e))
		return -1;
	r.spawn.path = p->a->engine->path;
	r.spawn.argv = argv.v;
	r.spawn.envp = p->a->engine->env.v;
	r.spawn.cwd = ENGINE_CWD;
	r.spawn.new_session = true;
	r.input = ""; /* a pipe that is closed, never /dev/null: gVisor would chown that */
	r.timeout_ms = p->a->timeout_ms;
	r.max_output = p->a->max_output;
	if (sys_run(&r, e))
		return -1;
	if (r.status)
		return ended(p->a, &r, e);
	cl_buf_add(out, r.out.p, r.out.len);
	return 0;
}

int alone_run(const struct alone *a, struct cl_buf *out, struct cl_err *e)
{
	struct running p = {.a = a};
	int rc = -1;

	if (!sys_new_id("c-", 12, p.handle, sizeof(p.handle), e)) {
		p.name = ct_name("probe", p.handle);
		p.cgroup = cl_asprintf("probe-%s", p.handle + 2);
		rc = make_cgroup(&p, e);
		if (!rc)
			rc = run_inside(&p, out, e);
		clear(&p);
	}
	running_release(&p);
	return rc;
}
