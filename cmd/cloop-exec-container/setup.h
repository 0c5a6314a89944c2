/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What setup builds have below the run directory: BASE/build/HANDLE, and HANDLE.lock. */
#ifndef CLOOP_EXEC_CONTAINER_SETUP_H
#define CLOOP_EXEC_CONTAINER_SETUP_H

#include "base/buf.h"

#include <stdbool.h>

/* The handles of builds that are there, going on or killed; added to handles. */
void setup_list(const char *run_base, struct cl_strv *handles);
/* Takes down what a killed build left: its network and its folder. False when the build
 * lives, or when something could not be removed. */
bool setup_collect(const char *run_base, const char *handle);

#endif
