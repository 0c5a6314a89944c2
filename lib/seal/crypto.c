/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/crypto.h"

#include <errno.h>
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <string.h>
#include <sys/random.h>

/* Idempotent. A configuration could load code of whoever set OPENSSL_CONF. */
static int ready(struct cl_err *e)
{
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1)
		return 0;
	return cl_fail(e, CL_EBUG, "libcrypto cannot be used");
}

static int cannot(const char *what, struct cl_err *e)
{
	return cl_fail(e, CL_EBUG, "libcrypto cannot %s", what);
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
	return !CRYPTO_memcmp(a, b, len);
}

/* OSSL_PARAMs point to what they only read. */
static OSSL_PARAM octets(const char *name, const void *p, size_t len)
{
	return OSSL_PARAM_construct_octet_string(name, (void *)(uintptr_t)p, len);
}

static int derive(
	const char *name, const OSSL_PARAM *params, unsigned char out[SEAL_KEY], struct cl_err *e)
{
	EVP_KDF *kdf = ready(e) ? NULL : EVP_KDF_fetch(NULL, name, NULL);
	EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	bool done = ctx && EVP_KDF_derive(ctx, out, SEAL_KEY, params) == 1;

	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return done ? 0 : cannot("derive a key", e);
}

int seal_hkdf(const void *key, size_t key_len, const void *salt, size_t salt_len, const void *info,
	size_t info_len, unsigned char out[SEAL_KEY], struct cl_err *e)
{
	char digest[] = "SHA256";
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
		octets(OSSL_KDF_PARAM_KEY, key, key_len),
		octets(OSSL_KDF_PARAM_SALT, salt, salt_len),
		octets(OSSL_KDF_PARAM_INFO, info, info_len),
		OSSL_PARAM_construct_end(),
	};

	return derive("HKDF", params, out, e);
}

int seal_scrypt(const void *pass, size_t pass_len, const void *salt, size_t salt_len, uint64_t n,
	uint32_t r, uint32_t p, unsigned char out[SEAL_KEY], struct cl_err *e)
{
	uint64_t most = (uint64_t)1 << 30;
	const OSSL_PARAM params[] = {
		octets(OSSL_KDF_PARAM_PASSWORD, pass, pass_len),
		octets(OSSL_KDF_PARAM_SALT, salt, salt_len),
		OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_N, &n),
		OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_R, &r),
		OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_P, &p),
		OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM, &most),
		OSSL_PARAM_construct_end(),
	};

	return derive("SCRYPT", params, out, e);
}

int seal_gcm(const unsigned char key[SEAL_KEY], const unsigned char nonce[SEAL_NONCE],
	const void *aad, size_t aad_len, const void *plain, size_t len, unsigned char *out,
	struct cl_err *e)
{
	EVP_CIPHER_CTX *ctx = ready(e) ? NULL : EVP_CIPHER_CTX_new();
	unsigned char *text = out + SEAL_NONCE;
	int n = 0;
	bool done = ctx && aad_len < INT_MAX && len < INT_MAX;

	memcpy(out, nonce, SEAL_NONCE);
	done = done && EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce) == 1 &&
	       EVP_EncryptUpdate(ctx, NULL, &n, aad, (int)aad_len) == 1 &&
	       (!len || EVP_EncryptUpdate(ctx, text, &n, plain, (int)len) == 1) &&
	       EVP_EncryptFinal_ex(ctx, text + len, &n) == 1 &&
	       EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG, text + len) == 1;
	EVP_CIPHER_CTX_free(ctx);
	return done ? 0 : cannot("seal", e);
}

int seal_ungcm(const unsigned char key[SEAL_KEY], const void *aad, size_t aad_len, const void *blob,
	size_t len, unsigned char *out, struct cl_err *e)
{
	const unsigned char *nonce = blob, *text = nonce + SEAL_NONCE;
	EVP_CIPHER_CTX *ctx;
	unsigned char tag[SEAL_TAG];
	bool set, held;
	int n = 0;

	if (len < SEAL_EXTRA || len > INT_MAX || aad_len > INT_MAX) {
		(void)cl_fail(e, CL_EDATA, "what was sealed is no more than %zu bytes", len);
		return cl_slug(e, "sealed_altered");
	}
	len -= SEAL_EXTRA;
	memcpy(tag, text + len, SEAL_TAG);
	ctx = ready(e) ? NULL : EVP_CIPHER_CTX_new();
	set = ctx && EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce) == 1 &&
	      EVP_DecryptUpdate(ctx, NULL, &n, aad, (int)aad_len) == 1 &&
	      (!len || EVP_DecryptUpdate(ctx, out, &n, text, (int)len) == 1) &&
	      EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG, tag) == 1;
	held = set && EVP_DecryptFinal_ex(ctx, out + len, &n) == 1;
	EVP_CIPHER_CTX_free(ctx);
	if (held)
		return 0;
	explicit_bzero(out, len);
	if (!set)
		return cannot("open what was sealed", e);
	(void)cl_fail(e, CL_EDATA,
		"it does not open: it was altered, moved here from another "
		"row, or sealed with another key");
	return cl_slug(e, "sealed_altered");
}

int seal_public(
	const unsigned char private_key[SEAL_KEY], unsigned char out[SEAL_KEY], struct cl_err *e)
{
	size_t len = SEAL_KEY;
	EVP_PKEY *key = ready(e) ? NULL
				 : EVP_PKEY_new_raw_private_key(
					   EVP_PKEY_ED25519, NULL, private_key, SEAL_KEY);
	bool done = key && EVP_PKEY_get_raw_public_key(key, out, &len) == 1 && len == SEAL_KEY;

	EVP_PKEY_free(key);
	return done ? 0 : cannot("make a public key", e);
}

int seal_sign(const unsigned char private_key[SEAL_KEY], const void *msg, size_t len,
	unsigned char out[SEAL_SIG], struct cl_err *e)
{
	EVP_PKEY *key = ready(e) ? NULL
				 : EVP_PKEY_new_raw_private_key(
					   EVP_PKEY_ED25519, NULL, private_key, SEAL_KEY);
	EVP_MD_CTX *ctx = key ? EVP_MD_CTX_new() : NULL;
	size_t n = SEAL_SIG;
	bool done = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
		    EVP_DigestSign(ctx, out, &n, msg, len) == 1 && n == SEAL_SIG;

	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return done ? 0 : cannot("sign", e);
}
