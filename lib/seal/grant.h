/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signatures of grants (DECISIONS K8). One state file serves processes of different trust, so
 * a row says nothing by being there: what gives it authority is signed, Ed25519, over
 *
 *	"cloop-grant-v1", a newline, and canonical JSON of constraints (the text, as a string),
 *	created_at, created_by, expires_at, id, kind, owner, scope, secret_id, secret_name, subject
 *
 * Verifying needs the public key only. What a signature cannot tell is that the grant was
 * revoked and the row put back as it was: store/undone.h asks the audit trail for that.
 */
#ifndef SEAL_GRANT_H
#define SEAL_GRANT_H

#include "base/sha256.h"
#include "seal/ring.h"
#include "store/grant.h"

/* Fills g->signature, owned. */
int seal_grant_sign(const struct seal_signer *k, struct store_grant *g, struct cl_err *e);
bool seal_grant_verify(const unsigned char public_key[SEAL_KEY], const struct store_grant *g);

/*
 * Signatures that held, by the SHA-256 of key, signature and all that is signed: what is the same
 * to the last byte holds again, and one that did not hold is never in it.
 */
#define SEAL_MEMO 128
struct seal_memo {
	unsigned char sum[SEAL_MEMO][CL_SHA256_LEN];
};
#define SEAL_MEMO_INIT ((struct seal_memo){0})
/* As seal_grant_verify, for who judges the same grants again and again. */
bool seal_grant_verify_again(
	struct seal_memo *m, const unsigned char public_key[SEAL_KEY], const struct store_grant *g);

/*
 * An administrator's acknowledgement that a grant is delivered though nothing enforces it:
 * {"at", "by", "reason", "signature"}, owned. at is Unix milliseconds.
 */
char *seal_unguarded_make(const struct seal_signer *k, const char *grant_id, const char *by,
	int64_t at, const char *reason, struct cl_err *e);
/* True when g->unguarded is there and signed for this grant. */
bool seal_unguarded_verify(const unsigned char public_key[SEAL_KEY], const struct store_grant *g);

#endif
