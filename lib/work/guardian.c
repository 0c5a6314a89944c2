/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/guardian.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

int work_lock(const char *hub_dir, const char *file, bool *got, int *fd, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("%s/%s", hub_dir, file);
	cleanup_fd int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (lock < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", path);
	*got = !flock(lock, LOCK_EX | LOCK_NB);
	if (!*got && errno != EWOULDBLOCK)
		return cl_fail_sys(e, CL_EOS, errno, "cannot lock '%s'", path);
	if (*got)
		*fd = cl_steal_fd(&lock);
	return 0;
}

int guardian_lock(const char *hub_dir, bool *got, int *fd, struct cl_err *e)
{
	return work_lock(hub_dir, GUARDIAN_LOCK, got, fd, e);
}

int guardian_ensure(const char *hub_dir, char *const *envp, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling("cloop-sweep"), *dir = cl_strdup(hub_dir);
	char *argv[] = {(char *)"cloop-sweep", (char *)"-C", dir, (char *)"--guardian", NULL};
	struct sys_spawn s = SYS_SPAWN_INIT;
	cleanup_fd int fd = -1;
	bool free_lock;

	if (guardian_lock(hub_dir, &free_lock, &fd, e))
		return -1;
	if (!free_lock)
		return 0;
	/* The lock is let go for the guardian to take; two starting at once is harmless. */
	(void)close(cl_steal_fd(&fd));
	s.path = path;
	s.argv = argv;
	s.envp = envp;
	s.new_session = true;
	s.cwd = "/";
	if (!sys_spawn_away(&s, NULL, e))
		return 0;
	(void)cl_wrap(e, "the guardian cannot be started");
	return cl_fix(e, "run 'cloop sweep' from a timer, and check the installation");
}
