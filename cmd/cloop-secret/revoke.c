/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking a grant or a lease back, and saying who had it and what became of that. */
#include "secret.h"
#include "base/credpat.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/sha256.h"
#include "base/text.h"
#include "policy/secret/secret_kind.h"
#include "sys/clock.h"
#include "work/paths.h"
#include "work/lease/revoke.h"
#include "work/token.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

struct revoking {
	struct cl_ctx *ctx;
	struct keyed k;
	const char *action;
	char *run_base;
	struct store_grant grant;
	struct store_lease lease;
	bool was_live;
	int64_t leases;
	struct holders holders;
	struct token_pass tokens; /* those that GitHub has not destroyed */
};

static void revoking_release(struct revoking *r)
{
	holders_release(&r->holders);
	store_lease_release(&r->lease);
	store_grant_release(&r->grant);
	free(r->run_base);
	keyed_release(&r->k);
}
#define cleanup_revoking __attribute__((cleanup(revoking_release)))

/* What GitHub gave for it: all of that is to end. */
static struct store_token_filter tokens_of(const struct revoking *r)
{
	return (struct store_token_filter){.grant_id = r->grant.id, .lease_id = r->lease.id};
}

/* ---- as text ---- */

/* This hub as the guide names a member: always the same for one directory. */
static void print_member(const struct revoking *r, int64_t leases)
{
	char host[65] = "this host", hash[CL_SHA256_HEX];

	(void)gethostname(host, sizeof(host) - 1);
	cl_sha256_hex(r->k.hub.dir, strlen(r->k.hub.dir), hash);
	(void)printf("  hub member hub-%.6s on %s: taken back from %lld lease(s) — %s\n", hash,
		host, (long long)leases, holder_state_name(holders_worst(&r->holders)));
}

/* What the holders on one executor did, as one. */
struct sum {
	const char *executor;
	enum holder_state state;
	int64_t files, waiting;
	bool env_stays, terminated;
	const char *error;
};

static void add_to_sum(struct sum *s, const struct holder *h)
{
	if (h->state > s->state)
		s->state = h->state;
	s->files += h->files_removed;
	s->waiting += h->state == HOLDER_PENDING || h->state == HOLDER_UNREACHABLE;
	s->env_stays = s->env_stays || h->env_stays;
	s->terminated = s->terminated || h->terminated;
	if (h->error)
		s->error = h->error;
}

static void print_sum(const struct sum *s)
{
	(void)printf("    %s: %s", *s->executor ? s->executor : "no executor",
		holder_state_name(s->state));
	if (s->files || !s->waiting)
		(void)printf(" — %lld file(s) removed", (long long)s->files);
	if (s->terminated)
		(void)printf(", workload terminated");
	if (s->env_stays)
		(void)printf(", variables stay in the running process");
	if (s->state == HOLDER_PENDING)
		(void)printf(" — %lld holder(s) have not answered", (long long)s->waiting);
	if (s->state == HOLDER_UNREACHABLE)
		(void)printf(" — %lld holder(s) without a supervisor; asked again at each sweep",
			(long long)s->waiting);
	if (s->error)
		(void)printf(" — %s", s->error);
	(void)printf("\n");
}

static bool first_of(const struct holders *h, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(h->v[k].executor_id, h->v[i].executor_id))
			return false;
	return true;
}

static void print_holders(const struct revoking *r)
{
	const struct holders *h = &r->holders;

	/* Leases of it that were over before are nobody's concern. */
	if (!h->n || (r->was_live && !r->leases && holders_worst(h) == HOLDER_REVOKED)) {
		(void)printf("  no lease held it\n");
		return;
	}
	print_member(r, r->leases);
	for (size_t i = 0; i < h->n; i++) {
		struct sum s = {.executor = h->v[i].executor_id};

		if (!first_of(h, i))
			continue;
		for (size_t k = i; k < h->n; k++)
			if (!strcmp(h->v[k].executor_id, s.executor))
				add_to_sum(&s, &h->v[k]);
		/* The guide has no line for one where nothing could be wiped. */
		if (s.state != HOLDER_STAYS || s.files || s.env_stays)
			print_sum(&s);
	}
}

static void print_again(const char *what, int64_t at, const char *by)
{
	char when[32];

	cl_format_time(at / 1000, when);
	(void)printf("  it was %s already, on %s by %s\n", what, when, by ? by : "?");
}

static void print_tokens(const struct token_pass *t)
{
	char when[32];

	if (!t->queued)
		return;
	cl_format_time(t->last / 1000, when);
	(void)printf(
		"  %lld token(s) that GitHub has not destroyed: queued, and tried again at each "
		"sweep; the last ends by itself at %s",
		(long long)t->queued, when);
	if (t->why.code)
		(void)printf(" — %s", t->why.msg);
	(void)printf("\n");
}

static void as_text(const struct revoking *r)
{
	const struct store_lease *l = &r->lease;

	if (l->id) {
		(void)printf("✓ revoked lease %s%s%s%s\n", l->id, l->run_id ? " (" : "",
			l->run_id ? l->run_id : "", l->run_id ? ")" : "");
		if (!r->was_live)
			print_again(strcmp(l->state, "live") ? l->state : "revoked", l->ended_at,
				l->ended_by);
	} else {
		(void)printf("✓ revoked grant %s (%s)\n", r->grant.id, r->grant.secret_name);
		if (!r->was_live)
			print_again("revoked", r->grant.revoked_at, r->grant.revoked_by);
	}
	if (r->was_live || r->holders.n)
		print_holders(r);
	print_tokens(&r->tokens);
}

/* What no revocation reaches, and what does. */
static void warn_of_stays(const struct revoking *r)
{
	for (size_t i = 0; i < r->holders.n; i++) {
		const struct holder *h = &r->holders.v[i];
		cleanup_free char *how = NULL;

		if (h->state != HOLDER_STAYS)
			continue;
		how = secret_how(h->how & (SEC_BY_ENV | SEC_BY_MOUNT | SEC_BY_DEVICE));
		cl_warn(r->ctx,
			"'%s' stays in the sandbox of %s until that run ends (%s); to end it now: "
			"cloop runs stop %s",
			h->secret_name, h->run_id ? h->run_id : h->lease_id, how,
			h->run_id ? h->run_id : "RUN");
	}
}

/* ---- as JSON ---- */

static json_t *holder_json(const struct holder *h)
{
	return json_pack("{s:s, s:s, s:s?, s:s?, s:o, s:o, s:s, s:b, s:I, s:b, s:b, s:o}",
		"lease_id", h->lease_id, "grant_id", h->grant_id, "run_id", h->run_id, "sandbox",
		h->sandbox, "project", cl_json_string(h->project), "executor_id",
		cl_json_string(h->executor_id), "state", holder_state_name(h->state), "stays",
		h->state == HOLDER_STAYS, "files_removed", (json_int_t)h->files_removed,
		"env_stays", h->env_stays, "terminated", h->terminated, "error",
		h->error ? cl_json_string(h->error) : json_null());
}

static int as_json(const struct revoking *r, struct cl_err *e)
{
	const struct store_token_filter of = tokens_of(r);
	json_t *holders = json_array(), *tokens = NULL;

	if (secret_tokens(r->k.store, &of, &tokens, e)) {
		json_decref(tokens);
		json_decref(holders);
		return -1;
	}
	for (size_t i = 0; i < r->holders.n; i++)
		(void)json_array_append_new(holders, holder_json(&r->holders.v[i]));
	cl_take_json(json_pack("{s:s, s:s?, s:b, s:I, s:s, s:o, s:o}", "id",
		r->lease.id ? r->lease.id : r->grant.id, "secret_name", r->grant.secret_name,
		"was_live", r->was_live, "leases", (json_int_t)r->leases, "state",
		holder_state_name(holders_worst(&r->holders)), "holders", holders, "queued_tokens",
		tokens));
	return 0;
}

/* ---- doing it ---- */

static int take_grant(struct revoking *r, const char *id, struct cl_err *e)
{
	cleanup_free char *reason = cp_redact(cl_str_or(r->ctx, "reason", ""));
	const struct store_end end = {
		.at = r->k.now, .by = r->k.actor, .reason = *reason ? reason : NULL};

	return store_grant_get(r->k.store, id, &r->grant, e) ||
			       revoke_grant(r->k.store, &r->grant, &end, r->action, r->run_base,
				       &r->was_live, &r->leases, e)
		       ? -1
		       : 0;
}

static int take_lease(struct revoking *r, const char *id, struct cl_err *e)
{
	const struct lease_actor who = {r->k.actor, r->k.now};
	cleanup_free char *reason = cp_redact(cl_str_or(r->ctx, "reason", "revoked by hand"));
	bool asked;

	if (store_lease_get(r->k.store, id, &r->lease, e) ||
		revoke_lease(r->k.store, &r->lease, &who, r->action, reason, r->run_base,
			&r->was_live, &asked, e))
		return -1;
	r->leases = asked;
	return 0;
}

/* One transaction: where it fails nothing is revoked, and that is the first thing to be said. */
static int take(struct revoking *r, const char *id, struct cl_err *e)
{
	if (!keyed_without(r->ctx, STORE_RW, &r->k, e) &&
		!(cl_starts(id, "lease_") ? take_lease(r, id, e) : take_grant(r, id, e)))
		return 0;
	return e->code == CL_EOS || e->code == CL_EBUSY || e->code == CL_EDENIED
		       ? cl_wrap(e, "nothing is revoked of %s", id)
		       : -1;
}

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

/* It is revoked, whatever becomes of who waits: an interrupt ends the waiting, and what stands is said. */
static void heed_signals(void)
{
	const struct sigaction sa = {.sa_handler = on_signal};

	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
}

static int wait_for_holders(struct revoking *r, int64_t until, struct cl_err *e)
{
	struct revoke_until u = {.stop = &stop};
	struct cl_err why;

	if (revoke_wait(r->k.store, r->grant.id, r->lease.id, &u, &r->holders, e))
		return -1;
	if (revoke_adopt(r->k.hub.dir, &r->holders, &why))
		cl_warn(r->ctx, "nobody takes over what is without a supervisor: %s", why.msg);
	u.ms = until - sys_mono_ms();
	return u.ms > 0 ? revoke_wait(r->k.store, r->grant.id, r->lease.id, &u, &r->holders, e) : 0;
}

/* GitHub first: it is the one place that needs nobody else. The holders are told already. */
static int wait_for(struct revoking *r, int64_t until, struct cl_err *e)
{
	const struct store_token_filter tokens = tokens_of(r);

	if (token_wait(&r->k, &tokens, until, &r->tokens, e))
		return -1;
	heed_signals();
	return wait_for_holders(r, until, e) ||
			       token_wait(&r->k, &tokens, stop ? 0 : until, &r->tokens, e)
		       ? -1
		       : 0;
}

/* Works without the key (DECISIONS K9), and a second time. */
int cmd_secret_revoke(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_revoking struct revoking r = {.ctx = c,
		.k = KEYED_INIT,
		.action = cl_str_or(c, "action", "scrub"),
		.run_base = work_run_base(),
		.grant = STORE_GRANT_INIT,
		.lease = STORE_LEASE_INIT};
	const char *id = cl_operand(c, 0);
	int64_t until = sys_mono_ms() + cl_int(c, "wait", 60000);

	if (take(&r, id, e) || wait_for(&r, until, e) || (c->json && as_json(&r, e)))
		return -1;
	if (!c->json)
		as_text(&r);
	warn_of_stays(&r);
	return holders_worst(&r.holders) == HOLDER_REVOKED && !r.tokens.queued ? 0 : 1;
}
