/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SHA-256 (FIPS 180-4) from libsodium, linked statically: three times libmd's speed, and unlike
 * libcrypto's it asks the processor nothing at each start, which under a hypervisor costs more than
 * it saves.
 */
#ifndef CL_BASE_SHA256_H
#define CL_BASE_SHA256_H

#include <stddef.h>

#define CL_SHA256_LEN 32
#define CL_SHA256_HEX 65 /* with the terminating NUL */

void cl_sha256(const void *p, size_t len, unsigned char out[CL_SHA256_LEN]);
/* Lower-case hex. */
void cl_sha256_hex(const void *p, size_t len, char out[CL_SHA256_HEX]);

#endif
