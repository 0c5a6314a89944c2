/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/token.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/sha256.h"
#include "seal/token.h"
#include "store/key.h"
#include "sys/clock.h"
#include "sys/id.h"

#include <stdlib.h>
#include <string.h>

/* As secrets: the keys may rotate between sealing and writing. */
#define TRIES 10
/* GitHub has ten seconds for each, and who asks has a minute for all of it. */
#define PASS_MS 40000
/* Nobody else asks for a token while somebody waits for GitHub's answer. */
#define APART_MS 15000
/*
 * How often one is tried whose end has come by this clock, which may have jumped: for longer than a
 * token lives, by the tries alone.
 */
#define LATE_TRIES (3600 * 1000 / APART_MS)

/* The slug of an address that nothing vouches for. */
#define FORGED "forged_address"

/* ---- a new one ---- */

/* The address, a newline, the token. */
static int payload(
	const char *base_url, const struct seal_buf *token, struct seal_buf *out, struct cl_err *e)
{
	size_t n = strlen(base_url);

	if (seal_buf_make(out, n + 1 + token->len, e))
		return -1;
	memcpy(out->p, base_url, n);
	out->p[n] = '\n';
	memcpy(out->p + n + 1, token->p, token->len);
	out->len = n + 1 + token->len;
	return 0;
}

static int put(struct keyed *k, struct store_token *row, const struct seal_buf *plain, bool *won,
	struct cl_err *e)
{
	cleanup_sealed_row struct store_sealed sealed = {0};

	if (seal_ring_seal(k->ring, STORE_TOKENS, row->id, plain->p, plain->len, &sealed, e))
		return -1;
	free(row->key_id);
	free(row->wrapped);
	free(row->sealed);
	row->key_id = cl_steal(&sealed.key_id);
	row->wrapped = cl_steal(&sealed.wrapped);
	row->sealed = cl_steal(&sealed.sealed);
	return store_token_add(k->store, row, won, e);
}

/* GitHub's live an hour; as much again for clocks that differ. A server may say what it likes. */
#define LIVES_MS (2 * 3600 * INT64_C(1000))

static int64_t end_by(int64_t expires_at, int64_t now)
{
	int64_t most = now + LIVES_MS;

	return expires_at > 0 && expires_at < most / 1000 ? expires_at * 1000 : most;
}

static struct store_token row_of(
	const struct seal_buf *token, int64_t expires_at, const struct token_of *of)
{
	int64_t now = sys_now_ms();
	char sum[CL_SHA256_HEX];

	cl_sha256_hex(token->p, token->len, sum);
	return (struct store_token){.sum = cl_strdup(sum),
		.grant_id = cl_strdup(of->grant_id),
		.secret_id = cl_strdup(of->secret_id),
		.secret_name = cl_strdup(of->secret_name),
		.created_at = now,
		.expires_at = end_by(expires_at, now)};
}

/* Its id and its address, which is signed: before a transaction, since a signing key may be made. */
static int address(struct keyed *k, const char *base_url, struct store_token *row, struct cl_err *e)
{
	cleanup_signer struct seal_signer signer = SEAL_SIGNER_INIT;
	char id[32];

	if (sys_new_id("tok_", 24, id, sizeof(id), e) || keyed_signer(k, &signer, e))
		return -1;
	row->id = cl_strdup(id);
	row->base_url = cl_strdup(base_url);
	return seal_token_sign(&signer, row, e);
}

static int keep(
	struct keyed *k, const struct seal_buf *token, struct store_token *row, struct cl_err *e)
{
	cleanup_seal struct seal_buf plain = SEAL_BUF_INIT;
	bool won = false;

	if (payload(row->base_url, token, &plain, e))
		return -1;
	for (int i = 0; i < TRIES && !won; i++)
		if (put(k, row, &plain, &won, e))
			return -1;
	return won ? 0 : cl_fail(e, CL_EBUSY, "the keys rotate too fast; try again");
}

int token_keep(
	struct keyed *k, const struct forge_token *t, const struct token_of *of, struct cl_err *e)
{
	cleanup_token_row struct store_token row = row_of(&t->token, t->expires_at, of);

	return address(k, t->base_url, &row, e) || keep(k, &t->token, &row, e) ? -1 : 0;
}

/* ---- one that ends ---- */

struct replay {
	struct keyed *k;
	const struct token_given *given;
	size_t ngiven;
	struct token_pass *out;
	int64_t until;
	bool tried_key;
	struct cl_err no_key;  /* why there is none */
	struct cl_strv silent; /* addresses that do not answer now */
};

static struct forge_end end_of(const struct store_token *t)
{
	return (struct forge_end){.expires_at = t->expires_at / 1000,
		.secret_id = t->secret_id,
		.secret_name = t->secret_name,
		.grant_id = t->grant_id,
		.lease_id = t->lease_id,
		.reason = t->ends ? t->ends : "what it was lent to is over"};
}

static void queue(struct replay *r, const struct store_token *t, const struct cl_err *why)
{
	r->out->queued++;
	if (t->expires_at > r->out->last)
		r->out->last = t->expires_at;
	r->out->why = *why;
}

/* It is wiped, and the audit trail has it, in one transaction; once, whoever came to it together. */
static int forget(struct replay *r, const struct store_token *t, const char *why, struct cl_err *e)
{
	const struct forge_end end = end_of(t);
	cleanup_txn struct store_txn txn = {0};
	bool won;

	if (store_begin(r->k->store, &txn, e) || store_token_forget(r->k->store, t, &won, e) ||
		(won && forge_token_write(r->k, &end, why, e)))
		return -1;
	return store_commit(&txn, e);
}

/* Over, by the word of GitHub, or of nobody for as long as it can live. */
static int lapsed(struct replay *r, const struct store_token *t, bool gone, struct cl_err *e)
{
	cleanup_buf struct cl_buf why = CL_BUF_INIT;
	char when[32];

	cl_format_time(t->expires_at / 1000, when);
	cl_buf_addf(&why, "it ended by itself at %s", when);
	if (t->error)
		cl_buf_addf(&why, ", not destroyed after %lld tries: %s", (long long)t->tries,
			t->error);
	if (!gone)
		cl_buf_addf(&why, "; GitHub never said so in %lld tries since", (long long)t->late);
	r->out->lapsed++;
	return forget(r, t, why.p, e);
}

bool token_ring(struct keyed *k, struct cl_err *why)
{
	if (!k->ring && !keyed_root(k, why))
		seal_ring_peek(k->store, &k->root, &k->ring);
	return k->ring != NULL;
}

/* Asked for once, and only where a token is to be opened. */
static struct seal_ring *ring(struct replay *r)
{
	if (!r->tried_key)
		(void)token_ring(r->k, &r->no_key);
	r->tried_key = true;
	return r->k->ring;
}

static const struct token_given *given_for(const struct replay *r, const struct store_token *t)
{
	char sum[CL_SHA256_HEX];

	for (size_t i = 0; i < r->ngiven; i++) {
		cl_sha256_hex(r->given[i].p ? r->given[i].p : "", r->given[i].len, sum);
		if (!strcmp(sum, t->sum))
			return &r->given[i];
	}
	return NULL;
}

/* Without a key there is only what the row says of where; whoever writes the file could say anything. */
static int signed_address(
	struct replay *r, const struct store_token *t, const char **base_url, struct cl_err *e)
{
	unsigned char public_key[SEAL_KEY];
	bool known;

	if (keyed_public(r->k, public_key, &known, e))
		return -1;
	*base_url = t->base_url;
	if (known && seal_token_verify(public_key, t))
		return 0;
	if (!t->base_url)
		(void)cl_fail(e, CL_EREFUSED,
			"its address is not signed, as those from before that was done, and there "
			"is no "
			"root key to open the sealed one");
	else
		(void)cl_fail(e, CL_EREFUSED,
			"the signature of its address '%.200s' in state.db does not hold, and "
			"there is "
			"no root key to open the sealed one",
			t->base_url);
	(void)cl_slug(e, FORGED);
	return cl_fix(e,
		"name the root key (CLOOP_SECRET_KEY_FILE, or secrets.key_file in the hub's "
		"configuration), then: cloop secret sweep");
}

/*
 * With a key only the sealed one is sent: nobody without the key had a say in where. What does not
 * open is sent nowhere, or whoever alters the row has the given one sent to an address of his.
 */
static int open_token(struct replay *r, const struct store_token *t, struct seal_buf *plain,
	struct forge_end *end, struct cl_err *e)
{
	const struct store_sealed row = {t->id, t->key_id, t->wrapped, t->sealed};
	const struct token_given *given = given_for(r, t);
	char *line;

	if (ring(r)) {
		if (seal_ring_unseal(r->k->ring, STORE_TOKENS, &row, "a token", plain, e))
			return -1;
		line = (char *)plain->p;
		end->base_url = line;
		line += strcspn(line, "\n");
		if (!*line)
			return cl_fail(e, CL_EDATA, "what was sealed is no token");
		*line = '\0';
		end->token = line + 1;
		end->len = plain->len - (size_t)(end->token - (const char *)plain->p);
		return 0;
	}
	*e = r->no_key;
	if (!given)
		return -1;
	end->token = given->p;
	end->len = given->len;
	return signed_address(r, t, &end->base_url, e);
}

/* The first time that it fails is told of; the row has the last. */
static int not_yet(struct replay *r, const struct store_token *t, struct cl_err *why, bool asked,
	struct cl_err *e)
{
	const struct forge_end end = end_of(t);
	bool forged = !strcmp(cl_err_slug(why), FORGED), tell;
	cleanup_txn struct store_txn txn = {0};
	cleanup_free char *text = NULL;
	char when[32];

	cl_format_time(t->expires_at / 1000, when);
	(void)cl_wrap(
		why, "the token was not destroyed and lives until %s; it is tried again", when);
	if (asked)
		(void)cl_fix(why, "each sweep tries again; by hand: cloop secret sweep");
	/* What is altered is told of again where it is not what was told of. */
	text = forged ? cl_asprintf("%s; %s", why->msg, why->fix) : cl_strdup(why->msg);
	tell = asked ? !t->error : forged && (!t->error || strcmp(t->error, text) != 0);
	queue(r, t, why);
	if (store_begin(r->k->store, &txn, e) || store_token_failed(r->k->store, t->id, text, e) ||
		(tell && forge_token_write(r->k, &end, text, e)))
		return -1;
	return store_commit(&txn, e);
}

/* True in *turn: nobody else is about it, and a try is counted. */
static int take_turn(struct replay *r, const struct store_token *t, bool *turn, struct cl_err *e)
{
	*turn = false;
	return sys_mono_ms() < r->until
		       ? store_token_try(r->k->store, t->id, sys_now_ms(), APART_MS, turn, e)
		       : 0;
}

static int busy(struct replay *r, const struct store_token *t)
{
	struct cl_err why;

	(void)cl_fail(&why, CL_EBUSY, "another process asks GitHub at this moment");
	(void)cl_slug(&why, TOKEN_BUSY);
	queue(r, t, &why);
	return 0;
}

static int ask(struct replay *r, const struct store_token *t, struct forge_end *end, bool over,
	struct cl_err *e)
{
	struct cl_err why;
	bool gone;

	if (forge_token_destroy(r->k, end, &gone, &why)) {
		if (forge_retry(&why))
			cl_strv_add(&r->silent, end->base_url);
		return not_yet(r, t, &why, true, e);
	}
	if (gone && over)
		return lapsed(r, t, true, e);
	r->out->destroyed++;
	return forget(r, t, NULL, e);
}

static int destroy(struct replay *r, const struct store_token *t, struct cl_err *e)
{
	cleanup_seal struct seal_buf plain = SEAL_BUF_INIT;
	struct forge_end end = end_of(t);
	bool over = t->expires_at <= sys_now_ms(), silent, turn;
	struct cl_err why;

	if (over && t->late >= LATE_TRIES)
		return lapsed(r, t, false, e);
	/* Who has no key and finds none counts too: it is not kept for ever. */
	if (open_token(r, t, &plain, &end, &why))
		return (over && take_turn(r, t, &turn, e)) || not_yet(r, t, &why, false, e) ? -1
											    : 0;
	silent = cl_strv_has(&r->silent, end.base_url);
	if (!silent || over) {
		if (take_turn(r, t, &turn, e))
			return -1;
		if (!turn)
			return busy(r, t);
	}
	if (!silent)
		return ask(r, t, &end, over, e);
	queue(r, t, &r->out->why);
	return 0;
}

static int one(const struct store_token *t, void *arg, struct cl_err *e)
{
	return destroy(arg, t, e);
}

int token_replay(struct keyed *k, const struct store_token_filter *f,
	const struct token_given *given, size_t n, struct token_pass *out, struct cl_err *e)
{
	struct replay r = {.k = k,
		.given = given,
		.ngiven = n,
		.out = out,
		.until = sys_mono_ms() + PASS_MS,
		.silent = CL_STRV_INIT};
	int rc;

	*out = (struct token_pass){0};
	rc = store_token_each(k->store, f, one, &r, e);
	cl_strv_release(&r.silent);
	return rc;
}

/* ---- one that nobody uses ---- */

/* As after a first try, where there was one; told of then. */
static int keep_left(struct keyed *k, const struct forge_left *l, struct store_token *row,
	const char *told, struct cl_err *e)
{
	cleanup_txn struct store_txn txn = {0};
	const struct forge_end end = end_of(row);

	row->ends = cl_strdup("it was not used");
	row->error = cl_strdup_null(l->why);
	row->tries = l->why != NULL;
	row->tried_at = l->why ? row->created_at : 0;
	if (!token_ring(k, e) || address(k, l->base_url, row, e) ||
		store_begin(k->store, &txn, e) || keep(k, &l->token, row, e) ||
		(l->why && forge_token_write(k, &end, told, e)))
		return -1;
	return store_commit(&txn, e);
}

static void keep_one(struct keyed *k, const struct forge_left *l, const struct token_of *of,
	struct cl_strv *notes)
{
	cleanup_token_row struct store_token row = row_of(&l->token, l->expires_at, of);
	const char *why = l->why ? l->why : "a token that GitHub gave was not taken";
	const struct forge_end end = end_of(&row);
	cleanup_free char *told = NULL, *lost = NULL;
	struct cl_err e, ignored;
	char when[32];

	cl_format_time(row.expires_at / 1000, when);
	told = cl_asprintf("%s; it lives until %s at most, and each sweep asks again", why, when);
	if (!keep_left(k, l, &row, told, &e)) {
		cl_strv_add(notes, told);
		return;
	}
	lost = cl_asprintf(
		"%s; it lives until %s at most, and no sweep can ask again: %s", why, when, e.msg);
	(void)forge_token_write(k, &end, lost, &ignored);
	cl_strv_add(notes, lost);
}

void token_keep_left(struct keyed *k, const struct forge_lefts *left, const struct token_of *of,
	struct cl_strv *notes)
{
	for (size_t i = 0; i < left->n; i++)
		keep_one(k, &left->v[i], of, notes);
}

/* ---- waiting ---- */

struct looking {
	int64_t free, busy;
};

static int look(const struct store_token *t, void *arg, struct cl_err *e)
{
	struct looking *l = arg;

	(void)e;
	/* One that failed once is the sweep's. */
	l->busy += !t->error && t->tried_at;
	l->free += !t->error && !t->tried_at;
	return 0;
}

static int still(const struct store_token *t, void *arg, struct cl_err *e)
{
	struct token_pass *p = arg;

	(void)e;
	p->queued++;
	if (t->expires_at > p->last)
		p->last = t->expires_at;
	if (t->error)
		(void)cl_fail(&p->why, CL_EUNAVAIL, "%s", t->error);
	return 0;
}

int token_wait(struct keyed *k, const struct store_token_filter *f, int64_t until,
	struct token_pass *out, struct cl_err *e)
{
	struct token_pass ignored;

	*out = (struct token_pass){0};
	for (;;) {
		struct looking l = {0};

		if (store_token_each(k->store, f, look, &l, e))
			return -1;
		if ((!l.free && !l.busy) || sys_mono_ms() >= until)
			break;
		if (l.free && token_replay(k, f, NULL, 0, &ignored, e))
			return -1;
		sys_sleep_ms(50);
	}
	return store_token_each(k->store, f, still, out, e);
}
