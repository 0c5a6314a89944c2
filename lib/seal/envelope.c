/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/envelope.h"

#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

#define PROOF_TEXT "cloop-kek-check-v1"

/* What is authenticated: the parts with a NUL between them; NULL for one that is not there. */
static void bind_to(
	struct cl_buf *aad, const char *what, const char *key, const char *set, const char *row)
{
	const char *const parts[] = {what, key, set, row};

	for (size_t i = 0; i < CL_ARRAY_LEN(parts); i++) {
		if (!parts[i])
			continue;
		if (i)
			cl_buf_addc(aad, '\0');
		cl_buf_adds(aad, parts[i]);
	}
}

static int seal_with(const unsigned char key[SEAL_KEY], const struct cl_buf *aad,
	const unsigned char *nonce, const void *plain, size_t len, unsigned char *out,
	struct cl_err *e)
{
	unsigned char fresh[SEAL_NONCE];

	if (!nonce && seal_random(fresh, sizeof(fresh), e))
		return -1;
	seal_gcm(key, nonce ? nonce : fresh, aad->p, aad->len, plain, len, out);
	return 0;
}

int seal_prove(const struct seal_kek *k, const unsigned char *nonce, unsigned char out[SEAL_PROOF],
	struct cl_err *e)
{
	cleanup_buf struct cl_buf aad = CL_BUF_INIT;

	bind_to(&aad, "cloop-kek-check-v1", k->id, NULL, NULL);
	return seal_with(k->key, &aad, nonce, PROOF_TEXT, strlen(PROOF_TEXT), out, e);
}

int seal_check(const struct seal_kek *k, const unsigned char proof[SEAL_PROOF], struct cl_err *e)
{
	cleanup_buf struct cl_buf aad = CL_BUF_INIT;
	unsigned char text[SEAL_PROOF];

	bind_to(&aad, "cloop-kek-check-v1", k->id, NULL, NULL);
	if (seal_ungcm(k->key, aad.p, aad.len, proof, SEAL_PROOF, text, e))
		return -1;
	if (!memcmp(text, PROOF_TEXT, strlen(PROOF_TEXT)))
		return 0;
	(void)cl_fail(e, CL_EDATA, "the check value is of another version of cloop");
	return cl_slug(e, "sealed_altered");
}

int seal_wrap(const struct seal_kek *k, const struct seal_place *at, const unsigned char *nonce,
	const unsigned char dek[SEAL_KEY], unsigned char out[SEAL_WRAPPED], struct cl_err *e)
{
	cleanup_buf struct cl_buf aad = CL_BUF_INIT;

	bind_to(&aad, "cloop-dek-v1", k->id, at->set, at->id);
	return seal_with(k->key, &aad, nonce, dek, SEAL_KEY, out, e);
}

int seal_unwrap(const struct seal_kek *k, const struct seal_place *at,
	const unsigned char wrapped[SEAL_WRAPPED], unsigned char dek[SEAL_KEY], struct cl_err *e)
{
	cleanup_buf struct cl_buf aad = CL_BUF_INIT;

	bind_to(&aad, "cloop-dek-v1", k->id, at->set, at->id);
	return seal_ungcm(k->key, aad.p, aad.len, wrapped, SEAL_WRAPPED, dek, e);
}

int seal_payload(const unsigned char dek[SEAL_KEY], const struct seal_place *at,
	const unsigned char *nonce, const void *plain, size_t len, unsigned char *out,
	struct cl_err *e)
{
	cleanup_buf struct cl_buf aad = CL_BUF_INIT;

	bind_to(&aad, "cloop-payload-v1", NULL, at->set, at->id);
	return seal_with(dek, &aad, nonce, plain, len, out, e);
}

int seal_unpayload(const unsigned char dek[SEAL_KEY], const struct seal_place *at, const void *blob,
	size_t len, struct seal_buf *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf aad = CL_BUF_INIT;
	size_t n = len < SEAL_EXTRA ? 0 : len - SEAL_EXTRA;

	bind_to(&aad, "cloop-payload-v1", NULL, at->set, at->id);
	if (seal_buf_make(out, n, e))
		return -1;
	if (seal_ungcm(dek, aad.p, aad.len, blob, len, out->p, e)) {
		seal_buf_release(out);
		return -1;
	}
	out->len = n;
	return 0;
}
