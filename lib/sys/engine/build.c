/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/engine/build.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "sys/engine/build_internal.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS  250
#define TAIL_MAX 65536

/*
 * What an installer needs to be root within an image: file owners and modes, other users.
 * Not NET_RAW, MKNOD, SYS_CHROOT, SETPCAP or anything that reaches beyond its own files.
 */
static const char *const caps[] = {
	"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETUID", "SETGID", "SETFCAP", NULL};

/*
 * Each step is a shell of its own, as a Dockerfile's RUN is. Output is one stream, so that
 * its order is kept; which step is on goes to the other one, which steps do not get.
 */
static const char script[] = "HOME=/root; export HOME; n=0\n"
			     "for step; do n=$((n + 1)); echo \"cloop-step $n\" >&2\n"
			     "/bin/sh -c \"$step\" 2>&1 </dev/null || exit; done\n";

/* ---- one build a key ---- */

char *build_lock_path(const char *lock_dir, const char *key)
{
	return cl_asprintf("%s/" CT_BUILD_PREFIX "%s.lock", lock_dir, key);
}

/* A holder removes the file when it is done: a lock on a file without a name is no lock. */
bool build_lock_is(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !stat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int build_lock_try(const char *path, struct cl_err *e)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", path);
	if (!flock(fd, LOCK_EX | LOCK_NB) && build_lock_is(fd, path))
		return fd;
	(void)close(fd);
	(void)cl_fail(e, CL_EBUSY, "another build of the same setup has not finished");
	return cl_fix(e, "wait for it ('cloop runs list --live'), or stop it");
}

/* Waits until no other build of the key goes on. Returns the lock, or -1. */
static int take_lock(const struct build *b, const char *path, int64_t deadline, struct cl_err *e)
{
	if (sys_mkdirs(b->lock_dir, 0700, e))
		return -1;
	for (;;) {
		int fd = build_lock_try(path, e);

		if (fd >= 0)
			return fd;
		if (e->code != CL_EBUSY || sys_mono_ms() > deadline)
			return -1;
		sys_sleep_ms(100);
	}
}

/* ---- the image ---- */

/* True when the tag is there and is what this key means. */
static bool find_built(
	const struct build *b, const char *tag, struct engine_image *out, struct cl_err *e)
{
	const char *key;

	if (engine_image_pin(b->engine, tag, b->cache_dir, out, NULL, e)) {
		engine_image_release(out);
		return false;
	}
	key = engine_image_label(out, CT_BUILD_KEY);
	if (key && !strcmp(key, b->key))
		return true;
	engine_image_release(out);
	return false;
}

/* Words as a Dockerfile's JSON form: ["/bin/sh","-c"]. */
static char *words_json(const struct cl_strv *words)
{
	json_t *j = json_array();
	char *text;

	for (size_t i = 0; i < words->n; i++)
		(void)json_array_append_new(j, json_string(words->v[i]));
	text = cl_json_text(j);
	json_decref(j);
	return text;
}

/* A commit takes the run's own command, user and folder: the base's are given back. */
static int commit(const struct build *b, const char *container, const char *tag, struct cl_err *e)
{
	const struct engine_image *base = b->base;
	cleanup_strv struct cl_strv args = CL_STRV_INIT;
	cleanup_free char *command = words_json(&base->command);

	cl_strv_add(&args, "commit");
	if (b->engine->kind == CT_PODMAN) {
		cl_strv_add(&args, "--quiet");
		cl_strv_add(&args, "--format=oci");
	}
	cl_strv_addf(&args, "--change=LABEL " CT_BUILD_BASE "=\"%s\"",
		*base->pinned ? base->pinned : base->requested);
	cl_strv_addf(&args, "--change=LABEL " CT_BUILD_KEY "=%s", b->key);
	cl_strv_addf(&args, "--change=CMD %s", command);
	cl_strv_addf(&args, "--change=USER %s", *base->user ? base->user : "root");
	cl_strv_addf(&args, "--change=WORKDIR %s", *base->workdir ? base->workdir : "/");
	cl_strv_add(&args, container);
	cl_strv_add(&args, tag);
	return engine_call(b->engine, "commit the setup's image", NULL, (const char *const *)args.v,
		BUILD_TIMEOUT_MS, NULL, e);
}

/* ---- running the steps ---- */

struct running {
	pid_t pid;
	int out, err; /* -1 when ended */
	struct cl_buf text, notes;
	int status;
	const char *ended; /* why we ended it, or NULL */
};

static void keep_tail(struct cl_buf *b, size_t max)
{
	if (b->len <= max)
		return;
	memmove(b->p, b->p + b->len - max, max);
	b->len = max;
	b->p[max] = '\0';
}

static void take(int *fd, struct cl_buf *into)
{
	ssize_t n = read(*fd, cl_buf_reserve(into, 16384), 16384);

	if (n > 0) {
		into->len += (size_t)n;
		into->p[into->len] = '\0';
		keep_tail(into, TAIL_MAX);
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		(void)close(*fd);
		*fd = -1;
	}
}

static bool below_floor(const struct build *b)
{
	struct statvfs v;

	return b->store && b->min_free_mb > 0 && !statvfs(b->store, &v) &&
	       (uint64_t)v.f_bavail * v.f_frsize >> 20 < (uint64_t)b->min_free_mb;
}

/* Whoever wants to be told blocks the signal; it takes effect when that is undone. */
static bool told_to_stop(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
		       sigismember(&pending, SIGHUP) == 1);
}

/* The engine ends it; what the engine does not see is ended by its cgroup. */
static void kill_build(const struct engine *en, const char *container)
{
	cleanup_cg struct cg c = CG_INIT;
	const char *handle = container + strlen("cloop-");
	struct cl_err e;

	if (!cg_open(&c, NULL, &e) && c.n)
		(void)cg_kill(&c, handle, 5000, &e);
	(void)engine_remove(en, container, &e);
	if (c.n)
		(void)cg_remove(&c, handle, &e);
}

static void watch(const struct build *b, struct running *r, const char *container, int64_t deadline)
{
	while (r->out >= 0 || r->err >= 0) {
		struct pollfd p[2] = {{r->out, POLLIN, 0}, {r->err, POLLIN, 0}};

		(void)poll(p, 2, TICK_MS);
		if (p[0].revents)
			take(&r->out, &r->text);
		if (p[1].revents)
			take(&r->err, &r->notes);
		if (!r->ended && sys_mono_ms() > deadline)
			r->ended = "it took too long";
		else if (!r->ended && below_floor(b))
			r->ended = "the engine's disk is nearly full";
		else if (!r->ended && told_to_stop())
			r->ended = "it was told to stop";
		else
			continue;
		kill_build(b->engine, container);
		(void)kill(r->pid, SIGKILL);
	}
}

/* Starts the client with its output in *r. A pipe without a writer is its input: runsc
   changes the owner of whatever it gets. */
static int start(
	const struct build *b, const struct cl_strv *argv, struct running *r, struct cl_err *e)
{
	struct sys_spawn s = SYS_SPAWN_INIT;
	int in[2], out[2], err[2], rc;

	if (pipe2(in, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	if (pipe2(out, O_CLOEXEC)) {
		(void)close(in[0]);
		(void)close(in[1]);
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	}
	if (pipe2(err, O_CLOEXEC)) {
		for (int i = 0; i < 2; i++) {
			(void)close(in[i]);
			(void)close(out[i]);
		}
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	}
	(void)close(in[1]);
	s.path = b->engine->path;
	s.argv = argv->v;
	s.envp = b->engine->env.v;
	s.cwd = ENGINE_CWD;
	s.in = in[0];
	s.out = out[1];
	s.err = err[1];
	s.die_with_parent = true;
	rc = sys_spawn(&s, &r->pid, e);
	(void)close(in[0]);
	(void)close(out[1]);
	(void)close(err[1]);
	r->out = out[0];
	r->err = err[0];
	return rc;
}

static int build_argv(const struct build *b, const char *container, const char *cgroup,
	int64_t left_ms, struct cl_strv *out, struct cl_err *e)
{
	struct ct_request r = *b->request;
	cleanup_free const char **argv = cl_calloc(b->nsteps + 5, sizeof(*argv));

	for (size_t i = 0; i < r.nmounts; i++)
		if (!r.mounts[i].read_only)
			return cl_fail(e, CL_EBUG, "a setup build gets nothing to write to");
	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = script;
	argv[3] = "cloop-setup";
	for (size_t i = 0; i < b->nsteps; i++)
		argv[4 + i] = b->steps[i];
	r.mode = CT_ATTACHED;
	r.name = container;
	r.cidfile = r.pidfile = r.conmon_pidfile = NULL;
	r.preserve_fds = 0;
	r.cgroup_parent = b->request->cgroup_parent ? cgroup : NULL;
	r.uid = r.gid = 0;
	r.ngroups = 0;
	r.allow_root = r.writable_root = true;
	r.caps = caps;
	r.workspace = r.tmp_dir = NULL;
	r.labels = NULL;
	r.env = NULL;
	r.nlabels = r.nenv = r.ninit_args = 0;
	r.timeout_s = left_ms / 1000 + 60;
	r.image = b->base->id;
	r.argv = argv;
	r.nargv = b->nsteps + 4;
	return ct_argv(&r, out, e);
}

/* The last lines of the output, and which step was on. */
static void take_failure(struct build *b, const struct running *r)
{
	const char *p = r->text.p + r->text.len, *mark = r->notes.p;
	int lines = 0;

	if (p > r->text.p && p[-1] == '\n')
		p--;
	while (p > r->text.p && (p[-1] != '\n' || ++lines < BUILD_TAIL_LINES))
		p--;
	cl_buf_add(&b->tail, p, (size_t)(r->text.p + r->text.len - p));
	while ((mark = strstr(mark, "cloop-step "))) {
		mark += strlen("cloop-step ");
		b->step = strtoul(mark, NULL, 10);
	}
	if (b->step > b->nsteps)
		b->step = b->nsteps;
}

static int failed(struct build *b, const struct running *r, struct cl_err *e)
{
	take_failure(b, r);
	if (!b->step && !r->ended) {
		(void)ct_classify(b->engine->kind, "run the setup steps", r->status, r->notes.p,
			b->base->requested, e);
		return -1;
	}
	if (r->ended)
		(void)cl_fail(e, CL_EREFUSED, "setup was ended in step %zu of %zu: %s", b->step,
			b->nsteps, r->ended);
	else
		(void)cl_fail(e, CL_EREFUSED, "setup step %zu of %zu failed with status %d: %.300s",
			b->step, b->nsteps, r->status, b->steps[b->step - 1]);
	cl_constraint(e, "setup");
	cl_slug(e, "sandbox_setup_failed");
	return cl_fix(e, "correct the command under setup: in .cloop/sandbox.yaml; it runs as root "
			 "in the image with "
			 "the run's own network and without the project's files");
}

/* Made beforehand: another workload's end may take away an empty parent meanwhile. */
static int make_cgroup(const struct build *b, const char *container, struct cl_err *e)
{
	cleanup_cg struct cg c = CG_INIT;

	if (!b->request->cgroup_parent)
		return 0;
	if (cg_open(&c, NULL, e))
		return -1;
	return c.n ? cg_create(&c, container + strlen("cloop-"), e) : 0;
}

static int run_steps(struct build *b, const char *container, int64_t deadline, struct cl_err *e)
{
	struct running r = {.out = -1, .err = -1, .text = CL_BUF_INIT, .notes = CL_BUF_INIT};
	cleanup_free char *cgroup = cl_asprintf("/cloop/%s", container + strlen("cloop-"));
	cleanup_strv struct cl_strv argv = CL_STRV_INIT;
	int rc = -1;

	if (!build_argv(b, container, cgroup, deadline - sys_mono_ms(), &argv, e) &&
		!make_cgroup(b, container, e) && !start(b, &argv, &r, e)) {
		watch(b, &r, container, deadline);
		rc = sys_wait(r.pid, &r.status, e);
		if (!rc && (r.status || r.ended))
			rc = failed(b, &r, e);
	}
	if (r.out >= 0)
		(void)close(r.out);
	if (r.err >= 0)
		(void)close(r.err);
	cl_buf_release(&r.text);
	cl_buf_release(&r.notes);
	return rc;
}

/* With the lock held. What a killed build left goes first: nobody else can be at it. */
static int make_image(struct build *b, const char *container, const char *tag, int64_t deadline,
	struct engine_image *out, struct cl_err *e)
{
	const char *const rmi[] = {"image", "rm", "--force", tag, NULL};
	struct cl_err ignored;
	int rc;

	if (engine_remove(b->engine, container, e))
		return -1;
	rc = run_steps(b, container, deadline, e);
	if (!rc)
		rc = commit(b, container, tag, e);
	/* After an orderly end the engine's own clean-up may still be at work: let it finish. */
	if (!rc)
		(void)engine_remove(b->engine, container, &ignored);
	kill_build(b->engine, container);
	if (!rc)
		rc = engine_image_inspect(b->engine, tag, out, e);
	if (rc)
		(void)engine_call(
			b->engine, "remove an image", NULL, rmi, ENGINE_WORK_MS, NULL, &ignored);
	return rc;
}

int build_image(struct build *b, struct engine_image *out, struct cl_err *e)
{
	int64_t deadline = sys_mono_ms() + (b->timeout_ms ? b->timeout_ms : BUILD_TIMEOUT_MS);
	cleanup_free char *tag = NULL, *container = NULL, *path = NULL;
	cleanup_fd int lock = -1;
	int rc;

	ct_build_key(b->base->id, b->base->pinned, b->steps, b->nsteps, b->key);
	tag = cl_asprintf(CT_BUILD_TAG "%s", b->key);
	container = cl_asprintf(CT_BUILD_PREFIX "%s", b->key);
	b->reused = find_built(b, tag, out, e);
	if (b->reused)
		return 0;
	path = build_lock_path(b->lock_dir, b->key);
	lock = take_lock(b, path, deadline, e);
	if (lock < 0)
		return -1;
	b->reused = find_built(b, tag, out, e);
	rc = b->reused ? 0 : make_image(b, container, tag, deadline, out, e);
	(void)unlink(path);
	return rc;
}

bool build_collect(const struct engine *en, const char *container, const char *lock_dir)
{
	cleanup_free char *path = NULL;
	cleanup_fd int lock = -1;

	if (!cl_starts(container, CT_BUILD_PREFIX) || !ct_name_ok(container))
		return false;
	/* A killed build leaves its lock. Without one it is none of ours: others may have
	   theirs elsewhere. */
	path = build_lock_path(lock_dir, container + strlen(CT_BUILD_PREFIX));
	lock = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) || !build_lock_is(lock, path))
		return false;
	kill_build(en, container);
	(void)unlink(path);
	return true;
}
