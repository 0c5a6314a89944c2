/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * reap: collects what belongs to nobody any more (facts/executors.md 6.14, DECISIONS C15).
 * Several hubs, engines and stores share a machine, so only this hub's own are judged, and
 * whatever is uncertain is left alone: what is collected late costs a little, what is
 * collected early costs somebody's run.
 */
#include "engine_verbs.h"
#include "reap_runtime.h"
#include "setup.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/run.h"
#include "sys/engine/build.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/net/net.h"
#include "work/paths.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reap {
	const struct work_spec *spec;
	struct engine engine;
	struct store *store;
	char *base, *locks;
	int64_t now; /* Unix seconds */
	json_t *removed, *failed;
};

static void removed(struct reap *r, const char *kind, const char *name, const char *why)
{
	(void)json_array_append_new(
		r->removed, json_pack("{s:s, s:s, s:s}", "kind", kind, "name", name, "why", why));
}

static void failed(struct reap *r, const char *kind, const char *name, const struct cl_err *e)
{
	(void)json_array_append_new(r->failed,
		json_pack("{s:s, s:s, s:s}", "kind", kind, "name", name, "error", e->msg));
}

/* What this hub knows of a handle. */
enum known { KNOWN_NOT, KNOWN_LIVE, KNOWN_ENDED, KNOWN_UNSURE };

static enum known known(struct reap *r, const char *handle)
{
	cleanup_handle_row struct store_handle row = STORE_HANDLE_INIT;
	struct cl_err e;

	if (!ct_handle_ok(handle))
		return KNOWN_NOT;
	if (store_handle_get(r->store, handle, &row, &e))
		return e.code == CL_ENOTFOUND ? KNOWN_NOT : KNOWN_UNSURE;
	return !strcmp(row.state, "ended") ? KNOWN_ENDED : KNOWN_LIVE;
}

/* At least the executor's grace ago, by the engine's own time; unknown or future: no. */
static bool old(const struct reap *r, int64_t at)
{
	return at > 0 && at <= r->now && r->now - at >= r->spec->executor->orphan_grace_seconds;
}

/* Owned. The label, or for a container that the engine has only half made its name. */
static char *handle_of(const struct engine_container *c)
{
	const char *label = engine_container_label(c, CT_LABEL_HANDLE);
	size_t n = strlen(c->name);

	if (label)
		return cl_strdup(label);
	return n > 12 ? cl_asprintf("c-%s", c->name + n - 12) : cl_strdup("");
}

static bool label_is(const struct engine_container *c, const char *key, const char *want)
{
	const char *v = engine_container_label(c, key);

	return v && !strcmp(v, want);
}

/* Why it is to go, or NULL to leave it. */
static const char *judge(struct reap *r, const struct engine_container *c, const char *handle)
{
	bool running = !strcmp(c->status, "running") || !strcmp(c->status, "paused");
	bool exited = !strcmp(c->status, "exited") || !strcmp(c->status, "stopped") ||
		      !strcmp(c->status, "dead");
	bool managed = label_is(c, CT_LABEL_MANAGED, "true");
	bool ours = managed && label_is(c, CT_LABEL_HUB, r->spec->hub) &&
		    label_is(c, CT_LABEL_EXECUTOR, r->spec->executor->id);
	enum known k = known(r, handle);

	if (k == KNOWN_LIVE || k == KNOWN_UNSURE)
		return NULL;
	if (ours && exited)
		return "exited";
	if (ours && k == KNOWN_ENDED)
		return running ? "its run has ended, and it is still running" : "its run has ended";
	if (managed && exited && old(r, c->exited_at))
		return "exited, and nobody has removed it";
	if (ours && running && engine_container_label(c, CT_LABEL_HANDLE) && old(r, c->started_at))
		return "running, and nobody watches it";
	/* Half made: a client that was killed. Its row, or its labels, say that it is ours. */
	if (!running && !exited && (ours || k == KNOWN_ENDED) &&
		(k == KNOWN_ENDED || old(r, c->created_at)))
		return "never started";
	return NULL;
}

static void reap_container(struct reap *r, const struct engine_container *c)
{
	cleanup_free char *handle = handle_of(c), *shown = NULL;
	bool running = !strcmp(c->status, "running");
	const char *why;
	struct cl_err e;

	if (!cl_starts(c->name, CT_BUILD_PREFIX)) {
		why = judge(r, c, handle);
	} else if (build_collect(&r->engine, c->name, r->locks)) {
		removed(r, "build", c->name, "its build was killed");
		return;
	} else {
		/* Its lock went with a boot. */
		why = !running && old(r, c->created_at) ? "its build was killed" : NULL;
	}
	if (!why)
		return;
	if (engine_remove(&r->engine, c->name, &e)) {
		failed(r, "container", c->name, &e);
		return;
	}
	shown = cl_asprintf("%s%s", c->name, running ? " (running)" : "");
	removed(r, "container", shown, why);
}

static int reap_containers(struct reap *r, struct cl_err *e)
{
	cleanup_engine_containers struct engine_containers all = ENGINE_CONTAINERS_INIT;

	if (engine_containers(&r->engine, "cloop-", &all, e))
		return -1;
	for (size_t i = 0; i < all.n; i++)
		reap_container(r, &all.v[i]);
	return 0;
}

/*
 * What the engine does not see: processes of a start whose client was killed. The row is
 * written before a start, so a tree whose row has ended, or a build's whose lock is free,
 * is ours and over; any other is another hub's.
 */
static void reap_cgroups(struct reap *r)
{
	cleanup_cg struct cg c = CG_INIT;
	cleanup_strv struct cl_strv handles = CL_STRV_INIT;
	struct cl_err e;

	if (r->engine.rootless || cg_open(&c, NULL, &e) || cg_list(&c, &handles, &e))
		return;
	for (size_t i = 0; i < handles.n; i++) {
		const char *h = handles.v[i];
		cleanup_free char *build = cl_asprintf("cloop-%s", h);

		if (cl_starts(h, "build-")) {
			if (build_collect(&r->engine, build, r->locks))
				removed(r, "build", build, "its build was killed");
			continue;
		}
		/* An empty one of a probe that was killed; one with a process in it stays. */
		if (cl_starts(h, "probe-"))
			(void)cg_remove(&c, h, &e);
		if (known(r, h) != KNOWN_ENDED)
			continue;
		if (cg_kill(&c, h, 5000, &e) || cg_remove(&c, h, &e))
			failed(r, "cgroup", h, &e);
		else
			removed(r, "cgroup", h, "its run has ended");
	}
}

static bool has_cgroup(const char *handle)
{
	cleanup_cg struct cg c = CG_INIT;
	cleanup_strv struct cl_strv handles = CL_STRV_INIT;
	struct cl_err e;

	if (cg_open(&c, NULL, &e) || cg_list(&c, &handles, &e))
		return true;
	for (size_t i = 0; i < handles.n; i++)
		if (!strcmp(handles.v[i], handle))
			return true;
	return false;
}

/*
 * A cgroup stands before the runtime writes its state, so a state without one is of something
 * that is over. A build's belongs to whoever shares the engine's store; a run's to its hub.
 */
static void reap_state(void *arg, const struct oci_runtime *rt, const char *id, const char *handle)
{
	struct reap *r = arg;
	bool build = cl_starts(handle, "build-");
	struct cl_err e;

	if ((!build && known(r, handle) != KNOWN_ENDED) || has_cgroup(handle))
		return;
	if (oci_forget(rt, id, &e))
		failed(r, "runtime state", handle, &e);
	else
		removed(r, "runtime state", handle,
			build ? "its build was killed" : "its run has ended");
}

static void reap_networks(struct reap *r)
{
	cleanup_strv struct cl_strv handles = CL_STRV_INIT, builds = CL_STRV_INIT;
	struct cl_err e;

	setup_list(r->base, &builds);
	for (size_t i = 0; i < builds.n; i++)
		if (setup_collect(r->base, builds.v[i]))
			removed(r, "build", builds.v[i], "its build was killed");
	if (r->engine.rootless || net_list(r->base, &handles, &e))
		return;
	for (size_t i = 0; i < handles.n; i++) {
		if (known(r, handles.v[i]) != KNOWN_ENDED)
			continue;
		if (net_teardown(r->base, handles.v[i], NULL, NULL, &e))
			failed(r, "network", handles.v[i], &e);
		else
			removed(r, "network", handles.v[i], "its run has ended");
	}
}

static int run(struct reap *r, struct cl_err *e)
{
	cleanup_free char *state = cl_asprintf("%s/.cloop/state.db", r->spec->hub);

	/* Without the state nothing could be told from a live workload. */
	if (store_open(state, STORE_RO, &r->store, e) ||
		engine_find(r->spec->executor->runtime, environ, &r->engine, e) ||
		reap_containers(r, e))
		return -1;
	reap_cgroups(r);
	for (size_t i = 0; !r->engine.rootless && i < OCI_RUNTIMES; i++)
		oci_states(&oci_runtimes[i], reap_state, r);
	reap_networks(r);
	return 0;
}

int cmd_reap(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_work_spec struct work_spec spec = WORK_SPEC_INIT;
	struct reap r = {.engine = ENGINE_INIT, .spec = &spec};
	int rc;

	(void)c;
	if (work_executor_in("container", &spec, e))
		return -1;
	r.base = work_run_base();
	r.locks = cl_asprintf("%s/lock", r.base);
	r.now = sys_now_ms() / 1000;
	r.removed = json_array();
	r.failed = json_array();
	rc = work_reaped_out(run(&r, e), spec.executor->id, r.removed, r.failed);
	store_close(r.store);
	engine_release(&r.engine);
	free(r.base);
	free(r.locks);
	return rc;
}
