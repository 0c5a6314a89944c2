/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes found by their mark, against real ones. */
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/kin.h"
#include "sys/proc.h"
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* A shell that leaves one process in a session of its own, and waits. */
static pid_t start(char *mark)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)"setsid sleep 600 & sleep 600", NULL};
	char *envp[] = {(char *)"PATH=" SYS_PATH, mark, NULL};
	struct sys_spawn s = SYS_SPAWN_INIT;
	struct cl_err e;
	pid_t pid;

	s.path = "sh";
	s.argv = argv;
	s.envp = envp;
	s.new_session = true;
	return sys_spawn(&s, &pid, &e) ? 0 : pid;
}

void test_kin__only_what_carries_the_mark(void)
{
	char mark[64], other[64], value[40];
	struct cl_err e;
	pid_t a, b;
	int status;

	(void)snprintf(value, sizeof(value), "u-kin-%d", (int)getpid());
	(void)snprintf(mark, sizeof(mark), "CLOOP_TEST_KIN=%s", value);
	(void)snprintf(other, sizeof(other), "CLOOP_TEST_KIN=%s-other", value);
	a = start(mark);
	b = start(other);
	CHECK(a > 0 && b > 0);
	/* The spawn returns once it has executed, so the environment is the child's own. */
	{
		cleanup_strv struct cl_strv seen = CL_STRV_INIT;

		CHECK_INT(sys_kin_values("CLOOP_TEST_KIN", &seen, &e), 0);
		CHECK(cl_strv_has(&seen, value));
		CHECK(!cl_strv_has(&seen, ""));
	}
	/* Zombies do not count: nobody has reaped them yet. */
	CHECK_INT(sys_kin_kill(mark, 0, 60000, &e), 0);
	CHECK_INT(waitpid(a, &status, 0), a);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == 9);
	CHECK_INT(waitpid(b, &status, WNOHANG), 0);
	CHECK_INT(sys_kin_kill(other, 0, 60000, &e), 0);
	CHECK_INT(waitpid(b, &status, 0), b);
	CHECK_INT(sys_kin_kill(mark, 0, 0, &e), 0);
}

void test_kin__children_of_a_supervisor(void)
{
	struct cl_err e;
	int status;
	char mark[] = "CLOOP_TEST_KIN=child";
	pid_t fork_of_ours = fork(), other;

	if (!fork_of_ours) {
		sys_sleep_ms(600000);
		_exit(0);
	}
	other = start(mark);
	CHECK(other > 0);
	CHECK_INT(sys_kin_kill("CLOOP_TEST_KIN=nobody", getpid(), 60000, &e), 0);
	CHECK_INT(waitpid(other, &status, 0), other);
	/* What runs our own executable is a helper of ours. */
	CHECK_INT(waitpid(fork_of_ours, &status, WNOHANG), 0);
	CHECK_INT(kill(fork_of_ours, SIGKILL), 0);
	CHECK_INT(waitpid(fork_of_ours, &status, 0), fork_of_ours);
	(void)sys_kin_kill(mark, 0, 60000, &e);
}
