/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/statement.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

char *seal_statement(const char *kind, json_t *take_o)
{
	cleanup_free char *text = take_o ? cl_json_text(take_o) : NULL;

	json_decref(take_o);
	return text ? cl_asprintf("%s\n%s", kind, text) : NULL;
}

char *seal_statement_sign(const struct seal_signer *k, char *take_text, struct cl_err *e)
{
	cleanup_free char *text = take_text;
	unsigned char sig[SEAL_SIG];
	char *hex;

	if (!text) {
		(void)cl_fail(e, CL_EDATA, "what is to be signed is no UTF-8");
		return NULL;
	}
	seal_sign(k->private_key.p, text, strlen(text), sig);
	hex = cl_malloc(2 * SEAL_SIG + 1);
	cl_hex(sig, sizeof(sig), hex);
	return hex;
}

bool seal_statement_holds(
	const unsigned char public_key[SEAL_KEY], char *take_text, const char *signature)
{
	cleanup_free char *text = take_text;
	unsigned char sig[SEAL_SIG];

	return text && signature && cl_unhex(signature, sig, sizeof(sig)) &&
	       seal_verify(public_key, text, strlen(text), sig);
}
