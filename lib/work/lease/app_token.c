/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a lease delivers of a GitHub App, and what of that is out. */
#include "work/lease/app_token.h"

#include "base/mem.h"
#include "base/sha256.h"
#include "policy/secret/secret_github.h"
#include "policy/secret/secret_pattern.h"
#include "sys/clock.h"
#include "work/lease/lease_internal.h"
#include "work/secrets.h"
#include "work/token.h"

#include <stdlib.h>
#include <string.h>

/* GitHub may take so long for one grant, and for all of a lease. */
#define ONE_MS 20000
#define ALL_MS 40000
/* What a dry run shows as the end of a token that nobody asked for. */
#define HOUR 3600

/* ---- a new one, or the one that is there ---- */

static struct app_slot *slot_of(const struct lease_case *c, const char *grant_id)
{
	for (size_t i = 0; c->slots && i < c->slots->n; i++)
		if (c->slots->v[i].is && !strcmp(c->slots->v[i].is, grant_id))
			return &c->slots->v[i];
	return NULL;
}

static int keep(const struct app_slot *s, struct lease_aimed *a, struct cl_err *e)
{
	if (seal_buf_copy(&a->app.token, s->token.p, s->token.len, e))
		return -1;
	a->app.expires_at = s->row.expires_at / 1000;
	a->app.base_url = cl_strdup(s->row.base_url);
	a->app.scope = json_loads(s->row.scope, JSON_REJECT_DUPLICATES, NULL);
	return 0;
}

static struct forge_end end_of(const struct store_app_token *row, const char *lease_id)
{
	return (struct forge_end){.expires_at = row->expires_at / 1000,
		.secret_id = row->secret_id,
		.secret_name = row->secret_name,
		.grant_id = row->grant_id,
		.lease_id = lease_id};
}

static int end_one(struct keyed *k, const struct store_app_token *row, struct lease_text token,
	const char *lease_id, const char *reason, struct cl_err *e)
{
	struct forge_end end = end_of(row, lease_id);

	end.base_url = row->base_url;
	end.token = token.p;
	end.len = token.len;
	end.reason = reason;
	return forge_token_revoke(k, &end, e);
}

/* Its secret says where it came from, sealed; that needs the key. */
static int came_from(struct keyed *k, const struct store_app_token *row, struct cl_err *e)
{
	cleanup_secret_row struct store_secret s = STORE_SECRET_INIT;
	cleanup_github_app struct sec_github_app app = SEC_GITHUB_APP_INIT;
	cleanup_seal struct seal_buf payload = SEAL_BUF_INIT;
	struct cl_err ignored;

	if (!token_ring(k, &ignored))
		return cl_fail(e, CL_EREFUSED,
			"the token is not sent to '%.200s', which state.db names without a "
			"signature, "
			"and there is no root key to ask its secret: it lives until its end",
			row->base_url);
	if (!secret_find(k, row->secret_id, &s, &ignored) &&
		!secret_open(k, &s, &payload, &ignored) &&
		!sec_github_app_read((const char *)payload.p, payload.len, &app, &ignored) &&
		!strcmp(app.base_url, row->base_url))
		return 0;
	return cl_fail(e, CL_EREFUSED,
		"the token is not sent to '%.200s', which its secret does not name: it lives "
		"until its end",
		row->base_url);
}

/*
 * One that is not kept, of a lease from before they were, or whose row somebody deleted: the address
 * of it is a text in state.db, which the token is not to be sent to on its word.
 */
static int end_unkept(struct keyed *k, const struct store_app_token *row, struct lease_text token,
	const char *lease_id, const char *reason, struct cl_err *e)
{
	const struct forge_end end = end_of(row, lease_id);
	struct cl_err ignored;

	if (!came_from(k, row, e))
		return end_one(k, row, token, lease_id, reason, e);
	(void)forge_token_write(k, &end, e->msg, &ignored);
	return -1;
}

static struct lease_text text_of(const struct seal_buf *b)
{
	return (struct lease_text){(const char *)b->p, b->len};
}

static int is_kept(struct keyed *k, const char *sum, bool *kept, struct cl_err *e)
{
	const struct store_token_filter f = {.sum = sum};
	int64_t n = 0;

	if (store_token_count(k->store, &f, &n, e))
		return -1;
	*kept = n > 0;
	return 0;
}

/* The text of one that is kept marks its row, whichever grant that stands under by now. */
static int mark(struct keyed *k, struct lease_text token, const char *reason,
	char sum[CL_SHA256_HEX], bool *kept, struct cl_err *e)
{
	const struct store_token_filter f = {.sum = sum};

	if (!token.len)
		return 0;
	cl_sha256_hex(token.p, token.len, sum);
	return is_kept(k, sum, kept, e) || store_token_end(k->store, &f, reason, e) ? -1 : 0;
}

/* One that no lease was written with: asked for again by the sweep, where GitHub does not do it now. */
static void drop_new(const struct lease_case *c, const struct lease_aimed *a, const char *reason)
{
	char sum[CL_SHA256_HEX];
	const struct store_token_filter kept = {.sum = sum};
	const struct store_app_token row = {.grant_id = a->row.id,
		.secret_id = a->row.secret_id,
		.secret_name = a->row.secret_name,
		.base_url = a->app.base_url,
		.expires_at = a->app.expires_at * 1000};
	struct token_pass done;
	struct cl_err ignored; /* the audit row has it */
	bool is = false;

	if (!mark(c->k, text_of(&a->app.token), reason, sum, &is, &ignored) && is)
		(void)token_replay(c->k, &kept, NULL, 0, &done, &ignored);
	else
		(void)end_one(c->k, &row, text_of(&a->app.token), NULL, reason, &ignored);
}

static int ask(
	struct lease_case *c, struct lease_aimed *a, const struct app_slot *s, struct cl_err *e)
{
	struct forge_grant g = {.secret_name = a->row.secret_name,
		.payload = (const char *)a->payload.p,
		.len = a->payload.len,
		.constraints = &a->view.constraints,
		.timeout_ms = ONE_MS};
	const struct token_of of = {a->row.id, a->row.secret_id, a->row.secret_name};
	json_t *scope = s ? json_loads(s->row.scope, JSON_REJECT_DUPLICATES, NULL) : NULL;
	int64_t now = sys_mono_ms();
	int rc;

	if (!c->lend_until)
		c->lend_until = now + ALL_MS;
	if (c->lend_until - now < g.timeout_ms)
		g.timeout_ms = c->lend_until - now > 1 ? c->lend_until - now : 1;
	g.scope = scope;
	rc = forge_token_mint(c->k, &g, &a->app, e);
	json_decref(scope);
	token_keep_left(c->k, &a->app.left, &of, &a->app.notes);
	forge_lefts_release(&a->app.left);
	if (rc)
		return -1;
	/* Nobody else knows of it: what cannot be written down is not used. */
	if (token_keep(c->k, &a->app, &of, e)) {
		drop_new(c, a, "it could not be written down");
		forge_token_release(&a->app);
		return -1;
	}
	a->app_new = true;
	return 0;
}

int app_token_offer(struct lease_case *c, struct lease_aimed *a, struct cl_err *e)
{
	const struct app_slot *s = slot_of(c, a->row.id);
	int64_t now = c->now / 1000, ends = s ? s->row.expires_at / 1000 : 0;
	bool there = s && s->token.len && ends > now;

	if (!c->lend) {
		a->app.expires_at = now + HOUR;
		return seal_buf_copy(&a->app.token, "-", 1, e);
	}
	if (there && !forge_token_due(ends, now))
		return keep(s, a, e);
	if (!ask(c, a, s, e))
		return 0;
	if (!there || !forge_retry(e))
		return -1;
	/* It works still: the next renewal tries again. */
	a->app_late = *e;
	forge_token_release(&a->app);
	return keep(s, a, e);
}

void app_token_undo(const struct lease_case *c, bool all, const char *reason)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i]->app_new && (all || lease_case_refusal(c, c->v[i]->row.id)))
			drop_new(c, c->v[i], reason);
	}
}

/* ---- what is out ---- */

static const struct sec_material *material_of(const struct lease_case *c, const char *grant_id)
{
	for (size_t i = 0; i < c->lease.nmaterials; i++)
		if (!strcmp(c->lease.materials[i].grant_id, grant_id))
			return &c->lease.materials[i];
	return NULL;
}

static int write_one(const struct lease_case *c, const struct lease_aimed *a,
	const struct sec_material *m, int64_t lease, const char *lease_id, struct cl_err *e)
{
	const struct app_slot *s = slot_of(c, a->row.id);
	char sum[CL_SHA256_HEX];
	cleanup_free char *scope = cl_json_text(a->app.scope);
	/* A token that is in variables too stays good for whoever reads it there. */
	bool bare = sec_repos_all(&a->view.constraints.list[SEC_REPOS]);
	const struct store_app_token row = {.lease = lease,
		.grant_id = a->row.id,
		.secret_id = a->row.secret_id,
		.secret_name = a->row.secret_name,
		.file = m->files[0].name,
		.base_url = a->app.base_url,
		.scope = scope,
		.sum = sum,
		.expires_at = a->app.expires_at * 1000,
		.spare =
			s && (a->app_new ? s->token.len && !bare : s->row.spare && !s->before.len)};

	cl_sha256_hex(a->app.token.p, a->app.token.len, sum);
	if (s && strcmp(s->row.grant_id, a->row.id) != 0 &&
		store_app_token_drop(c->k->store, lease, s->row.grant_id, e))
		return -1;
	return store_token_lend(c->k->store, sum, lease_id, a->row.id, e) ||
			       store_app_token_put(c->k->store, &row, e)
		       ? -1
		       : 0;
}

int app_token_write(
	const struct lease_case *c, int64_t lease, const char *lease_id, struct cl_err *e)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct lease_aimed *a = c->v[i];
		const struct sec_material *m = material_of(c, a->row.id);

		if (a->view.kind == SEC_GITHUB_APP && a->app.scope && m && m->nfiles &&
			write_one(c, a, m, lease, lease_id, e))
			return -1;
	}
	return 0;
}

/* What another process is about at this moment is that one's to tell of. */
static int queued(const struct token_pass *done, struct cl_err *e)
{
	if (!done->queued || !strcmp(done->why.slug, TOKEN_BUSY))
		return 0;
	*e = done->why;
	return -1;
}

/* The one that was replaced: nothing else that a holder has under that name, which a PAT may have had. */
static void end_before(struct keyed *k, const struct app_slot *s, const char *lease_id)
{
	const struct token_given given = {(const char *)s->before.p, s->before.len};
	char sum[CL_SHA256_HEX];
	const struct store_token_filter f = {.sum = sum, .lease_id = lease_id, .grant_id = s->is};
	struct token_pass done;
	struct cl_err ignored; /* the audit row has it */

	if (!s->before.len)
		return;
	cl_sha256_hex(given.p, given.len, sum);
	if (!store_token_end(k->store, &f, "replaced", &ignored))
		(void)token_replay(k, &f, &given, 1, &done, &ignored);
}

void app_token_settle(struct lease_case *c, const char *lease_id)
{
	const struct lease_text none = {0};

	for (size_t i = 0; c->slots && i < c->slots->n; i++) {
		const struct app_slot *s = &c->slots->v[i];
		struct cl_err ignored; /* the audit row has it */

		if (s->is && material_of(c, s->is)) {
			end_before(c->k, s, lease_id);
			continue;
		}
		(void)app_token_end(c->k, lease_id, s->row.grant_id, text_of(&s->token),
			s->before.len ? text_of(&s->before) : none,
			"the grant does not allow it any more", &ignored);
	}
}

/* ---- one that ends ---- */

struct finding {
	const char *grant_id, *before; /* the sum of one that it says was before */
	struct store_app_token row;
	bool in_use; /* which is another grant's now */
};

static int find_row(const struct store_app_token *t, void *arg, struct cl_err *e)
{
	struct finding *f = arg;

	(void)e;
	if (!strcmp(t->grant_id, f->grant_id))
		f->row = store_app_token_copy(t);
	else if (!strcmp(t->sum, f->before))
		f->in_use = true;
	return 0;
}

/* Nobody has it any more, so nobody can have it destroyed. */
static void lost(struct keyed *k, const struct store_app_token *row, const char *lease_id)
{
	const struct forge_end end = end_of(row, lease_id);

	forge_token_lost(k, &end);
}

/* Whatever GitHub gave for that grant of the lease, whoever has it or never got it. */
static int end_kept(struct keyed *k, const struct store_token_filter *f,
	const struct token_given given[2], const char *reason, struct cl_err *e)
{
	struct token_pass done;

	return store_token_end(k->store, f, reason, e) || token_replay(k, f, given, 2, &done, e)
		       ? -1
		       : queued(&done, e);
}

int app_token_end(struct keyed *k, const char *lease_id, const char *grant_id,
	struct lease_text token, struct lease_text before, const char *reason, struct cl_err *e)
{
	const struct store_token_filter of = {.lease_id = lease_id, .grant_id = grant_id};
	char sum[CL_SHA256_HEX], before_sum[CL_SHA256_HEX];
	struct finding f = {grant_id, before_sum, STORE_APP_TOKEN_INIT, false};
	bool known = false, kept = false, kept_before;
	struct cl_err ignored;
	int rc;

	cl_sha256_hex(before.len ? before.p : "", before.len, before_sum);
	if (store_app_token_each(k->store, lease_id, find_row, &f, e) ||
		(f.row.sum && is_kept(k, f.row.sum, &known, e)) ||
		mark(k, token, reason, sum, &kept, e) ||
		(!f.in_use && mark(k, before, reason, sum, &kept_before, e))) {
		store_app_token_release(&f.row);
		return -1;
	}
	rc = end_kept(k, &of,
		(const struct token_given[]){{token.p, token.len}, {before.p, before.len}}, reason,
		e);
	if (f.row.grant_id) {
		if (token.len && !kept &&
			end_unkept(k, &f.row, token, lease_id, reason, &ignored)) {
			*e = ignored;
			rc = -1;
		}
		if (!token.len && !known)
			lost(k, &f.row, lease_id);
		(void)store_app_token_drop(k->store, f.row.lease, grant_id, &ignored);
	}
	store_app_token_release(&f.row);
	return rc;
}
