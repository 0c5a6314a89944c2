/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The workload is cloop's own static probe, copied into the workspace: it needs nothing of the
 * image and nothing of the host, so what fails is the sandbox.
 */
#include "smoke.h"
#include "base/mem.h"
#include "policy/sandbox/sandbox.h"
#include "sys/clock.h"
#include "sys/id.h"
#include "work/driver.h"
#include "work/guardian.h"
#include "work/levels.h"
#include "work/paths.h"
#include "work/registry.h"
#include "work/spool.h"
#include "work/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM "cloop-isolation-probe"
#define NOBODY  65534
#define SHOWN   400

void smoke_release(struct smoke *s)
{
	if (s->project && s->name) {
		cleanup_fd int dir =
			open(s->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

		if (dir >= 0)
			(void)unlinkat(dir, s->name, 0);
	}
	scratch_remove(&s->at);
	free(s->project);
	free(s->binary);
	free(s->name);
	free(s->outcome);
	free(s->error);
	json_decref(s->warnings);
	store_handle_release(&s->handle);
	cl_buf_release(&s->output);
}

static int copy(const char *from, int dir, const char *name, struct cl_err *e)
{
	cleanup_fd int in = open(from, O_RDONLY | O_CLOEXEC);
	cleanup_fd int out =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0755);
	struct stat st;
	ssize_t n = 1;

	if (in < 0 || fstat(in, &st))
		return cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot read '%s'", from);
	if (out < 0 || fchmod(out, 0755))
		return cl_fail_sys(e, CL_EOS, errno, "cannot write to the workspace");
	for (off_t left = st.st_size; left > 0 && n > 0; left -= n)
		n = sendfile(out, in, NULL, (size_t)left);
	return n > 0 ? 0
		     : cl_fail_sys(e, CL_EOS, errno, "cannot write '%s' to the workspace", name);
}

static int make_dir(struct smoke *s, struct cl_err *e)
{
	if (scratch_make(SMOKE_PREFIX, &s->at, e))
		return -1;
	s->project = cl_asprintf("%s/project", s->at.top);
	/* A sandbox runs as the owner of its workspace, and never as root. */
	if (mkdir(s->project, 0755) || chmod(s->project, 0755) ||
		(!geteuid() && lchown(s->project, NOBODY, NOBODY)))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", s->project);
	return 0;
}

int smoke_place(struct smoke *s, const char *dir, struct cl_err *e)
{
	cleanup_fd int fd = -1;
	char id[40];

	if (dir)
		s->project = cl_strdup(dir);
	else if (make_dir(s, e))
		return -1;
	if (sys_new_id(".cloop-smoke-", 12, id, sizeof(id), e))
		return -1;
	fd = open(s->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", s->project);
	s->binary = cl_sibling(PROGRAM);
	/* Also what could be written only in part is removed. */
	s->name = cl_strdup(id);
	return copy(s->binary, fd, id, e);
}

/* As a run's that asks for nothing of its own; the driver's defaults hold. */
static json_t *spec_of(const struct smoke *s, const struct fleet_cmd *f,
	const struct cfg_executor *x, json_t *egress)
{
	const int64_t *v = x->defaults.v;
	bool container = !strcmp(x->kind, "container");
	cleanup_free char *program =
		container ? cl_asprintf("/workspace/%s", s->name) : cl_asprintf("./%s", s->name);
	json_t *o = json_pack(
		"{s:s, s:s, s:o, s:s, s:[s], s:{s:s, s:s}, s:{s:s}, s:b, s:b, s:I, s:I}", "hub",
		f->hub.dir, "run_id", s->run, "executor", work_executor_json(&f->doc, x), "project",
		s->project, "argv", program, "env", "CLOOP_EXECUTOR", x->id, "CLOOP_WORKSPACE",
		container ? "/workspace" : s->project, "labels", "component", "smoke-test",
		"detached", 1, "stdin", 0, "timeout_ms", (json_int_t)SMOKE_MS, "min_free_disk_mb",
		(json_int_t)f->cfg.min_free_disk_mb);

	if (container)
		(void)json_object_set_new(o, "image", json_string(x->image));
	(void)json_object_set_new(o, "image_from", json_string("operator"));
	(void)json_object_set_new(o, "image_policy", ip_policy_json(&f->cfg.image_policy));
	(void)json_object_set_new(o, "image_registry", work_registry_reach(&f->cfg));
	(void)json_object_set_new(o, "image_provenance",
		json_string(f->cfg.provenance_required ? "required" : "warn"));
	(void)json_object_set_new(o, "resources",
		json_pack("{s:I, s:I, s:I, s:s}", "cpu_milli", (json_int_t)v[SB_CPU], "memory_mb",
			(json_int_t)v[SB_MEMORY], "pids", (json_int_t)v[SB_PIDS], "disk_source",
			""));
	(void)json_object_set_new(
		o, "network", json_pack("{s:b, s:s}", "disabled", 0, "scope", ""));
	(void)json_object_set_new(o, "egress", egress ? egress : json_null());
	(void)json_object_set_new(o, "lease", json_null());
	return o;
}

/* The filter of a run of no project. */
static int egress_of(
	struct fleet_cmd *f, const struct cfg_executor *x, json_t **out, struct cl_err *e)
{
	cleanup_levels struct work_levels l = WORK_LEVELS_INIT;

	*out = NULL;
	if (work_levels_read(&f->hub, f->store, x, NULL, SB_NET_UNTOUCHED, WORK_RULES_ALL, &l, e))
		return -1;
	if (l.filtered)
		*out = eg_stack_json(&l.stack);
	return 0;
}

/*
 * Its row keeps how it ended. The directory does not become a project by it, and without a session
 * nothing is started again of it.
 */
static int note_run(struct smoke *s, struct fleet_cmd *f, const struct cfg_executor *x,
	const char *program, struct cl_err *e)
{
	cleanup_run_row struct store_run r = STORE_RUN_INIT;
	json_t *argv = json_pack("[s]", program);

	if (store_new_run_id(s->run, e)) {
		json_decref(argv);
		return -1;
	}
	r.id = cl_strdup(s->run);
	r.project = cl_strdup(s->project);
	r.executor_id = cl_strdup(x->id);
	r.argv = cl_json_text(argv);
	json_decref(argv);
	r.harness = cl_strdup(PROGRAM);
	r.task = cl_strdup("smoke-test");
	r.uid = getuid();
	r.detached = true;
	r.created_at = f->now;
	r.deadline = f->now + SMOKE_MS;
	r.image_requested = *x->image ? cl_strdup(x->image) : NULL;
	return store_run_insert(f->store, &r, e);
}

static int start(struct smoke *s, struct fleet_cmd *f, const struct cfg_executor *x, json_t *spec,
	struct cl_err *e)
{
	json_t *pinned = NULL, *handle = NULL;
	const char *id;
	int rc = work_driver(x->driver, "prepare", spec, &pinned, e);

	/* A driver with nothing to prepare may leave the verb out. */
	if (rc && (e->code != CL_EUSAGE || x->row->program))
		return -1;
	if (!rc) {
		s->warnings = json_incref(json_object_get(pinned, "warnings"));
		(void)json_object_set_new(spec, "image_pinned", pinned);
	}
	if (work_driver(x->driver, "start", spec, &handle, e))
		return -1;
	id = json_string_value(json_object_get(handle, "handle_id"));
	rc = id ? store_handle_get(f->store, id, &s->handle, e)
		: cl_fail(e, CL_EBUG, "%s answered no handle", x->driver);
	json_decref(handle);
	return rc;
}

static int wait_for(struct smoke *s, struct fleet_cmd *f, struct cl_err *e)
{
	cleanup_run_row struct store_run r = STORE_RUN_INIT;
	json_t *in = json_pack("{s:s, s:s}", "handle", s->handle.id, "hub", f->hub.dir);
	json_t *out = NULL;
	int rc = work_driver(work_supervisor(s->handle.driver), "wait", in, &out, e);

	json_decref(in);
	json_decref(out);
	if (rc || store_run_get(f->store, s->run, &r, e))
		return -1;
	s->outcome = cl_strdup(r.outcome ? r.outcome : "lost");
	s->exit_code = r.exit_code;
	s->error = r.error ? cl_strdup(r.error) : NULL;
	return 0;
}

static void read_output(struct smoke *s, const struct fleet_cmd *f)
{
	cleanup_free char *logs = work_log_dir(&f->hub);
	cleanup_free char *dir = cl_asprintf("%s/%s", logs, s->handle.id);
	struct spool_reader *r = NULL;
	struct spool_record rec;
	bool got = true;
	struct cl_err e;

	if (spool_reader_open(dir, 0, &r, &e))
		return;
	while (s->output.len < SHOWN && !spool_next(r, &rec, &got, &e) && got)
		if (rec.stream != SPOOL_NOTE)
			cl_buf_add(&s->output, rec.data,
				rec.len < SHOWN - s->output.len ? rec.len : SHOWN - s->output.len);
	spool_reader_close(r);
}

int smoke_run(struct smoke *s, struct fleet_cmd *f, const struct cfg_executor *x, struct cl_err *e)
{
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	struct cl_err ignored;
	json_t *egress, *spec;
	bool won;
	int rc;

	if (egress_of(f, x, &egress, e))
		return -1;
	if (note_run(s, f, x, s->name, e)) {
		json_decref(egress);
		return -1;
	}
	spec = spec_of(s, f, x, egress);
	rc = start(s, f, x, spec, e);
	json_decref(spec);
	if (rc) {
		(void)store_run_finished(f->store, s->run, OUTCOME_REFUSED, -1, e->msg,
			sys_now_ms(), &won, &ignored);
		return -1;
	}
	work_engine_env(&env);
	(void)guardian_ensure(f->hub.dir, env.v, &ignored);
	if (wait_for(s, f, e))
		return -1;
	read_output(s, f);
	return 0;
}

bool smoke_passed(const struct smoke *s)
{
	return s->outcome && !strcmp(s->outcome, "exited") && !s->exit_code;
}
