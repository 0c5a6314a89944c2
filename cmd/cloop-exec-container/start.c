/* SPDX-License-Identifier: GPL-3.0-or-later */
/* start: one spec in, one running workload and its handle out. */
#include "verbs.h"
#include "job.h"
#include "base/mem.h"
#include "policy/place/runtime_name.h"
#include "sys/clock.h"
#include "work/hardware.h"
#include "work/begin.h"
#include "work/key_pass.h"
#include "work/paths.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The image that `prepare` judged. A spec without it is prepared by nobody, and a tag
 * may have moved since: refused, so that only what was judged is run.
 */
static int take_image(struct job *j, struct cl_err *e)
{
	const char *id = json_string_value(json_object_get(j->spec->pinned, "image_id"));
	const char *ref = json_string_value(json_object_get(j->spec->pinned, "run"));

	if (!id && !ref) {
		(void)cl_fail(e, CL_EDATA, "the spec has no image_pinned");
		return cl_fix(e, "give it the answer of 'cloop exec-container prepare'");
	}
	j->image = cl_strdup(ref ? ref : id);
	return 0;
}

static char *dup_or_null(const char *s)
{
	return s && *s ? cl_strdup(s) : NULL;
}

static void fill_row(struct job *j, struct shim_job *sj, const struct rundir *rd)
{
	struct store_handle *row = &sj->row;

	work_begin_row(j->spec, "container", j->handle, j->project, rd, sj);
	row->container = cl_strdup(j->name);
	row->image = cl_strdup(j->image);
	row->cgroup = j->engine.rootless ? NULL : cl_asprintf("%s/%s", CG_PARENT, j->handle);
	row->netns = j->net_kind == JOB_NET_PREPARED
			     ? cl_asprintf("%s/netns/%s", j->run_base, j->handle)
			     : NULL;
	row->nft_table = dup_or_null(j->table);
	row->network = dup_or_null(j->network);
	row->meta = job_meta(j, sj->started_mono);
}

static int start(struct job *j, struct cl_err *e)
{
	const struct work_spec *s = j->spec;
	cleanup_handle_row struct store_handle out = STORE_HANDLE_INIT;
	cleanup_free char *state = cl_asprintf("%s/.cloop/state.db", s->hub);
	cleanup_free char *logs = cl_asprintf("%s/.cloop/logs", s->hub);
	cleanup_rundir struct rundir rd = {0};
	struct shim_job sj = {.state_path = state,
		.log_dir = logs,
		.run_base = j->run_base,
		.row = STORE_HANDLE_INIT,
		.uid = j->uid,
		.gid = j->gid,
		.hub = s->hub,
		.lend = s->lend,
		.key_file = s->key_file,
		.key_fd = s->key_passed ? KEY_PASS_FD : 0,
		.no_devices = hardware_no_devices(s->executor->oci_runtime, j->engine.rootless),
		.attached = !s->detached,
		.wants_stdin = s->wants_stdin,
		.min_free_mb = s->min_free_mb};
	json_t *lease = NULL;
	int rc;

	rundir_init(&rd, j->run_base, j->handle);
	rc = work_check_disk(s, j->project, &sj, e);
	if (!rc) {
		fill_row(j, &sj, &rd);
		rc = shim_start(&sj, &job_driver, j, &out, &lease, e);
	}
	store_handle_release(&sj.row);
	if (!rc)
		work_print_handle(&out, lease);
	json_decref(lease);
	return rc;
}

int cmd_start(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec spec = WORK_SPEC_INIT;
	cleanup_free char *base = work_run_base();
	cleanup_job struct job j;
	int key;

	(void)c;
	key = key_pass_keep();
	job_init(&j);
	if (work_spec_in("container", &spec, e))
		return -1;
	j.spec = &spec;
	j.run_base = base;
	if (spec.key_passed && key < 0)
		return cl_fail(e, CL_EDATA,
			"'lease.key_passed' is true, and descriptor %d is no key", KEY_PASS_FD);
	if (!spec.key_passed && key >= 0)
		(void)close(key);
	if (engine_find(spec.executor->runtime, environ, &j.engine, e) || job_open_project(&j, e) ||
		take_image(&j, e) || job_plan_network(&j, e) || store_new_handle_id(j.handle, e))
		return -1;
	j.name = ct_name(j.project, j.handle);
	return start(&j, e);
}

int cmd_adopt(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_handle_in struct handle_in in = {.doc = CL_DOC_INIT};
	cleanup_free char *base = NULL, *logs = NULL;
	struct shim_job sj;
	cleanup_job struct job j;
	bool won = false;
	json_t *meta;
	int rc;

	(void)c;
	shim_close_inherited();
	job_init(&j);
	if (handle_in_read(&in, NULL, STORE_RO, e))
		return -1;
	/* The claim is for the shim that this row names: it must be known to be dead. */
	if (strcmp(in.row.state, "live") != 0 ||
		sys_same_process((pid_t)in.row.shim_pid, (uint64_t)in.row.shim_start,
			in.row.boot_id ? in.row.boot_id : "")) {
		cl_take_json(json_pack("{s:s, s:b}", "handle", in.row.id, "adopted", 0));
		return 0;
	}
	if (job_from_row(&j, &in.row, e))
		return -1;
	store_close(in.store);
	in.store = NULL;
	j.run_base = base = work_base_of(&in.row);
	logs = cl_asprintf("%s/.cloop/logs", in.hub);
	meta = json_loads(in.row.meta, 0, NULL);
	sj = (struct shim_job){.state_path = in.state,
		.log_dir = logs,
		.run_base = base,
		.row = in.row,
		.uid = j.uid,
		.hub = in.hub,
		.key_file = json_string_value(json_object_get(meta, "key_file")),
		.key_lost = json_is_true(json_object_get(meta, "key_passed")),
		.started_mono = json_integer_value(json_object_get(meta, "started_mono")),
		.min_free_mb = json_integer_value(json_object_get(meta, "min_free_mb")),
		.disk_used = -1};
	rc = shim_adopt(&sj, &job_driver, &j, &won, e);
	json_decref(meta);
	if (rc)
		return -1;
	cl_take_json(json_pack("{s:s, s:b}", "handle", in.row.id, "adopted", won));
	return 0;
}
