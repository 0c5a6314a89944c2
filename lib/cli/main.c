/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shared main: capabilities down, table parsed, verb run, output checked, error printed. */
#include "cli/parse.h"
#include "cli/version.h"
#include "base/doc.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * DECISIONS C13: a child must not inherit a capability by accident. The ambient set
 * goes first, then the inheritable one; permitted and effective stay as they are.
 */
static int drop_inherited(struct cl_err *e)
{
	struct __user_cap_header_struct hdr = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		return cl_fail_sys(e, CL_EOS, errno, "cannot clear ambient capabilities");
	if (syscall(SYS_capget, &hdr, data))
		return cl_fail_sys(e, CL_EOS, errno, "cannot read capabilities");
	data[0].inheritable = data[1].inheritable = 0;
	if (syscall(SYS_capset, &hdr, data))
		return cl_fail_sys(e, CL_EOS, errno, "cannot clear inheritable capabilities");
	return 0;
}

/*
 * Descriptors 0-2 exist, so that no file we open becomes somebody's stdout. A closed
 * stdout is opened for reading only: an answer that goes nowhere must not look like one.
 */
static int standard_fds(struct cl_err *e)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) != -1)
			continue;
		if (open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return cl_fail_sys(e, CL_EOS, errno, "cannot open /dev/null");
	}
	return 0;
}

/*
 * One write for what most commands print: fewer calls, and the reason of a failure is still
 * known when it is reported.
 */
static void buffer_stdout(void)
{
	static char space[65536];

	if (!isatty(STDOUT_FILENO))
		(void)setvbuf(stdout, space, _IOFBF, sizeof(space));
}

static int prepare(struct cl_ctx *c, struct cl_err *e)
{
	if ((c->verb->needs & CL_NEED_ROOT) && geteuid()) {
		(void)cl_fail(e, CL_EDENIED, "'%s%s%s' needs root", c->spec->name,
			*c->verb->name ? " " : "", c->verb->name);
		return cl_fix(e, "run it as root, for example with sudo");
	}
	if (!c->dir)
		c->dir = getenv("CLOOP_DIR");
	if (c->dir && !*c->dir)
		c->dir = NULL;
	return 0;
}

static int half_written(struct cl_err *e)
{
	(void)cl_fail(e, CL_EOS, "cannot write all of standard output");
	return cl_fix(e, "make room where it goes to ('df'), or see why its reader left");
}

/* A full disk or a closed pipe must not look like success. */
static int flush_stdout(struct cl_err *e)
{
	bool failed = ferror(stdout);

	if (fflush(stdout))
		return cl_fail_sys(e, CL_EOS, errno, "cannot write standard output");
	if (failed) /* an earlier write: its errno is long gone */
		return half_written(e);
	return 0;
}

/* Checked here in every build: documents are made from what this prints, and t/ reads it. */
static void print_spec(const struct cl_spec *spec)
{
	cl_spec_check(spec);
	cl_take_json(cl_spec_json(spec));
}

static int answer(struct cl_ctx *c, enum cl_ask ask, struct cl_err *e)
{
	int rc = 0;

	if (ask == CL_ASK_HELP)
		cl_help(c->spec, c->verb, stdout);
	else if (ask == CL_ASK_SPEC)
		print_spec(c->spec);
	else if (ask == CL_ASK_VERSION)
		(void)printf("%s %s\n", c->spec->name, CLOOP_VERSION);
	else
		rc = prepare(c, e) ? -1 : c->verb->run(c, e);
	/* What was printed before a failure is still looked at, but the failure is the news. */
	if (rc >= 0 && flush_stdout(e))
		rc = -1;
	return rc;
}

/* --json may stand anywhere; a command line that does not parse still answers in JSON. */
static bool wants_json(char **argv)
{
	for (; *argv && strcmp(*argv, "--"); argv++)
		if (!strcmp(*argv, "--json"))
			return true;
	return false;
}

int cl_main(const struct cl_spec *spec, int argc, char **argv)
{
	enum cl_ask ask = CL_ASK_RUN;
	struct cl_ctx c = {.spec = spec};
	struct cl_err e;
	int rc;

	cl_err_init(&e);
	cl_json_init();
	cl_find_exe();
#ifdef CL_CHECK_SPECS
	cl_spec_check(spec);
#endif
	rc = standard_fds(&e) || drop_inherited(&e) ? -1 : 0;
	buffer_stdout();
	if (!rc)
		rc = cl_parse(&c, spec, argc, argv, &ask, &e);
	if (!rc)
		rc = answer(&c, ask, &e);
	if (rc < 0) {
		if (!e.msg[0])
			(void)cl_fail(&e, CL_EBUG, "failed without a reason");
		(void)fflush(stdout);
		cl_err_print(spec->name, c.json || wants_json(argv), &e);
		rc = spec->own_failure ? spec->own_failure : cl_err_exit(&e);
	}
	cl_ctx_release(&c);
	return rc;
}
