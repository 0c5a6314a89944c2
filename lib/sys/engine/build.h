/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The image of a project's `setup:` commands (DECISIONS E8, facts/executors.md 6.11). The
 * steps run as a confined workload of the executor's own runtime on a writable layer, with
 * the run's egress and nothing of the project, and the layer is committed once for each
 * pair of base image and commands. An engine's own build would run them on the host's
 * kernel with more privilege than the run has.
 */
#ifndef CL_SYS_BUILD_H
#define CL_SYS_BUILD_H

#include "sys/engine/image.h"

#define BUILD_TIMEOUT_MS (30 * 60 * 1000LL)
#define BUILD_TAIL_LINES 12

struct build {
	const struct engine *engine;
	/*
	 * The run's own request: engine, runtime, network, resolver files, limits, seccomp and
	 * init_dir are taken from it. init_dir must hold cloop-init and no secrets; a
	 * cgroup_parent that is not NULL becomes the build's own. Mounts must be read-only.
	 */
	const struct ct_request *request;
	const struct engine_image *base;
	const char *const *steps;
	size_t nsteps;
	const char *lock_dir;  /* one for all hubs that share the engine's store; made 0700 */
	const char *cache_dir; /* as engine_image_pin; may be NULL */
	int64_t timeout_ms;    /* 0: BUILD_TIMEOUT_MS; waiting for another build counts */
	const char *store;     /* the engine's storage; NULL: no floor */
	int64_t min_free_mb;   /* free space below which a build is ended; 0: none */
	/* out */
	char key[CT_BUILD_KEY_LEN];
	bool reused;        /* it was there already */
	size_t step;        /* the one that failed, from 1; 0: none */
	struct cl_buf tail; /* the last lines of output when it failed; released by the caller */
};
#define BUILD_INIT ((struct build){.tail = CL_BUF_INIT})

/*
 * Makes the image or finds it. *out is ENGINE_IMAGE_INIT and becomes the built image. A
 * failing step is CL_EREFUSED with constraint "setup" and slug "sandbox_setup_failed";
 * leftovers are removed.
 */
int build_image(struct build *b, struct engine_image *out, struct cl_err *e);

/*
 * Removes what a build whose process was killed left behind: its container and its
 * processes. A build that is going on, or that has no lock in lock_dir, is left alone.
 * True when it was removed.
 */
bool build_collect(const struct engine *en, const char *container, const char *lock_dir);

#endif
