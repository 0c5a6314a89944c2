/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an executor's runtime is at the moment: evidence of its isolation holds for as long as
 * engine, runtime, their configuration and the kernel are the same.
 */
#ifndef CL_SYS_RUNTIME_ID_H
#define CL_SYS_RUNTIME_ID_H

#include "sys/engine/engine.h"

#define RUNTIME_ID_SIZE 65 /* 64 hex digits and a NUL */

/*
 * A hash over the identity (device, inode, size, times) of the engine's client, of the runtime's
 * program and of the engine's configuration files, and over the kernel's release and boot ID. No
 * program is run: a few system calls. `runtime_path` is what engine_info_of said ("": unknown).
 */
void runtime_id(const struct engine *en, const char *oci_runtime, const char *runtime_path,
	char out[RUNTIME_ID_SIZE]);

#endif
