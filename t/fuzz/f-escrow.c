/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The escrow of a root key as somebody else hands it in: what parses has costs that are within
 * bounds, and prints to a document of the same meaning. A first byte of 0 makes the rest a
 * sealed payload, which must not open with a key that did not seal it.
 */
#include "base/mem.h"
#include "seal/envelope.h"
#include "seal/escrow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void payload(const uint8_t *data, size_t size)
{
	static const unsigned char key[SEAL_KEY] = {1, 2, 3};
	cleanup_seal struct seal_buf out = SEAL_BUF_INIT;
	const struct seal_place at = {"secrets", "sec_1"};
	struct cl_err e;

	if (!seal_unpayload(key, &at, data, size, &out, &e) || out.p)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_escrow struct seal_escrow x = SEAL_ESCROW_INIT, again = SEAL_ESCROW_INIT;
	struct cl_err e;

	if (size && !data[0]) {
		payload(data + 1, size - 1);
		return 0;
	}
	if (seal_escrow_parse("fuzz", (const char *)data, size, &x, &e))
		return 0;
	if (x.n < SEAL_SCRYPT_N || x.n > (uint64_t)1 << 20 || (x.n & (x.n - 1)) ||
		x.sealed.len <= SEAL_EXTRA || !x.hub)
		abort();
	/* What is authenticated has no "sealed", so it is no escrow by itself. */
	if (!seal_escrow_parse("fuzz", x.bound, strlen(x.bound), &again, &e))
		abort();
	return 0;
}
