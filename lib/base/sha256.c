/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sha256.h"
#include "base/text.h"

#include <sha2.h>

void cl_sha256(const void *p, size_t len, unsigned char out[CL_SHA256_LEN])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, p, len);
	SHA256Final(out, &ctx);
}

void cl_sha256_hex(const void *p, size_t len, char out[CL_SHA256_HEX])
{
	unsigned char digest[CL_SHA256_LEN];

	cl_sha256(p, len, digest);
	cl_hex(digest, sizeof(digest), out);
}
