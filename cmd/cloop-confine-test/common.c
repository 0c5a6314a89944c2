/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

void reached(struct result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(r->detail, sizeof(r->detail), fmt, ap);
	va_end(ap);
	r->outcome = REACHED;
}

void held(struct result *r, const char *why)
{
	(void)snprintf(r->detail, sizeof(r->detail), "%s", why);
	r->outcome = HELD;
}

void held_errno(struct result *r)
{
	held(r, strerror(errno));
}

void skipped(struct result *r, const char *why)
{
	held(r, why);
	r->outcome = SKIPPED;
}

bool sentry_kernel(void)
{
	struct utsname u;

	return !uname(&u) && !strcmp(u.version, "#1 SMP Sun Jan 10 15:06:54 PST 2016");
}

/* What statx(2) says of a mount (include/uapi/linux/stat.h): this libc has no header of it. */
struct mount_of {
	uint32_t mask;
	unsigned char others[140];
	uint64_t id;
	unsigned char rest[104];
};
#define MASK_MNT_ID 0x1000U

static bool mount_of(int fd, const char *path, int flags, struct mount_of *out)
{
	return !syscall(SYS_statx, fd, path, flags, MASK_MNT_ID, out) && (out->mask & MASK_MNT_ID);
}

/*
 * By the mount, where the kernel tells it (Linux 5.8): files of an overlay whose layers lie on more
 * than one file system have device numbers of their own.
 */
bool own_layer(int fd)
{
	struct mount_of there, here;
	struct stat root, st;

	if (mount_of(AT_FDCWD, "/", 0, &there) && mount_of(fd, "", AT_EMPTY_PATH, &here))
		return there.id == here.id;
	return !stat("/", &root) && !fstat(fd, &st) && st.st_dev == root.st_dev;
}

void try_read_path(struct result *r, const struct attempt *a)
{
	int fd = open(a->text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		held_errno(r);
	else if (own_layer(fd))
		held(r, "it is the image's own");
	else
		reached(r, "%s can be read", a->text);
}

void try_read_bytes(struct result *r, const struct attempt *a)
{
	int fd = open(a->text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char text[256];
	ssize_t n;

	if (fd < 0) {
		held_errno(r);
		return;
	}
	n = read(fd, text, sizeof(text));
	if (n < 0)
		held_errno(r);
	else if (!n)
		held(r, "it is empty");
	else
		reached(r, "%s can be read", a->text);
}

void try_open_write(struct result *r, const struct attempt *a)
{
	int fd = open(a->text, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		held_errno(r);
	else if (!fstat(fd, &st) && S_ISCHR(st.st_mode))
		held(r, "it is masked by a device that takes nothing");
	else if (own_layer(fd))
		held(r, "it is the image's own");
	else
		reached(r, "%s can be written", a->text);
}

void try_list(struct result *r, const struct attempt *a)
{
	DIR *d = opendir(a->text);
	const struct dirent *de;
	int n = 0;

	if (!d) {
		held_errno(r);
		return;
	}
	if (own_layer(dirfd(d))) {
		held(r, "it is the image's own");
		return;
	}
	while ((de = readdir(d)))
		n += de->d_name[0] != '.';
	if (n)
		reached(r, "%s has %d entries", a->text, n);
	else
		held(r, "it is empty");
}

bool status_number(const char *key, int base, unsigned long long *out)
{
	FILE *f = fopen("/proc/self/status", "re");
	size_t n = strlen(key);
	bool found = false;
	char line[256];

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, n) != 0 || line[n] != ':')
			continue;
		*out = strtoull(line + n + 1, NULL, base);
		found = true;
	}
	if (f)
		(void)fclose(f);
	return found;
}
