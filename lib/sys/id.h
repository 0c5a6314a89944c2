/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ids from the kernel's random source (DECISIONS D5): "run_" and 24 digits, "c-" and 12. */
#ifndef SYS_ID_H
#define SYS_ID_H

#include "base/err.h"
#include "sys/clock.h"

#include <stddef.h>

/*
 * Writes prefix and `hex` lower-case hex digits (even, at most 64) from getrandom(2);
 * out holds size bytes. CL_EOS.
 */
int sys_new_id(const char *prefix, size_t hex, char *out, size_t size, struct cl_err *e);

#endif
