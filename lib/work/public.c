/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/public.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int work_open_inner(const char *hub_dir, struct cl_err *e)
{
	cleanup_free char *dir = cl_asprintf("%s/.cloop", hub_dir);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		(void)cl_fail_sys(e, CL_EOS, errno, "cannot open '%s'", dir);
	return fd;
}

/* Who could write it could vouch for any grant. */
static int trusted(const struct stat *st, struct cl_err *e)
{
	if (S_ISREG(st->st_mode) && (!st->st_uid || st->st_uid == geteuid()) &&
		!(st->st_mode & 022))
		return 0;
	(void)cl_fail(e, CL_ECONFIG, "others may write to .cloop/" WORK_PUBLIC_FILE);
	return cl_fix(e, "see who did, then: chmod go-w, and chown it to yourself");
}

int work_public(const char *hub_dir, unsigned char out[SEAL_KEY], bool *known, struct cl_err *e)
{
	cleanup_fd int dir = work_open_inner(hub_dir, e);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct stat st;

	*known = false;
	if (dir < 0)
		return -1;
	if (fstatat(dir, WORK_PUBLIC_FILE, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0
				       : cl_fail_sys(e, CL_EOS, errno,
						 "cannot look at .cloop/" WORK_PUBLIC_FILE);
	if (trusted(&st, e) || sys_read_small(dir, WORK_PUBLIC_FILE, 4096, &text, e))
		return -1;
	if (text.len && text.p[text.len - 1] == '\n')
		text.p[--text.len] = '\0';
	*known = cl_unhex(text.p, out, SEAL_KEY);
	if (*known)
		return 0;
	(void)cl_fail(e, CL_ECONFIG, ".cloop/" WORK_PUBLIC_FILE " holds no public key");
	return cl_fix(e, "remove it; the next grant writes it again");
}
