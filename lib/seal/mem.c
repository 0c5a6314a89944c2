/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/mem.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* A limit that nothing here comes near. */
#define MOST_LOCKED ((rlim_t)1 << 40)

/*
 * What libraries hold is locked too, but only where no limit holds for us: under one, the first
 * mapping that passes it (scrypt's memory, the stack of a thread) would fail, and our own pages,
 * which must be locked, would have to do with what is left. Whether it holds is in no set of
 * capabilities (in a user namespace they count for nothing here), so the kernel is asked: what
 * nobody may read is never filled, however large.
 */
static bool nothing_limits_locks(void)
{
	struct rlimit r;
	size_t size;
	void *p;

	if (getrlimit(RLIMIT_MEMLOCK, &r))
		return false;
	if (r.rlim_cur >= MOST_LOCKED)
		return true;
	size = (size_t)r.rlim_cur + 1;
	p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_LOCKED,
		-1, 0);
	if (p == MAP_FAILED)
		return false;
	(void)munmap(p, size);
	return true;
}

int seal_process(struct cl_err *e)
{
	const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none))
		return cl_fail_sys(e, CL_EOS, errno, "cannot turn core dumps off");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return cl_fail_sys(e, CL_EOS, errno, "cannot hide this process's memory");
	if (nothing_limits_locks())
		(void)mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	return 0;
}

/* ---- pages ---- */

static size_t pages(size_t cap)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (cap + 1 + page - 1) / page * page;
}

int seal_lock(void *p, size_t size, struct cl_err *e)
{
	if (!mlock(p, size))
		return 0;
	(void)cl_fail_sys(e, CL_EOS, errno, "cannot lock %zu bytes for a secret", size);
	return cl_fix(e, "raise the limit of locked memory: ulimit -l unlimited");
}

static unsigned char *map_pages(size_t size, struct cl_err *e)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		(void)cl_fail_sys(e, CL_EOS, errno, "cannot get %zu bytes of memory", size);
		return NULL;
	}
	if (seal_lock(p, size, e)) {
		(void)munmap(p, size);
		return NULL;
	}
	(void)madvise(p, size, MADV_DONTDUMP);
	(void)madvise(p, size, MADV_WIPEONFORK);
	return p;
}

/*
 * Most of what is kept here is a key or a token, and five system calls for each would be dearer
 * than what is done with it: they share one mapping, in units of a cache line.
 */
#define ARENA 32768
#define UNIT  64
#define UNITS (ARENA / UNIT)

static struct {
	pthread_mutex_t lock;
	unsigned char *base; /* NULL: not mapped yet */
	pid_t pid;           /* a lock is not inherited over fork(2), the mapping is */
	bool used[UNITS];
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t units(size_t cap)
{
	return cap / UNIT + 1; /* with the NUL */
}

static bool from_arena(const unsigned char *p)
{
	return arena.base && p >= arena.base && p < arena.base + ARENA;
}

/* Nothing when it has no room, or what is left does not hang together. */
static void arena_take(size_t n, struct seal_buf *b)
{
	size_t run = 0;

	for (size_t i = 0; i < UNITS; i++) {
		run = arena.used[i] ? 0 : run + 1;
		if (run < n)
			continue;
		memset(&arena.used[i + 1 - n], true, n);
		b->p = arena.base + (i + 1 - n) * UNIT;
		return;
	}
}

static int arena_ready(struct cl_err *e)
{
	pid_t pid = getpid();

	if (arena.base && arena.pid == pid)
		return 0;
	if (arena.base ? seal_lock(arena.base, ARENA, e) : !(arena.base = map_pages(ARENA, e)))
		return -1;
	arena.pid = pid;
	return 0;
}

int seal_buf_make(struct seal_buf *b, size_t cap, struct cl_err *e)
{
	struct seal_buf made = {.cap = cap};
	struct cl_err small; /* a low limit may still have room for a page */

	if (cap < ARENA) {
		(void)pthread_mutex_lock(&arena.lock);
		if (!arena_ready(&small))
			arena_take(units(cap), &made);
		(void)pthread_mutex_unlock(&arena.lock);
	}
	if (!made.p)
		made.p = map_pages(pages(cap), e);
	if (!made.p)
		return -1;
	*b = made;
	return 0;
}

int seal_buf_copy(struct seal_buf *b, const void *p, size_t len, struct cl_err *e)
{
	if (seal_buf_make(b, len, e))
		return -1;
	memcpy(b->p, p, len);
	b->len = len;
	return 0;
}

void seal_buf_release(struct seal_buf *b)
{
	if (from_arena(b->p)) {
		size_t n = units(b->cap);

		explicit_bzero(b->p, n * UNIT);
		(void)pthread_mutex_lock(&arena.lock);
		memset(&arena.used[(size_t)(b->p - arena.base) / UNIT], false, n);
		(void)pthread_mutex_unlock(&arena.lock);
	} else if (b->p) {
		explicit_bzero(b->p, pages(b->cap));
		(void)munmap(b->p, pages(b->cap));
	}
	*b = SEAL_BUF_INIT;
}

static int grow(struct seal_buf *b, size_t cap, struct cl_err *e)
{
	struct seal_buf larger = SEAL_BUF_INIT;

	if (seal_buf_make(&larger, cap, e))
		return -1;
	if (b->len)
		memcpy(larger.p, b->p, b->len);
	larger.len = b->len;
	seal_buf_release(b);
	*b = larger;
	return 0;
}

int seal_read_fd(int fd, const char *name, size_t max, struct seal_buf *out, struct cl_err *e)
{
	for (;;) {
		ssize_t n;

		if (out->len == out->cap && grow(out, out->cap ? 2 * out->cap + 1 : 4095, e))
			return -1;
		n = read(fd, out->p + out->len, out->cap - out->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "cannot read '%s'", name);
		if (!n)
			break;
		out->len += (size_t)n;
		if (out->len > max)
			return cl_fail(e, CL_EDATA, "'%s' holds more than %zu bytes", name, max);
	}
	out->p[out->len] = '\0';
	return 0;
}

int seal_read_file(const char *path, size_t max, struct seal_buf *out, struct cl_err *e)
{
	cleanup_fd int fd = -1;

	if (!strcmp(path, "-"))
		return seal_read_fd(STDIN_FILENO, "standard input", max, out, e);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot open '%s'", path);
	return seal_read_fd(fd, path, max, out, e);
}
