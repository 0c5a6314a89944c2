/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Installation tokens: asked for, held to what was asked, counted by, destroyed. */
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "forge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int forge_put(const char *p, size_t len, struct cl_err *e)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cl_fail_sys(e, CL_EOS, errno, "nobody took the token");
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* It is known from here on, or destroyed. */
static int given(struct forge *f, const struct gh_token *t, struct cl_err *e)
{
	cleanup_buf struct cl_buf line = CL_BUF_SECRET;
	struct cl_err ignored;

	cl_buf_addf(&line, "+%lld %s %s\n", (long long)t->expires_at, f->base_url, t->token.p);
	if (!forge_put(line.p, line.len, e))
		return 0;
	(void)forge_destroy(f, t->token.p, NULL, &ignored);
	return -1;
}

/* Whoever asked keeps one that GitHub does not destroy, and has it asked for again. */
static int end(struct forge *f, const struct gh_token *t, const char *which, struct cl_err *why)
{
	cleanup_free char *line = NULL;
	struct cl_err ignored;

	if (!forge_destroy(f, t->token.p, NULL, why))
		return forge_put("-\n", 2, &ignored);
	line = cl_asprintf("!%s: %s", which, why->msg);
	cl_mask(line, "");
	(void)forge_put(line, strlen(line), &ignored);
	(void)forge_put("\n", 1, &ignored);
	return -1;
}

/* *e says why it is not used; how long it lives where it cannot be destroyed is part of that. */
static int drop(struct forge *f, const struct gh_token *t, struct cl_err *e)
{
	struct cl_err why;
	char when[32] = "an unknown time";

	if (!end(f, t, "a token that was not as it was asked for was not destroyed", &why))
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
	struct cl_err alone;
	int rc;

	if (!call.bearer || forge_ask(f, &call, &http, &a, e))
		return -1;
	rc = gh_token_read(&f->ask, &a, out, e);
	if (!out->token.len)
		return -1;
	if (given(f, out, &alone)) {
		*e = alone;
		return -1;
	}
	return rc || gh_token_held(&f->ask, out, scope, &a, e) ? drop(f, out, e) : 0;
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

int forge_inventory(struct forge *f, struct gh_repositories *out, struct cl_err *e)
{
	cleanup_gh_scope struct gh_scope scope = GH_SCOPE_INIT;
	cleanup_gh_token struct gh_token t = GH_TOKEN_INIT;
	struct cl_err ignored; /* who asked is told */
	int rc;

	scope.permissions = json_pack("{s:s}", "metadata", "read");
	if (forge_token(f, &scope, &t, e))
		return -1;
	rc = pages(f, t.token.p, out, e);
	(void)end(f, &t,
		"the token that read the list of repositories (metadata:read) was not destroyed",
		&ignored);
	return rc;
}
