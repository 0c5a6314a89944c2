/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a GitHub App shows who it is with: a JSON Web Token (RFC 7519) signed with its private
 * key, RS256 (RFC 7518, 3.3). It is itself a credential until it ends.
 */
#ifndef SEAL_JWT_H
#define SEAL_JWT_H

#include "base/err.h"
#include "seal/mem.h"

#include <stdint.h>

/* GitHub refuses one that lives longer than ten minutes, or that starts after its own clock. */
#define SEAL_JWT_BACK 60  /* seconds that iat lies before now */
#define SEAL_JWT_LIFE 480 /* seconds that exp lies after now */

/*
 * RSASSA-PKCS1-v1_5 with SHA-256 over msg; pem is an RSA private key, PKCS#1 or PKCS#8, not
 * encrypted. Adds the signature to *sig, which is SEAL_BUF_INIT. What libcrypto makes of the
 * key lies in its locked heap where the limits allow one. CL_EDATA, slug "invalid_payload", for
 * a key that cannot sign; no message holds a byte of it.
 */
int seal_rs256(
	const char *pem, const void *msg, size_t len, struct seal_buf *sig, struct cl_err *e);

/*
 * {"alg":"RS256","typ":"JWT"}, {"exp", "iat", "iss"} and the signature, as the three segments of
 * RFC 7515 3.1; iss is the App's id in decimal, now is Unix seconds. *out is SEAL_BUF_INIT.
 */
int seal_app_jwt(
	const char *pem, uint64_t app_id, int64_t now, struct seal_buf *out, struct cl_err *e);

#endif
