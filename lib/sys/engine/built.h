/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When a hub last used each image of a setup build (sys/engine/build.h), and removing those that it has
 * not used for long. The record is an empty file a key, CACHE/built/ENGINE-KEY, whose modification
 * time is the last use. An image without one is not known as this hub's, and stays.
 */
#ifndef CL_SYS_BUILT_H
#define CL_SYS_BUILT_H

#include "sys/engine/engine.h"

/* An image that nothing has used for so long goes. Milliseconds. */
#define BUILT_UNUSED_MS (14 * 24 * 3600 * 1000LL)

/*
 * Records a use, before the image is looked up. The descriptor holds off a removal until it is
 * closed. -1: it could not be recorded, and whoever looks the image up has nothing to wait for.
 * `cache` may be NULL, else as for engine_image_pin.
 */
int built_use(const char *cache, enum ct_engine kind, const char *key);

/* Adds the names of records whose last use is at least `unused_ms` ago; one in the future is not. */
void built_stale(const char *cache, int64_t unused_ms, struct cl_strv *names);

/* Told of each image that was removed (failed: NULL) and that could not be. */
typedef void built_fn(void *arg, const char *tag, const struct cl_err *failed);

/*
 * Removes the images of these records, never by force: one that a container has, or that is
 * being built, and one that was used meanwhile, stays and is not told of. Records of images that
 * the engine does not have go too; another engine's are left. An error when the engine could not
 * be asked at all.
 */
int built_collect(const struct engine *en, const char *cache, const char *lock_dir,
	int64_t unused_ms, const struct cl_strv *names, built_fn *told, void *arg,
	struct cl_err *e);

#endif
