/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/proc.h"
#include "base/mem.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `sh -c script`; r's other fields are the caller's. */
static int shell(struct sys_run *r, const char *script, struct cl_err *e)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)script, NULL};
	int rc;

	r->spawn.path = "/bin/sh";
	r->spawn.argv = argv;
	rc = sys_run(r, e);
	r->spawn.argv = NULL;
	return rc;
}

#define SHELL_OK(r, script)                                  \
	do {                                                 \
		struct cl_err e_;                            \
		if (shell(r, script, &e_))                   \
			UNIT_FAIL("%s: %s", script, e_.msg); \
	} while (0)

void test_run__output_and_status(void)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	SHELL_OK(&r, "echo out; echo err >&2; exit 7");
	CHECK_STR(r.out.p, "out\n");
	CHECK_STR(r.err.p, "err\n");
	CHECK_INT(r.status, 7);
	sys_run_release(&r);
	SHELL_OK(&r, "kill -9 $$");
	CHECK_INT(r.status, 128 + 9);
}

void test_run__environment_is_closed(void)
{
	static char *const env[] = {(char *)"A=1", (char *)"B=two words", NULL};
	static char *const argv[] = {(char *)"env", NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;

	CHECK_INT(setenv("CLOOP_SECRET_KEY", "leak", 1), 0);
	CHECK_INT(setenv("LD_PRELOAD", "/nonexistent/x.so", 1), 0);
	r.spawn.path = "env";
	r.spawn.argv = argv;
	CHECK_INT(sys_run(&r, &e), 0);
	CHECK_STR(r.out.p, "PATH=" SYS_PATH "\n");
	CHECK_STR(r.err.p, "");
	sys_run_release(&r);
	r.spawn.envp = env;
	CHECK_INT(sys_run(&r, &e), 0);
	CHECK_STR(r.out.p, "A=1\nB=two words\n");
	(void)unsetenv("LD_PRELOAD");
	(void)unsetenv("CLOOP_SECRET_KEY");
}

void test_run__descriptors_are_closed(void)
{
	cleanup_fd int plain = open("/dev/zero", O_RDONLY), high = -1;
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	high = fcntl(plain, F_DUPFD, 150); /* neither is close-on-exec */
	CHECK(plain > 2 && high >= 150);
	SHELL_OK(&r, "ls /proc/self/fd");
	/* 0-2, and the folder that ls itself has open. */
	CHECK_STR(r.out.p, "0\n1\n2\n3\n");
	sys_run_release(&r);
	SHELL_OK(&r, "readlink /proc/self/fd/0");
	CHECK_STR(r.out.p, "/dev/null\n");
}

void test_run__passed_descriptors_arrive_in_any_order(void)
{
	cleanup_fd int a = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	cleanup_fd int b = open("/dev/full", O_RDONLY | O_CLOEXEC);
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct sys_pass swap[] = {{a, b}, {b, a}, {a, 250}, {a, 9}};
	cleanup_free char *script = cl_asprintf(
		"readlink /proc/$$/fd/%d /proc/$$/fd/%d /proc/$$/fd/250 /proc/$$/fd/9", a, b);

	r.spawn.pass = swap;
	r.spawn.npass = CL_ARRAY_LEN(swap);
	SHELL_OK(&r, script);
	CHECK_STR(r.out.p, "/dev/full\n/dev/zero\n/dev/zero\n/dev/zero\n");
	/* Ours are as they were. */
	CHECK_INT(fcntl(a, F_GETFD), FD_CLOEXEC);
}

void test_run__passing_nonsense_is_refused(void)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct sys_pass closed = {999, 5}, onto_stdout = {0, 1};
	struct cl_err e;

	r.spawn.npass = 1;
	r.spawn.pass = &closed;
	CHECK_INT(shell(&r, "echo ran", &e), -1);
	CHECK_HAS(e.msg, "Bad file descriptor");
	CHECK_INT(e.code, CL_EOS);
	r.spawn.pass = &onto_stdout;
	CHECK_INT(shell(&r, "echo ran", &e), -1);
	CHECK_STR(r.out.p, "");
}

void test_run__output_is_capped(void)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	r.max_output = 1000;
	SHELL_OK(&r, "seq 1 200000; seq 1 200000 >&2");
	CHECK_INT(r.status, 0); /* what is beyond is read and dropped, so the child goes on */
	CHECK_INT(r.out.len, 1000);
	CHECK_INT(r.err.len, 1000);
	CHECK(!strncmp(r.out.p, "1\n2\n3\n", 6));
	sys_run_release(&r);
	r.keep_tail = true;
	SHELL_OK(&r, "seq 1 200000");
	CHECK_INT(r.out.len, 1000);
	CHECK_STR(r.out.p + 1000 - 14, "199999\n200000\n");
	sys_run_release(&r);
	SHELL_OK(&r, "printf short");
	CHECK_STR(r.out.p, "short");
}

void test_run__output_may_be_any_bytes(void)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	SHELL_OK(&r, "printf 'a\\0b\\377'");
	CHECK_INT(r.out.len, 4);
	CHECK(!memcmp(r.out.p, "a\0b\xff", 5));
}

void test_run__stdin_larger_than_a_pipe(void)
{
	cleanup_buf struct cl_buf in = CL_BUF_INIT;
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	for (int i = 0; i < 300000; i++)
		cl_buf_addf(&in, "%d\n", i);
	r.input = in.p;
	r.input_len = in.len;
	SHELL_OK(&r, "cat");
	CHECK_INT(r.out.len, in.len);
	CHECK(r.out.len == in.len && !memcmp(r.out.p, in.p, in.len));
	sys_run_release(&r);
	/* One that closes its outputs first still gets all of it. */
	r.timeout_ms = 20000;
	SHELL_OK(&r, "exec >&- 2>&-; wc -c | { read n; test \"$n\" -gt 1900000; }");
	CHECK_INT(r.status, 0);
}

void test_run__stdin_that_nobody_reads(void)
{
	static char much[1 << 20];
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	r.input = much;
	r.input_len = sizeof(much);
	SHELL_OK(&r, "exec <&-; echo done");
	CHECK_STR(r.out.p, "done\n");
	sys_run_release(&r);
	r.input = "";
	r.input_len = 0;
	SHELL_OK(&r, "cat; echo eof");
	CHECK_STR(r.out.p, "eof\n");
	/* SIGPIPE is as it was. */
	CHECK(signal(SIGPIPE, SIG_DFL) == SIG_DFL);
}

static void check_timeout(const char *script, bool session)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;

	r.timeout_ms = 200;
	r.spawn.new_session = session;
	CHECK_INT(shell(&r, script, &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
	CHECK_STR(e.msg, "'/bin/sh' did not finish within 200 ms");
	CHECK_INT(r.status, 128 + 9);
}

void test_run__timeout(void)
{
	check_timeout("exec sleep 100", false);
	check_timeout("trap '' TERM INT HUP; while :; do :; done", false);
	/* Closed outputs are no way around it. */
	check_timeout("exec >&- 2>&-; exec sleep 100", false);
	check_timeout("sleep 100 & sleep 100; wait", true);
}

void test_run__timeout_reaches_the_whole_session(void)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;
	int pid = 0;

	r.timeout_ms = 1500;
	r.spawn.new_session = true;
	CHECK_INT(shell(&r, "sleep 100 & echo $!; wait", &e), -1);
	pid = (int)strtol(r.out.p, NULL, 10);
	CHECK(pid > 1);
	for (int i = 0; i < 200 && !kill(pid, 0); i++) {
		char path[40], state[256] = "";
		FILE *f;

		/* Killed and not yet reaped by whoever inherited it counts as gone. */
		(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		f = fopen(path, "r");
		if (f && fgets(state, sizeof(state), f) && strstr(state, ") Z "))
			i = 1000;
		if (f)
			(void)fclose(f);
		(void)usleep(10000);
		CHECK(i != 199);
	}
}

void test_run__a_grandchild_that_keeps_the_output_ends_with_the_time(void)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;

	r.timeout_ms = 1500;
	r.spawn.new_session = true;
	CHECK_INT(shell(&r, "sleep 100 & echo kept", &e), -1);
	CHECK_STR(r.out.p, "kept\n");
	CHECK_INT(e.code, CL_EUNAVAIL);
}

void test_spawn__missing_program(void)
{
	static char *const argv[] = {(char *)"x", NULL};
	static const char *const names[] = {"no-such-program-here", "/nonexistent/prog", "/etc",
		"/etc/passwd", "bin/sh", "./sh", "../bin/sh", ""};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;

	r.spawn.argv = argv;
	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++) {
		r.spawn.path = names[i];
		CHECK_INT(sys_run(&r, &e), -1);
		CHECK_INT(e.code, CL_EUNAVAIL);
		CHECK_HAS(e.msg, names[i]);
	}
}

static void script_file(char *path, const char *text)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(!fchmod(fd, 0700) && !close(fd));
}

void test_spawn__failing_exec_is_reported_here(void)
{
	static char *const argv[] = {(char *)"x", NULL};
	char no_interpreter[] = "/tmp/u-proc-XXXXXX", no_format[] = "/tmp/u-proc-XXXXXX";
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;

	script_file(no_interpreter, "#!/nonexistent/interpreter\n");
	script_file(no_format, "\x01\x02\x03");
	r.spawn.argv = argv;
	r.spawn.path = no_interpreter;
	CHECK_INT(sys_run(&r, &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
	CHECK_HAS(e.msg, "No such file");
	r.spawn.path = no_format;
	CHECK_INT(sys_run(&r, &e), -1);
	CHECK_INT(e.code, CL_EOS);
	CHECK_HAS(e.msg, "Exec format error");
	r.spawn.path = "/bin/true";
	r.spawn.cwd = "/nonexistent";
	CHECK_INT(sys_run(&r, &e), -1);
	CHECK_INT(e.sys, ENOENT);
	(void)unlink(no_interpreter);
	(void)unlink(no_format);
	/* No child of any of these is left. */
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

void test_spawn__works_with_few_descriptors(void)
{
	struct rlimit old, few;
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;

	CHECK(!getrlimit(RLIMIT_NOFILE, &old));
	few = old;
	few.rlim_cur = 40;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	SHELL_OK(&r, "echo fine");
	CHECK_STR(r.out.p, "fine\n");
	/* So few that nothing works: an error, never a success that did not happen. */
	for (unsigned n = 3; n < 20; n++) {
		few.rlim_cur = n;
		CHECK(!setrlimit(RLIMIT_NOFILE, &few));
		sys_run_release(&r);
		if (!shell(&r, "echo fine", &e))
			CHECK_STR(r.out.p, "fine\n");
		else
			CHECK_INT(e.code, CL_EOS);
	}
	CHECK(!setrlimit(RLIMIT_NOFILE, &old));
}

void test_spawn__signals_are_reset(void)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	sigset_t some, old;

	(void)signal(SIGUSR1, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGTERM);
	(void)sigaddset(&some, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &some, &old);
	SHELL_OK(&r, "cat /proc/self/status | grep -E '^Sig(Blk|Ign|Cgt)' | tr -d '\\t'");
	CHECK_STR(r.out.p, "SigBlk:0000000000000000\nSigIgn:0000000000000000\n"
			   "SigCgt:0000000000000000\n");
	/* And ours are as before. */
	(void)sigprocmask(SIG_SETMASK, &old, &some);
	CHECK(sigismember(&some, SIGTERM) && sigismember(&some, SIGUSR2) &&
		!sigismember(&some, SIGINT));
	CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	CHECK(signal(SIGPIPE, SIG_DFL) == SIG_IGN);
}

void test_spawn__folder_and_session(void)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;

	r.spawn.cwd = "/usr";
	r.spawn.new_session = true;
	SHELL_OK(&r, "pwd; set -- $(cat /proc/$$/stat); test $6 = $$ && echo leads");
	CHECK_STR(r.out.p, "/usr\nleads\n");
}

/* A process in between starts a child and dies: the child must follow it. */
void test_spawn__dies_with_its_parent(void)
{
	int life[2];
	char c;
	pid_t mid;

	CHECK(!pipe(life));
	mid = fork();
	if (!mid) {
		static char *const argv[] = {(char *)"sleep", (char *)"100", NULL};
		struct sys_pass keep = {life[1], 7};
		struct sys_spawn s = SYS_SPAWN_INIT;
		struct cl_err e;
		pid_t pid;

		s.path = "sleep";
		s.argv = argv;
		s.pass = &keep;
		s.npass = 1;
		s.die_with_parent = true;
		_exit(sys_spawn(&s, &pid, &e) ? 1 : 0);
	}
	(void)close(life[1]);
	CHECK_INT(waitpid(mid, NULL, 0), mid);
	/* The pipe ends when the last holder has gone; a survivor would hold it 100 s. */
	(void)alarm(30);
	CHECK_INT(read(life[0], &c, 1), 0);
	(void)alarm(0);
	(void)close(life[0]);
}

void test_find__only_absolute_folders(void)
{
	cleanup_free char *sh = sys_find_program("sh"), *abs = sys_find_program("/bin/sh");
	cleanup_free char *here = NULL, *empty = NULL, *second = NULL, *dir = NULL;

	CHECK(sh && *sh == '/');
	CHECK_STR(abs, "/bin/sh");
	here = sys_find_on(".:bin:usr/bin", "sh");
	CHECK(!here);
	empty = sys_find_on("", "sh");
	CHECK(!empty);
	second = sys_find_on(":/nonexistent:/bin", "sh");
	CHECK_STR(second, "/bin/sh");
	dir = sys_find_on("/usr", "bin");
	CHECK(!dir);
}

void test_first_line(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {{"", ""}, {" \n\r\n", ""}, {"\n  Error: x\nmore", "Error: x"}, {"a\rb", "a"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_buf struct cl_buf b = CL_BUF_INIT;
		cleanup_free char *line = NULL;

		cl_buf_adds(&b, rows[i].in);
		line = sys_first_line(&b);
		CHECK_STR(line, rows[i].out);
	}
}

void test_run__told_to_end(void)
{
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;
	int ends[2];

	CHECK_INT(pipe(ends), 0);
	r.stop = ends[0];
	r.spawn.new_session = true;
	SHELL_OK(&r, "exit 3");
	CHECK_INT(r.status, 3);
	CHECK(!sys_told_to_end(ends[0]));
	CHECK(!sys_told_to_end(-1));
	CHECK_INT((int)write(ends[1], "x", 1), 1);
	CHECK(sys_told_to_end(ends[0]));
	/* Its children with it, or we would wait for their output. */
	CHECK_INT(shell(&r, "sleep 600 & sleep 600", &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
	CHECK_STR(e.msg, "'/bin/sh' was given up");
	CHECK_INT(r.status, 128 + SIGKILL);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

void test_spawn_away__is_nobodys_child_of_ours(void)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)"read x; echo $PPID", NULL};
	struct sys_spawn s = SYS_SPAWN_INIT;
	struct pollfd p = {.events = POLLIN};
	int in[2], out[2];
	struct cl_err e;
	char text[32];
	ssize_t n;

	CHECK_INT(pipe2(in, O_CLOEXEC), 0);
	CHECK_INT(pipe2(out, O_CLOEXEC), 0);
	s.path = "/bin/sh";
	s.argv = argv;
	s.in = in[0];
	s.out = out[1];
	CHECK_INT(sys_spawn_away(&s, &p.fd, &e), 0);
	CHECK(p.fd >= 0);
	(void)close(out[1]);
	CHECK_INT((int)waitpid(-1, NULL, 0), -1);
	CHECK_INT(errno, ECHILD);
	CHECK_INT(poll(&p, 1, 0), 0);
	CHECK_INT((int)write(in[1], "\n", 1), 1);
	CHECK_INT(poll(&p, 1, -1), 1);
	n = read(out[0], text, sizeof(text) - 1);
	CHECK(n > 0);
	text[n > 0 ? n : 0] = '\0';
	CHECK((pid_t)strtol(text, NULL, 10) != getpid());
	(void)close(p.fd);
	(void)close(in[0]);
	(void)close(in[1]);
	(void)close(out[0]);
}

void test_spawn_away__says_what_cannot_be_started(void)
{
	char *argv[] = {(char *)"x", NULL};
	struct sys_spawn s = SYS_SPAWN_INIT;
	struct cl_err e;
	int fd = -7;

	s.path = "/nonexistent/x";
	s.argv = argv;
	CHECK_INT(sys_spawn_away(&s, &fd, &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
	CHECK_STR(e.msg, "program '/nonexistent/x' is not installed");
	CHECK_INT(fd, -7);
}
