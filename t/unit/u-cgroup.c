/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cgroups: the machine's own (root, else skipped), and a v2 tree of plain files. */
#include "base/mem.h"
#include "base/text.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/id.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANDLE_SIZE 15

static char handle[HANDLE_SIZE];

/* The machine's cgroups and a new handle; false where they are not ours to use. */
static bool real(struct cg *c)
{
	struct cl_err e;

	CHECK_INT(cg_open(c, NULL, &e), 0);
	CHECK_INT(sys_new_id("c-", 12, handle, sizeof(handle), &e), 0);
	if (cg_create(c, handle, &e)) {
		const char *require = getenv("CLOOP_TEST_REQUIRE");

		CHECK(e.code == CL_EUNAVAIL || e.code == CL_EDENIED);
		CHECK(!require || !strstr(require, "cgroup"));
		printf("# skipped: %s\n", e.msg);
		return false;
	}
	return true;
}

static void gone(const struct cg *c)
{
	cleanup_strv struct cl_strv left = CL_STRV_INIT;
	struct cl_err e;

	CHECK_INT(cg_list(c, &left, &e), 0);
	CHECK(!cl_strv_has(&left, handle));
}

void test_real__make_and_remove(void)
{
	cleanup_cg struct cg c = CG_INIT;
	cleanup_strv struct cl_strv handles = CL_STRV_INIT;
	cleanup_free pid_t *pids = NULL;
	struct cl_err e;
	size_t n;

	if (!real(&c))
		return;
	CHECK(strcmp(cg_layout(&c), "none") != 0);
	CHECK_INT(cg_create(&c, handle, &e), 0);
	CHECK_INT(cg_list(&c, &handles, &e), 0);
	CHECK(cl_strv_has(&handles, handle));
	CHECK_INT(cg_pids(&c, handle, &pids, &n, &e), 0);
	CHECK_INT(n, 0);
	CHECK(!pids);
	CHECK_INT(cg_kill(&c, handle, 1000, &e), 0);
	CHECK_INT(cg_remove(&c, handle, &e), 0);
	CHECK_INT(cg_remove(&c, handle, &e), 0);
	CHECK_INT(cg_kill(&c, handle, 1000, &e), 0);
	gone(&c);
}

/* Forks without end in the tree, ignoring what can be ignored. */
static pid_t bomb(const struct cg *c, int *ready)
{
	int to[2];
	pid_t pid;

	CHECK_INT(pipe(to), 0);
	pid = fork();
	if (!pid) {
		struct cl_err e;

		(void)signal(SIGTERM, SIG_IGN);
		(void)signal(SIGCHLD, SIG_IGN);
		if (cg_add(c, handle, getpid(), &e))
			_exit(1);
		(void)!write(to[1], "x", 1);
		for (;;)
			if (!fork())
				for (int i = 0; i < 40; i++)
					(void)!fork();
	}
	(void)close(to[1]);
	*ready = to[0];
	return pid;
}

void test_real__fork_bomb(void)
{
	cleanup_cg struct cg c = CG_INIT;
	struct cl_err e;
	int ready, status = 0;
	char byte;
	pid_t pid;

	if (!real(&c))
		return;
	/* The test's machine must survive a failure of what is tested. */
	for (size_t i = 0; i < c.n; i++) {
		cleanup_free char *max = cl_asprintf("%s/cloop/%s/pids.max", c.h[i].dir, handle);
		int fd = c.h[i].pids ? open(max, O_WRONLY | O_CLOEXEC) : -1;

		if (fd >= 0) {
			CHECK_INT(write(fd, "200", 3), 3);
			(void)close(fd);
		}
	}
	pid = bomb(&c, &ready);
	CHECK_INT(read(ready, &byte, 1), 1);
	(void)close(ready);
	sys_sleep_ms(50);
	CHECK_INT(cg_remove(&c, handle, &e), -1);
	CHECK_INT(e.code, CL_EBUSY);
	CHECK_INT(cg_kill(&c, handle, 20000, &e), 0);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_INT(cg_remove(&c, handle, &e), 0);
	gone(&c);
}

static pid_t sleeper(const struct cg *c, const char *in)
{
	int to[2];
	char byte = 0;
	pid_t pid;

	CHECK_INT(pipe(to), 0);
	pid = fork();
	if (!pid) {
		struct cl_err e;

		(void)close(to[0]);
		if (in && cg_add(c, in, getpid(), &e))
			_exit(1);
		(void)!write(to[1], "x", 1);
		(void)pause();
		_exit(0);
	}
	(void)close(to[1]);
	CHECK_INT(read(to[0], &byte, 1), 1);
	(void)close(to[0]);
	return pid;
}

static void reap(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* Another handle's processes live on, a name that only begins alike included. */
void test_real__others_untouched(void)
{
	cleanup_cg struct cg c = CG_INIT;
	cleanup_free pid_t *pids = NULL;
	char other[HANDLE_SIZE + 1];
	struct cl_err e;
	int status = 0;
	pid_t ours, theirs;
	size_t n;

	if (!real(&c))
		return;
	(void)snprintf(other, sizeof(other), "%s0", handle);
	CHECK_INT(cg_create(&c, other, &e), 0);
	ours = sleeper(&c, handle);
	theirs = sleeper(&c, other);
	CHECK_INT(cg_pids(&c, handle, &pids, &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK(pids && pids[0] == ours);
	CHECK_INT(cg_kill(&c, handle, 5000, &e), 0);
	CHECK_INT(waitpid(ours, &status, 0), ours);
	CHECK_INT(cg_remove(&c, handle, &e), 0);
	CHECK_INT(waitpid(theirs, &status, WNOHANG), 0);
	CHECK_INT(kill(theirs, 0), 0);
	CHECK_INT(cg_kill(&c, other, 5000, &e), 0);
	CHECK_INT(waitpid(theirs, &status, 0), theirs);
	CHECK_INT(cg_remove(&c, other, &e), 0);
	gone(&c);
}

/* Joins the memory hierarchy below the handle, as an engine's container does, and eats. */
static pid_t glutton(const struct cg *c, size_t bytes)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (size_t i = 0; i < c->n; i++) {
		cleanup_free char *dir = cl_asprintf("%s/cloop/%s/box", c->h[i].dir, handle);
		cleanup_free char *procs = cl_asprintf("%s/cgroup.procs", dir);
		int fd;

		if (!c->h[i].memory)
			continue;
		(void)mkdir(dir, 0755);
		fd = open(procs, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(3);
		(void)close(fd);
	}
	for (size_t eaten = 0; eaten < bytes; eaten += 1 << 20) {
		void *p = mmap(
			NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			_exit(4);
		memset(p, 1, 1 << 20);
	}
	_exit(0);
}

void test_real__out_of_memory(void)
{
	cleanup_cg struct cg c = CG_INIT;
	cleanup_cg_oom struct cg_oom w = CG_OOM_INIT;
	uint64_t kills = 0;
	struct cl_err e;
	bool oom = true;
	int status = 0;
	pid_t pid;

	if (!real(&c))
		return;
	if (cg_set_memory(&c, handle, 32 << 20, &e)) {
		CHECK_INT(e.code, CL_EUNAVAIL);
		CHECK_INT(cg_remove(&c, handle, &e), 0);
		return;
	}
	CHECK_INT(cg_set_memory(&c, handle, 64 << 20, &e), 0);
	CHECK_INT(cg_set_memory(&c, handle, 24 << 20, &e), 0);
	CHECK_INT(cg_oom_watch(&c, handle, &w, &e), 0);
	CHECK_INT(cg_oom_take(&w, &oom, &e), 0);
	CHECK(!oom);
	pid = glutton(&c, 8 << 20);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_INT(cg_oom_take(&w, &oom, &e), 0);
	CHECK(!oom);
	pid = glutton(&c, 256 << 20);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_INT(poll(&(struct pollfd){.fd = w.fd, .events = POLLIN}, 1, 5000), 1);
	CHECK_INT(cg_oom_take(&w, &oom, &e), 0);
	CHECK(oom);
	CHECK_INT(cg_oom_kills(&c, handle, &kills, &e), 0);
	CHECK(kills >= 1);
	CHECK_INT(cg_kill(&c, handle, 5000, &e), 0);
	CHECK_INT(cg_remove(&c, handle, &e), 0);
	/* The removal rings the bell too, and is no want of memory. */
	CHECK_INT(cg_oom_take(&w, &oom, &e), 0);
	CHECK(!oom);
	gone(&c);
}

/* --- a tree of plain files --- */

static char fake_root[64];

static void fill(const char *below, const char *text)
{
	cleanup_free char *path = cl_asprintf("%s/%s", fake_root, below);
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	if (f) {
		(void)fputs(text, f);
		(void)fclose(f);
	}
}

static void holds(const char *below, const char *want)
{
	cleanup_free char *path = cl_asprintf("%s/%s", fake_root, below);
	char got[256] = "(nothing)";
	FILE *f = fopen(path, "r");

	if (f) {
		got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
		(void)fclose(f);
	}
	CHECK_STR(got, want);
}

static void folder(const char *below)
{
	cleanup_free char *path = cl_asprintf("%s/%s", fake_root, below);

	CHECK_INT(mkdir(path, 0755), 0);
}

static void fake_v2(const char *controllers)
{
	(void)snprintf(fake_root, sizeof(fake_root), "/tmp/u-cgroup-XXXXXX");
	CHECK(mkdtemp(fake_root) != NULL);
	fill("cgroup.controllers", controllers);
	fill("cgroup.procs", "");
	fill("cgroup.subtree_control", "");
	folder("cloop");
	fill("cloop/cgroup.controllers", controllers);
	fill("cloop/cgroup.subtree_control", "");
}

static void fake_done(void)
{
	cleanup_free char *command = cl_asprintf("rm -rf '%s'", fake_root);

	CHECK_INT(system(command), 0); /* lint: allow */
}

void test_v2__controllers_and_limit(void)
{
	cleanup_cg struct cg c = CG_INIT;
	struct cl_err e;

	fake_v2("memory\n");
	CHECK_INT(cg_open(&c, fake_root, &e), 0);
	CHECK_STR(cg_layout(&c), "v2");
	CHECK(c.n == 1 && c.h[0].memory && !c.h[0].pids);
	CHECK_INT(cg_create(&c, "c-0123456789ab", &e), 0);
	holds("cgroup.subtree_control", "+memory");
	holds("cloop/cgroup.subtree_control", "+memory");
	/* Not lent: no file appears. */
	CHECK_INT(cg_set_memory(&c, "c-0123456789ab", 1 << 20, &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
	CHECK_HAS(e.fix, "+memory");
	fill("cloop/c-0123456789ab/memory.max", "max\n");
	fill("cloop/c-0123456789ab/memory.swap.max", "max\n");
	CHECK_INT(cg_set_memory(&c, "c-0123456789ab", 1 << 20, &e), 0);
	holds("cloop/c-0123456789ab/memory.max", "1048576");
	holds("cloop/c-0123456789ab/memory.swap.max", "0");
	CHECK_INT(cg_set_memory(&c, "c-0123456789ab", 0, &e), -1);
	fake_done();
}

void test_v2__kill_goes_by_membership(void)
{
	cleanup_cg struct cg c = CG_INIT;
	cleanup_free pid_t *pids = NULL;
	cleanup_free char *listed = NULL;
	struct cl_err e;
	size_t n;
	pid_t stranger;

	fake_v2("memory pids\n");
	CHECK_INT(cg_open(&c, fake_root, &e), 0);
	CHECK_INT(cg_create(&c, "c-0", &e), 0);
	folder("cloop/c-0/box");
	fill("cloop/c-0/cgroup.kill", "");
	fill("cloop/c-0/pids.max", "max");
	fill("cloop/c-0/cgroup.procs", "0\nx\n-1\n\n99999999999\n");
	CHECK_INT(cg_kill(&c, "c-0", 0, &e), 0);
	holds("cloop/c-0/cgroup.kill", "1");
	holds("cloop/c-0/pids.max", "0");
	stranger = sleeper(&c, NULL);
	listed = cl_asprintf("%d\n%d\n0\n", (int)stranger, (int)stranger);
	fill("cloop/c-0/box/cgroup.procs", listed);
	CHECK_INT(cg_pids(&c, "c-0", &pids, &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_INT(cg_kill(&c, "c-0", 50, &e), -1);
	CHECK_INT(e.code, CL_EBUSY);
	CHECK_HAS(e.msg, "1 process of 'c-0' outlives SIGKILL");
	/* /proc places it elsewhere, so it was not ours to kill. */
	CHECK_INT(waitpid(stranger, NULL, WNOHANG), 0);
	reap(stranger);
	fake_done();
}

void test_v2__events(void)
{
	cleanup_cg struct cg c = CG_INIT;
	cleanup_cg_oom struct cg_oom w = CG_OOM_INIT;
	struct cl_err e;
	bool oom = true;
	uint64_t kills;

	fake_v2("memory\n");
	CHECK_INT(cg_open(&c, fake_root, &e), 0);
	CHECK_INT(cg_create(&c, "c-0", &e), 0);
	CHECK_INT(cg_oom_watch(&c, "c-0", &w, &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
	fill("cloop/c-0/memory.events", "low 0\noom 3\noom_kill 3\noom_group_kill 0\n");
	CHECK_INT(cg_oom_watch(&c, "c-0", &w, &e), 0);
	CHECK_INT(cg_oom_take(&w, &oom, &e), 0);
	CHECK(!oom);
	CHECK_INT(poll(&(struct pollfd){.fd = w.fd, .events = POLLIN}, 1, 0), 0);
	fill("cloop/c-0/memory.events", "low 9\noom 4\noom_kill 3\n");
	CHECK_INT(poll(&(struct pollfd){.fd = w.fd, .events = POLLIN}, 1, 1000), 1);
	CHECK_INT(cg_oom_take(&w, &oom, &e), 0);
	CHECK(!oom);
	fill("cloop/c-0/memory.events", "low 9\noom 4\noom_kill 4\n");
	CHECK_INT(cg_oom_take(&w, &oom, &e), 0);
	CHECK(oom);
	CHECK_INT(cg_oom_take(&w, &oom, &e), 0);
	CHECK(!oom);
	CHECK_INT(cg_oom_kills(&c, "c-0", &kills, &e), 0);
	CHECK_INT(kills, 4);
	fake_done();
	CHECK_INT(cg_oom_take(&w, &oom, &e), 0);
	CHECK(!oom);
}

void test_v2__half_made_is_taken_back(void)
{
	cleanup_cg struct cg c = CG_INIT;
	struct cl_err e;

	/* Two v1 hierarchies, the second of which cannot hold ours. */
	(void)snprintf(fake_root, sizeof(fake_root), "/tmp/u-cgroup-XXXXXX");
	CHECK(mkdtemp(fake_root) != NULL);
	folder("a");
	fill("a/cgroup.procs", "");
	folder("b");
	fill("b/cgroup.procs", "");
	fill("b/cloop", "not a directory");
	folder("c");
	CHECK_INT(cg_open(&c, fake_root, &e), 0);
	CHECK_STR(cg_layout(&c), "v1");
	CHECK_INT(c.n, 2);
	CHECK_INT(cg_create(&c, "c-0", &e), -1);
	CHECK_INT(e.code, CL_EOS);
	CHECK_HAS(e.msg, "/b'");
	fake_done();
}

void test_none__says_so(void)
{
	cleanup_cg struct cg c = CG_INIT;
	struct cl_err e;

	CHECK_INT(cg_open(&c, "/nonexistent/cgroup", &e), 0);
	CHECK_STR(cg_layout(&c), "none");
	CHECK_INT(cg_create(&c, "c-0", &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
	CHECK_INT(cg_kill(&c, "c-0", 0, &e), 0);
	CHECK_INT(cg_remove(&c, "c-0", &e), 0);
	CHECK_INT(cg_set_memory(&c, "c-0", 1, &e), -1);
	CHECK_INT(e.code, CL_EUNAVAIL);
}

void test_handles__no_way_out(void)
{
	static const char *const bad[] = {"", ".", "..", "../x", "a/b", "C-0", "c_0", "c-0\n"};
	cleanup_cg struct cg c = CG_INIT;
	struct cl_err e;

	CHECK_INT(cg_open(&c, "/nonexistent/cgroup", &e), 0);
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		CHECK_INT(cg_create(&c, bad[i], &e), -1);
		CHECK_INT(e.code, CL_EBUG);
		CHECK_INT(cg_remove(&c, bad[i], &e), -1);
		CHECK_INT(cg_kill(&c, bad[i], 0, &e), -1);
	}
}
