/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a lease would be: grants found, judged, opened and narrowed. Nothing is written. */
#include "work/lease/lease.h"
#include "work/lease/app_token.h"
#include "work/lease/lease_internal.h"

#include "base/mem.h"
#include "sys/repos.h"

#include <stdlib.h>
#include <string.h>

static void aimed_free(struct lease_aimed *a)
{
	if (!a->known) {
		store_grant_release(&a->row);
		grant_view_release(&a->view);
	}
	seal_buf_release(&a->payload);
	cl_strv_release(&a->names);
	cl_strv_release(&a->paths);
	cl_strv_release(&a->ids);
	free(a->candidates);
	forge_token_release(&a->app);
	sec_reasons_release(&a->reasons);
	free(a);
}

void lease_case_release(struct lease_case *d)
{
	sec_lease_release(&d->lease);
	for (size_t i = 0; i < d->n; i++)
		aimed_free(d->v[i]);
	free(d->v);
	known_drop(d->snapshot);
	sec_labels_release(&d->labels);
	*d = LEASE_CASE_INIT;
}

static struct lease_aimed *aim(void)
{
	struct lease_aimed *a = cl_calloc(1, sizeof(*a));

	a->view = GRANT_VIEW_INIT;
	a->names = a->paths = CL_STRV_INIT;
	return a;
}

static void take(struct lease_case *d, struct lease_aimed *a, bool unguarded)
{
	a->grant = (struct sec_grant){.id = a->row.id,
		.secret_id = a->row.secret_id,
		.secret_name = a->row.secret_name,
		.kind = a->view.kind,
		.subject = &a->view.subject,
		.constraints = &a->view.constraints,
		.expires_at = a->row.expires_at / 1000,
		.revoked_at = a->row.revoked_at / 1000,
		.revoked_cause = a->row.revoked_cause ? a->row.revoked_cause : "",
		.unguarded = unguarded};
	d->v = cl_grow(d->v, &d->cap, d->n + 1, sizeof(*d->v));
	d->v[d->n++] = a;
}

/* By the row: one that cannot be understood is of a kind too. */
static bool looked_at(const struct lease_case *d, const struct store_grant *g)
{
	struct cl_err ignored;
	enum sec_kind kind;

	return !d->kinds || (!sec_kind_parse(g->kind, &kind, &ignored) && d->kinds & 1U << kind);
}

void lease_case_add(struct lease_case *d, const struct store_grant *g)
{
	struct lease_aimed *a = aim();

	store_grant_copy(g, &a->row);
	/* One that cannot be read, but is for this requester, is told of and not passed over. */
	a->unreadable = grant_view(&a->row, &a->view, &a->refusal) != 0;
	if (d->everybody || sec_subject_matches(&a->view.subject, &d->who))
		take(d, a, d->known && secret_word_stands(d->k, d->pub, &a->row));
	else
		aimed_free(a);
}

/* The same of one that was read before, where it is not over since. */
static void add_known(struct lease_case *d, struct known_grant *g)
{
	struct lease_aimed *a;

	if ((g->row.expires_at && g->row.expires_at <= d->now) || !looked_at(d, &g->row) ||
		!sec_subject_matches(&g->view.subject, &d->who))
		return;
	a = aim();
	a->row = g->row;
	a->view = g->view;
	a->known = g;
	a->unreadable = g->unreadable != NULL;
	if (g->unreadable)
		a->refusal = *g->unreadable;
	take(d, a, d->known && known_unguarded(d->k, g));
}

static int keep(const struct store_grant *g, void *arg, struct cl_err *e)
{
	(void)e;
	if (looked_at(arg, g))
		lease_case_add(arg, g);
	return 0;
}

/* What would stand for credentials that do not leave the hub's host. */
static const struct guard {
	const char *slug, *enabled, *whose, *name;
	unsigned kinds;
} guards[] = {
	{"git_proxy", "executors.git_proxy.enabled", "GitHub's credentials", "proxy",
		1U << SEC_GITHUB_PAT | 1U << SEC_GITHUB_APP},
	{"kube_guard", "executors.kube_guard.enabled", "credentials of clusters", "monitor",
		1U << SEC_KUBECONFIG},
};

/*
 * A hub that is told to keep credentials of a kind on its host lends none of them, whether or not a
 * branch list asks for the proxy that would enforce it, or an administrator lets go what names
 * limits.
 */
static int kept_here(const struct lease_case *d, const struct lease_aimed *a, struct cl_err *e)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(guards); i++) {
		const struct guard *g = &guards[i];
		const struct cfg_value *on;

		if (!(g->kinds & 1U << a->view.kind))
			continue;
		on = cfg_value(&d->k->cfg, g->enabled);
		if (!on || !json_is_true(on->value))
			continue;
		(void)cl_fail(e, CL_EREFUSED,
			"executors.%s is enabled, so %s do not leave this hub's host, and the %s "
			"that would stand for them is not running",
			g->slug, g->whose, g->name);
		(void)cl_slug(e, g->slug);
		return cl_fix(e, "set %s to false in %s", g->enabled, d->k->hub.config);
	}
	return 0;
}

/* Nothing but what a guard that runs would see to. */
static bool only_unguarded(const struct sec_reasons *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i].code, "unguarded") != 0 && strcmp(r->v[i].code, "branches") != 0)
			return false;
	return true;
}

static int check_genuine(struct lease_case *d, struct lease_aimed *a, struct cl_err *e)
{
	enum grant_proof proof;

	if (!a->known)
		return grant_check(d->k, &a->row, e);
	return known_proof(d->k, a->known, &proof, e) || grant_admit(&a->row, proof, e) ? -1 : 0;
}

/* What stands in the way before anything is opened. */
static bool judged(struct lease_case *d, struct lease_aimed *a)
{
	const struct sec_reason *first;

	if (check_genuine(d, a, &a->refusal) || a->unreadable)
		return false;
	sec_grant_judge(&a->grant, &d->who, d->now / 1000, &a->reasons);
	/* That one of them lets it go would not help. */
	if (only_unguarded(&a->reasons) && kept_here(d, a, &a->refusal)) {
		sec_reasons_release(&a->reasons);
		return false;
	}
	if (!a->reasons.n)
		return true;
	first = &a->reasons.v[0];
	(void)cl_fail(&a->refusal, CL_EREFUSED, "grant %s %s", a->row.id, first->text);
	(void)cl_slug(&a->refusal, first->code);
	if (first->fix)
		(void)cl_fix(&a->refusal, "%s", first->fix);
	return false;
}

static int find_candidates(struct lease_aimed *a, struct cl_err *e)
{
	cleanup_buf struct cl_buf root = CL_BUF_INIT;

	if (sec_local_root((const char *)a->payload.p, a->payload.len, &root, e) ||
		sys_repos(root.p, &a->names, &a->paths, &a->ids, e))
		return -1;
	a->candidates = cl_calloc(a->names.n + 1, sizeof(*a->candidates));
	for (size_t i = 0; i < a->names.n; i++)
		a->candidates[i] =
			(struct sec_candidate){a->names.v[i], a->paths.v[i], a->ids.v[i]};
	return 0;
}

static int find_secret(struct lease_case *d, struct lease_aimed *a, struct store_secret *own,
	const struct store_secret **out, struct cl_err *e)
{
	*out = own;
	return a->known ? known_secret(d->k, a->known, out, e)
			: secret_find(d->k, a->row.secret_id, own, e);
}

/* The secret as the signature has it, opened. */
static int open_aimed(struct lease_case *d, struct lease_aimed *a, struct cl_err *e)
{
	cleanup_secret_row struct store_secret own = STORE_SECRET_INIT;
	const struct store_secret *s;

	if (find_secret(d, a, &own, &s, e))
		return -1;
	if (strcmp(s->id, a->row.secret_id) != 0 || strcmp(s->kind, a->row.kind) != 0 ||
		strcmp(s->name, a->row.secret_name) != 0) {
		(void)cl_fail(e, CL_EREFUSED,
			"its secret is another one than was granted: kind or "
			"name were altered in state.db");
		return cl_slug(e, "forged_grant");
	}
	if (secret_open(d->k, s, &a->payload, e))
		return -1;
	if (a->view.kind == SEC_GITHUB_APP)
		return app_token_offer(d, a, e);
	return a->view.kind == SEC_LOCAL_REPO ? find_candidates(a, e) : 0;
}

void lease_case_build(struct lease_case *d)
{
	struct sec_offer *offers = cl_calloc(d->n + 1, sizeof(*offers));

	for (size_t i = 0; i < d->n; i++) {
		struct lease_aimed *a = d->v[i];

		a->refused = !judged(d, a) || open_aimed(d, a, &a->refusal);
		offers[i] = (struct sec_offer){.grant = &a->grant,
			.payload = a->refused ? NULL : (const char *)a->payload.p,
			.len = a->payload.len,
			.refusal = a->refused ? &a->refusal : NULL,
			.candidates = a->candidates,
			.ncandidates = a->names.n,
			.token = a->refused ? NULL : (const char *)a->app.token.p,
			.token_expires_at = a->app.expires_at};
	}
	sec_lease_build(offers, d->n, d->now / 1000, &d->lease);
	free(offers);
}

const struct sec_refused *lease_case_refusal(const struct lease_case *d, const char *grant_id)
{
	for (size_t i = 0; i < d->lease.nrefused; i++)
		if (!strcmp(d->lease.refused[i].grant_id, grant_id))
			return &d->lease.refused[i];
	return NULL;
}

static int copy_labels(const struct sec_labels *from, struct sec_labels *to, struct cl_err *e)
{
	for (size_t i = 0; i < from->n; i++)
		if (sec_label_set(to, from->v[i].key, from->v[i].value, e))
			return -1;
	return 0;
}

static void take_requester(
	struct lease_case *d, struct keyed *k, const struct lease_request *r, const char *executor)
{
	d->k = k;
	d->now = r->now ? r->now : k->now;
	d->lease.pick = r->pick;
	d->who = (struct sec_requester){r->project, executor, &d->labels};
	d->lease.longest = k->cfg.lease_seconds;
}

static const char *executor_of(const struct lease_request *r)
{
	return r->executor && *r->executor ? r->executor : NULL;
}

int lease_case_open(
	struct lease_case *d, struct keyed *k, const struct lease_request *r, struct cl_err *e)
{
	const char *executor = executor_of(r);

	take_requester(d, k, r, executor);
	if (r->labels ? copy_labels(r->labels, &d->labels, e)
		      : executor && secret_labels(k, executor, &d->labels, e))
		return -1;
	return keyed_public(k, d->pub, &d->known, e);
}

int lease_case_find(struct lease_case *d, const struct store_grant_filter *f, struct cl_err *e)
{
	return store_grant_each(d->k->store, f, keep, d, e);
}

int lease_judge(
	struct lease_case *d, struct keyed *k, const struct lease_request *r, struct cl_err *e)
{
	const char *executor = executor_of(r);

	take_requester(d, k, r, executor);
	if (keyed_public(k, d->pub, &d->known, e) || known_grants(k, d->now, &d->snapshot, e) ||
		(r->labels ? copy_labels(r->labels, &d->labels, e)
			   : executor && known_labels(k, d->snapshot, executor, &d->who.labels, e)))
		return -1;
	for (size_t i = 0; i < d->snapshot->n; i++)
		add_known(d, &d->snapshot->v[i]);
	lease_case_build(d);
	return 0;
}
