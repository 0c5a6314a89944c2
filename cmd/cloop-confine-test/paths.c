/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host's files. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The root of another process leads elsewhere than ours. */
static void root_of(struct result *r, const struct attempt *a)
{
	struct stat theirs, ours;

	if (stat(a->text, &theirs) || stat("/", &ours))
		held_errno(r);
	else if (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino)
		held(r, "it is our own");
	else
		reached(r, "%s is another root file system", a->text);
}

/* chdir above a chroot that was made below us. */
static void leave_chroot(struct result *r, const struct attempt *a)
{
	int top = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat before, after;

	(void)a;
	if (top < 0 || fstat(top, &before) || chroot("/proc")) {
		held_errno(r);
		return;
	}
	if (fchdir(top)) {
		held_errno(r);
		return;
	}
	for (int i = 0; i < 64; i++)
		(void)!chdir("..");
	if (stat(".", &after) || (before.st_dev == after.st_dev && before.st_ino == after.st_ino))
		held(r, "the way up ends at our own root");
	else
		reached(r, "the way up leads beyond our root");
}

/*
 * The root of the file system that a bound file comes from, by its inode number alone: what
 * CAP_DAC_READ_SEARCH gives.
 */
static void by_handle(struct result *r, const struct attempt *a)
{
	struct {
		struct file_handle h;
		unsigned char bytes[128];
	} f;
	int mount = open(a->text, O_RDONLY | O_CLOEXEC), id, fd;
	struct stat st;

	if (mount < 0) {
		skipped(r, "nothing is bound there");
		return;
	}
	if (own_layer(mount)) {
		skipped(r, "it is the image's own");
		return;
	}
	memset(&f, 0, sizeof(f));
	f.h.handle_bytes = sizeof(f.bytes);
	if (name_to_handle_at(AT_FDCWD, a->text, &f.h, &id, 0)) {
		held_errno(r);
		return;
	}
	/* The same file first: this right alone reaches every file of that file system. */
	fd = open_by_handle_at(mount, &f.h, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		held_errno(r);
	else if (!fstat(fd, &st))
		reached(r, "every file of the file system below %s, by its number", a->text);
}

/* A whole file system of a disk among our mounts. */
static void whole_disk(struct result *r, const struct attempt *a)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[8192], root[256], where[256], type[64], source[256];

	(void)a;
	if (!f) {
		held_errno(r);
		return;
	}
	held(r, "no mount is one");
	while (fgets(line, sizeof(line), f)) {
		const char *tail = strstr(line, " - ");

		if (!tail || sscanf(line, "%*s %*s %*s %255s %255s", root, where) != 2 ||
			sscanf(tail, " - %63s %255s", type, source) != 2)
			continue;
		if (!strcmp(root, "/") && !strncmp(source, "/dev/", 5) && strcmp(where, "/") != 0 &&
			strcmp(type, "devtmpfs") != 0)
			reached(r, "%s is mounted at %s", source, where);
	}
	(void)fclose(f);
}

/* A folder outside of our root that we were started in (CVE-2024-21626). */
static void cwd_outside(struct result *r, const struct attempt *a)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/cwd", path, sizeof(path) - 1);

	(void)a;
	path[n > 0 ? n : 0] = '\0';
	if (!strncmp(path, "(unreachable)", 13))
		reached(r, "the working directory is outside: %s", path);
	else
		held(r, "it is inside");
}

#define READ(name, path, proves)                        \
	{                                               \
		name, proves, try_read_path, path, 0, 0 \
	}
#define LIST(name, path, proves)                   \
	{                                          \
		name, proves, try_list, path, 0, 0 \
	}

const struct attempt attempts_paths[] = {
	{"root-of-init", "the first process has our root, not the host's", root_of, "/proc/1/root",
		0, 0},
	{"root-of-parent", "whoever started us has our root", root_of,
		"/proc/self/root/proc/1/root", 0, 0},
	{"leave-chroot", "no way leads up from our root", leave_chroot, NULL, 0, 0},
	{"handle-hosts", "no file of the host is opened by its inode (hosts)", by_handle,
		"/etc/hosts", 0, 0},
	{"handle-resolv", "no file of the host is opened by its inode (resolv.conf)", by_handle,
		"/etc/resolv.conf", 0, 0},
	{"handle-workspace", "no file of the host is opened by its inode (workspace)", by_handle,
		"/workspace", 0, 0},
	{"whole-disk", "no whole file system of a disk is mounted", whole_disk, NULL, 0, 0},
	{"cwd-outside", "the working directory is inside", cwd_outside, NULL, 0, 0},
	READ("docker-store", "/var/lib/docker", "docker's storage is out of reach"),
	READ("podman-store", "/var/lib/containers/storage", "podman's storage is out of reach"),
	READ("kubelet", "/var/lib/kubelet", "the kubelet's folder is out of reach"),
	READ("hub-state", "/var/lib/cloop/.cloop/state.db", "the hub's state is out of reach"),
	READ("hub-list", "/etc/cloop/hubs", "the list of hubs is out of reach"),
	READ("hub-runs", "/run/cloop/w", "runtime folders of other workloads are out of reach"),
	READ("host-mount", "/host", "no mount of the host under /host"),
	READ("rootfs-mount", "/rootfs", "no mount of the host under /rootfs"),
	READ("service-account", "/var/run/secrets/kubernetes.io/serviceaccount/token",
		"no token for a cluster's API"),
	READ("root-ssh", "/root/.ssh", "root's SSH keys are out of reach"),
	READ("root-aws", "/root/.aws/credentials", "root's cloud credentials are out of reach"),
	READ("root-docker", "/root/.docker/config.json", "root's registry logins are out of reach"),
	READ("root-kube", "/root/.kube/config", "root's cluster credentials are out of reach"),
	READ("host-ssh-key", "/etc/ssh/ssh_host_ed25519_key", "the host's SSH key is out of reach"),
	READ("shadow", "/etc/shadow", "the host's password hashes are out of reach"),
	READ("machine-journal", "/var/log/journal", "the host's journal is out of reach"),
	LIST("boot", "/boot", "the host's kernel images are out of reach"),
	LIST("modules", "/lib/modules", "the host's kernel modules are out of reach"),
	LIST("home", "/home", "homes of the host's users are out of reach"),
	{0},
};
