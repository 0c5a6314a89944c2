/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The few primitives that cloop seals and signs with, and nothing of how it uses them: AES-GCM of
 * BearSSL, the rest of libsodium, both linked statically and started in no time (DECISIONS D15).
 */
#ifndef SEAL_CRYPTO_H
#define SEAL_CRYPTO_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_KEY   32 /* AES-256, and every derived key */
#define SEAL_NONCE 12
#define SEAL_TAG   16
/* What sealing adds: the nonce in front, the tag behind. */
#define SEAL_EXTRA (SEAL_NONCE + SEAL_TAG)
#define SEAL_SIG   64 /* Ed25519, RFC 8032 */

/* Bytes of getrandom(2). CL_EOS. */
int seal_random(void *p, size_t len, struct cl_err *e);
/* Compares without telling by the time it takes. */
bool seal_same(const void *a, const void *b, size_t len);

/* HKDF with SHA-256 (RFC 5869), extract and expand, 32 bytes. */
void seal_hkdf(const void *key, size_t key_len, const void *salt, size_t salt_len, const void *info,
	size_t info_len, unsigned char out[SEAL_KEY]);
/*
 * scrypt (RFC 7914), 32 bytes; takes 128 * n * r bytes of memory, 1 GiB at most. CL_EOS: there is
 * no such memory.
 */
int seal_scrypt(const void *pass, size_t pass_len, const void *salt, size_t salt_len, uint64_t n,
	uint32_t r, uint32_t p, unsigned char out[SEAL_KEY], struct cl_err *e);

/* AES-256-GCM (NIST SP 800-38D): out, of len + SEAL_EXTRA bytes, is nonce, ciphertext, tag. */
void seal_gcm(const unsigned char key[SEAL_KEY], const unsigned char nonce[SEAL_NONCE],
	const void *aad, size_t aad_len, const void *plain, size_t len, unsigned char *out);
/*
 * The reverse into out, of len - SEAL_EXTRA bytes, wiped when the tag does not hold: CL_EDATA,
 * slug "sealed_altered". Another key, another aad and another text look the same.
 */
int seal_ungcm(const unsigned char key[SEAL_KEY], const void *aad, size_t aad_len, const void *blob,
	size_t len, unsigned char *out, struct cl_err *e);

/* Ed25519: the public half of a private key, a signature, and whether one holds. */
void seal_public(const unsigned char private_key[SEAL_KEY], unsigned char out[SEAL_KEY]);
void seal_sign(const unsigned char private_key[SEAL_KEY], const void *msg, size_t len,
	unsigned char out[SEAL_SIG]);
bool seal_verify(const unsigned char public_key[SEAL_KEY], const void *msg, size_t len,
	const unsigned char sig[SEAL_SIG]);

#endif
