/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One at a time at what belongs to a build key: making its image, and taking it away. */
#ifndef CL_SYS_BUILD_INTERNAL_H
#define CL_SYS_BUILD_INTERNAL_H

#include "base/err.h"

#include <stdbool.h>

/* The lock of a key below lock_dir, which must be there for the others. Owned. */
char *build_lock_path(const char *lock_dir, const char *key);
/*
 * Takes it if nobody has it: a descriptor that holds it until it is closed, unlinked by the holder
 * when it is done. -1 otherwise, CL_EBUSY where another has it.
 */
int build_lock_try(const char *path, struct cl_err *e);
/* True when the descriptor is still the file of that name: else it is no lock. */
bool build_lock_is(int fd, const char *path);

#endif
