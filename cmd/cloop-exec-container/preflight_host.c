/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preflight: what the host adds to a sandbox, and the project's directory. */
#include "engine_verbs.h"
#include "base/mem.h"
#include "policy/place/runtime_name.h"
#include "sys/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool selinux_enforcing(void)
{
	cleanup_fd int fd = open("/sys/fs/selinux/enforce", O_RDONLY | O_CLOEXEC);
	char c = '0';

	return fd >= 0 && read(fd, &c, 1) == 1 && c == '1';
}

void preflight_selinux(struct preflight *p)
{
	bool enforcing = selinux_enforcing(), label = *p->x->selinux_label;

	if (enforcing && !label)
		find(&p->out, FIND_FAIL, "selinux", "set selinux_label: z (shared) or Z (private)",
			"SELinux is enforcing, and the workspace would not be labelled: every "
			"access from "
			"inside would be denied");
	else if (!enforcing && label)
		find(&p->out, FIND_WARN, "selinux", "remove selinux_label",
			"selinux_label '%s' has no effect: SELinux is not enforcing here",
			p->x->selinux_label);
	else
		find(&p->out, FIND_OK, "selinux", NULL, "%s",
			enforcing ? "enforcing, and the workspace is labelled" : "not enforcing");
}

void preflight_seccomp(struct preflight *p)
{
	struct cl_err e;
	cleanup_free char *profile = exec_seccomp(p->x, false, &e);

	if (!profile && e.msg[0])
		find_err(&p->out, FIND_FAIL, "seccomp", &e);
	else if (!profile)
		find(&p->out, FIND_WARN, "seccomp", "set seccomp: strict",
			"the engine's own profile allows more than a sandbox needs: vsock, netlink "
			"to the "
			"packet filter, new user namespaces");
	else if (rn_userspace_kernel(p->x->oci_runtime))
		find(&p->out, FIND_WARN, "seccomp", NULL,
			"%s ignores seccomp profiles: its Sentry serves system calls itself",
			p->x->oci_runtime);
	else
		find(&p->out, FIND_OK, "seccomp", NULL, "%s", profile);
}

void preflight_cgroup(struct preflight *p)
{
	cleanup_cg struct cg c = CG_INIT;
	bool memory = false, pids = false;
	struct cl_err e;

	if (p->engine.rootless) {
		find(&p->out, FIND_WARN, "cgroup", "run cloop as root for limits that always hold",
			"without root a limit holds only where systemd has delegated its "
			"controller");
		return;
	}
	if (cg_open(&c, NULL, &e)) {
		find_err(&p->out, FIND_FAIL, "cgroup", &e);
		return;
	}
	for (size_t i = 0; i < c.n; i++) {
		memory = memory || c.h[i].memory;
		pids = pids || c.h[i].pids;
	}
	if (!memory || !pids)
		find(&p->out, FIND_FAIL, "cgroup", "mount the cgroup controllers memory and pids",
			"cgroups are '%s' here, without the controller%s%s%s: limits would not "
			"hold",
			cg_layout(&c), memory ? "" : " memory", memory || pids ? "" : " and",
			pids ? "" : " pids");
	else
		find(&p->out, FIND_OK, "cgroup", NULL, "%s, with memory and pids", cg_layout(&c));
}

static void check_owner(struct preflight *p, const struct stat *st)
{
	if (p->engine.rootless && st->st_uid != geteuid())
		find(&p->out, FIND_WARN, "workdir", "give it to the hub's user (chown)",
			"'%s' is owned by uid %u, while rootless sandboxes run as uid %u",
			p->workdir, st->st_uid, geteuid());
	else if (!st->st_uid && !p->engine.rootless && !p->x->allow_root_user)
		find(&p->out, FIND_FAIL, "workdir",
			"give it to an unprivileged user (chown), or set allow_root_user: true",
			"'%s' is owned by root, and a sandbox never runs as uid 0", p->workdir);
	else if (!st->st_uid)
		find(&p->out, FIND_WARN, "workdir", "give it to an unprivileged user (chown)",
			"'%s' is owned by root: sandboxes there run as uid 0", p->workdir);
	else
		find(&p->out, FIND_OK, "workdir", NULL, "'%s', owned by uid %u", p->workdir,
			st->st_uid);
}

void preflight_workdir(struct preflight *p)
{
	struct stat st;

	if (!p->workdir)
		return;
	if (stat(p->workdir, &st)) {
		find(&p->out, FIND_FAIL, "workdir", "name a directory that is there", "'%s': %s",
			p->workdir, strerror(errno));
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		find(&p->out, FIND_FAIL, "workdir", "name a directory", "'%s' is no directory",
			p->workdir);
		return;
	}
	check_owner(p, &st);
	if (!(st.st_mode & S_IWUSR))
		find(&p->out, FIND_WARN, "workdir-write",
			"chmod u+w it if a run is to change files",
			"the owner of '%s' may not write to it", p->workdir);
}
