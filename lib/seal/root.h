/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The root key (DECISIONS K1): where it comes from, and what is derived from it. 32 random
 * bytes as base64url without padding (43 characters) go through HKDF-SHA256; any other text is
 * a passphrase and goes through scrypt. A root key never seals anything itself: each
 * key-encryption key is derived from it with a salt of its own.
 */
#ifndef SEAL_ROOT_H
#define SEAL_ROOT_H

#include "base/err.h"
#include "seal/crypto.h"
#include "seal/mem.h"

#include <stdbool.h>
#include <sys/types.h>

#define SEAL_ROOT_TEXT   43   /* characters of a raw key */
#define SEAL_ROOT_MAX    4096 /* bytes of a key file, or of a passphrase */
#define SEAL_SALT        32
#define SEAL_SCRYPT_N    ((uint64_t)1 << 17)
#define SEAL_SCRYPT_R    8
#define SEAL_SCRYPT_P    1
#define SEAL_ROOT_SOURCE 300

struct seal_root {
	bool raw; /* 32 bytes in key; else a passphrase */
	struct seal_buf key;
	char source[SEAL_ROOT_SOURCE]; /* for messages: "'FILE'", "CLOOP_SECRET_KEY" */
};
#define SEAL_ROOT_INIT ((struct seal_root){0})
void seal_root_release(struct seal_root *r);
#define cleanup_root __attribute__((cleanup(seal_root_release)))

/* What the caller found in its environment and configuration; NULL for what is not set. */
struct seal_ask {
	const char *env_file;    /* CLOOP_SECRET_KEY_FILE */
	const char *config_file; /* secrets.key_file */
	const char *env_key;     /* CLOOP_SECRET_KEY */
	uid_t uid;               /* whose file it may be, besides root's */
};
/*
 * The root key. The file that the environment names wins over the configured one, and a file
 * over CLOOP_SECRET_KEY, which must then hold the same key. Each way to be wrong is a
 * CL_ECONFIG with a slug of its own: key_missing (none named, or no such file), key_mode,
 * key_owner, key_inside_hub (below a .cloop), key_differs, key_empty. *out is SEAL_ROOT_INIT.
 */
int seal_root_find(const struct seal_ask *ask, struct seal_root *out, struct cl_err *e);
/* Only the file; its rules are seal_root_find's. */
int seal_root_file(const char *path, uid_t uid, struct seal_root *out, struct cl_err *e);
/* The key that a text means: raw or passphrase. key_empty. */
int seal_root_parse(
	const void *text, size_t len, const char *source, struct seal_root *out, struct cl_err *e);
/* The text of the key, as a key file has it, without a newline. */
int seal_root_text(const struct seal_root *r, struct seal_buf *out, struct cl_err *e);

/* "hkdf" or "scrypt". */
const char *seal_root_method(const struct seal_root *r);
/* The key-encryption key `id` with that salt. */
int seal_root_derive(const struct seal_root *r, const char *id, const unsigned char salt[SEAL_SALT],
	unsigned char out[SEAL_KEY], struct cl_err *e);

#endif
