/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clocks and the identity of processes. */
#include "base/mem.h"
#include "base/text.h"
#include "sys/clock.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAIL                                                                                    \
	" 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 987654321 1 2 18446744073709551615 1 1 0 0" \
	" 0 0\n"

static int parse(const char *text, struct sys_proc_stat *st, struct cl_err *e)
{
	return sys_parse_proc_stat(text, strlen(text), st, e);
}

void test_stat__names(void)
{
	static const char *const names[] = {"sh", "", "a b", ")", ") S 1 2 3 4 (", "((",
		"x\ny) Z 9 9", "\xff\xfe", "1) R 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 (1"};

	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++) {
		cleanup_free char *line = cl_asprintf("77 (%s) S 5" TAIL, names[i]);
		struct sys_proc_stat st = {0};
		struct cl_err e;

		CHECK_INT(parse(line, &st, &e), 0);
		CHECK_INT(st.pid, 77);
		CHECK_INT(st.ppid, 5);
		CHECK_INT(st.state, 'S');
		CHECK_INT(st.threads, 3);
		CHECK_INT(st.start_ticks, 987654321);
	}
}

void test_stat__broken(void)
{
	static const char *const lines[] = {"", "77", "77 (sh", "77 (sh)", "77 (sh) S",
		"x (sh) S 5" TAIL, "-7 (sh) S 5" TAIL, "77 (sh) SS 5" TAIL, "77 (sh) S x" TAIL,
		"77 (sh) S 99999999999" TAIL,
		"77 (sh) S 5 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0",
		"77 (sh) S 5 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 99999999999999999999 1"};

	for (size_t i = 0; i < CL_ARRAY_LEN(lines); i++) {
		struct sys_proc_stat st;
		struct cl_err e;

		CHECK_INT(parse(lines[i], &st, &e), -1);
		CHECK_INT(e.code, CL_EDATA);
	}
}

/* A live process with every nasty character in its name. */
void test_stat__live_name(void)
{
	struct sys_proc_stat st;
	struct cl_err e;
	int to[2];
	char byte = 0;
	pid_t pid;

	CHECK_INT(pipe(to), 0);
	pid = fork();
	if (!pid) {
		(void)prctl(PR_SET_NAME, "a) Z 1\n(b)");
		(void)!write(to[1], "x", 1);
		(void)pause();
		_exit(0);
	}
	CHECK_INT(read(to[0], &byte, 1), 1);
	CHECK_INT(sys_proc_stat(pid, &st, &e), 0);
	CHECK_INT(st.pid, pid);
	CHECK_INT(st.ppid, getpid());
	CHECK(st.state == 'S' || st.state == 'R');
	CHECK_INT(st.threads, 1);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	CHECK_INT(sys_proc_stat(pid, &st, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
	(void)close(to[0]);
	(void)close(to[1]);
}

void test_same__life(void)
{
	char boot[SYS_BOOT_ID_SIZE], other[] = "00000000-0000-0000-0000-000000000000";
	uint64_t start;
	struct cl_err e;
	pid_t pid;

	CHECK_INT(sys_boot_id(boot, &e), 0);
	CHECK_INT(strlen(boot), 36);
	pid = fork();
	if (!pid) {
		(void)pause();
		_exit(0);
	}
	CHECK_INT(sys_proc_start(pid, &start, &e), 0);
	CHECK(sys_same_process(pid, start, boot));
	CHECK(!sys_same_process(pid, start + 1, boot));
	CHECK(!sys_same_process(pid, start, other));
	(void)kill(pid, SIGKILL);
	/* Dead, not yet waited for: a zombie. */
	CHECK_INT(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	CHECK(!sys_same_process(pid, start, boot));
	(void)waitpid(pid, NULL, 0);
	CHECK(!sys_same_process(pid, start, boot));
	CHECK(!sys_same_process(0, 0, boot));
	CHECK(!sys_same_process(-1, 0, boot));
}

static void *linger(void *arg)
{
	(void)pause();
	return arg;
}

/* Its first thread has ended, another works on: alive. */
void test_same__headless(void)
{
	char boot[SYS_BOOT_ID_SIZE];
	struct sys_proc_stat st = {0};
	struct cl_err e;
	pid_t pid;

	CHECK_INT(sys_boot_id(boot, &e), 0);
	pid = fork();
	if (!pid) {
		pthread_t t;

		(void)pthread_create(&t, NULL, linger, NULL);
		pthread_exit(NULL);
	}
	while (!sys_proc_stat(pid, &st, &e) && st.state != 'Z')
		sys_sleep_ms(1);
	CHECK_INT(st.state, 'Z');
	CHECK_INT(st.threads, 2);
	CHECK(sys_same_process(pid, st.start_ticks, boot));
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

void test_pidfd__exact(void)
{
	struct pollfd p = {.fd = -1, .events = POLLIN};
	uint64_t start;
	struct cl_err e;
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		(void)pause();
		_exit(0);
	}
	CHECK_INT(sys_proc_start(pid, &start, &e), 0);
	CHECK_INT(sys_pidfd_open(pid, start + 1, &p.fd, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
	CHECK_INT(sys_pidfd_open(pid, start, &p.fd, &e), 0);
	CHECK(fcntl(p.fd, F_GETFD) & FD_CLOEXEC);
	CHECK_INT(poll(&p, 1, 0), 0);
	CHECK_INT(sys_pidfd_kill(p.fd, SIGKILL, &e), 0);
	CHECK_INT(poll(&p, 1, -1), 1);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_INT(sys_pidfd_kill(p.fd, SIGKILL, &e), 0);
	(void)close(p.fd);
	CHECK_INT(sys_pidfd_open(pid, start, &p.fd, &e), -1);
	CHECK_INT(e.code, CL_ENOTFOUND);
	CHECK_INT(sys_pidfd_open(0, start, &p.fd, &e), -1);
}

void test_clock__order(void)
{
	int64_t a = sys_mono_ms(), wall = sys_now_ms();

	sys_sleep_ms(2);
	CHECK(sys_mono_ms() >= a + 2);
	CHECK(wall > 1600000000000LL);
}
