/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/fleet.h"
#include "base/mem.h"
#include "base/text.h"
#include "seal/statement.h"

#include <stdlib.h>
#include <string.h>

char *seal_binding_message(const struct store_binding *b)
{
	size_t len = strlen(b->project);
	cleanup_free char *hex = cl_malloc(2 * len + 1);

	/* A path is bytes, and JSON has only text. */
	cl_hex(b->project, len, hex);
	return seal_statement("cloop-binding-v1",
		json_pack("{s:s, s:s, s:I, s:s}", "project", hex, "executor_id", b->executor_id,
			"created_at", (json_int_t)b->created_at, "created_by", b->created_by));
}

char *seal_labels_message(const struct store_labels *l)
{
	return seal_statement(
		"cloop-labels-v1", json_pack("{s:s, s:s, s:I, s:s}", "executor_id", l->executor_id,
					   "labels", l->labels, "created_at",
					   (json_int_t)l->created_at, "created_by", l->created_by));
}

bool seal_binding_verify(const unsigned char public_key[SEAL_KEY], const struct store_binding *b)
{
	return seal_statement_holds(public_key, seal_binding_message(b), b->signature);
}

bool seal_labels_verify(const unsigned char public_key[SEAL_KEY], const struct store_labels *l)
{
	return seal_statement_holds(public_key, seal_labels_message(l), l->signature);
}

static int sign(const struct seal_signer *k, char *take_text, char **signature, struct cl_err *e)
{
	char *made = seal_statement_sign(k, take_text, e);

	if (!made)
		return -1;
	free(*signature);
	*signature = made;
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
