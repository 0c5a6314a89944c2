/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Locked memory: what it promises, and that nothing of a secret stays in this process. */
#include "unit.h"
#include "base/mem.h"
#include "seal/envelope.h"
#include "seal/mem.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sanitizers make mlock(2) do nothing. */
#ifdef CL_SANITIZED
static const bool mlock_is_real = false;
#else
static const bool mlock_is_real = true;
#endif

/* The line of /proc/self/smaps that `key` starts, of the mapping that holds p. */
static bool smaps(const void *p, const char *key, char *out, size_t size)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512];
	bool here = false;

	*out = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = (unsigned long)p >= from && (unsigned long)p < to;
		else if (here && !strncmp(line, key, strlen(key)))
			(void)snprintf(out, size, "%s", line);
	}
	if (f)
		(void)fclose(f);
	return *out;
}

static void *nothing(void *arg)
{
	return arg;
}

/* All that is mapped would fit below the limit, where it may be set so, and what comes later not. */
static bool limit_above_what_is_mapped(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	struct rlimit r;
	long mapped = 0;
	bool read = f && fscanf(f, "%ld", &mapped) == 1 && !getrlimit(RLIMIT_MEMLOCK, &r);
	rlim_t bytes = (rlim_t)mapped * (rlim_t)sysconf(_SC_PAGESIZE) + (4u << 20);

	if (f)
		(void)fclose(f);
	if (!read)
		return false;
	r.rlim_cur = r.rlim_max = bytes < r.rlim_max ? bytes : r.rlim_max;
	return !setrlimit(RLIMIT_MEMLOCK, &r) && (geteuid() || !setuid(65534));
}

/*
 * An ordinary user has a few mebibytes to lock: that limits nothing but what must be locked. Before
 * the tests with threads, whose stacks stay mapped.
 */
void test_seal_mem__limited(void)
{
	struct cl_err e;
	int status = -1;
	pid_t pid = mlock_is_real ? fork() : -1;

	if (!mlock_is_real)
		return;

	if (!pid) {
		struct seal_buf b = SEAL_BUF_INIT;
		pthread_t t;
		void *large;

		if (!limit_above_what_is_mapped())
			_exit(3);
		if (seal_process(&e))
			_exit(4);
		large = mmap(NULL, 128u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
		if (large == MAP_FAILED)
			_exit(5);
		if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL))
			_exit(6);
		_exit(seal_buf_copy(&b, "secret", 6, &e) ? 7 : 0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

/* Who is not limited has all of it locked, what comes later too. */
void test_seal_mem__unlimited(void)
{
	struct cl_err e;
	int status = -1;
	pid_t pid;

	if (!mlock_is_real || geteuid())
		return;
	pid = fork();
	if (!pid) {
		const struct rlimit low = {1u << 20, 1u << 20};
		char line[512];
		void *later;

		if (setrlimit(RLIMIT_MEMLOCK, &low))
			_exit(3);
		/* Root of a container may be limited as anybody is. */
		later = mmap(
			NULL, 2u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (later == MAP_FAILED || mlock(later, 2u << 20))
			_exit(0);
		if (seal_process(&e))
			_exit(4);
		later = mmap(
			NULL, 8u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		_exit(later == MAP_FAILED || !smaps(later, "VmFlags", line, sizeof(line)) ||
			!strstr(line, " lo"));
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

void test_seal_mem__flags(void)
{
	cleanup_seal struct seal_buf b = SEAL_BUF_INIT;
	char line[512];
	struct cl_err e;

	CHECK_INT(seal_buf_copy(&b, "secret", 6, &e), 0);
	CHECK_INT(b.p[6], 0);
	CHECK(smaps(b.p, "VmFlags", line, sizeof(line)));
	if (mlock_is_real)
		CHECK_HAS(line, " lo"); /* locked */
	CHECK_HAS(line, " dd");         /* not dumped */
	CHECK_HAS(line, " wf");         /* wiped on fork */
}

static bool zeroed(const struct seal_buf *b)
{
	for (size_t i = 0; i <= b->cap; i++)
		if (b->p[i])
			return false;
	return true;
}

/* However many there are and in whichever order they go, none reaches into another. */
void test_seal_mem__apart(void)
{
	enum { MANY = 400 };
	static struct seal_buf all[MANY];
	struct cl_err e;

	for (size_t round = 0; round < 20; round++) {
		for (size_t i = 0; i < MANY; i++) {
			size_t cap = (i * 37 + round * 101) % 700;

			if (all[i].p && (i + round) % 3)
				continue;
			seal_buf_release(&all[i]);
			if (i % 50 == 49)
				cap = 32766 + i % 3;
			CHECK_INT(seal_buf_make(&all[i], cap, &e), 0);
			CHECK(zeroed(&all[i]));
			memset(all[i].p, (int)(i & 255), cap);
		}
		for (size_t i = 0; i < MANY; i++) {
			for (size_t k = 0; k < all[i].cap; k++)
				if (all[i].p[k] != (i & 255))
					UNIT_FAIL(
						"round %zu: buffer %zu was overwritten", round, i);
			CHECK_INT(all[i].p[all[i].cap], 0);
		}
	}
	for (size_t i = 0; i < MANY; i++)
		seal_buf_release(&all[i]);
}

static void *takes(void *arg)
{
	bool *failed = arg;
	struct cl_err e;

	for (int i = 0; i < 2000; i++) {
		struct seal_buf b = SEAL_BUF_INIT;

		if (seal_buf_make(&b, (size_t)i % 300, &e) || !zeroed(&b))
			*failed = true;
		else
			memset(b.p, 'x', b.cap);
		seal_buf_release(&b);
	}
	return NULL;
}

void test_seal_mem__threads(void)
{
	bool failed[4] = {false};
	pthread_t t[4];

	for (size_t i = 0; i < CL_ARRAY_LEN(t); i++)
		CHECK_INT(pthread_create(&t[i], NULL, takes, &failed[i]), 0);
	for (size_t i = 0; i < CL_ARRAY_LEN(t); i++) {
		CHECK_INT(pthread_join(t[i], NULL), 0);
		CHECK(!failed[i]);
	}
}

/* A child's own secrets are locked as its parent's were. */
void test_seal_mem__child_locks_its_own(void)
{
	cleanup_seal struct seal_buf b = SEAL_BUF_INIT;
	struct cl_err e;
	int status = -1;
	pid_t pid;

	CHECK_INT(seal_buf_copy(&b, "secret", 6, &e), 0);
	pid = fork();
	if (!pid) {
		struct seal_buf own = SEAL_BUF_INIT;
		char line[512];

		_exit(seal_buf_copy(&own, "other", 5, &e) || own.p == b.p ||
			!smaps(own.p, "VmFlags", line, sizeof(line)) ||
			(mlock_is_real && !strstr(line, " lo")));
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

void test_seal_mem__child_has_none(void)
{
	cleanup_seal struct seal_buf b = SEAL_BUF_INIT;
	struct cl_err e;
	int status = -1;
	pid_t pid;

	CHECK_INT(seal_buf_copy(&b, "secret", 6, &e), 0);
	pid = fork();
	if (!pid)
		_exit(memcmp(b.p, "\0\0\0\0\0\0", 6) != 0);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

void test_seal_mem__process(void)
{
	struct rlimit r;
	struct cl_err e;
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		if (seal_process(&e) || getrlimit(RLIMIT_CORE, &r) || r.rlim_max ||
			prctl(PR_GET_DUMPABLE))
			_exit(1);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

void test_seal_mem__no_room(void)
{
	struct cl_err e;
	int status = -1;
	pid_t pid = mlock_is_real ? fork() : -1;

	if (!mlock_is_real)
		return;

	if (!pid) {
		const struct rlimit none = {0, 0};
		struct seal_buf b = SEAL_BUF_INIT;

		/* Root may lock whatever the limit; somebody else may not. */
		if (setrlimit(RLIMIT_MEMLOCK, &none) || (!geteuid() && setuid(65534)))
			_exit(3);
		_exit(!(seal_buf_make(&b, 10, &e) == -1 && e.code == CL_EOS && !b.p &&
			strstr(e.fix, "ulimit -l")));
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

static int pipe_with(const char *text, size_t len)
{
	int p[2];

	if (pipe(p) || fcntl(p[1], F_SETPIPE_SZ, 1 << 20) < 0 ||
		write(p[1], text, len) != (ssize_t)len)
		abort();
	(void)close(p[1]);
	return p[0];
}

void test_seal_mem__read(void)
{
	static const size_t sizes[] = {0, 1, 4094, 4095, 4096, 8191, 8192, 65536};
	static char text[65536];
	struct cl_err e;

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < CL_ARRAY_LEN(sizes); i++) {
		cleanup_fd int fd = pipe_with(text, sizes[i]), again = pipe_with(text, sizes[i]);
		cleanup_seal struct seal_buf b = SEAL_BUF_INIT, c = SEAL_BUF_INIT;

		CHECK_INT(seal_read_fd(fd, "it", sizes[i], &b, &e), 0);
		CHECK_INT(b.len, sizes[i]);
		CHECK(!memcmp(b.p, text, b.len) && !b.p[b.len]);
		if (sizes[i]) {
			CHECK_INT(seal_read_fd(again, "it", sizes[i] - 1, &c, &e), -1);
			CHECK_INT(e.code, CL_EDATA);
		}
	}
	{
		cleanup_seal struct seal_buf b = SEAL_BUF_INIT;

		CHECK_INT(seal_read_file("/nonexistent", 9, &b, &e), -1);
		CHECK_INT(e.code, CL_EUNAVAIL);
	}
}

/* ---- nothing stays ---- */

/*
 * How often the bytes of `veiled`, each xor 0x55, stand in this process's writable memory. The
 * plain bytes are nowhere but where somebody left them.
 */
static int found(const unsigned char *veiled, size_t len)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), hits = 0;
	static unsigned char window[1 << 16];
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		char mode[5];

		/* A sanitizer's own maps are terabytes, and nobody copies secrets there. */
		if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3 || mode[1] != 'w' ||
			to - from > 256ul << 20)
			continue;
		for (unsigned long at = from; at < to; at += sizeof(window) - len) {
			size_t want = to - at < sizeof(window) ? to - at : sizeof(window);
			ssize_t n = pread(mem, window, want, (off_t)at);

			/* The window itself is such memory too. */
			if (at + want > (unsigned long)window &&
				at < (unsigned long)window + sizeof(window))
				continue;
			for (ssize_t i = 0; i + (ssize_t)len <= n; i++) {
				size_t k = 0;

				while (k < len && (window[(size_t)i + k] ^ 0x55) == veiled[k])
					k++;
				hits += k == len;
			}
		}
	}
	if (maps)
		(void)fclose(maps);
	(void)close(mem);
	memset(window, 0, sizeof(window));
	return hits;
}

void test_seal_mem__nothing_stays(void)
{
	unsigned char veiled[24], dek[SEAL_KEY] = {9}, blob[24 + SEAL_EXTRA];
	struct seal_place at = {"secrets", "sec_1"};
	struct seal_buf plain = SEAL_BUF_INIT, opened = SEAL_BUF_INIT;
	struct cl_err e;

	CHECK_INT(seal_random(veiled, sizeof(veiled), &e), 0);
	CHECK_INT(seal_buf_make(&plain, sizeof(veiled), &e), 0);
	for (size_t i = 0; i < sizeof(veiled); i++)
		plain.p[i] = veiled[i] ^ 0x55;
	plain.len = sizeof(veiled);
	CHECK(found(veiled, sizeof(veiled)) >= 1);
	CHECK_INT(seal_payload(dek, &at, NULL, plain.p, plain.len, blob, &e), 0);
	seal_buf_release(&plain);
	CHECK_INT(found(veiled, sizeof(veiled)), 0);
	CHECK_INT(seal_unpayload(dek, &at, blob, sizeof(blob), &opened, &e), 0);
	CHECK_INT(found(veiled, sizeof(veiled)), 1);
	seal_buf_release(&opened);
	CHECK_INT(found(veiled, sizeof(veiled)), 0);
}

/* What is mapped by itself is given back wiped: nobody can look there afterwards, so it is seen here. */
#ifndef CL_SANITIZED
static const unsigned char *watched;
static bool came, was_wiped;

int munmap(void *p, size_t n)
{
	if (p == watched) {
		came = was_wiped = true;
		for (size_t i = 0; i < n; i++)
			was_wiped = was_wiped && !((const unsigned char *)p)[i];
	}
	return (int)syscall(SYS_munmap, p, n);
}

void test_seal_mem__a_large_one_is_wiped_before_it_goes(void)
{
	struct seal_buf b = SEAL_BUF_INIT;
	struct cl_err e;

	CHECK_INT(seal_buf_make(&b, 100000, &e), 0);
	memset(b.p, 's', 100000);
	b.len = 100000;
	watched = b.p;
	seal_buf_release(&b);
	watched = NULL;
	CHECK(came && was_wiped);
}
#endif
