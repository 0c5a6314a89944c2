/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Images in the engine's local store: nothing is pulled. An image is judged once and then
 * run by its id, so that what was judged is what runs. facts/executors.md 2.3, 6.11;
 * DECISIONS C17.
 */
#ifndef CL_SYS_IMAGE_H
#define CL_SYS_IMAGE_H

#include "base/doc.h"
#include "sys/engine/engine.h"

#define IMAGE_HARNESSES_LABEL "org.cloop.harnesses"

struct engine_image {
	char *requested; /* the reference as asked for */
	char *id;        /* "sha256:<64 hex>" */
	char *pinned;    /* "repository@sha256:...": the repo digest to record; "" without one */
	struct cl_strv repo_digests, entrypoint, command, env, volumes;
	char *user, *workdir;
	json_t *labels; /* object of strings */
	char *index;  /* podman: the store's index that holds it, as its layers tell; "" unknown */
	int tmp_mode; /* permission bits of its /tmp; -1: it has none, or they are not known */
};
#define ENGINE_IMAGE_INIT ((struct engine_image){.tmp_mode = -1})
void engine_image_release(struct engine_image *im);
#define cleanup_engine_image __attribute__((cleanup(engine_image_release)))

/*
 * Asks the engine. *out is ENGINE_IMAGE_INIT. CL_EUNAVAIL, with the pull command, when the
 * store does not have it.
 */
int engine_image_inspect(
	const struct engine *en, const char *ref, struct engine_image *out, struct cl_err *e);

/*
 * The same through a cache in directory `dir` (made with mode 0700 when absent; NULL:
 * no cache). A cached answer holds while the engine's image index and configuration are the
 * same files with the same times; anything else asks again. *cached (may be NULL) says
 * which it was. A cache that cannot be read or written is no error.
 */
int engine_image_pin(const struct engine *en, const char *ref, const char *dir,
	struct engine_image *out, bool *cached, struct cl_err *e);

/*
 * The folder of such a cache, made if need be; to be closed. -1 when it is not ours alone to write.
 */
int engine_cache_open(const char *dir);

const char *engine_image_label(const struct engine_image *im, const char *key);

/*
 * What no sandbox can run: an ENTRYPOINT (the command's words would be its arguments), and
 * on docker, volumes (they would be writable outside the disk limit). CL_EREFUSED with
 * constraint "image".
 */
int engine_image_check(const struct engine *en, const struct engine_image *im, struct cl_err *e);
/*
 * Refuses an image whose label lists programs (commas or blanks between, case ignored)
 * and not this one: CL_EREFUSED, slug "sandbox_image_lacks_harness". An image without the
 * label passes.
 */
int engine_image_harness(const struct engine_image *im, const char *harness, struct cl_err *e);
/* The programs the label lists, lower case; *out is added to. */
void engine_image_harnesses(const struct engine_image *im, struct cl_strv *out);

/* As JSON, and back: what the cache keeps. CL_EDATA. */
json_t *engine_image_json(const struct engine_image *im);
int engine_image_read(struct cl_doc *d, json_t *obj, struct engine_image *out, struct cl_err *e);

#endif
