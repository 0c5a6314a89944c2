/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into a command, makes its Nth call of one kind fail, or die there:
 *
 *	T_FAULT_CALL   write, sync, rename, open, make, malloc or send (what each covers: below)
 *	T_FAULT_NTH    which call of that kind, from 1
 *	T_FAULT_ERRNO  number of the error; default EIO (ENOMEM for malloc)
 *	T_FAULT_MODE   once (default), from (that one and all after it), kill (SIGKILL there)
 *	T_FAULT_HIT    file that is made when the call came: else the command has had fewer
 *
 * Standard input, output and error are left alone. T_CLOCK_SHIFT, in seconds, moves the wall
 * clock and the boot clock for the command.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind { WRITE, SYNC, RENAME, OPEN, MAKE, MALLOC, SEND, NKINDS };
static const char *const names[NKINDS] = {
	"write", "sync", "rename", "open", "make", "malloc", "send"};

static struct {
	int kind; /* -1: none */
	unsigned long nth;
	int error;
	bool from, kill;
	const char *hit;
	long shift;
} plan = {.kind = -1};
static unsigned long seen;

static const char *setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

__attribute__((constructor)) static void read_plan(void)
{
	const char *call = setting("T_FAULT_CALL", ""), *mode = setting("T_FAULT_MODE", "once");

	plan.hit = getenv("T_FAULT_HIT");
	plan.nth = strtoul(setting("T_FAULT_NTH", "1"), NULL, 10);
	plan.from = !strcmp(mode, "from");
	plan.kill = !strcmp(mode, "kill");
	plan.shift = strtol(setting("T_CLOCK_SHIFT", "0"), NULL, 10);
	for (int i = 0; i < NKINDS; i++)
		if (!strcmp(call, names[i])) {
			plan.error = i == MALLOC ? ENOMEM : EIO;
			plan.kind = i;
		}
	plan.error = (int)strtol(setting("T_FAULT_ERRNO", "0"), NULL, 10) ?: plan.error;
}

/* True when this call of `kind` is to fail; errno is set then. */
static bool fails(enum kind kind)
{
	unsigned long n;

	if (plan.kind != (int)kind)
		return false;
	n = __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED);
	if (n != plan.nth && !(plan.from && n > plan.nth))
		return false;
	if (plan.hit)
		(void)syscall(SYS_close,
			syscall(SYS_openat, AT_FDCWD, plan.hit, O_WRONLY | O_CREAT, 0666));
	if (plan.kill)
		(void)syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
	errno = plan.error;
	return true;
}

/* The function that we stand before. */
#define NEXT(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

/* --- write --- */

ssize_t write(int fd, const void *p, size_t n)
{
	return fd > 2 && fails(WRITE) ? -1 : NEXT(write)(fd, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return fails(WRITE) ? -1 : NEXT(pwrite)(fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	return fails(WRITE) ? -1 : NEXT(pwrite64)(fd, p, n, at);
}

int ftruncate(int fd, off_t n)
{
	return fails(WRITE) ? -1 : NEXT(ftruncate)(fd, n);
}

int ftruncate64(int fd, off64_t n)
{
	return fails(WRITE) ? -1 : NEXT(ftruncate64)(fd, n);
}

/* --- send: a request to the kernel over netlink, among others --- */

ssize_t sendto(int fd, const void *p, size_t n, int flags, __CONST_SOCKADDR_ARG to, socklen_t len)
{
	return fails(SEND) ? -1 : NEXT(sendto)(fd, p, n, flags, to, len);
}

/* --- sync --- */

int fsync(int fd)
{
	return fails(SYNC) ? -1 : NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
	return fails(SYNC) ? -1 : NEXT(fdatasync)(fd);
}

/* --- rename: names that change --- */

int rename(const char *from, const char *to)
{
	return fails(RENAME) ? -1 : NEXT(rename)(from, to);
}

int renameat(int a, const char *from, int b, const char *to)
{
	return fails(RENAME) ? -1 : NEXT(renameat)(a, from, b, to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
	return fails(RENAME) ? -1 : NEXT(renameat2)(a, from, b, to, flags);
}

int link(const char *from, const char *to)
{
	return fails(RENAME) ? -1 : NEXT(link)(from, to);
}

int linkat(int a, const char *from, int b, const char *to, int flags)
{
	return fails(RENAME) ? -1 : NEXT(linkat)(a, from, b, to, flags);
}

int unlink(const char *path)
{
	return fails(RENAME) ? -1 : NEXT(unlink)(path);
}

int unlinkat(int at, const char *path, int flags)
{
	return fails(RENAME) ? -1 : NEXT(unlinkat)(at, path, flags);
}

/* --- open --- */

#define MODE(flags, last)                                                  \
	({                                                                 \
		mode_t mode_ = 0;                                          \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) { \
			va_list ap_;                                       \
			va_start(ap_, last);                               \
			mode_ = (mode_t)va_arg(ap_, int);                  \
			va_end(ap_);                                       \
		}                                                          \
		mode_;                                                     \
	})

int open(const char *path, int flags, ...)
{
	mode_t mode = MODE(flags, flags);

	return fails(OPEN) ? -1 : NEXT(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = MODE(flags, flags);

	return fails(OPEN) ? -1 : NEXT(open64)(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
	mode_t mode = MODE(flags, flags);

	return fails(OPEN) ? -1 : NEXT(openat)(at, path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...)
{
	mode_t mode = MODE(flags, flags);

	return fails(OPEN) ? -1 : NEXT(openat64)(at, path, flags, mode);
}

/* What _FORTIFY_SOURCE makes of calls without a mode. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);

int __open_2(const char *path, int flags)
{
	return open(path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
	return open(path, flags | O_LARGEFILE, 0);
}

int __openat_2(int at, const char *path, int flags)
{
	return openat(at, path, flags, 0);
}

int __openat64_2(int at, const char *path, int flags)
{
	return openat(at, path, flags | O_LARGEFILE, 0);
}

/* --- make: directories, modes and owners --- */

int mkdir(const char *path, mode_t mode)
{
	return fails(MAKE) ? -1 : NEXT(mkdir)(path, mode);
}

int mkdirat(int at, const char *path, mode_t mode)
{
	return fails(MAKE) ? -1 : NEXT(mkdirat)(at, path, mode);
}

int fchmod(int fd, mode_t mode)
{
	return fails(MAKE) ? -1 : NEXT(fchmod)(fd, mode);
}

int fchown(int fd, uid_t uid, gid_t gid)
{
	return fails(MAKE) ? -1 : NEXT(fchown)(fd, uid, gid);
}

int symlink(const char *to, const char *at)
{
	return fails(MAKE) ? -1 : NEXT(symlink)(to, at);
}

/* --- malloc; not below a sanitizer, whose allocator it would replace --- */

#ifndef T_NO_MALLOC
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	return fails(MALLOC) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails(MALLOC) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails(MALLOC) ? NULL : __libc_realloc(p, n);
}
#endif

/* --- the clock --- */

int clock_gettime(clockid_t which, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, which, ts);

	if (!rc && (which == CLOCK_REALTIME || which == CLOCK_BOOTTIME))
		ts->tv_sec += plan.shift;
	return rc;
}
