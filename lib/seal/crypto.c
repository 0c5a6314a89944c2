/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/crypto.h"

#include <bearssl.h>
#include <errno.h>
#include <sodium/core.h>
#include <sodium/crypto_auth_hmacsha256.h>
#include <sodium/crypto_pwhash_scryptsalsa208sha256.h>
#include <sodium/crypto_sign_ed25519.h>
#include <sodium/utils.h>
#include <string.h>
#include <sys/random.h>

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#define SEAL_AESNI
#include <sys/platform/x86.h>
#endif

#define SCRYPT_BYTES ((uint64_t)1 << 30)

_Static_assert(SEAL_KEY == crypto_auth_hmacsha256_BYTES, "a digest");
_Static_assert(SEAL_KEY == crypto_sign_ed25519_SEEDBYTES, "a seed");
_Static_assert(SEAL_SIG == crypto_sign_ed25519_BYTES, "a signature");

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
void seal_hkdf(const void *key, size_t key_len, const void *salt, size_t salt_len, const void *info,
	size_t info_len, unsigned char out[SEAL_KEY])
{
	unsigned char prk[SEAL_KEY];

	hmac(salt, salt_len, key, key_len, 0, prk);
	hmac(prk, sizeof(prk), info, info_len, 1, out);
	sodium_memzero(prk, sizeof(prk));
}

int seal_scrypt(const void *pass, size_t pass_len, const void *salt, size_t salt_len, uint64_t n,
	uint32_t r, uint32_t p, unsigned char out[SEAL_KEY], struct cl_err *e)
{
	/* It asks the processor what it can; idempotent, from any thread. */
	if (sodium_init() < 0)
		return cl_fail(e, CL_EBUG, "libsodium cannot be used");
	if (!r || n > SCRYPT_BYTES / 128 / r)
		return cl_fail(e, CL_EBUG, "scrypt would take more than a gibibyte");
	if (crypto_pwhash_scryptsalsa208sha256_ll(
		    pass, pass_len, salt, salt_len, n, r, p, out, SEAL_KEY))
		return cl_fail_sys(e, CL_EOS, errno, "cannot derive a key with scrypt");
	return 0;
}

/*
 * BearSSL's AES by the processor's instructions, or without tables: what it does depends on no
 * secret either way. Without them a mebibyte, which is the most, takes some 20 ms.
 */
struct gcm {
	union {
		const br_block_ctr_class *vtable;
		br_aes_ct64_ctr_keys any;
#ifdef SEAL_AESNI
		br_aes_x86ni_ctr_keys ni;
#endif
	} keys;
	br_gcm_context ctx;
};

static br_ghash gcm_keys(struct gcm *g, const unsigned char key[SEAL_KEY])
{
#ifdef SEAL_AESNI
	/* What the loader has found: to ask the processor again costs a visit to its hypervisor. */
	if (x86_cpu_active(x86_cpu_AES) && x86_cpu_active(x86_cpu_PCLMULQDQ) &&
		x86_cpu_active(x86_cpu_SSE4_1)) {
		br_aes_x86ni_ctr_init(&g->keys.ni, key, SEAL_KEY);
		return br_ghash_pclmul;
	}
#endif
	br_aes_ct64_ctr_init(&g->keys.any, key, SEAL_KEY);
	return br_ghash_ctmul64;
}

static void gcm_start(struct gcm *g, const unsigned char key[SEAL_KEY],
	const unsigned char nonce[SEAL_NONCE], const void *aad, size_t aad_len)
{
	br_ghash hash = gcm_keys(g, key);

	br_gcm_init(&g->ctx, &g->keys.vtable, hash);
	br_gcm_reset(&g->ctx, nonce, SEAL_NONCE);
	br_gcm_aad_inject(&g->ctx, aad, aad_len);
	br_gcm_flip(&g->ctx);
}

void seal_gcm(const unsigned char key[SEAL_KEY], const unsigned char nonce[SEAL_NONCE],
	const void *aad, size_t aad_len, const void *plain, size_t len, unsigned char *out)
{
	unsigned char *text = out + SEAL_NONCE;
	struct gcm g;

	memcpy(out, nonce, SEAL_NONCE);
	if (len)
		memmove(text, plain, len);
	gcm_start(&g, key, nonce, aad, aad_len);
	br_gcm_run(&g.ctx, 1, text, len);
	br_gcm_get_tag(&g.ctx, text + len);
	sodium_memzero(&g, sizeof(g));
}

int seal_ungcm(const unsigned char key[SEAL_KEY], const void *aad, size_t aad_len, const void *blob,
	size_t len, unsigned char *out, struct cl_err *e)
{
	const unsigned char *nonce = blob, *text = nonce + SEAL_NONCE;
	struct gcm g;
	bool held;

	if (len < SEAL_EXTRA) {
		(void)cl_fail(e, CL_EDATA, "what was sealed is no more than %zu bytes", len);
		return cl_slug(e, "sealed_altered");
	}
	len -= SEAL_EXTRA;
	if (len)
		memmove(out, text, len);
	gcm_start(&g, key, nonce, aad, aad_len);
	br_gcm_run(&g.ctx, 0, out, len);
	held = br_gcm_check_tag(&g.ctx, text + len) == 1;
	sodium_memzero(&g, sizeof(g));
	if (held)
		return 0;
	sodium_memzero(out, len);
	(void)cl_fail(e, CL_EDATA,
		"it does not open: it was altered, moved here from another "
		"row, or sealed with another key");
	return cl_slug(e, "sealed_altered");
}

void seal_public(const unsigned char private_key[SEAL_KEY], unsigned char out[SEAL_KEY])
{
	unsigned char secret[crypto_sign_ed25519_SECRETKEYBYTES];

	(void)crypto_sign_ed25519_seed_keypair(out, secret, private_key);
	sodium_memzero(secret, sizeof(secret));
}

void seal_sign(const unsigned char private_key[SEAL_KEY], const void *msg, size_t len,
	unsigned char out[SEAL_SIG])
{
	unsigned char public_key[SEAL_KEY], secret[crypto_sign_ed25519_SECRETKEYBYTES];

	(void)crypto_sign_ed25519_seed_keypair(public_key, secret, private_key);
	(void)crypto_sign_ed25519_detached(out, NULL, msg, len, secret);
	sodium_memzero(secret, sizeof(secret));
}

/* Not constant in time; nothing here is secret. */
bool seal_verify(const unsigned char public_key[SEAL_KEY], const void *msg, size_t len,
	const unsigned char sig[SEAL_SIG])
{
	return !crypto_sign_ed25519_verify_detached(sig, msg, len, public_key);
}
