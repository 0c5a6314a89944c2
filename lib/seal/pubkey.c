/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/pubkey.h"
#include "base/mem.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#define RSA_LEAST 2048

struct seal_pubkey {
	EVP_PKEY *key;
	bool hashed; /* signatures are over SHA-256 of the text; else over the text */
};

static int bad(const char *name, const char *why, struct cl_err *e)
{
	ERR_clear_error();
	(void)cl_fail(e, CL_ECONFIG, "'%s' %s", name, why);
	(void)cl_slug(e, "image_key");
	return cl_fix(e, "name the file of a public key as 'cosign public-key' or 'openssl pkey "
			 "-pubout' writes it");
}

static bool known_curve(const EVP_PKEY *key)
{
	static const char *const curves[] = {"prime256v1", "secp384r1", "secp521r1"};
	char name[64];
	size_t len;

	if (EVP_PKEY_get_group_name(key, name, sizeof(name), &len) != 1)
		return false;
	for (size_t i = 0; i < CL_ARRAY_LEN(curves); i++)
		if (!strcmp(curves[i], name))
			return true;
	return false;
}

/* NULL when it is fit for use. */
static const char *flaw(const EVP_PKEY *key)
{
	switch (EVP_PKEY_get_base_id(key)) {
	case EVP_PKEY_ED25519:
		return NULL;
	case EVP_PKEY_EC:
		return known_curve(key) ? NULL : "is a key on a curve that is not checked here";
	case EVP_PKEY_RSA:
		return EVP_PKEY_get_bits(key) >= RSA_LEAST ? NULL
							   : "is an RSA key of less than 2048 bits";
	default:
		return "is a key of a kind that is not checked here";
	}
}

int seal_pubkey_read(
	const char *name, const char *pem, size_t len, struct seal_pubkey **out, struct cl_err *e)
{
	BIO *in = NULL;
	EVP_PKEY *key = NULL;
	const char *why;

	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return cl_fail(e, CL_EBUG, "libcrypto cannot be used");
	if (len && len <= INT_MAX)
		in = BIO_new_mem_buf(pem, (int)len);
	if (in)
		key = PEM_read_bio_PUBKEY(in, NULL, NULL, NULL);
	(void)BIO_free(in);
	if (!key)
		return bad(name, "holds no public key in PEM", e);
	why = flaw(key);
	if (why) {
		EVP_PKEY_free(key);
		return bad(name, why, e);
	}
	*out = cl_calloc(1, sizeof(**out));
	(*out)->key = key;
	(*out)->hashed = EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519;
	return 0;
}

void seal_pubkey_free(struct seal_pubkey *k)
{
	if (k)
		EVP_PKEY_free(k->key);
	free(k);
}

bool seal_pubkey_verify(
	const struct seal_pubkey *k, const void *msg, size_t len, const void *sig, size_t sig_len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = ctx &&
		    EVP_DigestVerifyInit(
			    ctx, NULL, k->hashed ? EVP_sha256() : NULL, NULL, k->key) == 1 &&
		    EVP_DigestVerify(ctx, sig, sig_len, msg, len) == 1;

	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return good;
}
