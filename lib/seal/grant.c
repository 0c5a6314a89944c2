/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/grant.h"

#include "base/buf.h"
#include "base/doc.h"
#include "base/mem.h"
#include "seal/statement.h"

#include <stdlib.h>
#include <string.h>

static char *grant_message(const struct store_grant *g)
{
	return seal_statement("cloop-grant-v1",
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:s}", "id", g->id,
			"secret_id", g->secret_id, "secret_name", g->secret_name, "kind", g->kind,
			"scope", g->scope, "subject", g->subject, "constraints", g->constraints,
			"expires_at", (json_int_t)g->expires_at, "created_at",
			(json_int_t)g->created_at, "created_by", g->created_by, "owner", g->owner));
}

static char *unguarded_message(const char *id, const char *by, int64_t at, const char *reason)
{
	return seal_statement(
		"cloop-unguarded-v1", json_pack("{s:s, s:s, s:I, s:s}", "grant", id, "by", by, "at",
					      (json_int_t)at, "reason", reason));
}

int seal_grant_sign(const struct seal_signer *k, struct store_grant *g, struct cl_err *e)
{
	char *signature = seal_statement_sign(k, grant_message(g), e);

	if (!signature)
		return -1;
	free(g->signature);
	g->signature = signature;
	return 0;
}

bool seal_grant_verify(const unsigned char public_key[SEAL_KEY], const struct store_grant *g)
{
	return seal_statement_holds(public_key, grant_message(g), g->signature);
}

/* All that the message is made of and the signature: no part can be taken for the next one's. */
static bool sum_of(const unsigned char public_key[SEAL_KEY], const struct store_grant *g,
	unsigned char sum[CL_SHA256_LEN])
{
	const char *const texts[] = {g->id, g->secret_id, g->secret_name, g->kind, g->scope,
		g->subject, g->constraints, g->created_by, g->owner, g->signature};
	const int64_t times[] = {g->expires_at, g->created_at};
	cleanup_buf struct cl_buf all = CL_BUF_INIT;

	cl_buf_add(&all, public_key, SEAL_KEY);
	cl_buf_add(&all, times, sizeof(times));
	for (size_t i = 0; i < CL_ARRAY_LEN(texts); i++) {
		if (!texts[i])
			return false;
		cl_buf_add(&all, texts[i], strlen(texts[i]) + 1);
	}
	cl_sha256(all.p, all.len, sum);
	return true;
}

bool seal_grant_verify_again(
	struct seal_memo *m, const unsigned char public_key[SEAL_KEY], const struct store_grant *g)
{
	unsigned char sum[CL_SHA256_LEN], *slot;

	if (!sum_of(public_key, g, sum))
		return false;
	slot = m->sum[sum[0] % SEAL_MEMO];
	if (!memcmp(slot, sum, sizeof(sum)))
		return true;
	if (!seal_grant_verify(public_key, g))
		return false;
	memcpy(slot, sum, sizeof(sum));
	return true;
}

char *seal_unguarded_make(const struct seal_signer *k, const char *grant_id, const char *by,
	int64_t at, const char *reason, struct cl_err *e)
{
	cleanup_free char *hex =
		seal_statement_sign(k, unguarded_message(grant_id, by, at, reason), e);
	char *text;
	json_t *o;

	if (!hex)
		return NULL;
	o = json_pack("{s:s, s:I, s:s, s:s}", "by", by, "at", (json_int_t)at, "reason", reason,
		"signature", hex);
	text = cl_json_text(o);
	json_decref(o);
	return text;
}

bool seal_unguarded_verify(const unsigned char public_key[SEAL_KEY], const struct store_grant *g)
{
	const char *by = NULL, *reason = NULL, *hex = NULL;
	json_int_t at = 0;
	json_t *o = g->unguarded ? json_loads(g->unguarded, JSON_REJECT_DUPLICATES, NULL) : NULL;
	bool held = false;

	if (o && !json_unpack(o, "{s:s, s:I, s:s, s:s!}", "by", &by, "at", &at, "reason", &reason,
			 "signature", &hex))
		held = seal_statement_holds(
			public_key, unguarded_message(g->id, by, (int64_t)at, reason), hex);
	json_decref(o);
	return held;
}
