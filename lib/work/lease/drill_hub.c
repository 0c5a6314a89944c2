/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/lease/drill_internal.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "store/run.h"
#include "sys/clock.h"
#include "sys/path.h"
#include "sys/proc.h"
#include "work/control.h"
#include "work/driver.h"
#include "work/guardian.h"
#include "work/paths.h"
#include "work/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In /tmp, not below /run: no project may be there. */
#define PREFIX   "cloop-drill."
#define WORKLOAD 65534 /* who a workload of root's is: nobody */
#define GONE_MS  20000 /* how long what is live may take to be gone */

/* ---- its commands ---- */

int drill_command(const struct drill_hub *h, const char *exe, const char *const *args,
	const struct cl_buf *input, json_t **out, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling(exe);
	cleanup_strv struct cl_strv argv = CL_STRV_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	cl_strv_add(&argv, exe);
	cl_strv_add(&argv, "-C");
	cl_strv_add(&argv, h->hub);
	for (; *args; args++)
		cl_strv_add(&argv, *args);
	cl_strv_add(&argv, "--json");
	r.spawn.path = path;
	r.spawn.argv = argv.v;
	r.spawn.envp = h->env.v;
	r.spawn.cwd = "/";
	r.spawn.new_session = true;
	r.timeout_ms = DRILL_COMMAND_MS;
	if (input) {
		r.input = input->p;
		r.input_len = input->len;
	}
	if (sys_run(&r, e))
		return -1;
	if (r.status) {
		struct cl_err quiet;

		if (!cl_doc_parse(&d, CL_DOC_JSON, exe, r.err.p, r.err.len, NULL, &quiet))
			return cl_err_from_json(d.root, e);
		return cl_fail(e, CL_EUNAVAIL, "%s ended with status %d", exe, r.status);
	}
	if (!out)
		return 0;
	if (cl_doc_parse(&d, CL_DOC_JSON, exe, r.out.p, r.out.len, NULL, e))
		return -1;
	*out = json_incref(d.root);
	return 0;
}

/* ---- where it is ---- */

static void name_places(struct drill_hub *h)
{
	h->hub = cl_asprintf("%s/hub", h->at.top);
	h->project = cl_asprintf("%s/project", h->at.top);
	h->run = cl_asprintf("%s/run", h->at.top);
	h->state = cl_asprintf("%s/.cloop/state.db", h->hub);
}

static void make_env(struct drill_hub *h)
{
	cleanup_strv struct cl_strv all = CL_STRV_INIT;

	work_engine_env(&all);
	for (size_t i = 0; i < all.n; i++)
		if (!cl_starts(all.v[i], "CLOOP_"))
			cl_strv_add(&h->env, all.v[i]);
	cl_strv_addf(&h->env, "CLOOP_RUN_DIR=%s", h->run);
	cl_strv_addf(&h->env, "CLOOP_HUBS=%s/hubs", h->at.top);
}

/* ---- the end of it ---- */

static int count(const struct store_handle *row, void *arg, struct cl_err *e)
{
	(void)row;
	(void)e;
	*(size_t *)arg += 1;
	return 0;
}

static int stop_one(const struct store_handle *row, void *arg, struct cl_err *e)
{
	const struct drill_hub *h = arg;
	cleanup_rundir struct rundir rd = {0};
	json_t *msg = json_pack("{s:s, s:i}", "op", "stop", "grace_ms", 0);

	rundir_init(&rd, h->run, row->id);
	(void)control_ask(rd.sock, msg, e);
	json_decref(msg);
	return 0;
}

void drill_hub_stop(const struct drill_hub *h)
{
	cleanup_store struct store *s = NULL;
	struct drill_hub of = *h;
	struct cl_err ignored;

	if (!access(h->state, F_OK) && !store_open(h->state, STORE_RO, &s, &ignored))
		(void)store_handle_each(s, NULL, false, stop_one, &of, &ignored);
}

/* True when no workload of it is left, nor the folder that its supervisor keeps. */
static bool quiet(const struct drill_hub *h)
{
	cleanup_free char *w = cl_asprintf("%s/w", h->run);
	cleanup_store struct store *s = NULL;
	struct cl_err e;
	size_t live = 0;

	if (!store_open(h->state, STORE_RO, &s, &e) &&
		(store_handle_each(s, NULL, false, count, &live, &e) || live))
		return false;
	return !rmdir(w) || errno == ENOENT;
}

void drill_hub_close(struct drill_hub *h)
{
	static const char *const sweep[] = {NULL};
	int64_t until = sys_mono_ms() + GONE_MS;
	struct cl_err ignored;

	if (h->run && h->state && !access(h->state, F_OK)) {
		while (!quiet(h) && sys_mono_ms() < until)
			(void)poll(NULL, 0, 20);
		if (!quiet(h))
			(void)drill_command(h, "cloop-sweep", sweep, NULL, NULL, &ignored);
	}
	scratch_remove(&h->at);
	if (h->guardian >= 0)
		(void)close(cl_steal_fd(&h->guardian));
	free(h->hub);
	free(h->project);
	free(h->run);
	free(h->state);
	cl_strv_release(&h->env);
}

/* ---- what was left behind ---- */

static void end_dead(struct scratch *s, void *arg)
{
	cleanup_drill_hub struct drill_hub h = DRILL_HUB_INIT;

	(void)arg;
	h.at = *s;
	*s = SCRATCH_INIT;
	name_places(&h);
	make_env(&h);
	drill_hub_stop(&h);
}

size_t drill_remove_dead(void)
{
	return scratch_dead(PREFIX, 0, end_dead, NULL);
}

/* ---- making it ---- */

static int make_place(struct drill_hub *h, struct cl_err *e)
{
	bool root = geteuid() == 0;

	(void)drill_remove_dead();
	if (scratch_make(PREFIX, &h->at, e))
		return -1;
	name_places(h);
	if (mkdir(h->project, 0700) || (root && chown(h->project, WORKLOAD, WORKLOAD)))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make '%s'", h->project);
	return 0;
}

/* The executor as it is, but for the network: nothing that is tried here needs one. */
static char *config_text(const struct drill_hub *h, const struct drill_ask *a)
{
	static const char *const out_of_it[] = {
		"egress_filter", "network_backend", "allow_hosts", "labels", "default"};
	json_t *x = work_executor_json(a->cfg, a->x), *all;
	cleanup_free char *key = cl_asprintf("%s/cloop-secret-key", h->hub);
	char *text;

	for (size_t i = 0; i < CL_ARRAY_LEN(out_of_it); i++)
		(void)json_object_del(x, out_of_it[i]);
	if (json_object_get(x, "network") || !strcmp(a->x->kind, "container"))
		(void)json_object_set_new(x, "network", json_string("none"));
	(void)json_object_set_new(x, "enabled", json_true());
	all = json_pack("{s:{s:o}, s:{s:s}}", "executors", strchr(a->x->row->section, '.') + 1, x,
		"secrets", "key_file", key);
	text = cl_json_text(all);
	json_decref(all);
	return text;
}

static int write_config(const struct drill_hub *h, const struct drill_ask *a, struct cl_err *e)
{
	const struct sys_owner owner = {(uid_t)-1, (gid_t)-1, 0600};
	cleanup_free char *dir = cl_asprintf("%s/.cloop", h->hub), *text = config_text(h, a);
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", dir);
	return sys_write_atomic(fd, "config.yaml", text, strlen(text), &owner, e);
}

int drill_hub_open(struct drill_hub *h, const struct drill_ask *a, struct cl_err *e)
{
	static const char *const bootstrap[] = {"bootstrap", NULL};
	bool got;

	if (make_place(h, e))
		return -1;
	make_env(h);
	if (drill_command(h, "cloop-hub", bootstrap, NULL, NULL, e) || write_config(h, a, e))
		return -1;
	/* Who starts a run makes sure of a guardian, which would outlive it: we are that one. */
	return guardian_lock(h->hub, &got, &h->guardian, e);
}
