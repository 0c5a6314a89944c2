/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver's verbs, the run's row, and the record in the project. */
#include "run.h"
#include "base/mem.h"
#include "base/num.h"
#include "store/audit.h"
#include "store/counter.h"
#include "store/journal.h"
#include "store/session.h"
#include "sys/clock.h"
#include "sys/path.h"
#include "work/control.h"
#include "work/driver.h"
#include "work/fleet.h"
#include "work/guardian.h"
#include "work/paths.h"
#include "work/project.h"
#include "work/registry.h"
#include "work/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(json_t *o, const char *key, const char *value)
{
	if (value)
		(void)json_object_set_new(o, key, json_string(value));
}

static json_t *mounts_json(const struct sb_spec *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->nmounts; i++)
		(void)json_array_append_new(
			a, json_pack("{s:s, s:s, s:b}", "source", s->mounts[i].source, "target",
				   s->mounts[i].target, "read_only", s->mounts[i].read_only));
	return a;
}

static json_t *strings(char *const *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *s = json_string(v[i]);

		(void)json_array_append_new(a, s ? s : json_string(""));
	}
	return a;
}

static json_t *labels_json(const struct cl_ctx *c)
{
	json_t *o = json_object();

	put(o, "task", cl_str(c, "task"));
	return o;
}

/* What every workload is told of itself; nothing here is secret. */
static json_t *env_json(const struct run_plan *p)
{
	return json_pack("{s:s, s:s, s:s}", "CLOOP_RUN_ID", p->id, "CLOOP_EXECUTOR",
		p->executor->id, "CLOOP_WORKSPACE", "/workspace");
}

json_t *run_spec_json(const struct cl_ctx *c, const struct run_plan *p)
{
	const int64_t *v = p->limits.v;
	json_t *o = json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:b, s:b}", "hub",
		p->hub.dir, "run_id", p->id, "executor",
		work_executor_json(&p->cfg_doc, p->executor), "project", p->project, "argv",
		strings(c->operands, c->noperands), "env", env_json(p), "setup",
		strings(p->spec.setup.v, p->spec.setup.n), "mounts", mounts_json(&p->spec), "stdin",
		p->wants_stdin, "detached", cl_flag(c, "detach"));

	put(o, "image", p->image);
	put(o, "image_from", p->image_from_project ? "project" : "operator");
	put(o, "spec_sha256", p->spec_hash);
	put(o, "setup_sha256", p->setup_hash);
	(void)json_object_set_new(o, "labels", labels_json(c));
	(void)json_object_set_new(o, "resources",
		json_pack("{s:I, s:I, s:I, s:I, s:s}", "cpu_milli", (json_int_t)v[SB_CPU],
			"memory_mb", (json_int_t)v[SB_MEMORY], "pids", (json_int_t)v[SB_PIDS],
			"disk_mb", (json_int_t)v[SB_DISK], "disk_source", p->disk_source));
	(void)json_object_set_new(o, "network",
		json_pack("{s:b, s:s}", "disabled", p->network_off, "scope", p->scope));
	(void)json_object_set(o, "egress", p->egress ? p->egress : json_null());
	(void)json_object_set_new(o, "timeout_ms", json_integer(p->timeout_ms));
	(void)json_object_set_new(o, "min_free_disk_mb", json_integer(p->cfg.min_free_disk_mb));
	(void)json_object_set_new(o, "image_policy", ip_policy_json(&p->cfg.image_policy));
	(void)json_object_set_new(o, "image_registry", work_registry_reach(&p->cfg));
	put(o, "image_provenance", p->cfg.provenance_required ? "required" : "warn");
	(void)json_object_set_new(o, "lease", run_lease_json(p));
	if (p->pinned)
		(void)json_object_set(o, "image_pinned", p->pinned);
	return o;
}

void run_note_image(const struct run_plan *p, const char *reference, const struct cl_err *why)
{
	cleanup_free struct ir_ref *ref = cl_calloc(1, sizeof(*ref));
	struct store_audit_row a = {
		"run", "sandbox.image_denied", "image", reference, p->project, NULL};
	struct cl_err e;
	json_t *detail;

	(void)ir_parse(reference, ref, &e);
	detail = json_pack("{s:o, s:s, s:o, s:o, s:s}", "reference", cl_json_string(reference),
		"rule", why->rule, "registry", cl_json_string(ref->registry), "repository",
		cl_json_string(ref->repository), "reason", why->msg);
	a.detail = detail;
	(void)store_audit_add(p->store, sys_now_ms(), &a, &e);
	json_decref(detail);
}

static void note_unprepared(const struct run_plan *p, const struct cl_err *why)
{
	const char *kind = cl_err_slug(why);
	struct cl_err e;

	if (why->rule[0])
		run_note_image(p, p->image, why);
	(void)run_note_warnings(p, NULL, &e);
	(void)store_journal_add(p->store, sys_now_ms(), p->project, NULL, kind, why->msg, NULL, &e);
	(void)store_counter_add(p->store, "cloop_run_refusals_total", kind, 1, &e);
}

int run_prepare(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	json_t *spec = run_spec_json(c, p), *w;
	int rc = work_driver(p->executor->driver, "prepare", spec, &p->pinned, e);
	size_t i;

	json_decref(spec);
	/* A driver with nothing to prepare may leave the verb out. */
	if (rc && e->code == CL_EUSAGE && !p->executor->row->program) {
		p->pinned = json_object();
		rc = 0;
	}
	if (rc) {
		note_unprepared(p, e);
		return -1;
	}
	json_array_foreach (json_object_get(p->pinned, "warnings"), i, w)
		if (json_is_string(w))
			run_warn(c, p, "image", json_string_value(w));
	/* Steps of a setup may have taken minutes, and rules may be narrower since. */
	return run_egress(p, e);
}

static char *json_or_null(json_t *j)
{
	return j ? cl_json_text(j) : NULL;
}

static char *dup_or_null(const char *s)
{
	return s && *s ? cl_strdup(s) : NULL;
}

/* What a failover would claim, in the same transaction as the run. */
static int open_session(const struct run_plan *p, const struct store_run *r, struct cl_err *e)
{
	struct store_session s = STORE_SESSION_INIT;
	int rc;

	s.run_id = cl_strdup(r->id);
	s.executor_id = cl_strdup(r->executor_id);
	s.project = cl_strdup(r->project);
	s.workload = store_workload(r->task, r->argv);
	s.isolated = p->isolated;
	s.requeued_from = dup_or_null(p->lost.id);
	s.started_at = r->created_at;
	rc = store_session_open(p->store, &s, e);
	store_session_release(&s);
	return rc;
}

/*
 * DECISIONS D14: the row is there before anything starts. Whether the executor still takes work is
 * asked in the same transaction: a drain that began meanwhile either counts this run or refuses it.
 * So is whether the directory is a project, and one that nobody registered becomes one.
 */
static int insert_row(struct cl_ctx *c, const struct run_plan *p, struct cl_err *e)
{
	cleanup_run_row struct store_run r = STORE_RUN_INIT;
	const char *slash = strrchr(c->operands[0], '/');
	cleanup_free char *project = work_project_of(p->project);
	json_t *detail;
	char actor[32];
	int rc;

	r.id = cl_strdup(p->id);
	r.project = cl_strdup(p->project);
	r.executor_id = cl_strdup(p->executor->id);
	r.argv = run_argv_text(c);
	r.harness = cl_strdup(slash ? slash + 1 : c->operands[0]);
	r.task = dup_or_null(cl_str(c, "task"));
	r.uid = p->lost.id ? p->lost_run.uid : getuid();
	r.detached = cl_flag(c, "detach");
	r.created_at = sys_now_ms();
	r.deadline = p->timeout_ms ? r.created_at + p->timeout_ms : 0;
	r.image_requested = dup_or_null(p->image);
	r.image = dup_or_null(json_string_value(json_object_get(p->pinned, "image")));
	r.image_digest = dup_or_null(json_string_value(json_object_get(p->pinned, "digest")));
	r.reproducible = json_is_true(json_object_get(p->pinned, "reproducible"));
	r.spec_sha256 = dup_or_null(p->spec_hash);
	r.setup_sha256 = dup_or_null(p->setup_hash);
	r.egress = json_or_null(p->egress);
	r.clamps = json_array_size(p->clamps) ? cl_json_text(p->clamps) : NULL;
	detail = json_pack("{s:I, s:I, s:I, s:I}", "cpu_milli", (json_int_t)p->limits.v[SB_CPU],
		"memory_mb", (json_int_t)p->limits.v[SB_MEMORY], "disk_mb",
		(json_int_t)p->limits.v[SB_DISK], "pids", (json_int_t)p->limits.v[SB_PIDS]);
	r.limits = cl_json_text(detail);
	json_decref(detail);
	(void)snprintf(actor, sizeof(actor), "uid:%u", (unsigned)getuid());
	detail = json_pack("{s:s, s:s}", "executor", r.executor_id, "harness", r.harness);
	put(detail, "image", r.image);
	put(detail, "signed_by",
		json_string_value(json_object_get(json_object_get(p->pinned, "signature"), "by")));
	{
		struct store_audit_row a = {actor, "run.start", "run", r.id, r.project, detail};
		cleanup_txn struct store_txn t = {0};

		rc = store_begin(p->store, &t, e) || work_admits(p->store, p->executor, e) ||
		     run_check_suspect(c, p, e) ||
		     work_project_ensure(p->store, project, p->owner_uid, actor, r.created_at, e) ||
		     store_run_insert(p->store, &r, e) || open_session(p, &r, e) ||
		     run_note_warnings(p, r.id, e) ||
		     store_audit_add(p->store, r.created_at, &a, e) ||
		     run_note_replaced(p, r.created_at, e) || store_commit(&t, e);
	}
	json_decref(detail);
	return rc ? -1 : 0;
}

/* A run that did not start says why, in its row and in the project's journal. */
static void note_refusal(const struct run_plan *p, const struct cl_err *why)
{
	const char *kind = why->constraint[0] ? why->constraint : cl_err_slug(why);
	struct cl_err e;
	bool won;

	(void)store_run_finished(
		p->store, p->id, OUTCOME_REFUSED, -1, why->msg, sys_now_ms(), &won, &e);
	(void)store_journal_add(
		p->store, sys_now_ms(), p->project, p->id, kind, why->msg, NULL, &e);
	(void)store_counter_add(p->store, "cloop_run_refusals_total", kind, 1, &e);
}

/*
 * The driver died after it had started the workload and before it could say so: we tell our
 * caller that nothing runs, so nothing may.
 */
static void kill_unheard(const struct run_plan *p)
{
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;
	cleanup_free char *base = work_run_base();
	cleanup_rundir struct rundir rd = {0};
	struct cl_err e;
	json_t *msg;

	if (store_handle_of_run(p->store, p->id, &h, &e) || strcmp(h.state, "live") != 0)
		return;
	rundir_init(&rd, base, h.id);
	msg = json_pack("{s:s, s:i}", "op", "stop", "grace_ms", 0);
	(void)control_ask(rd.sock, msg, &e);
	json_decref(msg);
}

/* Which stored rules the run has: they may be others by the time that somebody asks. */
static void note_rules(const struct run_plan *p)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct cl_err e;
	json_t *level;
	size_t i;

	json_array_foreach (p->rules, i, level)
		cl_buf_addf(&text, "%s%s, version %lld", i ? "; " : "egress is narrowed by the ",
			json_string_value(json_object_get(level, "level")),
			(long long)json_integer_value(json_object_get(level, "version")));
	if (p->rules)
		(void)store_journal_add(p->store, sys_now_ms(), p->project, p->id, "egress_rules",
			text.p, p->rules, &e);
}

/* The handle that the driver answered: one with a row, and this run's. */
static int find_handle(struct run_plan *p, const char *id, struct cl_err *e)
{
	if (id && !store_handle_get(p->store, id, &p->handle, e) && p->handle.run_id &&
		!strcmp(p->handle.run_id, p->id))
		return 0;
	return cl_fail(e, CL_EBUG,
		"%s answered the handle '%s', which is none of this run's: a driver starts a "
		"workload by cloop-supervise, see cloop-exec(7)",
		p->executor->driver, id ? id : "");
}

int run_launch(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	cleanup_strv struct cl_strv env = CL_STRV_INIT;
	json_t *spec, *handle = NULL;
	struct cl_err e2;
	int rc;

	if (run_may_lend(p, &p->lend, e) || run_key_lasts(c, p, e) || insert_row(c, p, e))
		return -1;
	note_rules(p);
	spec = run_spec_json(c, p);
	rc = work_driver_with(
		p->executor->driver, "start", spec, p->lend ? p->key_fd : -1, &handle, e);
	json_decref(spec);
	if (!rc)
		rc = find_handle(p, json_string_value(json_object_get(handle, "handle_id")), e);
	if (!rc)
		run_say_lease(c, json_object_get(handle, "lease"));
	json_decref(handle);
	if (rc) {
		kill_unheard(p);
		note_refusal(p, e);
		return -1;
	}
	work_engine_env(&env);
	/* The workload runs: without a guardian it is still watched by its own shim. */
	if (guardian_ensure(p->hub.dir, env.v, &e2))
		cl_warn(c, "%s", e2.msg);
	return 0;
}

/* The .cloop of the project, made as its owner's when it is not there; -1: say nothing. */
static int open_cloop_dir(const struct run_plan *p, struct cl_err *e)
{
	int fd = sys_open_nolinks(p->project_fd, ".cloop", O_RDONLY | O_DIRECTORY, e);

	if (fd >= 0 || e->code != CL_ENOTFOUND)
		return fd;
	if (sys_mkdirat_as(p->project_fd, ".cloop", 0755, p->owner_uid, p->owner_gid) &&
		errno != EEXIST)
		return cl_fail_sys(e, CL_EOS, errno, "cannot make %s/.cloop", p->project);
	return sys_open_nolinks(p->project_fd, ".cloop", O_RDONLY | O_DIRECTORY, e);
}

void run_record(struct cl_ctx *c, const struct run_plan *p)
{
	struct sys_owner owner = {
		geteuid() ? (uid_t)-1 : p->owner_uid, geteuid() ? (gid_t)-1 : p->owner_gid, 0644};
	json_t *j = json_pack("{s:s, s:s, s:s, s:i, s:b}", "run_id", p->id, "executor_id",
		p->executor->id, "executor_kind", p->executor->kind, "sandbox_spec_scheme",
		SB_SPEC_SCHEME, "sandbox_reproducible",
		json_is_true(json_object_get(p->pinned, "reproducible")));
	cleanup_free char *text = NULL, *line = NULL;
	cleanup_fd int dir = -1;
	struct cl_err e;

	put(j, "sandbox_spec_sha256", *p->spec_hash ? p->spec_hash : NULL);
	put(j, "sandbox_setup_sha256", *p->setup_hash ? p->setup_hash : NULL);
	put(j, "sandbox_image_requested", p->image);
	put(j, "sandbox_image", json_string_value(json_object_get(p->pinned, "image")));
	if (p->rules)
		(void)json_object_set(j, "egress_rules", p->rules);
	if (json_array_size(p->clamps))
		(void)json_object_set(j, "clamps", p->clamps);
	if (p->warnings)
		(void)json_object_set(j, "warnings", p->warnings);
	text = cl_json_text(j);
	json_decref(j);
	line = cl_asprintf("%s\n", text);
	dir = open_cloop_dir(p, &e);
	if (dir < 0 || sys_write_atomic(dir, "sandbox-run.json", line, strlen(line), &owner, &e))
		cl_warn(c, "the run was not recorded in the project: %s", e.msg);
}
