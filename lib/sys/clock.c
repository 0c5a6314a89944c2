/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t which)
{
	struct timespec ts;

	(void)clock_gettime(which, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t sys_now_ms(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t sys_mono_ms(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

void sys_sleep_ms(int64_t ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	if (ms > 0)
		(void)nanosleep(&ts, NULL);
}

/* Reads a small file of /proc whole; -1 with errno. A text that fills buf is refused. */
static ssize_t read_small(const char *path, char *buf, size_t size)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	while ((n = read(fd, buf + len, size - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		len += (size_t)n;
		if (len == size) {
			errno = EOVERFLOW;
			return -1;
		}
	}
	buf[len] = '\0';
	return (ssize_t)len;
}

int sys_boot_id(char out[SYS_BOOT_ID_SIZE], struct cl_err *e)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	char text[64];
	ssize_t n = read_small(path, text, sizeof(text));

	if (n < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot read '%s'", path);
	text[strcspn(text, "\n")] = '\0';
	if (strlen(text) != SYS_BOOT_ID_SIZE - 1 || !cl_all_in(text, CL_DIGITS "abcdef-"))
		return cl_fail(e, CL_EOS, "'%s' holds '%s', which is no UUID", path, text);
	memcpy(out, text, SYS_BOOT_ID_SIZE);
	return 0;
}

/* The n-th blank-separated word of p (from 0), copied; false when there is none. */
static bool word(const char *p, unsigned n, char *out, size_t size)
{
	size_t len;

	for (;; n--) {
		p += strspn(p, " ");
		len = strcspn(p, " \n");
		if (!n || !len)
			break;
		p += len;
	}
	if (!len || len >= size)
		return false;
	memcpy(out, p, len);
	out[len] = '\0';
	return true;
}

static bool number(const char *p, unsigned n, uint64_t max, uint64_t *out)
{
	struct cl_err ignored;
	char text[24];

	return word(p, n, text, sizeof(text)) &&
	       !cl_parse_u64(text, 0, max, "field", out, &ignored);
}

int sys_parse_proc_stat(const char *text, size_t len, struct sys_proc_stat *out, struct cl_err *e)
{
	/* Counted after the ')' that ends the name: state 0, ppid 1, num_threads 17, starttime 19. */
	cleanup_free char *line = cl_strndup(text, len);
	const char *rest = memrchr(line, ')', len);
	uint64_t pid = 0, ppid = 0;
	char state[2];

	if (!rest)
		return cl_fail(e, CL_EDATA, "a process's stat line has no end of its name");
	rest++;
	if (!number(line, 0, INT32_MAX, &pid) || !word(rest, 0, state, sizeof(state)) ||
		!number(rest, 1, INT32_MAX, &ppid) ||
		!number(rest, 17, UINT64_MAX, &out->threads) ||
		!number(rest, 19, UINT64_MAX, &out->start_ticks))
		return cl_fail(e, CL_EDATA, "a process's stat line lacks fields");
	out->pid = (pid_t)pid;
	out->ppid = (pid_t)ppid;
	out->state = state[0];
	return 0;
}

int sys_proc_stat(pid_t pid, struct sys_proc_stat *out, struct cl_err *e)
{
	char path[40], text[2048];
	ssize_t n;

	if (pid <= 0)
		return cl_fail(e, CL_ENOTFOUND, "there is no process %d", (int)pid);
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	n = read_small(path, text, sizeof(text));
	if (n < 0 && (errno == ENOENT || errno == ESRCH))
		return cl_fail(e, CL_ENOTFOUND, "there is no process %d", (int)pid);
	if (n < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot read '%s'", path);
	if (sys_parse_proc_stat(text, (size_t)n, out, e))
		return cl_wrap(e, "%s", path);
	return 0;
}

int sys_proc_start(pid_t pid, uint64_t *start_ticks, struct cl_err *e)
{
	struct sys_proc_stat st;

	if (sys_proc_stat(pid, &st, e))
		return -1;
	*start_ticks = st.start_ticks;
	return 0;
}

/* A leader that is a zombie while other threads of it run is alive (proc(5)). */
static bool runs(const struct sys_proc_stat *st)
{
	return (st->state != 'Z' && st->state != 'X') || st->threads > 1;
}

bool sys_same_process(pid_t pid, uint64_t start_ticks, const char *boot_id)
{
	char boot[SYS_BOOT_ID_SIZE];
	struct sys_proc_stat st;
	struct cl_err e;

	if (!sys_boot_id(boot, &e) && strcmp(boot, boot_id))
		return false;
	if (sys_proc_stat(pid, &st, &e))
		return e.code != CL_ENOTFOUND;
	return st.start_ticks == start_ticks && runs(&st);
}

int sys_pidfd_open(pid_t pid, uint64_t start_ticks, int *fd, struct cl_err *e)
{
	struct sys_proc_stat st;
	cleanup_fd int got = -1;

	if (pid <= 0)
		return cl_fail(e, CL_ENOTFOUND, "there is no process %d", (int)pid);
	got = (int)syscall(SYS_pidfd_open, pid, 0);
	if (got < 0 && errno == ESRCH)
		return cl_fail(e, CL_ENOTFOUND, "process %d is gone", (int)pid);
	if (got < 0)
		return cl_fail_sys(e, CL_EOS, errno, "cannot open process %d", (int)pid);
	/* Read after the open: a start time that fits now belongs to what the descriptor holds. */
	if (sys_proc_stat(pid, &st, e))
		return -1;
	if (st.start_ticks != start_ticks)
		return cl_fail(e, CL_ENOTFOUND, "process %d is another one now", (int)pid);
	*fd = cl_steal_fd(&got);
	return 0;
}

int sys_pidfd_kill(int fd, int sig, struct cl_err *e)
{
	if (!syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) || errno == ESRCH)
		return 0;
	return cl_fail_sys(
		e, errno == EPERM ? CL_EDENIED : CL_EOS, errno, "cannot send signal %d", sig);
}
