/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/crypto.h"

#include "seal/aes_evp.h"

#include <errno.h>
#include <sodium/core.h>
#include <sodium/crypto_aead_aes256gcm.h>
#include <sodium/crypto_auth_hmacsha256.h>
#include <sodium/crypto_pwhash_scryptsalsa208sha256.h>
#include <sodium/crypto_sign_ed25519.h>
#include <sodium/utils.h>
#include <string.h>
#include <sys/random.h>

#define SCRYPT_BYTES ((uint64_t)1 << 30)

_Static_assert(SEAL_KEY == crypto_aead_aes256gcm_KEYBYTES, "a key");
_Static_assert(SEAL_NONCE == crypto_aead_aes256gcm_NPUBBYTES, "a nonce");
_Static_assert(SEAL_TAG == crypto_aead_aes256gcm_ABYTES, "a tag");
_Static_assert(SEAL_KEY == crypto_auth_hmacsha256_BYTES, "a digest");
_Static_assert(SEAL_KEY == crypto_sign_ed25519_SEEDBYTES, "a seed");
_Static_assert(SEAL_SIG == crypto_sign_ed25519_BYTES, "a signature");

/* Idempotent, from any thread. libsodium asks the processor what it can. */
static int ready(struct cl_err *e)
{
	return sodium_init() < 0 ? cl_fail(e, CL_EBUG, "libsodium cannot be used") : 0;
}

int seal_random(void *p, size_t len, struct cl_err *e)
{
	unsigned char *at = p;

	while (len) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "cannot get random bytes");
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

bool seal_same(const void *a, const void *b, size_t len)
{
	return !sodium_memcmp(a, b, len);
}

static void hmac(const void *key, size_t key_len, const void *msg, size_t len, unsigned char last,
	unsigned char out[SEAL_KEY])
{
	crypto_auth_hmacsha256_state st;

	(void)crypto_auth_hmacsha256_init(&st, key, key_len);
	(void)crypto_auth_hmacsha256_update(&st, msg, len);
	if (last)
		(void)crypto_auth_hmacsha256_update(&st, &last, 1);
	(void)crypto_auth_hmacsha256_final(&st, out);
	sodium_memzero(&st, sizeof(st));
}

/* RFC 5869: 32 bytes are one block of the expansion, T(1) = HMAC(PRK, info | 1). */
int seal_hkdf(const void *key, size_t key_len, const void *salt, size_t salt_len, const void *info,
	size_t info_len, unsigned char out[SEAL_KEY], struct cl_err *e)
{
	unsigned char prk[SEAL_KEY];

	if (ready(e))
		return -1;
	hmac(salt, salt_len, key, key_len, 0, prk);
	hmac(prk, sizeof(prk), info, info_len, 1, out);
	sodium_memzero(prk, sizeof(prk));
	return 0;
}

int seal_scrypt(const void *pass, size_t pass_len, const void *salt, size_t salt_len, uint64_t n,
	uint32_t r, uint32_t p, unsigned char out[SEAL_KEY], struct cl_err *e)
{
	if (ready(e))
		return -1;
	if (!r || n > SCRYPT_BYTES / 128 / r)
		return cl_fail(e, CL_EBUG, "scrypt would take more than a gibibyte");
	if (crypto_pwhash_scryptsalsa208sha256_ll(
		    pass, pass_len, salt, salt_len, n, r, p, out, SEAL_KEY))
		return cl_fail_sys(e, CL_EOS, errno, "cannot derive a key with scrypt");
	return 0;
}

int seal_gcm(const unsigned char key[SEAL_KEY], const unsigned char nonce[SEAL_NONCE],
	const void *aad, size_t aad_len, const void *plain, size_t len, unsigned char *out,
	struct cl_err *e)
{
	if (ready(e))
		return -1;
	memcpy(out, nonce, SEAL_NONCE);
	if (!crypto_aead_aes256gcm_is_available())
		return aes_evp_seal(key, nonce, aad, aad_len, plain, len, out + SEAL_NONCE, e);
	if (crypto_aead_aes256gcm_encrypt(
		    out + SEAL_NONCE, NULL, plain, len, aad, aad_len, NULL, nonce, key))
		return cl_fail(e, CL_EBUG, "libsodium cannot seal");
	return 0;
}

static int open_text(const unsigned char key[SEAL_KEY], const void *aad, size_t aad_len,
	const unsigned char *blob, size_t len, unsigned char *out, bool *held, struct cl_err *e)
{
	const unsigned char *text = blob + SEAL_NONCE;

	if (ready(e))
		return -1;
	if (!crypto_aead_aes256gcm_is_available())
		return aes_evp_open(key, blob, aad, aad_len, text, len - SEAL_NONCE, out, held, e);
	*held = !crypto_aead_aes256gcm_decrypt(
		out, NULL, NULL, text, len - SEAL_NONCE, aad, aad_len, blob, key);
	return 0;
}

int seal_ungcm(const unsigned char key[SEAL_KEY], const void *aad, size_t aad_len, const void *blob,
	size_t len, unsigned char *out, struct cl_err *e)
{
	bool held = false;

	if (len < SEAL_EXTRA) {
		(void)cl_fail(e, CL_EDATA, "what was sealed is no more than %zu bytes", len);
		return cl_slug(e, "sealed_altered");
	}
	if (open_text(key, aad, aad_len, blob, len, out, &held, e))
		return -1;
	if (held)
		return 0;
	sodium_memzero(out, len - SEAL_EXTRA);
	(void)cl_fail(e, CL_EDATA,
		"it does not open: it was altered, moved here from another "
		"row, or sealed with another key");
	return cl_slug(e, "sealed_altered");
}

int seal_public(
	const unsigned char private_key[SEAL_KEY], unsigned char out[SEAL_KEY], struct cl_err *e)
{
	unsigned char secret[crypto_sign_ed25519_SECRETKEYBYTES];

	if (ready(e))
		return -1;
	(void)crypto_sign_ed25519_seed_keypair(out, secret, private_key);
	sodium_memzero(secret, sizeof(secret));
	return 0;
}

int seal_sign(const unsigned char private_key[SEAL_KEY], const void *msg, size_t len,
	unsigned char out[SEAL_SIG], struct cl_err *e)
{
	unsigned char public_key[SEAL_KEY], secret[crypto_sign_ed25519_SECRETKEYBYTES];

	if (ready(e))
		return -1;
	(void)crypto_sign_ed25519_seed_keypair(public_key, secret, private_key);
	(void)crypto_sign_ed25519_detached(out, NULL, msg, len, secret);
	sodium_memzero(secret, sizeof(secret));
	return 0;
}

/* Not constant in time; nothing here is secret. */
bool seal_verify(const unsigned char public_key[SEAL_KEY], const void *msg, size_t len,
	const unsigned char sig[SEAL_SIG])
{
	return !crypto_sign_ed25519_verify_detached(sig, msg, len, public_key);
}
