/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Apart from what only checks, which needs no libcrypto. */
#include "seal/fleet.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static int sign(const struct seal_signer *k, char *take_msg, char **signature, struct cl_err *e)
{
	cleanup_free char *msg = take_msg;
	unsigned char sig[SEAL_SIG];
	char hex[2 * SEAL_SIG + 1];

	if (!msg)
		return cl_fail(e, CL_EDATA, "what is to be signed is no UTF-8");
	if (seal_sign(k->private_key.p, msg, strlen(msg), sig, e))
		return -1;
	cl_hex(sig, sizeof(sig), hex);
	free(*signature);
	*signature = cl_strdup(hex);
	return 0;
}

int seal_binding_sign(const struct seal_signer *k, struct store_binding *b, struct cl_err *e)
{
	return sign(k, seal_binding_message(b), &b->signature, e);
}

int seal_labels_sign(const struct seal_signer *k, struct store_labels *l, struct cl_err *e)
{
	return sign(k, seal_labels_message(l), &l->signature, e);
}
