/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/process_internal.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "sys/clock.h"
#include "sys/confine.h"
#include "sys/path.h"
#include "work/begin.h"
#include "work/paths.h"
#include "work/verbs.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void init(struct process *p)
{
	*p = (struct process){.project_fd = -1, .cg = CG_INIT, .oom = CG_OOM_INIT};
}

static void release(struct process *p)
{
	free(p->mark);
	free(p->project);
	cg_oom_release(&p->oom);
	cg_release(&p->cg);
	if (p->project_fd >= 0)
		(void)close(p->project_fd);
	init(p);
}
#define cleanup_process __attribute__((cleanup(release)))

/* DECISIONS C3: the owner, never root's group, and root itself only where that is allowed. */
static int choose_account(struct process *p, struct cl_err *e)
{
	const struct work_spec *s = p->ask->spec;
	struct passwd pw, *found = NULL;
	char buf[4096];

	if (!p->as.st_gid && p->as.st_uid) {
		bool known = !getpwuid_r(p->as.st_uid, &pw, buf, sizeof(buf), &found) && found;

		p->as.st_gid = known && found->pw_gid ? found->pw_gid : (gid_t)p->as.st_uid;
	}
	if (geteuid() && geteuid() != p->as.st_uid) {
		(void)cl_fail(e, CL_EREFUSED, "the project '%s' belongs to uid %u, not to you",
			p->project, (unsigned)p->as.st_uid);
		(void)cl_constraint(e, "user");
		return cl_fix(e, "run cloop as its owner, or as root");
	}
	if (p->as.st_uid || s->executor->allow_root_user)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"the project '%s' belongs to root, so the process would run as root on this host",
		p->project);
	(void)cl_constraint(e, "user");
	return cl_fix(e,
		"give it to an account of its own (chown -R USER '%s'), or set "
		"executors.local.allow_root_user: true",
		p->project);
}

/* The folder is judged again here: whoever called may have looked at another one. */
static int open_project(struct process *p, struct cl_err *e)
{
	const struct work_spec *s = p->ask->spec;
	struct confine_ask ask = {
		.dir = s->project, .purpose = CONFINE_RUN, .manage = true, .hub = s->hub};
	cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT;

	if (confine_check(&ask, &d, e)) {
		if (!e->constraint[0])
			(void)cl_constraint(e, "project");
		return -1;
	}
	if (strcmp(d.path, s->project) != 0) {
		(void)cl_fail(e, CL_EREFUSED, "project '%s' is now '%s'", s->project, d.path);
		(void)cl_constraint(e, "project");
		return cl_fix(e,
			"something replaced the directory by a link; look at it, then run again");
	}
	if (fstat(d.fd, &p->as))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at '%s'", d.path);
	p->project = cl_steal(&d.path);
	p->project_fd = cl_steal_fd(&d.fd);
	return p->ask->as_owner ? choose_account(p, e) : 0;
}

static void fill_row(const struct process *p, const struct rundir *rd, struct shim_job *sj)
{
	const struct work_spec *s = p->ask->spec;
	struct store_handle *row = &sj->row;
	json_t *meta;

	work_begin_row(s, p->ask->driver, p->handle, p->project, rd, sj);
	row->cgroup = !p->has_cg ? NULL : cl_asprintf("%s/%s", CG_PARENT, p->handle);
	meta = json_pack("{s:I, s:I, s:I}", "uid", (json_int_t)sj->uid, "min_free_mb",
		(json_int_t)s->min_free_mb, "started_mono", (json_int_t)sj->started_mono);
	row->meta = cl_json_text(meta);
	json_decref(meta);
}

/* DECISIONS C14: who cannot be proved to give a credential back is given none. */
static int lends_nothing(const struct work_spec *s, struct cl_err *e)
{
	if (!s->lend)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"this run is granted secrets, and executor '%s' cannot be lent any",
		s->executor->id);
	(void)cl_constraint(e, "secret_files");
	return cl_fix(
		e, "run it on a container executor; 'cloop secret lease' shows what is granted");
}

int process_start(const struct process_ask *a, struct cl_err *e)
{
	const struct work_spec *s = a->spec;
	cleanup_handle_row struct store_handle out = STORE_HANDLE_INIT;
	cleanup_free char *state = cl_asprintf("%s/.cloop/state.db", s->hub);
	cleanup_free char *logs = cl_asprintf("%s/.cloop/logs", s->hub), *base = work_run_base();
	cleanup_rundir struct rundir rd = {0};
	cleanup_process struct process p;
	struct shim_job sj;
	json_t *lease = NULL;
	int rc;

	init(&p);
	p.ask = a;
	if (lends_nothing(s, e) || open_project(&p, e) || store_new_handle_id(p.handle, e))
		return -1;
	p.mark = cl_asprintf(PROCESS_MARK "=%s", p.handle);
	p.has_cg = process_cgroup(&p.cg);
	rundir_init(&rd, base, p.handle);
	sj = (struct shim_job){.state_path = state,
		.log_dir = logs,
		.run_base = base,
		.row = STORE_HANDLE_INIT,
		.uid = a->as_owner ? p.as.st_uid : geteuid(),
		.attached = !s->detached,
		.wants_stdin = s->wants_stdin,
		.min_free_mb = s->min_free_mb};
	rc = work_check_disk(s, p.project, &sj, e);
	if (!rc) {
		fill_row(&p, &rd, &sj);
		rc = shim_start(&sj, &process_driver, &p, &out, &lease, e);
	}
	store_handle_release(&sj.row);
	if (!rc)
		work_print_handle(&out, lease);
	json_decref(lease);
	return rc;
}

static int take_over(const struct handle_in *in, bool *won, struct cl_err *e)
{
	cleanup_free char *logs = cl_asprintf("%s/.cloop/logs", in->hub);
	cleanup_free char *base = work_base_of(&in->row);
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const struct store_handle *row = &in->row;
	struct shim_job sj = {.state_path = in->state,
		.log_dir = logs,
		.run_base = base,
		.row = *row,
		.disk_used = -1};
	cleanup_process struct process p;
	int64_t uid = 0;

	init(&p);
	if (!row->meta ||
		cl_doc_parse(&d, CL_DOC_JSON, "meta", row->meta, strlen(row->meta), NULL, e) ||
		cl_doc_int(&d, d.root, "uid", 0, UINT32_MAX, &uid, e) ||
		cl_doc_int(&d, d.root, "min_free_mb", 0, INT64_MAX / 2, &sj.min_free_mb, e) ||
		cl_doc_int(&d, d.root, "started_mono", 0, INT64_MAX / 2, &sj.started_mono, e)) {
		(void)cl_fail(e, CL_EDATA, "the row of %s cannot be read", row->id);
		return cl_fix(e, "use the cloop that started it, or end process %s by hand",
			row->external_id ? row->external_id : "");
	}
	sj.uid = (uid_t)uid;
	(void)snprintf(p.handle, sizeof(p.handle), "%s", row->id);
	p.mark = cl_asprintf(PROCESS_MARK "=%s", row->id);
	p.has_cg = row->cgroup != NULL;
	return shim_adopt(&sj, &process_driver, &p, won, e);
}

int process_adopt(struct cl_err *e)
{
	cleanup_handle_in struct handle_in in = {.doc = CL_DOC_INIT};
	bool won = false;

	shim_close_inherited();
	if (handle_in_read(&in, NULL, STORE_RO, e))
		return -1;
	/* The claim is for the supervisor that this row names: it must be known to be dead. */
	if (!strcmp(in.row.state, "live") &&
		!sys_same_process((pid_t)in.row.shim_pid, (uint64_t)in.row.shim_start,
			in.row.boot_id ? in.row.boot_id : "")) {
		store_close(in.store);
		in.store = NULL;
		if (take_over(&in, &won, e))
			return -1;
	}
	cl_take_json(json_pack("{s:s, s:b}", "handle", in.row.id, "adopted", won));
	return 0;
}
