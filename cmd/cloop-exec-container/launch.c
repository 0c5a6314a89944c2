/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the shim of a container workload does: start it, signal it, leave nothing of it. */
#include "job.h"
#include "engine_verbs.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/place/runtime_name.h"
#include "cli/cli.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY_SLACK 1  /* MB above the limit of the parent, which is to be met first (C10) */
#define BACKSTOP_S   60 /* the engine's own timeout behind our deadline (C16) */

/* The limit sits on the parent cgroup, where its notice fires, before anything starts. */
static int make_cgroup(struct job *j, struct cl_err *e)
{
	int64_t mb = j->spec->limits.v[SB_MEMORY];

	if (j->engine.rootless || cg_open(&j->cg, NULL, e) || !j->cg.n)
		return j->engine.rootless || !j->cg.n ? 0 : -1;
	if (cg_create(&j->cg, j->handle, e))
		return -1;
	j->has_cg = true;
	if (!mb)
		return 0;
	if (cg_set_memory(&j->cg, j->handle, mb << 20, e))
		return -1;
	return cg_oom_watch(&j->cg, j->handle, &j->oom, e);
}

struct labels {
	struct ct_label v[40];
	size_t n;
	struct cl_strv owned;
};

static void label(struct labels *l, const char *key, const char *value)
{
	cleanup_free char *clean = ct_label_value(value);

	if (l->n == CL_ARRAY_LEN(l->v) || !*value)
		return;
	cl_strv_add(&l->owned, key);
	cl_strv_add(&l->owned, clean);
	l->v[l->n].key = l->owned.v[l->owned.n - 2];
	l->v[l->n++].value = l->owned.v[l->owned.n - 1];
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct ct_label *)a)->key, ((const struct ct_label *)b)->key);
}

static void make_labels(const struct job *j, const struct job_stage *st, struct labels *l)
{
	const struct work_spec *s = j->spec;
	char disk[24];
	const char *key;
	json_t *v;

	(void)snprintf(disk, sizeof(disk), "%lld", (long long)s->limits.v[SB_DISK]);
	label(l, CT_LABEL_MANAGED, "true");
	label(l, CT_LABEL_EXECUTOR, s->executor->id);
	label(l, CT_LABEL_HANDLE, j->handle);
	label(l, CT_LABEL_PROJECT, j->project);
	label(l, CT_LABEL_HUB, s->hub);
	label(l, CT_LABEL_SANDBOX, s->spec_sha256);
	label(l, CT_LABEL_SCOPE, sb_egress_name(s->scope));
	if (s->limits.v[SB_DISK])
		label(l, CT_LABEL_DISK, disk);
	if (st->device_names)
		label(l, CT_LABEL_DEVICES, st->device_names);
	if (j->interfaces)
		label(l, CT_LABEL_INTERFACES, j->interfaces);
	json_object_foreach (s->labels, key, v) {
		cleanup_free char *k = ct_label_spec_key(key);

		label(l, k, json_string_value(v));
	}
	qsort(l->v, l->n, sizeof(l->v[0]), by_key);
}

/* gVisor's runsc knows no --preserve-fds. */
static bool passes_descriptors(const struct job *j)
{
	return j->engine.kind == CT_PODMAN && !rn_userspace_kernel(j->spec->executor->oci_runtime);
}

static int build_argv(struct job *j, const struct rundir *rd, const struct job_stage *st,
	enum ct_net net, const char *network, struct cl_strv *argv, struct cl_err *e)
{
	static const char *const fds_init[] = {"--env", CT_ENV_FILE, "--stdin-fd", "3",
		"--stdout-fd", "4", "--stderr-fd", "5", "--status-fd", "6"};
	static const char *const plain_init[] = {"--env", CT_ENV_FILE, "--go", CT_GO_FILE};
	static const char *const raw_caps[] = {"NET_RAW", NULL};
	const struct work_spec *s = j->spec;
	const struct cfg_executor *x = s->executor;
	bool podman = j->engine.kind == CT_PODMAN, fds = passes_descriptors(j);
	cleanup_free char *parent = cl_asprintf("%s/%s", CG_PARENT, j->handle), *profile = NULL;
	struct labels labels = {.owned = CL_STRV_INIT};
	struct ct_request r = {.engine = j->engine.kind,
		.rootless = j->engine.rootless,
		.mode = podman ? CT_DETACHED : CT_ATTACHED,
		.oci_runtime = *x->oci_runtime ? x->oci_runtime : NULL,
		.name = j->name,
		.cidfile = rd->cid,
		.pidfile = podman ? rd->pid : NULL,
		.conmon_pidfile = podman ? rd->conmon_pid : NULL,
		.preserve_fds = fds ? 4 : 0,
		.cgroup_parent = j->has_cg ? parent : NULL,
		.uid = j->uid,
		.gid = j->gid,
		.allow_root = x->allow_root_user,
		.caps = j->raw ? raw_caps : NULL,
		.net = net,
		.network = network,
		.own_names = true,
		.hostname = j->name,
		.cpu_milli = s->limits.v[SB_CPU],
		.memory_mb = s->limits.v[SB_MEMORY],
		.memory_slack_mb = j->has_cg ? MEMORY_SLACK : 0,
		.pids = s->limits.v[SB_PIDS],
		.timeout_s = s->timeout_ms ? s->timeout_ms / 1000 + BACKSTOP_S : 0,
		.workspace = st->workspace,
		.workspace_label = x->selinux_label,
		.init_dir = st->init_dir,
		.mounts = st->mounts,
		.nmounts = st->nmounts,
		.devices = st->devices,
		.ndevices = st->ndevices,
		.groups = st->groups,
		.ngroups = st->ngroups,
		.extra_args = (const char *const *)x->extra_args.v,
		.nextra = x->extra_args.n,
		.image = j->image,
		.init_args = fds ? fds_init : plain_init,
		.ninit_args = fds         ? CL_ARRAY_LEN(fds_init)
			      : j->go < 0 ? 2
					  : 4,
		.argv = (const char *const *)s->argv.v,
		.nargv = s->argv.n};
	int rc;

	engine_hard_limits(&r.hard_nofile, &r.hard_nproc);
	make_labels(j, st, &labels);
	r.labels = labels.v;
	r.nlabels = labels.n;
	r.seccomp = profile = exec_seccomp(x, j->raw, e);
	if (!profile && x->seccomp != CFG_SECCOMP_ENGINE) {
		cl_strv_release(&labels.owned);
		return -1;
	}
	rc = ct_argv(&r, argv, e);
	cl_strv_release(&labels.owned);
	return rc;
}

/*
 * podman: the client's own streams are a pipe of ours, so that none of its words mix with
 * the workload's, which are descriptors 3 to 6 (DECISIONS C6).
 */
static int spawn_podman(struct job *j, const struct cl_strv *argv, const struct shim_io *io,
	struct sys_run *r, struct cl_err *e)
{
	const struct sys_pass pass[] = {{io->in, 3}, {io->out, 4}, {io->err, 5}, {io->exit, 6}};

	r->spawn.path = j->engine.path;
	r->spawn.argv = argv->v;
	r->spawn.envp = j->engine.env.v;
	r->spawn.cwd = ENGINE_CWD;
	r->spawn.pass = pass;
	r->spawn.npass = 4;
	r->input = ""; /* a pipe that is closed, never /dev/null: gVisor would chown that */
	r->timeout_ms = JOB_START_MS;
	r->keep_tail = true;
	r->max_output = 65536;
	return sys_run(r, e);
}

/* The client's streams are the workload's; its words are told apart by its failing. */
static int spawn_podman_plain(struct job *j, const struct rundir *rd, const struct cl_strv *argv,
	const struct shim_io *io, struct sys_run *r, struct cl_err *e)
{
	struct sys_spawn s = SYS_SPAWN_INIT;
	int64_t until = sys_mono_ms() + JOB_START_MS;
	char words[4096];
	pid_t pid;

	s.path = j->engine.path;
	s.argv = argv->v;
	s.envp = j->engine.env.v;
	s.cwd = ENGINE_CWD;
	s.in = io->in;
	s.out = io->out;
	s.err = io->err;
	if (sys_spawn(&s, &pid, e))
		return -1;
	while (!job_child_ended(pid, &r->status)) {
		if (sys_mono_ms() >= until)
			(void)kill(pid, SIGKILL);
		sys_sleep_ms(5);
	}
	(void)waitpid(pid, NULL, 0);
	if (r->status) {
		job_peek(rd->err, words, sizeof(words));
		cl_buf_adds(&r->err, words);
	}
	return 0;
}

static int start_podman(struct job *j, const struct rundir *rd, const struct cl_strv *argv,
	const struct shim_io *io, struct shim_started *out, struct cl_err *e)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	pid_t conmon;

	if (passes_descriptors(j) ? spawn_podman(j, argv, io, &r, e)
				  : spawn_podman_plain(j, rd, argv, io, &r, e))
		return -1;
	if (r.status) {
		(void)ct_classify(CT_PODMAN, "start the sandbox", r.status, r.err.p ? r.err.p : "",
			j->image, e);
		return -1;
	}
	conmon = rundir_read_pid(rd->conmon_pid);
	out->init = rundir_read_pid(rd->pid);
	/* A workload that has ended by now has left its monitor to be reaped all the same. */
	out->monitor = conmon;
	if (conmon && j->has_cg && j->spec->limits.v[SB_MEMORY]) {
		struct cl_err ignored;

		(void)cg_lend_memory(&j->cg, conmon, &ignored);
	}
	return 0;
}

static void read_cid(const struct rundir *rd, struct shim_started *out)
{
	int fd = open(rd->cid, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? 0 : read(fd, out->external_id, sizeof(out->external_id) - 1);

	out->external_id[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		(void)close(fd);
}

static int launch(void *arg, struct shim *s, const struct shim_io *io, struct shim_started *out,
	struct cl_err *e)
{
	const struct rundir *rd = shim_rundir(s);
	cleanup_strv struct cl_strv argv = CL_STRV_INIT;
	struct job_stage st = {0};
	struct job *j = arg;
	const char *network;
	enum ct_net net;
	int rc;

	job_name_interfaces(j, s);
	/* The network first: its namespace must be seen outside our own mount namespace. */
	rc = make_cgroup(j, e) || job_make_network(j, &net, &network, e) ||
	     job_lend_interfaces(j, s, e) || job_note_filter(j, &shim_job(s)->row, e) ||
	     job_stage(j, rd, shim_lease_dir(s), shim_lent_repos(s), &st, e) ||
	     job_stage_devices(j, rd, shim_lent_devices(s), &st, e) || job_make_tuns(j, s, e) ||
	     job_hold_back(j, &st, e) || build_argv(j, rd, &st, net, network, &argv, e);
	if (!rc)
		rc = j->engine.kind == CT_PODMAN ? start_podman(j, rd, &argv, io, out, e)
						 : job_start_docker(j, rd, &argv, io, out, e);
	if (j->net_lock >= 0)
		(void)close(cl_steal_fd(&j->net_lock));
	rc = rc || job_let_start(j, s, &st, out->init, e);
	if (j->go >= 0)
		(void)close(cl_steal_fd(&j->go)); /* whoever waits for it sees us end */
	j->init = rc ? 0 : out->init;
	if (!rc) {
		read_cid(rd, out);
		job_note_addresses(j, out);
	}
	job_stage_release(&st);
	return rc ? -1 : 0;
}

/* The init process of an earlier shim's workload, if it is still in its cgroup. */
static int adopt(void *arg, struct shim *s, struct shim_started *out, struct cl_err *e)
{
	pid_t want = rundir_read_pid(shim_rundir(s)->pid);
	cleanup_free pid_t *pids = NULL;
	struct job *j = arg;
	size_t n = 0;

	memset(out, 0, sizeof(*out));
	if (cg_open(&j->cg, NULL, e))
		return -1;
	j->has_cg = j->cg.n > 0;
	if (j->has_cg && cg_pids(&j->cg, j->handle, &pids, &n, e))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (want && pids[i] == want)
			j->init = out->init = want;
	if (out->init) {
		struct cl_err ignored;

		(void)cg_oom_watch(&j->cg, j->handle, &j->oom, &ignored);
	}
	if (j->engine.kind == CT_DOCKER)
		return job_adopt_docker(j, shim_rundir(s), out, e);
	return j->plain && out->init ? job_follow(j, shim_rundir(s), out, e) : 0;
}

static int send_signal(void *arg, struct shim *s, int sig, struct cl_err *e)
{
	struct job *j = arg;

	/* The kernel ends the whole pid namespace with its first process. */
	if (j->engine.kind == CT_PODMAN || j->init)
		return shim_signal_init(s, sig, e);
	return engine_signal(&j->engine, j->name,
		sig == SIGKILL   ? "KILL"
		: sig == SIGTERM ? "TERM"
				 : "INT",
		e);
}

static bool out_of_memory(void *arg)
{
	struct job *j = arg;
	struct cl_err e;
	bool oom = false;

	return j->oom.fd >= 0 && !cg_oom_take(&j->oom, &oom, &e) && oom;
}

static int memory_fd(void *arg)
{
	return ((struct job *)arg)->oom.fd;
}

/* True while a process of the workload's cgroup lives. */
static bool populated(const struct job *j)
{
	cleanup_free pid_t *pids = NULL;
	struct cl_err e;
	size_t n = 0;

	return j->has_cg && !cg_pids(&j->cg, j->handle, &pids, &n, &e) && n;
}

/*
 * The order matters: killing the monitor together with the workload leaves the engine's
 * records in a state that its first removal refuses. So the monitor gets a moment to
 * clean up by itself first.
 */
static void collect(void *arg, struct shim *s)
{
	struct job *j = arg;
	bool orderly = !populated(j);
	struct cl_err e;

	if (!orderly) {
		(void)send_signal(j, s, SIGKILL, &e);
		for (int i = 0; i < 60 && populated(j); i++)
			sys_sleep_ms(50);
	}
	if (j->has_cg && populated(j) && cg_kill(&j->cg, j->handle, 5000, &e))
		shim_note(s, "collect", "%s", e.msg);
	/* Also after an orderly end: the engine's cleaning up can fail without a word (its status
	 * is the workload's), and by now nobody waits for us. */
	if (engine_remove(&j->engine, j->name, &e))
		shim_note(s, "collect", "container %s: %s", j->name, e.msg);
	if (job_drop_network(j, &e))
		shim_note(s, "collect", "network: %s", e.msg);
	cg_oom_release(&j->oom);
	if (j->has_cg && cg_remove(&j->cg, j->handle, &e))
		shim_note(s, "collect", "cgroup: %s", e.msg);
}

const struct shim_driver job_driver = {
	.name = "container",
	.launch = launch,
	.adopt = adopt,
	.signal = send_signal,
	.out_of_memory = out_of_memory,
	.memory_fd = memory_fd,
	.moves_interfaces = job_moves_interfaces,
	.makes_tun = job_makes_tun,
	.collect = collect,
};
