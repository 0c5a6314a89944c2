/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the hub's key signs (DECISIONS K8): the name of a kind of statement, a newline, and canonical
 * JSON. No statement of one kind is one of another.
 */
#ifndef SEAL_STATEMENT_H
#define SEAL_STATEMENT_H

#include "seal/ring.h"

#include <jansson.h>

/* Consumes o. Owned; NULL where o has text that is no UTF-8, or is NULL. */
char *seal_statement(const char *kind, json_t *take_o);
/* The signature as hex, owned; consumes the text. CL_EDATA for NULL. */
char *seal_statement_sign(const struct seal_signer *k, char *take_text, struct cl_err *e);
/* False also where the text or the signature is NULL. */
bool seal_statement_holds(
	const unsigned char public_key[SEAL_KEY], char *take_text, const char *signature);

#endif
