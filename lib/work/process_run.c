/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the shim of a process does: start it, find it again, signal it, leave nothing of it. */
#include "work/process_internal.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/cli.h"
#include "sys/clock.h"
#include "sys/kin.h"
#include "sys/path.h"
#include "sys/proc.h"
#include "work/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define KILL_MS 5000 /* how long a kill may take before it is tried again */

static int limit(struct process *p, struct cl_err *e)
{
	const int64_t *v = p->ask->spec->limits.v;

	if (v[SB_MEMORY] > 0 && (cg_set_memory(&p->cg, p->handle, v[SB_MEMORY] << 20, e) ||
					cg_oom_watch(&p->cg, p->handle, &p->oom, e)))
		return -1;
	if (v[SB_PIDS] > 0 && cg_set_pids(&p->cg, p->handle, v[SB_PIDS], e))
		return -1;
	return v[SB_CPU] > 0 ? cg_set_cpu(&p->cg, p->handle, v[SB_CPU], e) : 0;
}

static int make_cgroup(struct process *p, struct cl_err *e)
{
	if (!p->has_cg)
		return 0;
	return cg_create(&p->cg, p->handle, e) || limit(p, e) ? -1 : 0;
}

static void account_env(uid_t uid, struct cl_strv *env)
{
	struct passwd pw, *found = NULL;
	char buf[4096];

	cl_strv_add(env, "PATH=" SYS_PATH);
	cl_strv_add(env, "LANG=C.UTF-8");
	if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found) || !found) {
		cl_strv_add(env, "HOME=/");
		return;
	}
	cl_strv_addf(env, "HOME=%s", found->pw_dir);
	cl_strv_addf(env, "USER=%s", found->pw_name);
	cl_strv_addf(env, "LOGNAME=%s", found->pw_name);
}

/* Closed: what the spec says, and what any process needs. The workspace has no other name here. */
static void make_env(const struct process *p, struct cl_strv *env)
{
	const struct work_spec *s = p->ask->spec;

	if (p->ask->as_owner)
		account_env(p->as.st_uid, env);
	else
		work_engine_env(env);
	for (size_t i = 0; i < s->env.n; i++)
		if (strncmp(s->env.v[i], "CLOOP_WORKSPACE=", strlen("CLOOP_WORKSPACE=")) != 0)
			cl_strv_add(env, s->env.v[i]);
	cl_strv_addf(env, "CLOOP_WORKSPACE=%s", p->project);
	cl_strv_add(env, p->mark);
}

static void make_argv(const struct process *p, struct cl_strv *argv)
{
	static const char *const head[] = {"cloop-init", "--status-fd", "6", "--go-fd", "7", "--"};
	char *const *v = p->ask->argv ? p->ask->argv : p->ask->spec->argv.v;

	for (size_t i = 0; i < CL_ARRAY_LEN(head); i++)
		cl_strv_add(argv, head[i]);
	for (; *v; v++)
		cl_strv_add(argv, *v);
}

/*
 * cloop-init by descriptor, above those that are passed: the account it is to run as may have
 * no way into the folder that it is in.
 */
static int open_init(int *fd, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling("cloop-init");
	cleanup_fd int low = open(path, O_RDONLY | O_CLOEXEC);

	*fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, 64);
	if (*fd >= 0)
		return 0;
	(void)cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot open '%s'", path);
	return cl_fix(e, "install cloop whole");
}

static int spawn(struct process *p, const struct shim_io *io, int go, pid_t *pid, struct cl_err *e)
{
	const struct sys_pass pass[] = {{io->exit, 6}, {go, 7}};
	cleanup_strv struct cl_strv env = CL_STRV_INIT, argv = CL_STRV_INIT;
	struct sys_spawn s = SYS_SPAWN_INIT;
	cleanup_fd int init = -1;
	char path[40], cwd[40];

	if (open_init(&init, e))
		return -1;
	make_env(p, &env);
	make_argv(p, &argv);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", init);
	/* The folder that was judged, whatever its name leads to by now. */
	(void)snprintf(cwd, sizeof(cwd), "/proc/self/fd/%d", p->project_fd);
	s.path = path;
	s.argv = argv.v;
	s.envp = env.v;
	s.in = io->in;
	s.out = io->out;
	s.err = io->err;
	s.pass = pass;
	s.npass = CL_ARRAY_LEN(pass);
	s.cwd = cwd;
	s.new_session = true;
	if (p->ask->as_owner && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return cl_fail_sys(e, CL_EOS, errno, "cannot give up privileges");
	if (p->ask->as_owner && !geteuid())
		s.as = &p->as;
	return sys_spawn(&s, pid, e);
}

/* "PID START BOOT": all that tells it from a later process with its pid. */
static int note_identity(const struct rundir *rd, pid_t pid, uint64_t start, struct cl_err *e)
{
	cleanup_free char *text = NULL;
	char boot[SYS_BOOT_ID_SIZE];
	cleanup_fd int fd = -1;

	if (sys_boot_id(boot, e))
		return -1;
	text = cl_asprintf("%d %llu %s\n", (int)pid, (unsigned long long)start, boot);
	fd = open(rd->pid, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return cl_fail_sys(e, CL_EOS, errno, "cannot write '%s'", rd->pid);
	return 0;
}

static int launch(void *arg, struct shim *s, const struct shim_io *io, struct shim_started *out,
	struct cl_err *e)
{
	cleanup_fd int hold = -1, go = -1;
	struct process *p = arg;
	int fds[2], rc;
	pid_t pid = 0;

	p->supervisor = getpid();
	if (make_cgroup(p, e))
		return -1;
	if (pipe2(fds, O_CLOEXEC))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a pipe");
	hold = fds[0];
	go = fds[1];
	rc = spawn(p, io, hold, &pid, e);
	if (rc)
		return -1;
	out->monitor = out->init = pid;
	(void)snprintf(out->external_id, sizeof(out->external_id), "%d", (int)pid);
	/* It waits: whoever comes after us finds it, or it never ran. */
	if (sys_proc_start(pid, &out->init_start, e) ||
		note_identity(shim_rundir(s), pid, out->init_start, e) ||
		(p->has_cg && cg_join(&p->cg, p->handle, pid, e)))
		return -1;
	return write(go, "g", 1) == 1
		       ? 0
		       : cl_fail_sys(e, CL_EOS, errno, "the workload's first process went away");
}

/* False when nothing was written down: then nothing of it ever ran. */
static bool read_identity(const struct rundir *rd, struct shim_started *out)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_strv struct cl_strv words = CL_STRV_INIT;
	struct cl_err e;
	uint64_t pid;

	if (sys_read_small(AT_FDCWD, rd->pid, 200, &text, &e))
		return false;
	text.p[strcspn(text.p, "\n")] = '\0';
	cl_split(text.p, ' ', &words);
	if (words.n != 3 || cl_parse_u64(words.v[0], 1, 4194304, "pid", &pid, &e) ||
		cl_parse_u64(words.v[1], 0, UINT64_MAX, "start time", &out->init_start, &e))
		return false;
	out->init = (pid_t)pid;
	return sys_same_process(out->init, out->init_start, words.v[2]);
}

static int adopt(void *arg, struct shim *s, struct shim_started *out, struct cl_err *e)
{
	struct process *p = arg;

	memset(out, 0, sizeof(*out));
	if (!read_identity(shim_rundir(s), out))
		out->init = 0;
	if (p->has_cg && !p->cg.n && cg_open(&p->cg, NULL, e))
		return -1;
	if (out->init && p->has_cg) {
		struct cl_err ignored;

		(void)cg_oom_watch(&p->cg, p->handle, &p->oom, &ignored);
	}
	return 0;
}

/* Whoever adopts without a runtime folder to adopt from comes here first. */
static int kill_all(struct process *p, struct cl_err *e)
{
	if (p->has_cg && !p->cg.n && cg_open(&p->cg, NULL, e))
		return -1;
	return p->has_cg ? cg_kill(&p->cg, p->handle, KILL_MS, e)
			 : sys_kin_kill(p->mark, p->supervisor, KILL_MS, e);
}

static int send_signal(void *arg, struct shim *s, int sig, struct cl_err *e)
{
	struct process *p = arg;
	int rc;

	if (sig != SIGKILL)
		return shim_signal_init(s, sig, e);
	rc = kill_all(p, e);
	/* Its first process may be all that is left, and hide its environment from us. */
	return shim_signal_init(s, SIGKILL, e) || rc ? -1 : 0;
}

static bool out_of_memory(void *arg)
{
	struct process *p = arg;
	struct cl_err e;
	bool oom = false;

	return p->oom.fd >= 0 && !cg_oom_take(&p->oom, &oom, &e) && oom;
}

static int memory_fd(void *arg)
{
	return ((struct process *)arg)->oom.fd;
}

static void collect(void *arg, struct shim *s)
{
	struct process *p = arg;
	struct cl_err e;

	if (kill_all(p, &e))
		shim_note(s, "collect", "%s", e.msg);
	cg_oom_release(&p->oom);
	if (p->has_cg && cg_remove(&p->cg, p->handle, &e))
		shim_note(s, "collect", "cgroup: %s", e.msg);
}

const struct shim_driver process_driver = {
	.name = "process",
	.launch = launch,
	.adopt = adopt,
	.signal = send_signal,
	.out_of_memory = out_of_memory,
	.memory_fd = memory_fd,
	.collect = collect,
};
