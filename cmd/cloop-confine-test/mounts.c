/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mounting. What succeeds is unmounted again. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A directory that is there in any sandbox. */
static const char *target(void)
{
	return access("/tmp", F_OK) ? "/" : "/tmp";
}

static void mount_type(struct result *r, const struct attempt *a)
{
	if (mount("none", target(), a->text, 0, NULL)) {
		held_errno(r);
		return;
	}
	(void)umount2(target(), MNT_DETACH);
	reached(r, "a file system of type %s was mounted", a->text);
}

static void bind(struct result *r, const struct attempt *a)
{
	if (mount(a->text, target(), NULL, MS_BIND | (unsigned long)a->number, NULL)) {
		held_errno(r);
		return;
	}
	(void)umount2(target(), MNT_DETACH);
	reached(r, "%s was mounted a second time", a->text);
}

/* As it was before; mount(2) takes all flags at once. */
static unsigned long flags_of(const struct statvfs *v)
{
	return (v->f_flag & ST_RDONLY ? MS_RDONLY : 0) | (v->f_flag & ST_NOSUID ? MS_NOSUID : 0) |
	       (v->f_flag & ST_NODEV ? MS_NODEV : 0) | (v->f_flag & ST_NOEXEC ? MS_NOEXEC : 0);
}

static void remount(struct result *r, const struct attempt *a)
{
	struct statvfs v;
	unsigned long was;

	if (statvfs(a->text, &v)) {
		held_errno(r);
		return;
	}
	was = flags_of(&v);
	if (!(was & MS_RDONLY)) {
		skipped(r, "it is writable as it is");
		return;
	}
	if (mount(NULL, a->text, NULL, MS_REMOUNT | MS_BIND | (was & ~(unsigned long)MS_RDONLY),
		    NULL)) {
		held_errno(r);
		return;
	}
	(void)mount(NULL, a->text, NULL, MS_REMOUNT | MS_BIND | was, NULL);
	reached(r, "%s was made writable", a->text);
}

/* Taken away, what it hides would be seen; put back by binding the same device again. */
static void unmask(struct result *r, const struct attempt *a)
{
	struct stat st;

	if (stat(a->text, &st) || !S_ISCHR(st.st_mode)) {
		skipped(r, "it is not masked by a device");
		return;
	}
	if (umount2(a->text, MNT_DETACH)) {
		held_errno(r);
		return;
	}
	(void)mount("/dev/null", a->text, NULL, MS_BIND, NULL);
	reached(r, "the mask over %s was taken away", a->text);
}

static void propagation(struct result *r, const struct attempt *a)
{
	(void)a;
	if (mount(NULL, "/", NULL, MS_PRIVATE, NULL))
		held_errno(r);
	else
		reached(r, "how mounts spread was changed");
}

static void pivot(struct result *r, const struct attempt *a)
{
	/* The same folder twice is refused for its own sake, but only after the right to do it. */
	(void)a;
	if (!syscall(SYS_pivot_root, "/", "/") || (errno != EPERM && errno != ENOSYS))
		reached(r, "pivot_root is allowed");
	else
		held_errno(r);
}

static void new_api(struct result *r, const struct attempt *a)
{
	long fd = a->number == SYS_fsopen ? syscall(SYS_fsopen, "tmpfs", 0)
					  : syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* CLONE */);

	if (fd < 0)
		held_errno(r);
	else
		reached(r, "a mount that is attached nowhere was made");
}

#define TYPE(type, proves)                                          \
	{                                                           \
		"mount-" type, proves, mount_type, type, 0, SURFACE \
	}

const struct attempt attempts_mounts[] = {
	TYPE("proc", "no fresh /proc without its masks"),
	TYPE("sysfs", "no fresh /sys without its masks"),
	TYPE("tmpfs", "nothing is mounted over what is there"),
	TYPE("devtmpfs", "the host's device nodes are not mounted"),
	TYPE("devpts", "no terminals of others are mounted"),
	TYPE("mqueue", "no message queues of others are mounted"),
	TYPE("cgroup2", "no cgroup tree is mounted"),
	{"mount-cgroup-v1", "no cgroup hierarchy is mounted", mount_type, "cgroup", 0, SURFACE},
	TYPE("debugfs", "the kernel's debug files are not mounted"),
	TYPE("tracefs", "the kernel's tracing files are not mounted"),
	TYPE("securityfs", "the security modules' files are not mounted"),
	TYPE("bpf", "no bpf file system is mounted"),
	{"bind-root", "the root is not bound elsewhere", bind, "/", 0, SURFACE},
	{"bind-root-whole", "nor with all that is mounted in it", bind, "/", MS_REC, SURFACE},
	{"bind-proc", "nor is /proc", bind, "/proc", 0, SURFACE},
	{"bind-init", "nor the root of the first process", bind, "/proc/1/root", 0, SURFACE},
	{"remount-root", "the root stays read-only", remount, "/", 0, 0},
	{"remount-proc-sys", "the kernel's settings stay read-only", remount, "/proc/sys", 0, 0},
	{"remount-sys", "/sys stays read-only", remount, "/sys", 0, 0},
	{"remount-cgroup", "cgroups stay read-only", remount, "/sys/fs/cgroup", 0, 0},
	{"remount-own", "cloop's own files stay read-only", remount, "/.cloop", 0, 0},
	{"unmask-kcore", "the mask over the kernel's memory stays", unmask, "/proc/kcore", 0, 0},
	{"unmask-keys", "the mask over the list of keys stays", unmask, "/proc/keys", 0, 0},
	{"propagation", "how mounts spread stays as it is", propagation, NULL, 0, SURFACE},
	{"pivot-root", "the root cannot be exchanged", pivot, NULL, 0, SURFACE},
	{"fsopen", "no file system is made by fsopen(2)", new_api, NULL, SYS_fsopen, SURFACE},
	{"open-tree", "no mount is copied by open_tree(2)", new_api, NULL, SYS_open_tree, SURFACE},
	{0},
};
