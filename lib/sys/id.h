/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ids from the kernel's random source, and the wall clock. */
#ifndef SYS_ID_H
#define SYS_ID_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Writes prefix and `hex` lower-case hex digits (even, at most 64) from getrandom(2);
 * out holds size bytes. CL_EOS.
 */
int sys_new_id(const char *prefix, size_t hex, char *out, size_t size, struct cl_err *e);

/* Unix milliseconds. The one place that reads the clock for what is stored. */
int64_t sys_now_ms(void);

#endif
