/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DECISIONS C7: every path that the engine binds is opened first, by descriptor, and put
 * on a root-only tmpfs in a mount namespace of the shim's own. The engine binds from
 * there, so nothing can be swapped between the check and the use, and with the last
 * process of the namespace all of it is gone. For docker's daemon it is the caller's
 * namespace, and the runtime folder's removal unmounts it.
 */
#include "job.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "sys/path.h"
#include "sys/repos.h"
#include "sys/specfile.h"
#include "work/lease/delivery.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/*
 * A descriptor keeps the mount it was opened on, which is now another namespace's and
 * cannot be bound here: the project is opened again, without links, and must be the same.
 */
static int reopen_project(struct job *j, struct cl_err *e)
{
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), again = -1;
	struct stat was, is;

	if (root < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '/'");
	again = sys_open_nolinks(root, j->project + 1, O_PATH | O_DIRECTORY, e);
	if (again < 0)
		return cl_wrap(e, "project '%s'", j->project);
	if (fstat(j->project_fd, &was) || fstat(again, &is) || was.st_dev != is.st_dev ||
		was.st_ino != is.st_ino) {
		(void)cl_fail(e, CL_EREFUSED,
			"project '%s' was replaced while its sandbox was made", j->project);
		(void)cl_constraint(e, "project");
		return cl_fix(e, "look at the directory, then run again");
	}
	(void)close(j->project_fd);
	j->project_fd = cl_steal_fd(&again);
	return 0;
}

static int make_stage(struct job *j, const struct rundir *rd, struct cl_err *e)
{
	/* Without root there is no namespace to be had, and nobody to be guarded against: what
	 * could swap a path is the caller's own account. */
	if (j->engine.rootless)
		return 0;
	/* A daemon binds what it sees itself, so for docker it stays the caller's namespace. */
	if (j->engine.kind == CT_PODMAN) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
			return cl_fail_sys(e, CL_EOS, errno, "cannot make a mount namespace");
		j->mounts_made = true;
		if (reopen_project(j, e))
			return -1;
	}
	if (mount("cloop", rd->stage, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=32m"))
		return cl_fail_sys(
			e, CL_EOS, errno, "cannot mount a staging area at '%s'", rd->stage);
	return 0;
}

/* What fd's tree is mounted on: a directory or a file, as it is itself. */
static int make_spot(int fd, const char *path)
{
	struct stat st;
	int spot;

	if (fstat(fd, &st))
		return -1;
	if (S_ISDIR(st.st_mode))
		return mkdir(path, 0755);
	spot = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (spot < 0)
		return -1;
	return close(spot);
}

/* The path of an open descriptor; owned. */
static char *real_path(int fd, struct cl_err *e)
{
	char link[40], path[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n > 0)
		return cl_strndup(path, (size_t)n);
	(void)cl_fail_sys(e, CL_EOS, errno, "cannot read '%s'", link);
	return NULL;
}

/*
 * A copy of what is mounted at fd that follows the original but never acts on it: a later
 * unmount of the stage would otherwise unmount, below a shared mount, the original's own.
 */
static int copy_tree(int fd, unsigned deep)
{
	struct mount_attr slave = {.propagation = MS_SLAVE};
	cleanup_fd int tree = (int)syscall(
		SYS_open_tree, fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | deep);

	if (tree < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &slave,
				sizeof(slave)))
		return -1;
	return cl_steal_fd(&tree);
}

/*
 * Binds what fd refers to on stage/<name>; the path is owned, NULL on failure. deep: AT_RECURSIVE, with
 * what is mounted below it, or 0.
 */
static char *bind_fd(const struct job *j, const struct rundir *rd, int fd, const char *name,
	unsigned deep, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("%s/%s", rd->stage, name);
	cleanup_fd int tree = -1;

	if (geteuid())
		return real_path(fd, e);
	tree = j->mounts_made ? (int)syscall(SYS_open_tree, fd, "",
					OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | deep)
			      : copy_tree(fd, deep);
	if (tree >= 0 && !make_spot(fd, path) &&
		!syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH))
		return cl_steal(&path);
	(void)cl_fail_sys(e, CL_EOS, errno, "cannot stage '%s'", name);
	return NULL;
}

/* A small file of ours at stage/<dir>/<name>. */
static int put_file(const char *dir, const char *name, const struct cl_buf *text, mode_t mode,
	const struct job *j, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("%s/%s", dir, name);
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text->p, text->len) != (ssize_t)text->len ||
		fchown(fd, j->uid, j->gid) || fchmod(fd, mode))
		return cl_fail_sys(e, CL_EOS, errno, "cannot stage '%s'", name);
	return 0;
}

/* The static init, copied: a bind of the installed file would show where that is. */
static int put_init(const char *dir, struct cl_err *e)
{
	cleanup_free char *from = cl_sibling("cloop-init"), *to = cl_asprintf("%s/init", dir);
	cleanup_fd int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
	struct stat st;
	off_t at = 0;

	if (in < 0 || fstat(in, &st)) {
		(void)cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot open '%s'", from);
		return cl_fix(e, "build it with 'make', or install cloop whole");
	}
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	while (out >= 0 && at < st.st_size) {
		ssize_t n = copy_file_range(in, &at, out, NULL, (size_t)(st.st_size - at), 0);
		char buf[65536];

		if (n > 0)
			continue;
		n = pread(in, buf, sizeof(buf), at);
		if (n <= 0 || write(out, buf, (size_t)n) != n)
			return cl_fail_sys(e, CL_EOS, errno, "cannot stage the init");
		at += n;
	}
	if (out < 0 || fchmod(out, 0755))
		return cl_fail_sys(e, CL_EOS, errno, "cannot stage the init");
	return 0;
}

/*
 * DECISIONS C5: every variable travels in this file and is set by the init; the engine's
 * database, configuration and inspect never hold one.
 */
static int put_env(
	const char *dir, const struct rundir *rd, const struct job *j, bool lent, struct cl_err *e)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	bool home = false;

	for (size_t i = 0; i < j->spec->env.n; i++) {
		home = home || !strncmp(j->spec->env.v[i], "HOME=", 5);
		cl_buf_add(&b, j->spec->env.v[i], strlen(j->spec->env.v[i]) + 1);
	}
	cl_buf_addf(&b, "CLOOP_HANDLE=%s", j->handle);
	cl_buf_addc(&b, '\0');
	/* The root file system is read-only: the one place that any user may write is /tmp. */
	if (lent && !home)
		return delivery_env_add(rd, b.p, b.len, "HOME=/tmp", e);
	if (!home)
		cl_buf_add(&b, "HOME=/tmp", sizeof("HOME=/tmp"));
	return put_file(dir, "env", &b, 0400, j, e);
}

/* DECISIONS C11: names are ours; no resolver is shown that the filter would refuse. */
static int put_names(const char *dir, const struct job *j, struct cl_err *e)
{
	cleanup_buf struct cl_buf hosts = CL_BUF_INIT, resolv = CL_BUF_INIT, name = CL_BUF_INIT;
	const struct cfg_executor *x = j->spec->executor;
	bool networked = j->net_kind != JOB_NET_NONE;

	ct_hosts_file(j->name, (const char *const *)x->allow_hosts.v,
		networked ? x->allow_hosts.n : 0, &hosts);
	ct_resolv_file(j->names.resolvers, networked ? j->names.nresolvers : 0, &resolv);
	cl_buf_addf(&name, "%s\n", j->name);
	return put_file(dir, "hosts", &hosts, 0444, j, e) ||
			       put_file(dir, "resolv.conf", &resolv, 0444, j, e) ||
			       put_file(dir, "hostname", &name, 0444, j, e)
		       ? -1
		       : 0;
}

static void add_mount(
	struct job_stage *st, const char *source, const char *target, bool ro, bool ours)
{
	char *src;

	cl_strv_add(&st->paths, source);
	src = st->paths.v[st->paths.n - 1];
	st->mounts[st->nmounts++] =
		(struct ct_mount){.source = src, .target = target, .read_only = ro, .noexec = ours};
}

static int stage_mount(struct job *j, const struct rundir *rd, struct job_stage *st,
	const struct work_mount *m, size_t n, struct cl_err *e)
{
	cleanup_free char *name = cl_asprintf("m%zu", n), *path = NULL;
	cleanup_fd int fd = sys_open_beneath(j->project_fd, m->source, O_PATH, e);

	if (fd < 0 && e->code == CL_ENOTFOUND) {
		if (sys_spec_make_source(j->project_fd, m->source, j->uid, j->gid, e))
			return cl_constraint(e, "sandbox_mounts");
		fd = sys_open_beneath(j->project_fd, m->source, O_PATH, e);
	}
	if (fd < 0) {
		(void)cl_wrap(e, "mount source '%s' of the project", m->source);
		(void)cl_constraint(e, "sandbox_mounts");
		return cl_fix(
			e, "a source must stay in the workspace after its links are followed");
	}
	path = bind_fd(j, rd, fd, name, AT_RECURSIVE, e);
	if (!path)
		return -1;
	add_mount(st, path, m->target, m->read_only, false);
	return 0;
}

/*
 * A folder of the lease, as stage/<name>; owned, NULL on failure. Nobody runs programs from it on
 * this side, so it is mounted noexec; inside, git runs the credential helper.
 */
static char *bind_lease(const struct job *j, const struct rundir *rd, const char *sub,
	const char *name, struct cl_err *e)
{
	struct mount_attr exec = {.attr_clr = MOUNT_ATTR_NOEXEC};
	cleanup_free char *from = cl_asprintf("%s/%s", rd->lease, sub), *path = NULL;
	cleanup_fd int fd = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0) {
		(void)cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", from);
		return NULL;
	}
	path = bind_fd(j, rd, fd, name, AT_RECURSIVE, e);
	if (!path || geteuid())
		return cl_steal(&path);
	if (!syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &exec, sizeof(exec)))
		return cl_steal(&path);
	(void)cl_fail_sys(e, CL_EOS, errno, "cannot stage '%s'", name);
	return NULL;
}

/* cloop-init and its environment: with what was lent where there is a lease. */
static int stage_init(
	struct job *j, const struct rundir *rd, struct job_stage *st, bool lent, struct cl_err *e)
{
	cleanup_free char *dir =
		lent ? cl_asprintf("%s/cloop", rd->lease) : cl_asprintf("%s/cloop", rd->stage);

	if (!lent && mkdir(dir, 0755))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make the staging area");
	if (put_init(dir, e) || put_env(dir, rd, j, lent, e))
		return -1;
	st->init_dir = lent ? bind_lease(j, rd, "cloop", "cloop", e) : cl_steal(&dir);
	return st->init_dir ? 0 : -1;
}

/* Its files, where the variables say that they are. */
static int stage_files(struct job *j, const struct rundir *rd, const char *lease_dir,
	struct job_stage *st, struct cl_err *e)
{
	cleanup_free char *path = bind_lease(j, rd, "files", "lease", e);

	if (!path)
		return -1;
	add_mount(st, path, lease_dir, true, false);
	st->mounts[st->nmounts - 1].guarded = true;
	return 0;
}

/* The directory that was lent, and not another one that was put in its place since. */
static int open_repo(const struct shim_repo *r, struct cl_err *e)
{
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	char id[SYS_REPO_ID];
	struct stat st;

	fd = root < 0 ? cl_fail_sys(e, CL_EOS, errno, "cannot open '/'")
		      : sys_open_nolinks(root, r->source + 1, O_PATH | O_DIRECTORY, e);
	if (fd < 0)
		return cl_wrap(e, "repository '%s'", r->source);
	if (fstat(fd, &st))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at repository '%s'", r->source);
	sys_repo_id(&st, id);
	if (*r->id && strcmp(r->id, id) != 0)
		return cl_fail(e, CL_EREFUSED,
			"repository '%s' is another directory than when it was lent", r->source);
	return cl_steal_fd(&fd);
}

/*
 * A repository of the host. The lease resolved its path, so a link in it has come since: what it
 * leads to was granted to nobody. Nor was what is mounted somewhere below it, and would be writable
 * where the repository is not. It is not relabelled, for it is not ours.
 */
static int stage_repo(struct job *j, const struct rundir *rd, struct job_stage *st,
	const struct shim_repo *r, size_t n, struct cl_err *e)
{
	cleanup_free char *name = cl_asprintf("r%zu", n), *path = NULL;
	cleanup_fd int fd = open_repo(r, e);

	if (fd < 0) {
		(void)cl_constraint(e, "host_mounts");
		return cl_fix(e, "look at the directory, then run again");
	}
	path = bind_fd(j, rd, fd, name, 0, e);
	if (!path)
		return -1;
	add_mount(st, path, r->target, !r->writable, false);
	st->mounts[st->nmounts - 1].guarded = true;
	st->mounts[st->nmounts - 1].label = "";
	return 0;
}

int job_stage(struct job *j, const struct rundir *rd, const char *lease_dir,
	const struct shim_repos *repos, struct job_stage *st, struct cl_err *e)
{
	static const struct {
		const char *name, *target;
	} names[] = {{"hosts", "/etc/hosts"}, {"resolv.conf", "/etc/resolv.conf"},
		{"hostname", "/etc/hostname"}};
	cleanup_free char *etc = cl_asprintf("%s/etc", rd->stage);

	memset(st, 0, sizeof(*st));
	if (make_stage(j, rd, e))
		return -1;
	if (mkdir(etc, 0755))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make the staging area");
	if (stage_init(j, rd, st, lease_dir != NULL, e) || put_names(etc, j, e) ||
		(lease_dir && stage_files(j, rd, lease_dir, st, e)))
		return -1;
	st->workspace = bind_fd(j, rd, j->project_fd, "workspace", AT_RECURSIVE, e);
	if (!st->workspace)
		return -1;
	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++) {
		cleanup_free char *p = cl_asprintf("%s/%s", etc, names[i].name);

		add_mount(st, p, names[i].target, true, true);
	}
	for (size_t i = 0; i < j->spec->nmounts; i++)
		if (stage_mount(j, rd, st, &j->spec->mounts[i], i, e))
			return -1;
	for (size_t i = 0; i < repos->n; i++)
		if (stage_repo(j, rd, st, &repos->v[i], i, e))
			return -1;
	return 0;
}

void job_stage_release(struct job_stage *s)
{
	free(s->workspace);
	free(s->init_dir);
	free(s->device_names);
	cl_strv_release(&s->paths);
	memset(s, 0, sizeof(*s));
}
