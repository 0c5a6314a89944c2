/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "forge.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>

#define NAMES 5 /* of repositories, in a refusal */

struct mint {
	struct forge *f;
	struct sec_constraints constraints;
	struct gh_scope was, scope;
	bool again; /* a further token of a scope that was recorded */
	struct gh_repositories have;
	struct cl_strv notes, dropped;
	struct gh_token token;
};

static void mint_release(struct mint *m)
{
	sec_constraints_release(&m->constraints);
	gh_scope_release(&m->was);
	gh_scope_release(&m->scope);
	gh_repositories_release(&m->have);
	cl_strv_release(&m->notes);
	cl_strv_release(&m->dropped);
	gh_token_release(&m->token);
}

static int read_grant(struct mint *m, struct cl_err *e)
{
	struct cl_doc *d = &m->f->d;
	json_t *constraints = NULL, *scope = NULL;

	if (cl_doc_map(d, d->root, "constraints", &constraints, e) ||
		cl_doc_map(d, d->root, "scope", &scope, e))
		return -1;
	if (!constraints)
		return cl_fail(e, CL_EDATA, "the request has no constraints");
	m->again = scope != NULL;
	return sec_constraints_read(d, constraints, &m->constraints, e) ||
			       sec_constraints_check(SEC_GITHUB_APP, &m->constraints, NULL, e) ||
			       (scope && gh_scope_read(d, scope, &m->was, e))
		       ? -1
		       : 0;
}

static int find_scope(struct mint *m, struct cl_err *e)
{
	bool named = m->again ? m->was.nids > 0 : !sec_repos_all(&m->constraints.list[SEC_REPOS]);

	if (named && forge_inventory(m->f, &m->have, e))
		return -1;
	if (!m->again)
		return gh_scope_of(&m->constraints, &m->have, m->f->name, &m->scope, e);
	if (gh_scope_again(
		    &m->was, &m->constraints, &m->have, m->f->name, &m->scope, &m->dropped, e))
		return -1;
	for (size_t i = 0; i < m->dropped.n; i++)
		cl_strv_addf(&m->notes,
			"%s is not in the new token: the installation or the grant "
			"does not have it any more",
			m->dropped.v[i]);
	return 0;
}

/* What the token was to be for: GitHub's answer does not say which repository it is about. */
static int not_minted(const struct mint *m, struct cl_err *e)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	size_t said = 0;

	if (strcmp(cl_err_slug(e), "github_not_granted") != 0 || !m->scope.nids)
		return -1;
	for (size_t i = 0; i < m->scope.nids && said < NAMES; i++)
		for (size_t k = 0; k < m->have.n; k++)
			if (m->have.v[k].id == m->scope.ids[i])
				cl_buf_addf(&b, "%s%s", said++ ? ", " : "", m->have.v[k].full_name);
	if (m->scope.nids > said)
		cl_buf_addf(&b, " and %zu more", m->scope.nids - said);
	return cl_wrap(e, "a token for %s", b.p);
}

static json_t *names(const struct cl_strv *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n; i++)
		(void)json_array_append_new(a, cl_json_string(s->v[i]));
	return a;
}

/* What a further token is held to: where everything was asked for, what was given at first. */
static json_t *recorded(struct mint *m)
{
	if (!m->scope.permissions)
		m->scope.permissions = json_incref(m->token.permissions);
	return gh_scope_json(&m->scope);
}

static char *about(struct mint *m)
{
	json_t *repositories = json_array(), *o;
	char *text;

	for (size_t i = 0; i < m->token.repositories.n; i++)
		(void)json_array_append_new(
			repositories, cl_json_string(m->token.repositories.v[i].full_name));
	o = json_pack("{s:I, s:I, s:I, s:s, s:s, s:O, s:o, s:o, s:o}", "expires_at",
		(json_int_t)m->token.expires_at, "app_id", (json_int_t)m->f->app.app_id,
		"installation_id", (json_int_t)m->f->app.installation_id, "base_url",
		m->f->app.base_url, "host", m->f->app.host, "permissions", m->token.permissions,
		"scope", recorded(m), "repositories", repositories, "notes", names(&m->notes));
	text = cl_json_text(o);
	json_decref(o);
	return text;
}

static int answer(struct mint *m, struct cl_err *e)
{
	cleanup_free char *text = about(m);
	struct cl_err ignored;

	if (!forge_put(text, strlen(text), e) && !forge_put("\n", 1, e))
		return 0;
	(void)forge_destroy(m->f, m->token.token.p, NULL, &ignored);
	return -1;
}

int cmd_forge_mint(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_forge struct forge f = FORGE_INIT;
	struct mint m = {.f = &f, .token = GH_TOKEN_INIT};
	int rc;

	(void)c;
	rc = forge_read(&f, e) || forge_read_app(&f, true, e) || read_grant(&m, e) ||
			     find_scope(&m, e)
		     ? -1
		     : 0;
	if (!rc && forge_token(&f, &m.scope, &m.token, e))
		rc = not_minted(&m, e);
	else if (!rc)
		rc = answer(&m, e);
	mint_release(&m);
	return rc;
}

int cmd_forge_revoke(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_forge struct forge f = FORGE_INIT;
	bool gone;

	(void)c;
	if (forge_read(&f, e))
		return -1;
	if (!f.base_url || !f.len || strlen(f.secret) != f.len)
		return cl_fail(e, CL_EDATA, "the request has no base_url or no token");
	if (forge_connect(&f, f.base_url, e) || forge_destroy(&f, f.secret, &gone, e))
		return -1;
	cl_take_json(json_pack("{s:b, s:b}", "destroyed", 1, "gone", gone));
	return 0;
}
