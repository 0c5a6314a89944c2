/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which descriptor counts as a key that was handed down. */
#include "unit.h"
#include "work/key_pass.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OURS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* What a child answers that has a file in memory with these seals there. */
static int kept(int seals)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		int m = memfd_create("key", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		if (m < 0 || write(m, "k", 1) != 1 || fcntl(m, F_ADD_SEALS, seals) ||
			(m != KEY_PASS_FD && dup2(m, KEY_PASS_FD) < 0))
			_exit(99);
		_exit(key_pass_keep() == KEY_PASS_FD && fcntl(KEY_PASS_FD, F_GETFD) == FD_CLOEXEC
				? 1
				: 0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* With vm.memfd_noexec the kernel adds F_SEAL_EXEC to what we asked for; other kernels may more. */
void test_key_pass__seals_of_the_kernel_do_no_harm(void)
{
	CHECK_INT(kept(OURS), 1);
	CHECK_INT(kept(OURS | F_SEAL_FUTURE_WRITE), 1);
}

/* The child's errno-like answer of key_pass_read for a descriptor that `make` opens as number 9. */
static int reads(int (*make)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		cleanup_seal struct seal_buf b = SEAL_BUF_INIT;
		struct cl_err e;
		int fd = make();
		bool got;

		if (fd >= 0 && fd != 9 && (dup2(fd, 9) < 0 || close(fd)))
			_exit(99);
		(void)setenv(KEY_PASS_ENV, "9", 1);
		if (!key_pass_read(&b, &got, &e))
			_exit(got && b.len == 3 && !memcmp(b.p, "key", 3) && fcntl(9, F_GETFD) < 0
					? 1
					: 98);
		/* What is not ours is as it was, and it was never read. */
		_exit(strcmp(e.slug, "key_descriptor") || (fd >= 0 && fcntl(9, F_GETFD) < 0) ||
					(fd >= 0 && lseek(9, 0, SEEK_CUR) > 0) || b.len
				? 97
				: 0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int memory(const void *p, size_t len, int seals)
{
	int m = memfd_create("key", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (m < 0 || (len && write(m, p, len) != (ssize_t)len) || lseek(m, 0, SEEK_SET) ||
		(seals && fcntl(m, F_ADD_SEALS, seals)))
		_exit(96);
	return m;
}

static int sealed(void)
{
	int m = memory("key\n", 4, OURS);

	/* Wherever somebody else has read to. */
	return lseek(m, 2, SEEK_SET) == 2 ? m : -1;
}

static int unsealed(void)
{
	return memory("key", 3, 0);
}

static int empty(void)
{
	return memory("", 0, OURS);
}

static int huge(void)
{
	static char much[1 << 20];

	return memory(much, sizeof(much), OURS);
}

static int pipe_end(void)
{
	int ends[2];

	return pipe(ends) || write(ends[1], "key", 3) != 3 ? -1 : ends[0];
}

static int file(void)
{
	return open("/etc/passwd", O_RDONLY);
}

static int closed(void)
{
	return -1;
}

void test_key_pass__only_a_sealed_file_in_memory_is_read(void)
{
	CHECK_INT(reads(sealed), 1);
	CHECK_INT(reads(unsealed), 0);
	CHECK_INT(reads(empty), 0);
	CHECK_INT(reads(huge), 0);
	CHECK_INT(reads(pipe_end), 0);
	CHECK_INT(reads(file), 0);
	CHECK_INT(reads(closed), 0);
}

/* 1: taken, 0: refused; 90 and more: something of it is still there. */
static int twice(const char *a, const char *b)
{
	static const char zeros[64];
	const size_t at = sizeof("CLOOP_SECRET_KEY=") - 1;
	char one[64], two[64], other[] = "OTHER=kept";
	char *list[] = {one, other, two, NULL};
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		struct cl_err e;
		int fd, rc;

		(void)snprintf(one, sizeof(one), "CLOOP_SECRET_KEY=%s", a);
		(void)snprintf(two, sizeof(two), "CLOOP_SECRET_KEY=%s", b);
		environ = list;
		rc = key_pass_take(&fd, &e);
		if (one[at] || two[at] || (*a && memcmp(one + at, zeros, strlen(a)) != 0) ||
			(*b && memcmp(two + at, zeros, strlen(b)) != 0))
			_exit(90);
		if (getenv("CLOOP_SECRET_KEY") || !getenv("OTHER"))
			_exit(91);
		_exit(rc ? (strcmp(e.slug, "key_twice") ? 92 : 0) : fd >= 0 ? 1 : 93);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

void test_key_pass__one_that_is_there_twice_is_wiped_twice(void)
{
	CHECK_INT(twice("planted", "planted"), 1);
	CHECK_INT(twice("planted", "another"), 0);
	CHECK_INT(twice("planted", ""), 0);
}

/* An address sanitizer makes mlock(2) do nothing. */
#ifdef CL_SANITIZED
#define LOCKED ""
#else
#define LOCKED " lo"
#endif

/* Locked, and not to be read: the line of smaps of the mapping. */
void test_key_pass__its_pages_are_held(void)
{
	int m = memory("key", 3, OURS);
	char line[512];
	bool ours = false, held = false;
	struct cl_err e;
	FILE *f;

	CHECK_INT(key_pass_pin(m, &e), 0);
	f = fopen("/proc/self/smaps", "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "memfd:key"))
			ours = strstr(line, " ---p ") != NULL;
		else if (ours && !strncmp(line, "VmFlags:", 8))
			held = held || (strstr(line, LOCKED) && strstr(line, " dd"));
	}
	CHECK(f && held);
	if (f)
		(void)fclose(f);
	(void)close(m);
	CHECK_INT(key_pass_pin(-1, &e), 0);
	CHECK_INT(key_pass_pin(0, &e), 0);
}

#ifndef CL_SANITIZED
/* A user who may lock nothing is told so, and has no key that swap could have. */
void test_key_pass__what_cannot_be_locked_is_refused(void)
{
	const struct rlimit none = {0, 0};
	int m = memory("key", 3, OURS), status = -1, fd = -1;
	struct cl_err e;
	pid_t pid = fork();

	if (!pid) {
		/* Root locks whatever the limit is. */
		if ((!geteuid() && setresuid(65534, 65534, 65534)) ||
			setrlimit(RLIMIT_MEMLOCK, &none))
			_exit(2);
		if (!key_pass_pin(m, &e) || e.code != CL_EOS || !strstr(e.msg, "cannot lock") ||
			!strstr(e.fix, "ulimit -l"))
			_exit(3);
		(void)setenv("CLOOP_SECRET_KEY", "words", 1);
		_exit(key_pass_take(&fd, &e) && fd < 0 && !getenv("CLOOP_SECRET_KEY") ? 0 : 4);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
	(void)close(m);
}
#endif

void test_key_pass__what_others_could_change_is_no_key(void)
{
	CHECK_INT(kept(OURS & ~F_SEAL_WRITE), 0);
	CHECK_INT(kept(OURS & ~F_SEAL_SEAL), 0);
	CHECK_INT(kept(OURS & ~F_SEAL_GROW), 0);
}
