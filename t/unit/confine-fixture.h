/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real trees for the tests of confinement, in a root directory of their own. */
#ifndef T_CONFINE_FIXTURE_H
#define T_CONFINE_FIXTURE_H

#include "base/mem.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void make(const char *dir)
{
	cleanup_free char *copy = cl_strdup(dir);

	for (char *p = copy + 1; p; p = strchr(p, '/')) {
		if (p != copy + 1)
			p++;
		p = strchr(p, '/');
		if (p)
			*p = '\0';
		if (mkdir(copy, 0755) && errno != EEXIST)
			UNIT_FAIL("mkdir %s: %s", copy, strerror(errno));
		if (!p)
			return;
		*p = '/';
	}
}

static inline void mark(const char *dir)
{
	cleanup_free char *state = cl_asprintf("%s/.cloop", dir);
	cleanup_free char *marker = cl_asprintf("%s/hub.env", state);

	make(state);
	CHECK_INT(close(open(marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
}

/* A root directory of our own, empty but for /proc, in a mount namespace that ends with us. */
static inline void new_root(void)
{
	CHECK_INT(unshare(CLONE_NEWNS), 0);
	CHECK_INT(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	CHECK_INT(mount("none", "/mnt", "tmpfs", 0, "mode=755"), 0);
	CHECK_INT(mkdir("/mnt/proc", 0755), 0);
	CHECK_INT(mount("/proc", "/mnt/proc", NULL, MS_BIND | MS_REC, NULL), 0);
	CHECK_INT(chroot("/mnt"), 0);
	CHECK_INT(chdir("/"), 0);
}

/* Runs a part in a child that may change its root. */
static inline void apart(void (*part)(const char *), const char *arg)
{
	int status = 0;
	pid_t pid;

	if (geteuid()) {
		printf("# skipped: needs root\n");
		return;
	}
	(void)fflush(stdout);
	pid = fork();
	if (!pid) {
		unit_failures = 0;
		part(arg);
		(void)fflush(stdout);
		_exit(unit_failures != 0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

#endif
