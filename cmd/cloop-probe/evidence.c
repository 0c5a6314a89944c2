/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The evidence of wherever we are: this process becomes the program that reads it. */
#include "probe_cmd.h"
#include "base/mem.h"

#include <errno.h>
#include <unistd.h>

int probe_evidence(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_free char *path = cl_sibling(PROBE_PROGRAM);
	const char *nonce = cl_str(c, "nonce");
	char *argv[] = {path, NULL, NULL, NULL};

	if (nonce) {
		argv[1] = (char *)"--nonce";
		argv[2] = (char *)(uintptr_t)nonce;
	}
	(void)execv(path, argv);
	(void)cl_fail_sys(e, CL_EUNAVAIL, errno, "cannot run '%s'", path);
	return cl_fix(e, "build it with 'make', or install cloop whole");
}
