/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GitHub's answers, whatever they are: the first byte says how one is read. What is taken keeps
 * its promises, and no refusal holds a token or a byte that a terminal would obey.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/github_api.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct gh_ask q = {GH_MINT, "api.github.com", "deploy-app", 42, 7};

static void refusal(const struct cl_err *e)
{
	assert(*e->msg && *e->fix && cl_utf8_valid(e->msg, strlen(e->msg)));
	assert(!strpbrk(e->msg, "\n\r\x1b\x7f") && !strstr(e->msg, "ghs_"));
	assert(!strncmp(cl_err_slug(e), "github_", 7));
}

static void token(const struct gh_answer *a)
{
	cleanup_gh_token struct gh_token t = GH_TOKEN_INIT;
	uint64_t id = 1;
	struct gh_scope asked = {&id, 1, json_pack("{s:s}", "contents", "read")};
	struct cl_err e;
	const char *key;
	json_t *v;

	if (gh_token_read(&q, a, &t, &e)) {
		refusal(&e);
		/* It is sent back to be destroyed: nothing that could be a header of its own. */
		assert(t.token.len <= 4096 && !strpbrk(t.token.p, " \n\r\t"));
	} else if (strcmp(a->content_type, "application/json") != 0) {
		abort();
	} else if (gh_token_held(&q, &t, &asked, a, &e)) {
		assert(!gh_retry(&e));
	} else {
		assert(t.token.len && !strpbrk(t.token.p, " \n\r\t") && t.selected);
		assert(t.repositories.n == 1 && t.repositories.v[0].id == 1);
		json_object_foreach (t.permissions, key, v)
			assert(!strcmp(json_string_value(v), "read") &&
				(!strcmp(key, "contents") || !strcmp(key, "metadata")));
	}
	json_decref(asked.permissions);
}

static void pages(const struct gh_answer *a)
{
	cleanup_gh_repositories struct gh_repositories r = GH_REPOSITORIES_INIT;
	struct cl_err e;

	for (int twice = 0; twice < 2; twice++)
		if (gh_repositories_read(&q, a, &r, &e))
			refusal(&e);
	assert(r.n <= 2 * GH_PAGE);
	for (size_t i = 0; i < r.n; i++)
		assert(r.v[i].id && strchr(r.v[i].full_name, '/') &&
			!strpbrk(r.v[i].full_name, " \n\x1b'\"$`"));
}

static void installations(const struct gh_answer *a)
{
	cleanup_gh_installations struct gh_installations r = GH_INSTALLATIONS_INIT;
	struct cl_err e;

	if (gh_installations_read(&q, a, &r, &e))
		refusal(&e);
	for (size_t i = 0; i < r.n; i++)
		assert(r.v[i].id && cl_utf8_valid(r.v[i].account, strlen(r.v[i].account)) &&
			!strpbrk(r.v[i].account, "\n\x1b"));
}

static void scope(const struct gh_answer *a)
{
	cleanup_gh_scope struct gh_scope s = GH_SCOPE_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free char *body = NULL;
	struct cl_err e;

	if (cl_doc_parse(&d, CL_DOC_JSON, "input", a->body, a->len, NULL, &e) ||
		gh_scope_read(&d, d.root, &s, &e))
		return;
	assert(s.nids <= GH_IDS_MAX);
	body = gh_scope_body(&s);
	assert(*body == '{');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = {401, 403, 404, 422, 429, 500, 302, 418};
	struct gh_answer a = {.status = 200,
		.content_type = "application/json",
		.location = "https://evil.test/",
		.retry_after = -1,
		.remaining = -1,
		.now = 1700000000};
	cleanup_free char *body = NULL;
	struct cl_err e;

	if (!size)
		return 0;
	body = cl_strndup((const char *)data + 1, size - 1);
	a.body = body;
	a.len = size - 1;
	if (data[0] & 0x80)
		a.content_type = "text/html";
	switch (data[0] % 5) {
	case 0:
		token(&a);
		break;
	case 1:
		pages(&a);
		break;
	case 2:
		installations(&a);
		break;
	case 3:
		scope(&a);
		break;
	default:
		a.status = statuses[data[0] / 5 % 8];
		assert(gh_check(&q, &a, &e));
		assert(*e.msg && *e.fix && cl_utf8_valid(e.msg, strlen(e.msg)));
		break;
	}
	return 0;
}
