/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/fleet.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* "<what>\n<canonical JSON>"; consumes o. NULL when o has text that is no UTF-8. */
static char *message(const char *what, json_t *take_o)
{
	cleanup_free char *text = take_o ? cl_json_text(take_o) : NULL;

	json_decref(take_o);
	return text ? cl_asprintf("%s\n%s", what, text) : NULL;
}

char *seal_binding_message(const struct store_binding *b)
{
	size_t len = strlen(b->project);
	cleanup_free char *hex = cl_malloc(2 * len + 1);

	/* A path is bytes, and JSON has only text. */
	cl_hex(b->project, len, hex);
	return message("cloop-binding-v1",
		json_pack("{s:s, s:s, s:I, s:s}", "project", hex, "executor_id", b->executor_id,
			"created_at", (json_int_t)b->created_at, "created_by", b->created_by));
}

char *seal_labels_message(const struct store_labels *l)
{
	return message(
		"cloop-labels-v1", json_pack("{s:s, s:s, s:I, s:s}", "executor_id", l->executor_id,
					   "labels", l->labels, "created_at",
					   (json_int_t)l->created_at, "created_by", l->created_by));
}

static bool verify(const unsigned char public_key[SEAL_KEY], const char *msg, const char *hex)
{
	unsigned char sig[SEAL_SIG];

	return msg && hex && cl_unhex(hex, sig, sizeof(sig)) &&
	       seal_verify(public_key, msg, strlen(msg), sig);
}

bool seal_binding_verify(const unsigned char public_key[SEAL_KEY], const struct store_binding *b)
{
	cleanup_free char *msg = seal_binding_message(b);

	return verify(public_key, msg, b->signature);
}

bool seal_labels_verify(const unsigned char public_key[SEAL_KEY], const struct store_labels *l)
{
	cleanup_free char *msg = seal_labels_message(l);

	return verify(public_key, msg, l->signature);
}

static int sign(const struct seal_signer *k, char *take_msg, char **signature, struct cl_err *e)
{
	cleanup_free char *msg = take_msg;
	unsigned char sig[SEAL_SIG];
	char hex[2 * SEAL_SIG + 1];

	if (!msg)
		return cl_fail(e, CL_EDATA, "what is to be signed is no UTF-8");
	seal_sign(k->private_key.p, msg, strlen(msg), sig);
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
