/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The slow half of a sweep: what belongs to workloads that have ended and is still there.
 * Only what our own store knows as ended is touched: another hub's things are named
 * alike, and they are its own.
 */
#include "work/sweep_internal.h"
#include "base/mem.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/mountinfo.h"
#include "sys/net/net.h"
#include "sys/nft/nft_trace.h"
#include "sys/path.h"
#include "sys/scratch.h"
#include "work/lease/app_token.h"
#include "work/blocked.h"
#include "work/lease/drill.h"
#include "work/driver.h"
#include "work/paths.h"
#include "work/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* The row of a handle of ours that is over; false otherwise. */
static bool over(struct store *store, const char *handle, struct store_handle *h)
{
	struct cl_err e;

	/* An exact id only: a prefix would complete to somebody else's. */
	return strlen(handle) == STORE_HANDLE_ID - 1 && !store_handle_get(store, handle, h, &e) &&
	       !strcmp(h->state, "ended");
}

/* True when it is over and the shim, which may still be cleaning up, is gone. */
static bool left_over(struct store *store, const char *handle)
{
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;

	return over(store, handle, &h) &&
	       !sys_same_process(
		       (pid_t)h.shim_pid, (uint64_t)h.shim_start, h.boot_id ? h.boot_id : "");
}

/* True when it is over since at least `ms`. */
static bool over_since(struct store *store, const char *handle, int64_t ms)
{
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;

	return over(store, handle, &h) && sys_now_ms() - h.ended_at >= ms;
}

static void did(struct sweep *s, const char *what, const char *handle)
{
	s->collected++;
	sweep_did(s, "removed %s of %s", what, handle);
}

static void cgroups(struct sweep *s, struct store *store)
{
	cleanup_strv struct cl_strv handles = CL_STRV_INIT;
	cleanup_cg struct cg cg = CG_INIT;
	struct cl_err e;

	if (cg_open(&cg, NULL, &e) || cg_list(&cg, &handles, &e))
		return;
	for (size_t i = 0; i < handles.n; i++) {
		const char *h = handles.v[i];

		if (!left_over(store, h))
			continue;
		if (!cg_kill(&cg, h, 5000, &e) && !cg_remove(&cg, h, &e))
			did(s, "the cgroup", h);
	}
}

/* One executor's driver looks for its own with a verb; each thing that it removed is a line. */
static int reap(struct sweep *s, const struct cfg_executor *x, const char *verb, struct cl_err *e)
{
	json_t *out = NULL, *v;
	int rc = work_driver_ask(x, s->cfg_doc, s->hub_dir, verb, NULL, &out, e);
	size_t i;

	json_array_foreach (json_object_get(out, "removed"), i, v) {
		const char *name = json_string_value(json_object_get(v, "name"));
		const char *kind = json_string_value(json_object_get(v, "kind"));

		s->collected++;
		sweep_did(s, "removed %s %s", kind ? kind : "container", name ? name : "?");
	}
	json_array_foreach (json_object_get(out, "failed"), i, v) {
		const char *name = json_string_value(json_object_get(v, "name"));
		const char *why = json_string_value(json_object_get(v, "error"));

		cl_strv_addf(&s->troubles, "executor '%s': %s stays: %s", x->id, name ? name : "?",
			why ? why : "no reason is given");
	}
	json_decref(out);
	return rc;
}

static bool in_service(const struct cfg_executor *x)
{
	return x->enabled && !x->disabled_reason;
}

/*
 * What no row knows: what an engine still has, or what runs on this host. Each executor's
 * driver leaves alone what is younger than its grace period.
 */
void sweep_orphans(struct sweep *s, struct store *store)
{
	struct cl_err e;

	cgroups(s, store);
	for (size_t i = 0; s->cfg && i < s->cfg->nexecutors; i++) {
		const struct cfg_executor *x = &s->cfg->executors[i];

		/* A third party's driver may have nothing to collect, and then no such verb. */
		if (in_service(x) && reap(s, x, "reap", &e) &&
			(e.code != CL_EUSAGE || x->row->program))
			sweep_trouble(s, "orphans", &e);
	}
}

/* Only drivers of cloop's own are asked, and those without images have no such verb. */
void sweep_images(struct sweep *s, struct store *store)
{
	struct cl_err e;

	(void)store;
	for (size_t i = 0; s->cfg && i < s->cfg->nexecutors; i++) {
		const struct cfg_executor *x = &s->cfg->executors[i];

		if (in_service(x) && x->row->program && reap(s, x, "reap-images", &e) &&
			e.code != CL_EUSAGE)
			sweep_trouble(s, "images", &e);
	}
}

static void prepared(struct sweep *s, struct store *store, const char *base)
{
	cleanup_strv struct cl_strv handles = CL_STRV_INIT;
	struct cl_err e;

	if (net_list(base, &handles, &e))
		return;
	for (size_t i = 0; i < handles.n; i++) {
		cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;

		if (!left_over(store, handles.v[i]) ||
			store_handle_get(store, handles.v[i], &h, &e))
			continue;
		/* Its supervisor has done so, if it had the time. */
		(void)blocked_settle(store, &h, base, &e);
		if (net_teardown(base, handles.v[i], NULL, NULL, &e))
			sweep_trouble(s, "networks", &e);
		else
			did(s, "the network", handles.v[i]);
	}
}

/* ---- run directories that were removed under their runs ---- */

struct unrecorded {
	struct sweep *s;
	const char *base;
	size_t live;
	struct cl_strv handles, tables, networks; /* of one length; ended, with a network of ours */
};

static int on_row(const struct store_handle *h, void *arg, struct cl_err *e)
{
	struct unrecorded *u = arg;
	cleanup_free char *base = work_base_of(h);

	(void)e;
	if (strcmp(base, u->base) != 0 || !h->netns || !h->network)
		return 0;
	if (strcmp(h->state, "ended") != 0) {
		u->live++;
		return 0;
	}
	cl_strv_add(&u->handles, h->id);
	cl_strv_add(&u->tables, h->nft_table ? h->nft_table : "");
	cl_strv_add(&u->networks, h->network);
	return 0;
}

/* By the names in their rows, as nothing else knows of them. */
static void by_name(struct unrecorded *u)
{
	struct cl_err e;

	for (size_t i = 0; i < u->handles.n; i++) {
		const char *table = *u->tables.v[i] ? u->tables.v[i] : NULL;

		if (net_teardown(u->base, u->handles.v[i], table, u->networks.v[i], &e))
			sweep_trouble(u->s, u->base, &e);
	}
	u->s->collected++;
	sweep_did(u->s, "removed the networks of runs below '%s', which is not there any more",
		u->base);
}

static void removed_base(struct sweep *s, struct store *store, const char *base)
{
	struct unrecorded u = {s, base, 0, CL_STRV_INIT, CL_STRV_INIT, CL_STRV_INIT};
	bool left = false;
	struct cl_err e;

	if (net_recover(base, &left, &e) || !left)
		return;
	if (store_handle_each(store, NULL, true, on_row, &u, &e)) {
		sweep_trouble(s, base, &e);
	} else if (u.live) {
		(void)cl_fail(&e, CL_EBUSY,
			"the run directory was removed under %zu live workload%s: their network "
			"stays until they end",
			u.live, u.live == 1 ? "" : "s");
		sweep_trouble(s, base, &e);
	} else {
		by_name(&u);
	}
	cl_strv_release(&u.handles);
	cl_strv_release(&u.tables);
	cl_strv_release(&u.networks);
}

/*
 * Ours and those that other workloads of this hub were started with: who sweeps need not know
 * of them.
 */
static void bases(struct sweep *s, struct store *store, struct cl_strv *out)
{
	cleanup_strv struct cl_strv all = CL_STRV_INIT;
	struct cl_err e;

	cl_strv_add(out, s->run_base);
	if (store_handle_bases(store, &all, &e)) {
		sweep_trouble(s, "run directories", &e);
		return;
	}
	for (size_t i = 0; i < all.n; i++)
		if (!cl_strv_has(out, all.v[i]))
			cl_strv_add(out, all.v[i]);
}

/* Entries of a directory; an absent one has none. */
static void entries(const char *dir, struct cl_strv *out)
{
	DIR *d = opendir(dir);
	const struct dirent *de;

	while (d && (de = readdir(d)))
		if (de->d_name[0] != '.')
			cl_strv_add(out, de->d_name);
	if (d)
		(void)closedir(d);
}

struct ending {
	struct sweep *s;
	struct store *store;
	const struct rundir *rd;
};

/* Tokens that the run still had end at GitHub too, before nobody has them. */
static int end_tokens(const struct store_lease *l, void *arg, struct cl_err *e)
{
	cleanup_app_slots struct app_slots tokens = APP_SLOTS_INIT;
	const struct ending *x = arg;
	const struct lease_ask ask = {.hub_dir = x->s->hub_dir};
	size_t failed;

	(void)e;
	app_slots_take(x->store, l->id, x->rd, NULL, &tokens);
	app_slots_end(&ask, l->id, &tokens, "the run is over", &failed);
	return 0;
}

static void rundirs(struct sweep *s, struct store *store, const char *base)
{
	cleanup_free char *dir = cl_asprintf("%s/w", base);
	cleanup_strv struct cl_strv names = CL_STRV_INIT;

	entries(dir, &names);
	for (size_t i = 0; i < names.n; i++) {
		cleanup_rundir struct rundir rd = {0};
		struct cl_err e;

		if (!left_over(store, names.v[i]))
			continue;
		rundir_init(&rd, base, names.v[i]);
		(void)store_lease_each(store,
			&(struct store_lease_filter){.sandbox = names.v[i], .ended_too = true},
			end_tokens, &(struct ending){s, store, &rd}, &e);
		rundir_remove(&rd);
		did(s, "the runtime folder", names.v[i]);
	}
}

struct lost {
	struct sweep *s;
	struct store *store;
};

/* True when nobody supervises it and the folder that had its files is gone, as after a boot. */
static bool lost(struct store *store, const char *handle)
{
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;
	cleanup_free char *base = NULL;
	cleanup_rundir struct rundir rd = {0};
	struct cl_err e;

	if (store_handle_get(store, handle, &h, &e))
		return e.code == CL_ENOTFOUND;
	base = work_base_of(&h);
	rundir_init(&rd, base, handle);
	return left_over(store, handle) && access(rd.dir, F_OK) && errno == ENOENT;
}

/* A token that went with the folder is ended by what the hub kept of it. */
static int end_lost(const char *lease_id, const char *sandbox, void *arg, struct cl_err *e)
{
	cleanup_app_slots struct app_slots tokens = APP_SLOTS_INIT;
	const struct lost *x = arg;
	const struct lease_ask ask = {.hub_dir = x->s->hub_dir};
	size_t failed;

	if (sandbox && !lost(x->store, sandbox))
		return 0;
	if (app_slots_find(x->store, lease_id, &tokens, e))
		return -1;
	app_slots_end(&ask, lease_id, &tokens, "the run is over", &failed);
	x->s->collected++;
	sweep_did(x->s, "ended the tokens of lease %s, which nobody holds any more", lease_id);
	return 0;
}

static void lost_tokens(struct sweep *s, struct store *store)
{
	struct lost x = {s, store};
	struct cl_err e;

	if (store_app_token_over(store, end_lost, &x, &e))
		sweep_trouble(s, "tokens", &e);
}

static void logs(struct sweep *s, struct store *store)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	cleanup_fd int dir = open(s->log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct cl_err e;

	if (dir < 0)
		return;
	entries(s->log_dir, &names);
	for (size_t i = 0; i < names.n; i++)
		if (over_since(store, names.v[i], SWEEP_LOGS_MS) &&
			!sys_rmtree(dir, names.v[i], &e))
			did(s, "the log", names.v[i]);
}

/* Rules of traces whose process was killed. */
static void traces(struct sweep *s)
{
	size_t dropped = 0;
	struct cl_err e;

	(void)nft_trace_sweep("cloop_sbx_", &dropped, &e);
	if (!dropped)
		return;
	s->collected++;
	sweep_did(s, "removed the rules of a trace that was killed");
}

static void refusals(struct sweep *s, struct store *store)
{
	int64_t gone = 0;
	struct cl_err e;

	if (store_blocked_expire(store, sys_now_ms() - SWEEP_BLOCKED_MS, &gone, &e) || !gone)
		return;
	s->collected++;
	sweep_did(s, "forgot %lld blocked destinations", (long long)gone);
}

static void smoke_died(struct scratch *dead, void *arg)
{
	struct sweep *s = arg;

	s->collected++;
	sweep_did(s, "removed '%s' of a test that was killed", dead->top);
}

/* What tests and drills that were killed have left in /tmp. */
static void scratches(struct sweep *s)
{
	size_t drills = drill_remove_dead();

	s->collected += drills;
	if (drills)
		sweep_did(s, "removed %zu drill%s that had been killed", drills,
			drills == 1 ? "" : "s");
	/* A test that was killed may have a workload there, which is bounded. */
	(void)scratch_dead(SMOKE_PREFIX, SCRATCH_MS, smoke_died, s);
}

void sweep_staging(struct sweep *s, struct store *store)
{
	cleanup_strv struct cl_strv dirs = CL_STRV_INIT;

	bases(s, store, &dirs);
	for (size_t i = 0; i < dirs.n; i++)
		rundirs(s, store, dirs.v[i]);
	lost_tokens(s, store);
	logs(s, store);
	scratches(s);
}

/* "c-0123456789ab" of "<base>/w/c-0123456789ab/stage/..."; false for anything else. */
static bool handle_of(const char *point, const char *below, char out[STORE_HANDLE_ID])
{
	const char *name = point + strlen(below) + 1;

	if (strcspn(name, "/") != STORE_HANDLE_ID - 1)
		return false;
	(void)snprintf(out, STORE_HANDLE_ID, "%s", name);
	return true;
}

/*
 * What was bound for a workload and is still there, where a docker daemon had to see it: the
 * deepest first, never through a link, and gone from the tree at once though it may be in use.
 */
static void mounts(
	struct sweep *s, struct store *store, const struct mountinfo *table, const char *base)
{
	cleanup_free char *below = cl_asprintf("%s/w", base);
	cleanup_strv struct cl_strv points = CL_STRV_INIT;

	mountinfo_below(table, below, &points);
	for (size_t i = points.n; i-- > 0;) {
		char handle[STORE_HANDLE_ID];

		if (handle_of(points.v[i], below, handle) && left_over(store, handle) &&
			!umount2(points.v[i], MNT_DETACH | UMOUNT_NOFOLLOW))
			did(s, "a mount", handle);
	}
}

void sweep_mounts(struct sweep *s, struct store *store)
{
	cleanup_mountinfo struct mountinfo table = MOUNTINFO_INIT;
	cleanup_strv struct cl_strv dirs = CL_STRV_INIT;
	struct cl_err e;

	if (mountinfo_read(&table, &e)) {
		sweep_trouble(s, "mounts", &e);
		return;
	}
	bases(s, store, &dirs);
	for (size_t i = 0; i < dirs.n; i++)
		mounts(s, store, &table, dirs.v[i]);
}

void sweep_networks(struct sweep *s, struct store *store)
{
	cleanup_strv struct cl_strv dirs = CL_STRV_INIT;

	bases(s, store, &dirs);
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *net = cl_asprintf("%s/net", dirs.v[i]);

		/* A directory that is gone is not made again for nothing. */
		if (!access(net, F_OK))
			prepared(s, store, dirs.v[i]);
		else
			removed_base(s, store, dirs.v[i]);
	}
	refusals(s, store);
	traces(s);
}
