/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sha256.h"
#include "base/text.h"

#include <sodium/crypto_hash_sha256.h>

void cl_sha256(const void *p, size_t len, unsigned char out[CL_SHA256_LEN])
{
	(void)crypto_hash_sha256(out, p, len); /* it cannot fail */
}

void cl_sha256_hex(const void *p, size_t len, char out[CL_SHA256_HEX])
{
	unsigned char digest[CL_SHA256_LEN];

	cl_sha256(p, len, digest);
	cl_hex(digest, sizeof(digest), out);
}
