/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of cloop's own, bound read-only into a sandbox of an executor and run there alone:
 * with the executor's image, but nothing of it, not even a shell; under its limits and its seccomp
 * profile. For what only a sandbox can tell.
 */
#ifndef CLOOP_EXEC_CONTAINER_ALONE_H
#define CLOOP_EXEC_CONTAINER_ALONE_H

#include "engine_verbs.h"

#define ALONE_TIMEOUT_MS 60000 /* a virtual machine may take some seconds to boot */

struct alone {
	const struct work_spec *spec;
	const struct engine *engine;
	const struct engine_image *image;
	const char *what;        /* "the probe", for messages */
	const char *program;     /* on this host; static */
	const char *const *argv; /* what it is given */
	size_t nargv;
	const struct ct_device *devices;
	size_t ndevices;
	bool as_root; /* without capabilities all the same; else nobody */
	int64_t timeout_ms;
	size_t max_output;
};
/*
 * What it printed is added to out; nothing of it stays, whatever became of it. CL_EUNAVAIL and
 * others where it could not run.
 */
int alone_run(const struct alone *a, struct cl_buf *out, struct cl_err *e);

#endif
