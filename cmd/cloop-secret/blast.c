/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one secret reaches now, who has it, and when nobody would if it were taken back. */
#include "secret.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <string.h>

/* A lapsed lease is swept within a minute. */
#define SWEPT_MS 60000

struct blast {
	struct cl_ctx *ctx;
	struct keyed k;
	struct store_secret secret;
	struct holders holders;
	json_t *grants, *tokens; /* tokens: those that are to be destroyed */
	size_t n;
	int64_t last; /* when the last lease or token of it is over for sure; 0: there is none */
	size_t late;  /* that should be over by now, and have not said so */
	bool weak;    /* somebody has it where only the end of the workload takes it */
};

static void blast_release(struct blast *b)
{
	json_decref(b->grants);
	json_decref(b->tokens);
	holders_release(&b->holders);
	store_secret_release(&b->secret);
	keyed_release(&b->k);
}
#define cleanup_blast __attribute__((cleanup(blast_release)))

static int add_grant(const struct store_grant *g, void *arg, struct cl_err *e)
{
	struct blast *b = arg;
	bool active = !g->revoked_at && (!g->expires_at || g->expires_at > b->k.now);

	/* Who was lent something of one that ended may have it still. */
	if (active) {
		json_t *o = store_grant_json(g);
		cleanup_free char *summary = grant_summary(g);

		(void)json_object_set_new(o, "summary", json_string(summary));
		(void)json_array_append_new(b->grants, o);
		b->n++;
	}
	return holders_of_grant(b->k.store, g->id, &b->holders, e);
}

static void judge(struct blast *b)
{
	for (size_t i = 0; i < b->holders.n; i++) {
		const struct holder *h = &b->holders.v[i];

		if (h->state == HOLDER_REVOKED)
			continue;
		b->weak = b->weak || (h->how & ~(int64_t)(SEC_BY_FILE | SEC_BY_INTERFACE));
		/* What is left of one that has answered ends with its workload. */
		if (h->state == HOLDER_STAYS)
			continue;
		b->late += h->expires_at + SWEPT_MS <= b->k.now;
		if (h->expires_at + SWEPT_MS > b->last)
			b->last = h->expires_at + SWEPT_MS;
	}
}

/* One that GitHub never hears of ends by itself. */
static int add_token(const struct store_token *t, void *arg, struct cl_err *e)
{
	struct blast *b = arg;

	(void)e;
	if (t->expires_at > b->last)
		b->last = t->expires_at;
	return 0;
}

static int find_tokens(struct blast *b, struct cl_err *e)
{
	struct store_token_filter f = {.secret_id = b->secret.id};

	if (store_token_each(b->k.store, &f, add_token, b, e))
		return -1;
	f.due = b->k.now;
	return secret_tokens(b->k.store, &f, &b->tokens, e);
}

static void print_grants(const struct blast *b)
{
	json_t *g;
	size_t i;

	(void)printf("%s (%s), %s\n", b->secret.name, b->secret.kind, b->secret.id);
	(void)printf("  reaches %zu subject(s)\n", b->n);
	json_array_foreach (b->grants, i, g) {
		const char *until = json_string_value(json_object_get(g, "expires_at"));
		cleanup_free char *subject =
			cl_masked(json_string_value(json_object_get(g, "subject")));
		cleanup_free char *summary =
			cl_masked(json_string_value(json_object_get(g, "summary")));

		(void)printf("    %s: %s; %s until %s\n", subject, summary,
			json_string_value(json_object_get(g, "id")), until ? until : "revoked");
	}
}

static void print_holders(const struct blast *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->holders.n; i++)
		n += b->holders.v[i].state != HOLDER_REVOKED;
	(void)printf("  held by %zu workload(s)\n", n);
	for (size_t i = 0; i < b->holders.n; i++)
		if (b->holders.v[i].state != HOLDER_REVOKED)
			secret_print_holder(&b->holders.v[i], "    ", b->k.now);
}

static void as_text(const struct blast *b)
{
	char when[32], in[40];

	print_grants(b);
	print_holders(b);
	if (!b->last) {
		(void)printf("  deleted now, %s\n",
			b->weak ? "who has it keeps it until its workload ends" : "nobody has it");
		return;
	}
	if (json_array_size(b->tokens))
		(void)printf(
			"  %zu token(s) of it are queued: GitHub has not destroyed them yet, and "
			"each sweep tries again\n",
			json_array_size(b->tokens));
	cl_format_time(b->last / 1000, when);
	cl_format_duration(b->last > b->k.now ? (b->last - b->k.now) / 1000 * 1000 : 0, in);
	(void)printf("  deleted now, and with nobody to hear of it, it is gone by %s (in %s)\n",
		when, in);
	if (b->late)
		(void)printf(
			"  but %zu of them should have given it up by now, and nobody has said "
			"that they did\n",
			b->late);
	if (b->weak)
		(void)printf("  but what is in an environment, a mount or a device stays until its "
			     "workload ends\n");
}

static void as_json(struct blast *b)
{
	json_t *holders = json_array();
	char when[32];

	for (size_t i = 0; i < b->holders.n; i++)
		if (b->holders.v[i].state != HOLDER_REVOKED)
			(void)json_array_append_new(holders, secret_holder_json(&b->holders.v[i]));
	cl_format_time(b->last / 1000, when);
	cl_take_json(json_pack("{s:s, s:s, s:s, s:O, s:o, s:O, s:s?, s:I, s:b}", "id", b->secret.id,
		"name", b->secret.name, "kind", b->secret.kind, "grants", b->grants, "holders",
		holders, "queued_tokens", b->tokens, "gone_by", b->last ? when : NULL, "late",
		(json_int_t)b->late, "until_workload_ends", b->weak));
}

int cmd_secret_blast(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_blast struct blast b = {
		.ctx = c, .k = KEYED_INIT, .secret = STORE_SECRET_INIT, .grants = json_array()};
	struct store_grant_filter f = {0};

	if (keyed_without(c, STORE_RO, &b.k, e) ||
		secret_find(&b.k, cl_operand(c, 0), &b.secret, e))
		return -1;
	f.secret_id = b.secret.id;
	if (store_grant_each(b.k.store, &f, add_grant, &b, e))
		return -1;
	judge(&b);
	if (find_tokens(&b, e))
		return -1;
	if (c->json)
		as_json(&b);
	else
		as_text(&b);
	return 0;
}
