/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Public keys of others and signatures by them, as cosign makes them over SHA-256: ECDSA (P-256,
 * P-384, P-521; DER), RSA of 2048 bits and more (PKCS #1 v1.5), Ed25519 over the text itself.
 */
#ifndef SEAL_PUBKEY_H
#define SEAL_PUBKEY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct seal_pubkey;
/*
 * Reads one public key: PEM, SubjectPublicKeyInfo. CL_ECONFIG, with `name` in it, for anything else,
 * slug image_key. *out is owned.
 */
int seal_pubkey_read(
	const char *name, const char *pem, size_t len, struct seal_pubkey **out, struct cl_err *e);
void seal_pubkey_free(struct seal_pubkey *k);
/* True when sig is a signature by the key over msg. */
bool seal_pubkey_verify(
	const struct seal_pubkey *k, const void *msg, size_t len, const void *sig, size_t sig_len);

#endif
