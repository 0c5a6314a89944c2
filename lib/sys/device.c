/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/device.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/path.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define UEVENT_MAX 65536

void sys_device_release(struct sys_device *d)
{
	free(d->path);
	free(d->kernel);
	free(d->subsystem);
	*d = SYS_DEVICE_INIT;
}

/* What /proc says that a descriptor is open on; "": nothing that has a path. */
static void path_of(int fd, char out[PATH_MAX])
{
	char link[40];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, PATH_MAX - 1);
	out[n > 0 ? n : 0] = '\0';
}

/* The path as seen from root: without its own in front. */
static const char *below(const char *path, const char *root)
{
	size_t n = strcmp(root, "/") != 0 ? strlen(root) : 0;

	return !strncmp(path, root, n) && path[n] == '/' ? path + n : "";
}

/* The value of the line KEY=value. Owned; "" where there is none. */
static char *line_value(const struct cl_buf *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = text->len ? text->p : ""; *p;) {
		size_t len = strcspn(p, "\n");

		if (len > n && !strncmp(p, key, n))
			return cl_strndup(p + n, len - n);
		p += len + (p[len] == '\n');
	}
	return cl_strdup("");
}

static char *subsystem_of(int dir)
{
	char link[PATH_MAX];
	ssize_t n = readlinkat(dir, "subsystem", link, sizeof(link) - 1);
	const char *slash;

	link[n > 0 ? n : 0] = '\0';
	slash = strrchr(link, '/');
	return cl_strdup(slash ? slash + 1 : link);
}

/* The kernel's record, where there is one. */
static void ask_kernel(int root, struct sys_device *d)
{
	cleanup_free char *at = cl_asprintf(
		"sys/dev/%s/%u:%u", d->node.block ? "block" : "char", d->node.major, d->node.minor);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_fd int dir = -1;
	struct cl_err e;

	dir = sys_open_in_root(root, at, O_PATH | O_DIRECTORY, &e);
	if (dir >= 0 && !sys_read_small(dir, "uevent", UEVENT_MAX, &text, &e))
		d->kernel = line_value(&text, "DEVNAME=");
	else
		d->kernel = cl_strdup("");
	d->subsystem = dir < 0 ? cl_strdup("") : subsystem_of(dir);
	d->node.kernel = d->kernel;
	d->node.subsystem = d->subsystem;
	d->node.partition = dir >= 0 && !faccessat(dir, "partition", F_OK, AT_SYMLINK_NOFOLLOW);
}

static int elsewhere(const char *path, const char *real, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "'%s' leads to '%.300s', which is not below /dev", path,
		*real ? real : "nothing that has a path");
	return cl_fix(e, "name the node itself");
}

int sys_device_find(int root, const char *path, struct sys_device *out, struct cl_err *e)
{
	char real[PATH_MAX], top[PATH_MAX];
	const char *at;
	struct stat st;
	cleanup_fd int fd = sys_open_in_root(root, path, O_PATH, e);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))) {
		(void)cl_fail(e, CL_EREFUSED, "'%s' is no device node", path);
		return cl_fix(e, "open a file or a directory of the host as a local_repo");
	}
	path_of(fd, real);
	path_of(root, top);
	at = below(real, top);
	if (!cl_starts(at, "/dev/"))
		return elsewhere(path, at, e);
	*out = (struct sys_device){.node = {.block = S_ISBLK(st.st_mode),
					   .major = major(st.st_rdev),
					   .minor = minor(st.st_rdev)},
		.host = {.uid = st.st_uid, .gid = st.st_gid, .mode = st.st_mode & 0777},
		.path = cl_strdup(at)};
	out->node.path = out->path;
	ask_kernel(root, out);
	return 0;
}

bool sys_device_same(const struct sys_device *a, const struct sys_device *b)
{
	return a->node.block == b->node.block && a->node.major == b->node.major &&
	       a->node.minor == b->node.minor;
}
