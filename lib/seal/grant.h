/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signatures of grants (DECISIONS K8). One state file serves processes of different trust, so
 * a row says nothing by being there: what gives it authority is signed, Ed25519, over
 *
 *	"cloop-grant-v1", a newline, and canonical JSON of constraints (the text, as a string),
 *	created_at, created_by, expires_at, id, kind, owner, scope, secret_id, secret_name, subject
 *
 * Verifying needs the public key only. What a signature cannot tell is that the grant was
 * revoked and the row put back as it was: that lasts until its expiry, and the audit trail
 * has the revocation.
 */
#ifndef SEAL_GRANT_H
#define SEAL_GRANT_H

#include "seal/ring.h"
#include "store/grant.h"

/* Fills g->signature, owned. */
int seal_grant_sign(const struct seal_signer *k, struct store_grant *g, struct cl_err *e);
bool seal_grant_verify(const unsigned char public_key[SEAL_KEY], const struct store_grant *g);

/*
 * An administrator's acknowledgement that a grant is delivered though nothing enforces it:
 * {"at", "by", "reason", "signature"}, owned. at is Unix milliseconds.
 */
char *seal_unguarded_make(const struct seal_signer *k, const char *grant_id, const char *by,
	int64_t at, const char *reason, struct cl_err *e);
/* True when g->unguarded is there and signed for this grant. */
bool seal_unguarded_verify(const unsigned char public_key[SEAL_KEY], const struct store_grant *g);

#endif
