/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/scratch.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"
#include "sys/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARENT "/tmp"
#define LOCK   "lock"
#define MAKING "lock.new"

static void let_go(struct scratch *s)
{
	int *fds[] = {&s->dir, &s->lock, &s->parent};

	for (size_t i = 0; i < CL_ARRAY_LEN(fds); i++)
		if (*fds[i] >= 0)
			(void)close(cl_steal_fd(fds[i]));
	free(cl_steal(&s->top));
}

void scratch_remove(struct scratch *s)
{
	struct cl_err ignored;

	if (s->dir >= 0)
		(void)sys_rmtree_of(s->parent, strrchr(s->top, '/') + 1, s->dir, &ignored);
	let_go(s);
}

/* The lock has its name only once it is held. */
static int take_lock(struct scratch *s)
{
	s->lock = openat(s->dir, MAKING, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return s->lock < 0 || flock(s->lock, LOCK_EX | LOCK_NB) ||
			       renameat(s->dir, MAKING, s->dir, LOCK) || fchmod(s->dir, 0711)
		       ? -1
		       : 0;
}

int scratch_make(const char *prefix, struct scratch *s, struct cl_err *e)
{
	cleanup_free char *top = cl_asprintf(PARENT "/%sXXXXXX", prefix);

	s->parent = open(PARENT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->parent < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '" PARENT "'");
	if (!mkdtemp(top))
		return cl_fail_sys(e, CL_EOS, errno, "cannot make a directory in '" PARENT "'");
	s->top = cl_steal(&top);
	s->dir = open(s->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->dir < 0 || take_lock(s))
		return cl_fail_sys(e, CL_EOS, errno, "cannot use '%s'", s->top);
	return 0;
}

/* ---- what was left behind ---- */

/* Opens and holds it; false when it is not ours, too young, or somebody's. */
static bool take_dead(int parent, const char *name, int64_t grace_ms, struct scratch *s)
{
	struct stat st;
	int64_t age;

	s->dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->dir < 0 || fstat(s->dir, &st) || st.st_uid != geteuid() || (st.st_mode & 022))
		return false;
	age = sys_now_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
	s->lock = openat(s->dir, LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (s->lock < 0 && grace_ms < SCRATCH_MS)
		grace_ms = SCRATCH_MS;
	if (age < grace_ms || (s->lock < 0 ? errno != ENOENT : flock(s->lock, LOCK_EX | LOCK_NB)))
		return false;
	s->parent = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	s->top = cl_asprintf(PARENT "/%s", name);
	return s->parent >= 0;
}

size_t scratch_dead(const char *prefix, int64_t grace_ms, scratch_fn fn, void *arg)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	cleanup_fd int parent = open(PARENT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = opendir(PARENT);
	const struct dirent *de;
	size_t n = 0;

	while (d && (de = readdir(d)))
		if (cl_starts(de->d_name, prefix))
			cl_strv_add(&names, de->d_name);
	if (d)
		(void)closedir(d);
	for (size_t i = 0; parent >= 0 && i < names.n; i++) {
		struct scratch s = SCRATCH_INIT;

		if (!take_dead(parent, names.v[i], grace_ms, &s)) {
			let_go(&s);
			continue;
		}
		n++;
		if (fn)
			fn(&s, arg);
		scratch_remove(&s);
	}
	return n;
}
