/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The setup build of one spec: a folder of ours with what is bound inside, the run's own
 * network, the build, and everything taken down again. The folder's lock says that the
 * build lives; what a killed one leaves is found by reap through it.
 */
#include "prepare.h"
#include "setup.h"
#include "job.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/engine/build.h"
#include "sys/engine/built.h"
#include "sys/id.h"
#include "sys/net/net.h"
#include "sys/path.h"
#include "work/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct setup {
	const struct work_spec *spec;
	struct job job; /* its network is the run's own; its engine is borrowed */
	char *base;     /* run base */
	char *dir;      /* BASE/build/HANDLE */
	char *init;     /* DIR/cloop: bound at /.cloop */
	int lock;       /* held while we live */
	bool networked; /* there is one to take down */
	struct ct_mount mounts[3];
	char *sources[3];
};

static void setup_release(struct setup *u)
{
	struct cl_err e;

	if (u->networked)
		(void)job_drop_network(&u->job, &e);
	/* Our lock is given up first: what is left now is what a killed build leaves. */
	if (u->lock >= 0)
		(void)close(u->lock);
	(void)setup_collect(u->base, u->job.handle);
	for (size_t i = 0; i < CL_ARRAY_LEN(u->sources); i++)
		free(u->sources[i]);
	u->job.engine = ENGINE_INIT;
	job_release(&u->job);
	free(u->base);
	free(u->dir);
	free(u->init);
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
	ct_resolv_file(u->job.names.resolvers, networked ? u->job.names.nresolvers : 0, &resolv);
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

	if (sys_new_id("c-", 12, u->job.handle, sizeof(u->job.handle), e) ||
		sys_mkdirs(parent, 0700, e))
		return -1;
	u->dir = cl_asprintf("%s/%s", parent, u->job.handle);
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
	cleanup_fd int use = -1;
	const char *key;
	struct cl_err e;

	ct_build_key(p->image.id, p->image.pinned, (const char *const *)s->setup.v, s->setup.n,
		p->setup_key);
	use = built_use(p->cache, p->engine.kind, p->setup_key);
	tag = cl_asprintf(CT_BUILD_TAG "%s", p->setup_key);
	if (!engine_image_pin(&p->engine, tag, p->cache, &p->built, NULL, &e)) {
		key = engine_image_label(&p->built, CT_BUILD_KEY);
		if (key && !strcmp(key, p->setup_key))
			return true;
	}
	engine_image_release(&p->built);
	return false;
}

/*
 * A build may take half an hour, in a session of its own: Ctrl-C ends the command that waits
 * for it, and with that command the build, which takes its container and network down first.
 */
static void follow_caller(sigset_t *before)
{
	sigset_t held;

	(void)sigemptyset(&held);
	(void)sigaddset(&held, SIGTERM);
	(void)sigaddset(&held, SIGINT);
	(void)sigaddset(&held, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &held, before);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static int set_up(const struct work_spec *s, struct prepared *p, struct cl_err *e)
{
	const struct cfg_executor *x = s->executor;
	cleanup_free char *profile = NULL;
	struct setup u = {.spec = s, .lock = -1};
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
	profile = exec_seccomp(x, false, e);
	if (!profile && e->msg[0])
		return -1;
	r.seccomp = profile;
	u.base = work_run_base();
	job_init(&u.job);
	u.job.spec = s;
	u.job.engine = p->engine;
	u.job.run_base = u.base;
	rc = make_folder(&u, e) || job_plan_network(&u.job, e);
	if (!rc) {
		u.networked = true;
		rc = job_make_network(&u.job, &r.net, &r.network, e);
	}
	rc = rc || put_names(&u, r.net != CT_NET_NONE, e);
	r.init_dir = u.init;
	if (!rc)
		rc = build(&u, p, &r, e);
	setup_release(&u);
	return rc ? -1 : 0;
}

int prepare_setup(const struct work_spec *s, struct prepared *p, struct cl_err *e)
{
	sigset_t before;
	int rc;

	follow_caller(&before);
	rc = set_up(s, p, e);
	/* One that came meanwhile ends us here, with nothing left behind. */
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}
