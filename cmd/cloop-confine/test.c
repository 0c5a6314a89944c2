/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program with the attempts is put into the workspace, run as any command, and taken away. */
#include "confine.h"
#include "base/mem.h"
#include "sys/path.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PROGRAM ((size_t)16 << 20)

static int put(int dir, const char *name, struct cl_err *e)
{
	const struct sys_owner owner = {(uid_t)-1, (gid_t)-1, 0555};
	cleanup_free char *from = cl_sibling(CONFINE_PROGRAM);
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	if (cl_read_file(from, MAX_PROGRAM, &text, e))
		return cl_fix(e, "build it with 'make', or install cloop whole");
	return sys_write_atomic(dir, name, text.p, text.len, &owner, e);
}

/* Our streams are the run's; a signal of the terminal is its to handle. */
static int run(struct cl_ctx *c, const char *name, int *status, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling("cloop-run");
	cleanup_strv struct cl_strv argv = CL_STRV_INIT;
	struct sys_spawn s = SYS_SPAWN_INIT;
	pid_t pid;

	cl_strv_add(&argv, "cloop-run");
	if (c->dir) {
		cl_strv_add(&argv, "-C");
		cl_strv_add(&argv, c->dir);
	}
	cl_strv_add(&argv, "-p");
	cl_strv_add(&argv, cl_str_or(c, "project", "."));
	if (cl_str(c, "executor")) {
		cl_strv_add(&argv, "-e");
		cl_strv_add(&argv, cl_str(c, "executor"));
	}
	cl_strv_add(&argv, "--");
	cl_strv_addf(&argv, "/workspace/%s", name);
	if (c->json)
		cl_strv_add(&argv, "--json");
	if (cl_flag(c, "strict"))
		cl_strv_add(&argv, "--strict");
	for (size_t i = 0; i < c->noperands; i++)
		cl_strv_add(&argv, c->operands[i]);
	s.path = path;
	s.argv = argv.v;
	s.envp = environ;
	s.in = 0;
	s.out = 1;
	s.err = 2;
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	return sys_spawn(&s, &pid, e) || sys_wait(pid, status, e) ? -1 : 0;
}

int confine_test(struct cl_ctx *c, struct cl_err *e)
{
	const char *project = cl_str_or(c, "project", ".");
	cleanup_fd int dir = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[64];
	int status = 0, rc;

	if (dir < 0)
		return cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot open '%s'", project);
	(void)snprintf(name, sizeof(name), ".cloop-confine-test-%d", (int)getpid());
	if (put(dir, name, e))
		return -1;
	rc = run(c, name, &status, e);
	(void)unlinkat(dir, name, 0);
	return rc ? -1 : status;
}

int confine_list(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling(CONFINE_PROGRAM);
	cleanup_free char **argv = cl_calloc(c->noperands + 4, sizeof(*argv));
	size_t n = 0;

	argv[n++] = path;
	argv[n++] = (char *)"--list";
	if (c->json)
		argv[n++] = (char *)"--json";
	for (size_t i = 0; i < c->noperands; i++)
		argv[n++] = c->operands[i];
	(void)execv(path, argv);
	(void)cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot run '%s'", path);
	return cl_fix(e, "build it with 'make', or install cloop whole");
}
