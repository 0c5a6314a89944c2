/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AES-256-GCM by libcrypto, for a processor without the instructions that libsodium's takes:
 * table look-ups would tell the key to who shares the cache, and libcrypto has better ways. It is
 * loaded when it is first needed (dlopen(3)), for its start costs more than a whole lease.
 */
#ifndef SEAL_AES_EVP_H
#define SEAL_AES_EVP_H

#include "seal/crypto.h"

/* out, of len + SEAL_TAG bytes, is ciphertext and tag. CL_EUNAVAIL: libcrypto cannot be loaded. */
int aes_evp_seal(const unsigned char key[SEAL_KEY], const unsigned char nonce[SEAL_NONCE],
	const void *aad, size_t aad_len, const void *plain, size_t len, unsigned char *out,
	struct cl_err *e);
/* text, of len bytes, ends with the tag. *held: whether it fits; else out is to be wiped. */
int aes_evp_open(const unsigned char key[SEAL_KEY], const unsigned char nonce[SEAL_NONCE],
	const void *aad, size_t aad_len, const void *text, size_t len, unsigned char *out,
	bool *held, struct cl_err *e);

#endif
