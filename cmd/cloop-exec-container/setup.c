/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The setup build of one spec: a folder of ours with what is bound inside, the run's own
 * network, the build, and everything taken down again. The folder's lock says that the
 * build lives; what a killed one leaves is found by reap through it.
 */
#include "prepare.h"
#include "setup.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/build.h"
#include "sys/id.h"
#include "sys/net.h"
#include "sys/path.h"
#include "work/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct setup {
	const struct work_spec *spec;
	char *base; /* run base */
	char *dir;  /* BASE/build/HANDLE */
	char *init; /* DIR/cloop: bound at /.cloop */
	char *netns;
	int lock; /* held while we live */
	char handle[CT_HANDLE_LEN];
	struct eg_policy policy;
	struct ct_mount mounts[3];
	char *sources[3];
};

static void setup_release(struct setup *u)
{
	/* Our lock is given up first: what is left now is what a killed build leaves. */
	if (u->lock >= 0)
		(void)close(u->lock);
	(void)setup_collect(u->base, u->handle);
	for (size_t i = 0; i < CL_ARRAY_LEN(u->sources); i++)
		free(u->sources[i]);
	eg_policy_release(&u->policy);
	free(u->base);
	free(u->dir);
	free(u->init);
	free(u->netns);
}

/* ---- the folder ---- */

static int put(const char *dir, const char *name, const struct cl_buf *text, struct cl_err *e)
{
	const struct sys_owner owner = {(uid_t)-1, (gid_t)-1, 0444};
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", dir);
	return sys_write_atomic(fd, name, text->p, text->len, &owner, e);
}

static int put_init(const struct setup *u, struct cl_err *e)
{
	cleanup_free char *from = cl_sibling("cloop-init"), *to = cl_asprintf("%s/init", u->init);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	if (cl_read_file(from, (size_t)8 << 20, &text, e))
		return cl_fix(e, "build it with 'make', or install cloop whole");
	if (put(u->init, "init", &text, e))
		return -1;
	return chmod(to, 0555) ? cl_fail_sys(e, CL_EOS, errno, "cannot stage '%s'", to) : 0;
}

static int put_name(struct setup *u, size_t i, const char *name, const char *target,
	const struct cl_buf *text, struct cl_err *e)
{
	u->sources[i] = cl_asprintf("%s/%s", u->dir, name);
	u->mounts[i] = (struct ct_mount){
		.source = u->sources[i], .target = target, .read_only = true, .noexec = true};
	return put(u->dir, name, text, e);
}

static int put_names(struct setup *u, bool networked, struct cl_err *e)
{
	cleanup_buf struct cl_buf hosts = CL_BUF_INIT, resolv = CL_BUF_INIT, name = CL_BUF_INIT;
	const struct work_spec *s = u->spec;

	ct_hosts_file("setup", (const char *const *)s->executor->allow_hosts.v,
		networked ? s->executor->allow_hosts.n : 0, &hosts);
	ct_resolv_file(s->egress.resolvers, networked ? s->egress.nresolvers : 0, &resolv);
	cl_buf_adds(&name, "setup\n");
	return put_name(u, 0, "hosts", "/etc/hosts", &hosts, e) ||
			       put_name(u, 1, "resolv.conf", "/etc/resolv.conf", &resolv, e) ||
			       put_name(u, 2, "hostname", "/etc/hostname", &name, e)
		       ? -1
		       : 0;
}

/* The lock comes first and goes last: a folder without one belongs to nobody. */
static int make_folder(struct setup *u, struct cl_err *e)
{
	cleanup_free char *parent = cl_asprintf("%s/build", u->base), *lock = NULL;

	if (sys_new_id("c-", 12, u->handle, sizeof(u->handle), e) || sys_mkdirs(parent, 0700, e))
		return -1;
	u->dir = cl_asprintf("%s/%s", parent, u->handle);
	u->init = cl_asprintf("%s/cloop", u->dir);
	lock = cl_asprintf("%s.lock", u->dir);
	u->lock = open(lock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (u->lock < 0 || flock(u->lock, LOCK_EX))
		return cl_fail_sys(e, CL_EOS, errno, "cannot lock '%s'", u->dir);
	if (sys_mkdirs(u->init, 0755, e))
		return -1;
	return put_init(u, e);
}

bool setup_collect(const char *run_base, const char *handle)
{
	cleanup_free char *parent = cl_asprintf("%s/build", run_base);
	cleanup_free char *name = cl_asprintf("%s.lock", handle);
	cleanup_fd int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int lock = dir < 0 ? -1 : openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct cl_err e;

	if (!ct_handle_ok(handle) || lock < 0 || flock(lock, LOCK_EX | LOCK_NB))
		return false;
	return !net_teardown(run_base, handle, NULL, NULL, &e) && !sys_rmtree(dir, handle, &e) &&
	       !unlinkat(dir, name, 0);
}

void setup_list(const char *run_base, struct cl_strv *handles)
{
	cleanup_free char *parent = cl_asprintf("%s/build", run_base);
	DIR *d = opendir(parent);
	const struct dirent *de;

	while (d && (de = readdir(d))) {
		cleanup_free char *handle = NULL;

		if (!cl_ends(de->d_name, ".lock"))
			continue;
		handle = cl_strndup(de->d_name, strlen(de->d_name) - strlen(".lock"));
		if (ct_handle_ok(handle))
			cl_strv_add(handles, handle);
	}
	if (d)
		(void)closedir(d);
}

/* ---- the network: what the run has, through the same filter ---- */

static bool no_network(const struct work_spec *s)
{
	return s->network_disabled || s->scope == SB_EGRESS_NONE ||
	       !strcmp(s->executor->network, "none");
}

static int make_network(
	struct setup *u, const struct engine *en, struct ct_request *r, struct cl_err *e)
{
	const struct work_spec *s = u->spec;
	bool ours = en->kind == CT_PODMAN && !en->rootless &&
		    s->executor->network_backend != CFG_BACKEND_ENGINE;
	const char *key = s->scope == SB_EGRESS_PUBLIC ? "public" : NULL;
	cleanup_free char *network = eg_network_name(s->executor->id, key);
	cleanup_free char *table = eg_table_name(s->executor->id, key);
	struct net_want w = {.handle = u->handle,
		.network = network,
		.table = table,
		.pool = s->executor->address_pool,
		.ipv6 = true,
		.rundir = u->base};
	struct net_have have;

	r->net = CT_NET_NONE;
	if (no_network(s))
		return 0;
	if (s->has_egress && eg_compile(&s->egress, &u->policy, e))
		return -1;
	if (s->has_egress && u->policy.mode == EG_ISOLATED)
		return 0;
	if (!s->has_egress && (strcmp(s->executor->network, "bridge") != 0 || !ours)) {
		r->net = CT_NET_NAMED;
		r->network = s->executor->network;
		return 0;
	}
	if (!ours) {
		(void)cl_fail(e, CL_EREFUSED,
			"setup cannot be built behind the run's egress filter with %s here",
			ct_engine_name(en->kind));
		cl_constraint(e, "setup");
		return cl_fix(e,
			"use podman as root, or give the project 'capabilities: {egress: none}'");
	}
	w.policy = s->has_egress ? &u->policy : NULL;
	if (net_prepare(&w, &have, e))
		return cl_wrap(e, "the network of the setup build");
	r->net = CT_NET_NAMESPACE;
	r->network = u->netns = cl_strdup(have.netns);
	return 0;
}

/* ---- the build ---- */

/* Control characters are masked where it is printed; a blank says as much as a tab. */
static void say_tail(const struct cl_ctx *c, struct cl_buf *tail)
{
	while (tail->len && tail->p[tail->len - 1] == '\n')
		tail->p[--tail->len] = '\0';
	for (size_t i = 0; i < tail->len; i++)
		if (tail->p[i] == '\t')
			tail->p[i] = ' ';
	cl_say(c, "the last lines of the setup:\n%s", tail->p);
}

static int build(struct setup *u, struct prepared *p, struct ct_request *r, struct cl_err *e)
{
	const struct work_spec *s = u->spec;
	cleanup_engine_info struct engine_info info = ENGINE_INFO_INIT;
	cleanup_free char *locks = cl_asprintf("%s/lock", u->base);
	struct build b = BUILD_INIT;
	int rc;

	if (s->min_free_mb > 0 && engine_info(&p->engine, &info, e))
		return -1;
	b.engine = &p->engine;
	b.request = r;
	b.base = &p->image;
	b.steps = (const char *const *)s->setup.v;
	b.nsteps = s->setup.n;
	b.lock_dir = locks;
	b.cache_dir = p->cache;
	b.store = info.store;
	b.min_free_mb = s->min_free_mb;
	rc = build_image(&b, &p->built, e);
	memcpy(p->setup_key, b.key, sizeof(b.key));
	p->setup_reused = b.reused;
	if (rc && b.tail.len)
		say_tail(p->ctx, &b.tail);
	cl_buf_release(&b.tail);
	return rc;
}

/* True when the image is there already, so that nothing needs to be set up for it. */
static bool have(const struct work_spec *s, struct prepared *p)
{
	cleanup_free char *tag = NULL;
	const char *key;
	struct cl_err e;

	ct_build_key(p->image.id, p->image.pinned, (const char *const *)s->setup.v, s->setup.n,
		p->setup_key);
	tag = cl_asprintf(CT_BUILD_TAG "%s", p->setup_key);
	if (!engine_image_pin(&p->engine, tag, p->cache, &p->built, NULL, &e)) {
		key = engine_image_label(&p->built, CT_BUILD_KEY);
		if (key && !strcmp(key, p->setup_key))
			return true;
	}
	engine_image_release(&p->built);
	return false;
}

int prepare_setup(const struct work_spec *s, struct prepared *p, struct cl_err *e)
{
	const struct cfg_executor *x = s->executor;
	cleanup_free char *profile = NULL;
	struct setup u = {.spec = s, .lock = -1, .policy = EG_POLICY_INIT};
	struct ct_request r = {.engine = p->engine.kind,
		.rootless = p->engine.rootless,
		.mode = CT_ATTACHED,
		.oci_runtime = *x->oci_runtime ? x->oci_runtime : NULL,
		.cgroup_parent = p->engine.rootless ? NULL : "/cloop/build",
		.own_names = true,
		.hostname = "setup",
		.cpu_milli = s->limits.v[SB_CPU],
		.memory_mb = s->limits.v[SB_MEMORY],
		.pids = s->limits.v[SB_PIDS],
		.workspace_label = x->selinux_label,
		.extra_args = (const char *const *)x->extra_args.v,
		.nextra = x->extra_args.n,
		.mounts = u.mounts,
		.nmounts = CL_ARRAY_LEN(u.mounts)};
	int rc;

	engine_hard_limits(&r.hard_nofile, &r.hard_nproc);
	p->setup_reused = have(s, p);
	if (p->setup_reused)
		return 0;
	profile = exec_seccomp(x, e);
	if (!profile && e->msg[0])
		return -1;
	r.seccomp = profile;
	u.base = work_run_base();
	rc = make_folder(&u, e) || make_network(&u, &p->engine, &r, e) ||
	     put_names(&u, r.net != CT_NET_NONE, e);
	r.init_dir = u.init;
	if (!rc)
		rc = build(&u, p, &r, e);
	setup_release(&u);
	return rc ? -1 : 0;
}
