/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signatures of the address at which a GitHub App's token is destroyed (DECISIONS K8), over "cloop-token-v1",
 * a newline, and canonical JSON of base_url and sum: who has the token and no root key sends it there,
 * and nowhere else. An address that was signed for one token says nothing of another.
 */
#ifndef SEAL_TOKEN_H
#define SEAL_TOKEN_H

#include "seal/ring.h"
#include "store/token.h"

/* Fills t->signature, owned, of t->sum and t->base_url. CL_EDATA where they are no UTF-8. */
int seal_token_sign(const struct seal_signer *k, struct store_token *t, struct cl_err *e);
/* False also where the row has no address, or no signature. */
bool seal_token_verify(const unsigned char public_key[SEAL_KEY], const struct store_token *t);

#endif
