/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <string.h>

struct listing {
	struct cl_ctx *ctx;
	struct keyed *k;
	unsigned char pub[SEAL_KEY];
	bool known;
	size_t n;
};

/* Characters of a cell, not bytes: what is cut ends with an ellipsis. */
static void cell(const char *text, size_t width)
{
	size_t chars = 0, at = 0, len = strlen(text), cut = 0;

	while (at < len) {
		size_t n = cl_utf8_next(text + at, len - at);

		at += n ? n : 1;
		if (++chars == width - 1)
			cut = at;
	}
	if (chars > width)
		(void)printf("%.*s… ", (int)cut, text);
	else
		(void)printf("%s%*s", text, (int)(width - chars + 1), "");
}

static char *expires_text(const struct listing *l, const struct store_grant *g)
{
	int64_t left = g->expires_at - l->k->now;
	char text[40];

	if (g->revoked_at)
		return cl_strdup("revoked");
	if (!g->expires_at)
		return cl_strdup("never");
	if (left <= 0)
		return cl_strdup("expired");
	cl_format_duration((left + 30000) / 60000 * 60000, text);
	return cl_strdup(text);
}

/* "good", "forged", or "unknown" where no grant was ever signed here. */
static const char *signature(const struct listing *l, const struct store_grant *g)
{
	if (!l->known)
		return "unknown";
	return seal_grant_verify(l->pub, g) ? "good" : "forged";
}

static int one(const struct store_grant *g, void *arg, struct cl_err *e)
{
	struct listing *l = arg;
	cleanup_secret_row struct store_secret secret = STORE_SECRET_INIT;
	cleanup_free char *expires = expires_text(l, g), *summary = grant_summary(g);
	const char *signed_by = signature(l, g);
	bool found;

	if (store_secret_find(l->k->store, g->secret_id, &secret, &found, e))
		return -1;
	l->n++;
	if (l->ctx->json) {
		json_t *o = store_grant_json(g);

		(void)json_object_set_new(o, "summary", json_string(summary));
		(void)json_object_set_new(o, "signature", json_string(signed_by));
		(void)json_object_set_new(o, "secret_deleted", json_boolean(!found));
		cl_take_json(o);
		return 0;
	}
	cell(g->id, 32);
	cell(found ? g->secret_name : "(deleted)", 18);
	cell(g->kind, 13);
	cell(g->subject, 24);
	cell(expires, 10);
	(void)printf(
		"%s%s\n", strcmp(signed_by, "forged") ? "" : "FORGED, never delivered: ", summary);
	return 0;
}

static void head(void)
{
	cell("GRANT", 32);
	cell("SECRET", 18);
	cell("KIND", 13);
	cell("SUBJECT", 24);
	cell("EXPIRES", 10);
	(void)printf("CONSTRAINTS\n");
	for (int i = 0; i < 114; i++)
		(void)fputs("─", stdout);
	(void)printf("\n");
}

int cmd_secret_grants(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_secret_row struct store_secret secret = STORE_SECRET_INIT;
	cleanup_subject struct sec_subject subject = SEC_SUBJECT_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	struct store_grant_filter f = {0};
	struct listing l = {.ctx = c, .k = &k};

	if (cl_given(c, "subject")) {
		if (sec_subject_parse(cl_str(c, "subject"), &subject, e))
			return -1;
		sec_subject_text(&subject, &text);
		f.subject = text.p;
	}
	if (keyed_without(c, STORE_RO, &k, e) || keyed_public(&k, l.pub, &l.known, e) ||
		(cl_given(c, "secret") && secret_find(&k, cl_str(c, "secret"), &secret, e)))
		return -1;
	f.secret_id = secret.id;
	f.active_at = cl_flag(c, "all") ? 0 : k.now;
	if (!c->json)
		head();
	if (store_grant_each(k.store, &f, one, &l, e))
		return -1;
	if (!c->json)
		(void)printf("\n%zu grant(s)\n", l.n);
	return 0;
}

/* Works without the key (DECISIONS K9), and a second time. */
int cmd_secret_revoke(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
	cleanup_txn struct store_txn t = {0};
	struct store_end end = {0};
	char when[32];
	bool won;

	if (keyed_without(c, STORE_RW, &k, e) || store_grant_get(k.store, cl_operand(c, 0), &g, e))
		return -1;
	end = (struct store_end){.at = k.now, .by = k.actor};
	if (store_begin(k.store, &t, e) || store_grant_revoke(k.store, g.id, &end, &won, e) ||
		(won && keyed_audit(
				&k, "secret.revoke", "secret", g.secret_id, grant_audit(&g), e)) ||
		store_commit(&t, e))
		return -1;
	if (c->json) {
		cl_take_json(json_pack("{s:s, s:s, s:b}", "id", g.id, "secret_name", g.secret_name,
			"was_live", won));
		return 0;
	}
	(void)printf("✓ revoked grant %s (%s)\n", g.id, g.secret_name);
	cl_format_time(g.revoked_at / 1000, when);
	if (!won)
		(void)printf("  it was revoked already, on %s by %s\n", when,
			g.revoked_by ? g.revoked_by : "?");
	return 0;
}
