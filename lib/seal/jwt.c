/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/jwt.h"

#include "base/b64.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#define HEAP 65536 /* holds a key of 16384 bits and what signing takes */

static int bad_key(struct cl_err *e)
{
	ERR_clear_error();
	(void)cl_fail(e, CL_EDATA,
		"the App's private key cannot sign: it is no RSA key that "
		"libcrypto reads");
	(void)cl_slug(e, "invalid_payload");
	return cl_fix(e, "generate a new key for the App at GitHub, and mint the secret again");
}

/* A key under a passphrase is none of ours: nobody is there to type it. */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

static EVP_PKEY *read_key(const char *pem)
{
	BIO *in = NULL;
	EVP_PKEY *key = NULL;
	size_t len = strlen(pem);

	/* Best effort: a low limit of locked memory leaves the ordinary heap. */
	if (!CRYPTO_secure_malloc_initialized())
		(void)CRYPTO_secure_malloc_init(HEAP, 64);
	if (len && len <= INT_MAX)
		in = BIO_new_mem_buf(pem, (int)len);
	if (in)
		key = PEM_read_bio_PrivateKey(in, NULL, no_passphrase, NULL);
	(void)BIO_free(in);
	if (key && EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) {
		EVP_PKEY_free(key);
		return NULL;
	}
	return key;
}

int seal_rs256(const char *pem, const void *msg, size_t len, struct seal_buf *sig, struct cl_err *e)
{
	EVP_MD_CTX *ctx;
	EVP_PKEY *key;
	size_t n;
	bool done;

	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return cl_fail(e, CL_EBUG, "libcrypto cannot be used");
	key = read_key(pem);
	if (!key)
		return bad_key(e);
	n = (size_t)EVP_PKEY_get_size(key);
	if (seal_buf_make(sig, n, e)) {
		EVP_PKEY_free(key);
		return -1;
	}
	ctx = EVP_MD_CTX_new();
	done = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
	       EVP_DigestSign(ctx, sig->p, &n, msg, len) == 1;
	sig->len = done ? n : 0;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return done ? 0 : bad_key(e);
}

int seal_app_jwt(
	const char *pem, uint64_t app_id, int64_t now, struct seal_buf *out, struct cl_err *e)
{
	static const char head[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
	cleanup_seal struct seal_buf sig = SEAL_BUF_INIT;
	cleanup_buf struct cl_buf claims = CL_BUF_INIT, text = CL_BUF_SECRET;

	cl_buf_addf(&claims, "{\"exp\":%lld,\"iat\":%lld,\"iss\":\"%llu\"}",
		(long long)now + SEAL_JWT_LIFE, (long long)now - SEAL_JWT_BACK,
		(unsigned long long)app_id);
	cl_b64_encode(CL_B64_URL, head, sizeof(head) - 1, &text);
	cl_buf_addc(&text, '.');
	cl_b64_encode(CL_B64_URL, claims.p, claims.len, &text);
	if (seal_rs256(pem, text.p, text.len, &sig, e))
		return -1;
	cl_buf_addc(&text, '.');
	cl_b64_encode(CL_B64_URL, sig.p, sig.len, &text);
	return seal_buf_copy(out, text.p, text.len, e);
}
