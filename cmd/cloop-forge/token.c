/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Installation tokens: asked for, held to what was asked, counted by, destroyed. */
#include "base/mem.h"
#include "base/num.h"
#include "forge.h"

#include <stdlib.h>
#include <string.h>

/* *e says why it is not used; how long it lives where it cannot be destroyed is part of that. */
static int drop(struct forge *f, const struct gh_token *t, struct cl_err *e)
{
	struct cl_err why;
	char when[32] = "an unknown time";

	if (!t->token.len || !forge_destroy(f, t->token.p, &why))
		return -1;
	if (t->expires_at)
		cl_format_time(t->expires_at, when);
	(void)cl_wrap(e, "a token that could not be destroyed lives until %s", when);
	return -1;
}

int forge_token(
	struct forge *f, const struct gh_scope *scope, struct gh_token *out, struct cl_err *e)
{
	cleanup_free char *body = gh_scope_body(scope);
	cleanup_free char *path = cl_asprintf("/app/installations/%llu/access_tokens",
		(unsigned long long)f->app.installation_id);
	const struct forge_call call = {.call = GH_MINT,
		.method = "POST",
		.path = path,
		.bearer = forge_jwt(f, e),
		.body = body};
	cleanup_http_answer struct http_answer http = HTTP_ANSWER_INIT;
	struct gh_answer a;

	if (!call.bearer || forge_ask(f, &call, &http, &a, e))
		return -1;
	if (gh_token_read(&f->ask, &a, out, e) || gh_token_held(&f->ask, out, scope, &a, e))
		return drop(f, out, e);
	return 0;
}

static int pages(struct forge *f, const char *token, struct gh_repositories *out, struct cl_err *e)
{
	bool all = false;

	for (size_t n = 1; !all; n++) {
		cleanup_free char *path =
			cl_asprintf("/installation/repositories?per_page=%d&page=%zu", GH_PAGE, n);
		const struct forge_call call = {
			.call = GH_REPOSITORIES, .method = "GET", .path = path, .bearer = token};
		cleanup_http_answer struct http_answer http = HTTP_ANSWER_INIT;
		struct gh_answer a;

		if (forge_ask(f, &call, &http, &a, e) ||
			gh_repositories_read(&f->ask, &a, out, e) ||
			gh_repositories_all(&f->ask, out, n, &all, e))
			return -1;
	}
	return 0;
}

int forge_inventory(
	struct forge *f, struct gh_repositories *out, struct cl_strv *notes, struct cl_err *e)
{
	cleanup_gh_scope struct gh_scope scope = GH_SCOPE_INIT;
	cleanup_gh_token struct gh_token t = GH_TOKEN_INIT;
	struct cl_err why;
	char when[32];
	int rc;

	scope.permissions = json_pack("{s:s}", "metadata", "read");
	if (forge_token(f, &scope, &t, e))
		return -1;
	rc = pages(f, t.token.p, out, e);
	if (forge_destroy(f, t.token.p, &why)) {
		cl_format_time(t.expires_at, when);
		cl_strv_addf(notes,
			"the token that read the list of repositories was not destroyed and lives "
			"until %s, with metadata:read: %s",
			when, why.msg);
	}
	return rc;
}
