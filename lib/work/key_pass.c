/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/key_pass.h"
#include "base/mem.h"
#include "base/num.h"
#include "seal/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int seal_text(const char *text, int *fd, struct cl_err *e)
{
	cleanup_fd int m = memfd_create("cloop-key", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t len = strlen(text);

	if (m < 0 || write(m, text, len) != (ssize_t)len || fcntl(m, F_ADD_SEALS, SEALS))
		return cl_fail_sys(e, CL_EOS, errno, "cannot hand CLOOP_SECRET_KEY down");
	*fd = cl_steal_fd(&m);
	return 0;
}

int key_pass_take(int *fd, struct cl_err *e)
{
	char *text = getenv("CLOOP_SECRET_KEY"); /* lint: allow */
	int rc = 0;

	*fd = -1;
	if (!text)
		return 0;
	if (*text)
		rc = seal_process(e) || seal_text(text, fd, e) ? -1 : 0;
	explicit_bzero(text, strlen(text));
	(void)unsetenv("CLOOP_SECRET_KEY");
	return rc;
}

int key_pass_keep(void)
{
	int seals = fcntl(KEY_PASS_FD, F_GET_SEALS);

	/* vm.memfd_noexec adds one of the kernel's own. */
	if (seals < 0 || (seals & SEALS) != SEALS || fcntl(KEY_PASS_FD, F_SETFD, FD_CLOEXEC)) {
		(void)close_range(KEY_PASS_FD, ~0U, 0);
		return -1;
	}
	(void)close_range(KEY_PASS_FD + 1, ~0U, 0);
	return KEY_PASS_FD;
}

int key_pass_read(struct seal_buf *out, bool *got, struct cl_err *e)
{
	const char *text = getenv(KEY_PASS_ENV); /* lint: allow */
	int64_t fd;
	int rc;

	*got = false;
	if (!text || !*text)
		return 0;
	if (cl_parse_i64(text, 3, 65535, KEY_PASS_ENV, &fd, e)) {
		e->code = CL_ECONFIG;
		return cl_fix(e, "open the key on a descriptor of 3 or more, and give its number");
	}
	/* Of a file in memory each of us reads all, whoever read before. */
	(void)lseek((int)fd, 0, SEEK_SET);
	rc = seal_read_fd((int)fd, KEY_PASS_ENV, SEAL_ROOT_MAX, out, e);
	(void)close((int)fd);
	(void)unsetenv(KEY_PASS_ENV);
	if (rc)
		return -1;
	if (out->len && out->p[out->len - 1] == '\n')
		out->p[--out->len] = '\0';
	*got = true;
	return 0;
}
