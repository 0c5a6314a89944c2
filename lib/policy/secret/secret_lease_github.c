/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GitHub credentials of a lease: a token file and a helper a grant, and one gitconfig. */
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/secret/secret_github.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_lease.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>

/* A grant whose files are ready. */
struct ready {
	const struct sec_offer *offer;
	char *token; /* wiped */
	char *host;
	struct sec_material *material;
};

static void ready_release(struct ready *r)
{
	if (r->token)
		explicit_bzero(r->token, strlen(r->token));
	free(r->token);
	free(r->host);
	*r = (struct ready){0};
}

static const struct cl_strv *list_of(const struct ready *r, enum sec_list l)
{
	return &r->offer->grant->constraints->list[l];
}

static bool is_app(const struct ready *r)
{
	return r->offer->grant->kind == SEC_GITHUB_APP;
}

/* The token and the one host it is for. */
static int open_token(const struct sec_offer *o, struct ready *r, struct cl_err *e)
{
	cleanup_github_pat struct sec_github_pat pat = SEC_GITHUB_PAT_INIT;
	cleanup_github_app struct sec_github_app app = SEC_GITHUB_APP_INIT;
	const char *token = o->token;
	const char *host;

	if (o->grant->kind == SEC_GITHUB_PAT) {
		if (sec_github_pat_read(o->payload, o->len, &pat, e))
			return -1;
		token = pat.token;
		host = pat.host;
	} else {
		if (sec_github_app_read(o->payload, o->len, &app, e))
			return -1;
		host = app.host;
	}
	if (!token || !*token || strpbrk(token, "\r\n"))
		return cl_fail(
			e, CL_EREFUSED, "secret '%s': GitHub gave no token", o->grant->secret_name);
	*r = (struct ready){o, cl_strdup(token), cl_strdup(host), NULL};
	return 0;
}

static bool has_star(const struct sec_offer *o)
{
	const struct cl_strv *repos = &o->grant->constraints->list[SEC_REPOS];

	for (size_t i = 0; i < repos->n; i++)
		if (strchr(repos->v[i], '*'))
			return true;
	return false;
}

static bool usable(const struct sec_offer *o)
{
	return (o->grant->kind == SEC_GITHUB_PAT || o->grant->kind == SEC_GITHUB_APP) &&
	       !o->refusal;
}

/* "github-token", then "github-token-2": n counts from 1. */
static char *numbered(const char *name, size_t n)
{
	return n == 1 ? cl_strdup(name) : cl_asprintf("%s-%zu", name, n);
}

static int write_files(struct sec_lease *l, struct ready *r, size_t nth, struct cl_err *e)
{
	cleanup_free char *token_file = numbered("github-token", nth);
	cleanup_free char *helper_file = numbered("git-credential-cloop", nth);
	cleanup_free char *repos = NULL;
	cleanup_buf struct cl_buf script = CL_BUF_INIT;

	if (sec_github_helper(list_of(r, SEC_REPOS), r->host, token_file, &script, e))
		return -1;
	r->material = sec_lease_material(l, r->offer->grant);
	cl_buf_addf(&sec_material_file(r->material, token_file, false)->data, "%s\n", r->token);
	cl_buf_add(&sec_material_file(r->material, helper_file, true)->data, script.p, script.len);
	repos = cl_join(
		(const char *const *)list_of(r, SEC_REPOS)->v, list_of(r, SEC_REPOS)->n, ",");
	cl_buf_addf(&r->material->delivers, "github repos: %s (helper-scoped=%s)", repos,
		sec_repos_all(list_of(r, SEC_REPOS)) ? "false" : "true");
	if (is_app(r) && sec_github_withheld(r->offer->grant->constraints))
		cl_buf_adds(&r->material->delivers,
			"; read-only: write withheld, a branch list needs executors.git_proxy");
	sec_lease_secret(l, r->token, strlen(r->token));
	return 0;
}

/* What the token may: one whose grant lists branches was minted to read. Owned. */
static char *permissions(const struct ready *v)
{
	const struct cl_strv *asked = list_of(v, SEC_PERMISSIONS);
	cleanup_strv struct cl_strv out = CL_STRV_INIT;

	if (!is_app(v) || !list_of(v, SEC_BRANCHES)->n)
		return sec_joined(asked);
	for (size_t i = 0; i < asked->n; i++) {
		const char *p = strcmp(asked->v[i], "*") ? asked->v[i] : "contents";

		cl_strv_addf(&out, "%.*s:read", (int)strcspn(p, ":"), p);
	}
	cl_strv_uniq(&out);
	return sec_joined(&out);
}

/* It only counts when every grant of the lease says the same. */
static void set_permissions(struct sec_lease *l, const struct ready *v, size_t n)
{
	cleanup_free char *first = permissions(&v[0]);

	for (size_t i = 1; i < n; i++) {
		cleanup_free char *other = permissions(&v[i]);

		if (strcmp(other, first) != 0)
			return;
	}
	if (*first)
		cl_buf_adds(
			sec_lease_set(l, v[0].material, "CLOOP_GITHUB_PERMISSIONS", false), first);
}

static void set_withheld(struct sec_lease *l, const struct ready *v, size_t n)
{
	cleanup_free char *list = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct cl_strv *b = list_of(&v[i], SEC_BRANCHES);
		cleanup_free char *own = sec_joined(b);

		if (!b->n || !is_app(&v[i]) || (list && strcmp(list, own) != 0))
			return;
		free(list);
		list = cl_steal(&own);
	}
	if (list)
		cl_buf_addf(sec_lease_set(l, v[0].material, "CLOOP_GITHUB_WRITE_WITHHELD", false),
			"pushes are limited to branches %s, which only the git proxy can enforce, "
			"and "
			"this host runs none: the token reads",
			list);
}

/* Every tool reads these and none asks which repository: only for a token meant for all. */
static void set_bare(struct sec_lease *l, const struct ready *v, size_t n)
{
	bool hub = false, enterprise = false;

	for (size_t i = 0; i < n; i++) {
		bool *had = !strcmp(v[i].host, SEC_GITHUB_HOST) ? &hub : &enterprise;

		if (!sec_repos_all(list_of(&v[i], SEC_REPOS)) || *had)
			continue;
		*had = true;
		if (had == &enterprise) {
			cl_buf_adds(sec_lease_set(l, v[i].material, "GH_ENTERPRISE_TOKEN", true),
				v[i].token);
			continue;
		}
		cl_buf_adds(sec_lease_set(l, v[i].material, "GITHUB_TOKEN", true), v[i].token);
		cl_buf_adds(sec_lease_set(l, v[i].material, "GH_TOKEN", true), v[i].token);
	}
}

static void set_expiry(struct sec_lease *l, const struct ready *v, size_t n)
{
	int64_t first = 0;
	char when[32];

	for (size_t i = 0; i < n; i++)
		if (is_app(&v[i]) && v[i].offer->token_expires_at &&
			(!first || v[i].offer->token_expires_at < first))
			first = v[i].offer->token_expires_at;
	if (!first)
		return;
	cl_format_time(first, when);
	cl_buf_adds(sec_lease_set(l, v[0].material, "CLOOP_GITHUB_TOKEN_EXPIRES_AT", false), when);
}

static void set_shared(struct sec_lease *l, const struct ready *v, size_t n)
{
	cleanup_strv struct cl_strv repos = CL_STRV_INIT, helpers = CL_STRV_INIT;
	cleanup_free char *list = NULL;

	for (size_t i = 0; i < n; i++) {
		cl_strv_add(&helpers, v[i].material->files[1].name);
		for (size_t k = 0; k < list_of(&v[i], SEC_REPOS)->n; k++)
			cl_strv_add(&repos, list_of(&v[i], SEC_REPOS)->v[k]);
	}
	cl_strv_uniq(&repos);
	list = sec_joined(&repos);
	sec_github_gitconfig(&helpers, &sec_material_file(v[0].material, "gitconfig", false)->data);
	cl_buf_addf(sec_lease_set(l, v[0].material, "GIT_CONFIG_GLOBAL", false), "%s/gitconfig",
		SEC_LEASE_DIR_MARK);
	cl_buf_adds(sec_lease_set(l, v[0].material, "CLOOP_GITHUB_REPO_ALLOWLIST", false), list);
	set_permissions(l, v, n);
	set_withheld(l, v, n);
	set_expiry(l, v, n);
	set_bare(l, v, n);
	l->merged = l->merged || n > 1;
}

/* What names its repositories outright is asked first, whatever came first. */
void sec_build_github(struct sec_lease *l, const struct sec_offer *o, size_t n)
{
	struct ready *v = cl_calloc(n + 1, sizeof(*v));
	size_t count = 0;

	for (int star = 0; star < 2; star++)
		for (size_t i = 0; i < n; i++) {
			struct cl_err e;

			if (!usable(&o[i]) || has_star(&o[i]) != (star == 1))
				continue;
			if (open_token(&o[i], &v[count], &e) ||
				write_files(l, &v[count], count + 1, &e)) {
				ready_release(&v[count]);
				sec_lease_refuse(l, o[i].grant, &e);
				continue;
			}
			count++;
		}
	if (count)
		set_shared(l, v, count);
	for (size_t i = 0; i < count; i++)
		ready_release(&v[i]);
	free(v);
}
