/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/grant.h"

#include "base/buf.h"
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

static char *grant_message(const struct store_grant *g)
{
	return message("cloop-grant-v1",
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:s}", "id", g->id,
			"secret_id", g->secret_id, "secret_name", g->secret_name, "kind", g->kind,
			"scope", g->scope, "subject", g->subject, "constraints", g->constraints,
			"expires_at", (json_int_t)g->expires_at, "created_at",
			(json_int_t)g->created_at, "created_by", g->created_by, "owner", g->owner));
}

static char *unguarded_message(const char *id, const char *by, int64_t at, const char *reason)
{
	return message("cloop-unguarded-v1", json_pack("{s:s, s:s, s:I, s:s}", "grant", id, "by",
						     by, "at", (json_int_t)at, "reason", reason));
}

static int sign(
	const struct seal_signer *k, const char *msg, char out[2 * SEAL_SIG + 1], struct cl_err *e)
{
	unsigned char sig[SEAL_SIG];

	if (!msg)
		return cl_fail(e, CL_EDATA, "what is to be signed is no UTF-8");
	seal_sign(k->private_key.p, msg, strlen(msg), sig);
	cl_hex(sig, sizeof(sig), out);
	return 0;
}

static bool verify(const unsigned char public_key[SEAL_KEY], const char *msg, const char *hex)
{
	unsigned char sig[SEAL_SIG];

	return msg && hex && cl_unhex(hex, sig, sizeof(sig)) &&
	       seal_verify(public_key, msg, strlen(msg), sig);
}

int seal_grant_sign(const struct seal_signer *k, struct store_grant *g, struct cl_err *e)
{
	cleanup_free char *msg = grant_message(g);
	char hex[2 * SEAL_SIG + 1];

	if (sign(k, msg, hex, e))
		return -1;
	free(g->signature);
	g->signature = cl_strdup(hex);
	return 0;
}

bool seal_grant_verify(const unsigned char public_key[SEAL_KEY], const struct store_grant *g)
{
	cleanup_free char *msg = grant_message(g);

	return verify(public_key, msg, g->signature);
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
	cleanup_free char *msg = unguarded_message(grant_id, by, at, reason);
	char hex[2 * SEAL_SIG + 1], *text;
	json_t *o;

	if (sign(k, msg, hex, e))
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
			 "signature", &hex)) {
		cleanup_free char *msg = unguarded_message(g->id, by, (int64_t)at, reason);

		held = verify(public_key, msg, hex);
	}
	json_decref(o);
	return held;
}
