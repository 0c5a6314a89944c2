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
#include <sys/stat.h>
#include <unistd.h>

#define SEALS   (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define KEY_ENV "CLOOP_SECRET_KEY"

/* ---- in the environment ---- */

/* The value of the n-th entry of that name; the C library looks for the first only. */
static char *entry(size_t n)
{
	static const char name[] = KEY_ENV "=";

	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, name, sizeof(name) - 1) && !n--)
			return *at + sizeof(name) - 1;
	return NULL;
}

int key_pass_env(const char **text, struct cl_err *e)
{
	const char *first = entry(0), *other;

	*text = first;
	for (size_t i = 1; (other = entry(i)); i++) {
		if (!strcmp(first, other))
			continue;
		*text = NULL;
		key_pass_env_wipe();
		(void)cl_fail(e, CL_ECONFIG,
			"the environment has " KEY_ENV " more than once, with different keys");
		(void)cl_slug(e, "key_twice");
		return cl_fix(e, "set it once, or name a file with CLOOP_SECRET_KEY_FILE");
	}
	return 0;
}

void key_pass_env_wipe(void)
{
	char *text;

	for (size_t i = 0; (text = entry(i)); i++)
		explicit_bzero(text, strlen(text));
	(void)unsetenv(KEY_ENV);
}

/* ---- in a file in memory ---- */

static bool is_ours(int fd, struct stat *st)
{
	int seals = fcntl(fd, F_GET_SEALS);

	/* vm.memfd_noexec adds one of the kernel's own. */
	return seals >= 0 && (seals & SEALS) == SEALS && !fstat(fd, st) && S_ISREG(st->st_mode) &&
	       st->st_size > 0 && st->st_size <= SEAL_ROOT_MAX;
}

int key_pass_pin(int fd, struct cl_err *e)
{
	struct stat st;
	void *p;
	int rc;

	if (fd < 0 || !is_ours(fd, &st))
		return 0;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return cl_fail_sys(e, CL_EOS, errno, "cannot map the key that was handed down");
	(void)madvise(p, (size_t)st.st_size, MADV_DONTDUMP);
	/* Its pages are held by being mapped; nobody has to be able to read them here. */
	rc = seal_lock(p, (size_t)st.st_size, e);
	if (!rc && mprotect(p, (size_t)st.st_size, PROT_NONE))
		rc = cl_fail_sys(e, CL_EOS, errno, "cannot hide the key that was handed down");
	if (rc)
		(void)munmap(p, (size_t)st.st_size);
	return rc;
}

static int seal_text(const char *text, int *fd, struct cl_err *e)
{
	cleanup_fd int m = memfd_create("cloop-key", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t len = strlen(text);

	if (len > SEAL_ROOT_MAX) {
		(void)cl_fail(e, CL_ECONFIG, KEY_ENV " is longer than %u bytes", SEAL_ROOT_MAX);
		return cl_slug(e, "key_long");
	}
	if (m < 0 || write(m, text, len) != (ssize_t)len || fcntl(m, F_ADD_SEALS, SEALS))
		return cl_fail_sys(e, CL_EOS, errno, "cannot hand " KEY_ENV " down");
	if (key_pass_pin(m, e))
		return -1;
	*fd = cl_steal_fd(&m);
	return 0;
}

int key_pass_take(int *fd, struct cl_err *e)
{
	const char *text;
	int rc;

	*fd = -1;
	rc = key_pass_env(&text, e);
	if (!rc && text && *text)
		rc = seal_process(e) || seal_text(text, fd, e) ? -1 : 0;
	key_pass_env_wipe();
	return rc;
}

int key_pass_keep(void)
{
	struct stat st;

	if (!is_ours(KEY_PASS_FD, &st) || fcntl(KEY_PASS_FD, F_SETFD, FD_CLOEXEC)) {
		(void)close_range(KEY_PASS_FD, ~0U, 0);
		return -1;
	}
	(void)close_range(KEY_PASS_FD + 1, ~0U, 0);
	return KEY_PASS_FD;
}

/* Others read the same file at the same moment: nobody's place in it is moved. */
static int read_all(int fd, size_t len, struct seal_buf *out, struct cl_err *e)
{
	if (seal_buf_make(out, len, e))
		return -1;
	if (pread(fd, out->p, len, 0) != (ssize_t)len)
		return cl_fail_sys(e, CL_EOS, errno, "cannot read the key that was handed down");
	out->len = len;
	if (out->p[len - 1] == '\n')
		out->p[--out->len] = '\0';
	return 0;
}

int key_pass_read(struct seal_buf *out, bool *got, struct cl_err *e)
{
	const char *text = getenv(KEY_PASS_ENV); /* lint: allow */
	struct stat st;
	int64_t fd;
	int rc;

	*got = false;
	if (!text || !*text)
		return 0;
	if (cl_parse_i64(text, 3, 65535, KEY_PASS_ENV, &fd, e)) {
		e->code = CL_ECONFIG;
		return cl_fix(e, "cloop sets it for its own parts; name a file with "
				 "CLOOP_SECRET_KEY_FILE instead");
	}
	(void)unsetenv(KEY_PASS_ENV);
	/* Whatever else has that number is somebody's: it is neither read nor closed. */
	if (!is_ours((int)fd, &st)) {
		(void)cl_fail(e, CL_ECONFIG,
			KEY_PASS_ENV " names descriptor %d, which is no sealed file in memory",
			(int)fd);
		(void)cl_slug(e, "key_descriptor");
		return cl_fix(e, "cloop sets it for its own parts; name a file with "
				 "CLOOP_SECRET_KEY_FILE instead");
	}
	rc = read_all((int)fd, (size_t)st.st_size, out, e);
	(void)close((int)fd);
	*got = !rc;
	return rc;
}
