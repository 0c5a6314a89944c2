/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The envelope of a row (DECISIONS K2): the payload is sealed under a data key of its own, the
 * data key under a key-encryption key. What is authenticated with each, NUL between the parts:
 *
 *	payload    "cloop-payload-v1", the set, the row's id
 *	data key   "cloop-dek-v1", the key's id, the set, the row's id
 *	proof      "cloop-kek-check-v1", the key's id; the text is "cloop-kek-check-v1"
 *
 * So neither can be moved to another row, and a key can be exchanged without the payload.
 * Everything sealed is nonce, ciphertext, tag.
 */
#ifndef SEAL_ENVELOPE_H
#define SEAL_ENVELOPE_H

#include "base/err.h"
#include "seal/crypto.h"
#include "seal/mem.h"

#define SEAL_WRAPPED     (SEAL_KEY + SEAL_EXTRA) /* bytes of a wrapped data key: 60 */
#define SEAL_PROOF       (18 + SEAL_EXTRA)       /* bytes of a check value: 46 */
#define SEAL_PAYLOAD_MAX ((size_t)1 << 20)

/* One key-encryption key. `key` lies in locked memory. */
struct seal_kek {
	const char *id;
	const unsigned char *key;
};
/* The row that something belongs to: "secrets" and "sec_...". */
struct seal_place {
	const char *set, *id;
};

/* With a nonce given, for vectors; NULL takes a random one, as everybody else must. */
int seal_prove(const struct seal_kek *k, const unsigned char *nonce, unsigned char out[SEAL_PROOF],
	struct cl_err *e);
/* CL_EDATA, slug "sealed_altered", when the check value is not this key's. */
int seal_check(const struct seal_kek *k, const unsigned char proof[SEAL_PROOF], struct cl_err *e);
int seal_wrap(const struct seal_kek *k, const struct seal_place *at, const unsigned char *nonce,
	const unsigned char dek[SEAL_KEY], unsigned char out[SEAL_WRAPPED], struct cl_err *e);
int seal_unwrap(const struct seal_kek *k, const struct seal_place *at,
	const unsigned char wrapped[SEAL_WRAPPED], unsigned char dek[SEAL_KEY], struct cl_err *e);
/* out holds len + SEAL_EXTRA bytes. */
int seal_payload(const unsigned char dek[SEAL_KEY], const struct seal_place *at,
	const unsigned char *nonce, const void *plain, size_t len, unsigned char *out,
	struct cl_err *e);
int seal_unpayload(const unsigned char dek[SEAL_KEY], const struct seal_place *at, const void *blob,
	size_t len, struct seal_buf *out, struct cl_err *e);

#endif
