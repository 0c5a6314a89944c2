/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/aes_evp.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/opensslv.h>
#include <pthread.h>
#include <string.h>

#define TEXT(n)   #n
#define NUMBER(n) TEXT(n)
#define LIBRARY   "libcrypto.so." NUMBER(OPENSSL_VERSION_MAJOR)

static struct {
	__typeof__(&OPENSSL_init_crypto) start;
	__typeof__(&EVP_CIPHER_CTX_new) new;
	__typeof__(&EVP_CIPHER_CTX_free) free;
	__typeof__(&EVP_CIPHER_CTX_ctrl) ctrl;
	__typeof__(&EVP_aes_256_gcm) aes;
	__typeof__(&EVP_CipherInit_ex) init;
	__typeof__(&EVP_CipherUpdate) update;
	__typeof__(&EVP_CipherFinal_ex) final;
	bool loaded;
} evp;

static void load(void)
{
	const struct {
		void *to;
		const char *name;
	} symbols[] = {
		{&evp.start, "OPENSSL_init_crypto"},
		{&evp.new, "EVP_CIPHER_CTX_new"},
		{&evp.free, "EVP_CIPHER_CTX_free"},
		{&evp.ctrl, "EVP_CIPHER_CTX_ctrl"},
		{&evp.aes, "EVP_aes_256_gcm"},
		{&evp.init, "EVP_CipherInit_ex"},
		{&evp.update, "EVP_CipherUpdate"},
		{&evp.final, "EVP_CipherFinal_ex"},
	};
	void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < CL_ARRAY_LEN(symbols); i++) {
		void *at = lib ? dlsym(lib, symbols[i].name) : NULL;

		if (!at)
			return;
		/* ISO C has no cast from an object to a function (dlsym(3)). */
		memcpy(symbols[i].to, &at, sizeof(at));
	}
	/* A configuration could load code of whoever set OPENSSL_CONF. */
	evp.loaded = evp.start(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1;
}

static int ready(struct cl_err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, load);
	if (evp.loaded)
		return 0;
	(void)cl_fail(e, CL_EUNAVAIL,
		"this processor has no instructions for AES-GCM, and %s, which does without, "
		"cannot be loaded",
		LIBRARY);
	return cl_fix(e, "apt-get install libssl3");
}

static int cannot(const char *what, struct cl_err *e)
{
	return cl_fail(e, CL_EBUG, "libcrypto cannot %s", what);
}

/* Key, nonce, what is bound, and the text; out gets as much as came in. */
static bool run(EVP_CIPHER_CTX *ctx, int way, const unsigned char *key, const unsigned char *nonce,
	const void *aad, size_t aad_len, const void *in, size_t len, unsigned char *out)
{
	int n = 0;

	return ctx && aad_len <= INT_MAX && len <= INT_MAX &&
	       evp.init(ctx, evp.aes(), NULL, key, nonce, way) == 1 &&
	       evp.update(ctx, NULL, &n, aad, (int)aad_len) == 1 &&
	       (!len || evp.update(ctx, out, &n, in, (int)len) == 1);
}

int aes_evp_seal(const unsigned char key[SEAL_KEY], const unsigned char nonce[SEAL_NONCE],
	const void *aad, size_t aad_len, const void *plain, size_t len, unsigned char *out,
	struct cl_err *e)
{
	EVP_CIPHER_CTX *ctx = ready(e) ? NULL : evp.new();
	int n = 0;
	bool done;

	if (!evp.loaded)
		return -1;
	done = run(ctx, 1, key, nonce, aad, aad_len, plain, len, out) &&
	       evp.final(ctx, out + len, &n) == 1 &&
	       evp.ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG, out + len) == 1;
	evp.free(ctx);
	return done ? 0 : cannot("seal", e);
}

int aes_evp_open(const unsigned char key[SEAL_KEY], const unsigned char nonce[SEAL_NONCE],
	const void *aad, size_t aad_len, const void *text, size_t len, unsigned char *out,
	bool *held, struct cl_err *e)
{
	EVP_CIPHER_CTX *ctx = ready(e) ? NULL : evp.new();
	unsigned char tag[SEAL_TAG];
	int n = 0;
	bool set;

	*held = false;
	if (!evp.loaded)
		return -1;
	len -= SEAL_TAG;
	memcpy(tag, (const unsigned char *)text + len, SEAL_TAG);
	set = run(ctx, 0, key, nonce, aad, aad_len, text, len, out) &&
	      evp.ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG, tag) == 1;
	*held = set && evp.final(ctx, out + len, &n) == 1;
	evp.free(ctx);
	return set ? 0 : cannot("open what was sealed", e);
}
