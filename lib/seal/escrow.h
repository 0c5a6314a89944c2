/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The escrow of the root key: a small JSON document that says what it is, of which hub and for
 * which keys, with the key sealed to a passphrase (scrypt, AES-256-GCM). Everything in it but
 * the sealed text is authenticated with it.
 */
#ifndef SEAL_ESCROW_H
#define SEAL_ESCROW_H

#include "base/buf.h"
#include "seal/root.h"

#include <stdint.h>

#define SEAL_ESCROW_PASS_MIN 12 /* bytes: a copy can be guessed at for as long as it exists */
#define SEAL_ESCROW_MAX      65536

struct seal_escrow {
	char *hub;           /* "hub_..." */
	int64_t created_at;  /* Unix seconds */
	struct cl_strv keys; /* the live keys it opens, "kek_..." */
	/* The rest is seal_escrow_make's and seal_escrow_parse's. */
	uint64_t n;
	unsigned char salt[SEAL_SALT];
	struct cl_buf sealed;
	char *bound; /* what is authenticated: the document without "sealed" */
};
#define SEAL_ESCROW_INIT ((struct seal_escrow){.keys = CL_STRV_INIT, .sealed = CL_BUF_INIT})
void seal_escrow_release(struct seal_escrow *x);
#define cleanup_escrow __attribute__((cleanup(seal_escrow_release)))

/* Adds the document of hub, created_at and keys to out. A short passphrase is CL_EDATA. */
int seal_escrow_make(struct seal_escrow *x, const struct seal_root *root,
	const struct seal_buf *pass, struct cl_buf *out, struct cl_err *e);
/* Reads one; the passphrase is not needed. CL_EDATA. *out is SEAL_ESCROW_INIT. */
int seal_escrow_parse(
	const char *name, const char *text, size_t len, struct seal_escrow *out, struct cl_err *e);
/* The root key in it; its source is `name`. CL_EDENIED: another passphrase, or it was altered. */
int seal_escrow_open(const struct seal_escrow *x, const struct seal_buf *pass, const char *name,
	struct seal_root *out, struct cl_err *e);

#endif
