/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/token.h"
#include "seal/statement.h"

#include <stdlib.h>

static char *statement(const struct store_token *t)
{
	return t->base_url ? seal_statement("cloop-token-v1", json_pack("{s:s, s:s}", "base_url",
								      t->base_url, "sum", t->sum))
			   : NULL;
}

int seal_token_sign(const struct seal_signer *k, struct store_token *t, struct cl_err *e)
{
	free(t->signature);
	t->signature = seal_statement_sign(k, statement(t), e);
	return t->signature ? 0 : -1;
}

bool seal_token_verify(const unsigned char public_key[SEAL_KEY], const struct store_token *t)
{
	return seal_statement_holds(public_key, statement(t), t->signature);
}
