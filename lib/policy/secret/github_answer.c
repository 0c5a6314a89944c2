/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GitHub's answers as values. Nothing is believed of them but their form. */
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/secret/github_internal.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOKEN_MAX 4096
#define WORD_MAX  100 /* of an account or a type */

int gh_bad(const struct gh_ask *q, struct cl_err *e, const char *what)
{
	(void)gh_fail(q, CL_EUNAVAIL, "github_answer", e, "the answer of %s %s", q->host, what);
	return cl_fix(e, "see that base_url is the address of GitHub's API, and that no proxy "
			 "answers in its place");
}

static bool is_json(const char *type)
{
	size_t n = strcspn(type, "; ");

	return (n == 16 && !strncasecmp(type, "application/json", n)) ||
	       (n > 5 && !strncasecmp(type, "application/", 12) &&
		       !strncasecmp(type + n - 5, "+json", 5));
}

static int check_type(const struct gh_ask *q, const struct gh_answer *a, struct cl_err *e)
{
	return is_json(a->content_type) ? 0 : gh_bad(q, e, "is no JSON by its type");
}

static int parse(
	const struct gh_ask *q, const struct gh_answer *a, struct cl_doc *d, struct cl_err *e)
{
	const struct cl_doc_limits limits = {.max_bytes = GH_ANSWER_MAX, .nodes = 1u << 20};
	struct cl_err why;

	/* The reader's own message quotes the text, and a token may stand in it. */
	return cl_doc_parse(d, CL_DOC_JSON, "answer", a->body, a->len, &limits, &why)
		       ? gh_bad(q, e, "is broken: no whole JSON")
		       : 0;
}

int gh_document(
	const struct gh_ask *q, const struct gh_answer *a, struct cl_doc *d, struct cl_err *e)
{
	return check_type(q, a, e) || parse(q, a, d, e) ? -1 : 0;
}

bool gh_id(const json_t *obj, const char *key, uint64_t *out)
{
	const json_t *v = json_object_get(obj, key);

	if (!json_is_integer(v) || json_integer_value(v) <= 0)
		return false;
	*out = (uint64_t)json_integer_value(v);
	return true;
}

/* ---- repositories ---- */

void gh_repositories_release(struct gh_repositories *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].full_name);
	free(r->v);
	*r = GH_REPOSITORIES_INIT;
}

static bool known(const struct gh_repositories *r, uint64_t id)
{
	/* The newest first: what comes twice comes at the edge of two pages. */
	for (size_t i = r->n; i; i--)
		if (r->v[i - 1].id == id)
			return true;
	return false;
}

bool gh_repositories_add(struct gh_repositories *out, const json_t *array, bool every)
{
	const json_t *o;
	size_t i;

	if (json_array_size(array) > (size_t)GH_PAGE * GH_PAGES)
		return false;
	json_array_foreach (array, i, o) {
		const char *name = json_string_value(json_object_get(o, "full_name"));
		char text[SEC_REPO_TEXT];
		uint64_t id;

		if (!gh_id(o, "id", &id) || !name)
			return false;
		if (known(out, id) ||
			(!every && (!sec_repo_of(name, text) || strcasecmp(text, name) != 0)))
			continue;
		out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*out->v));
		out->v[out->n++] = (struct gh_repository){
			id, cl_strdup(name), json_is_true(json_object_get(o, "private"))};
	}
	return true;
}

int gh_repositories_read(const struct gh_ask *q, const struct gh_answer *a,
	struct gh_repositories *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const json_t *list, *total;

	if (gh_document(q, a, &d, e))
		return -1;
	list = json_object_get(d.root, "repositories");
	total = json_object_get(d.root, "total_count");
	if (!json_is_array(list) || !json_is_integer(total) || json_integer_value(total) < 0 ||
		json_array_size(list) > GH_PAGE || !gh_repositories_add(out, list, false))
		return gh_bad(q, e, "is no list of repositories");
	out->total = (uint64_t)json_integer_value(total);
	out->page = json_array_size(list);
	return 0;
}

int gh_repositories_all(const struct gh_ask *q, const struct gh_repositories *r, size_t pages,
	bool *all, struct cl_err *e)
{
	*all = !r->page || pages * GH_PAGE >= r->total;
	if (*all || pages < GH_PAGES)
		return 0;
	(void)gh_fail(q, CL_EREFUSED, "github_refused", e,
		"installation %llu has %llu repositories, and no more than %d are looked through",
		(unsigned long long)q->installation_id, (unsigned long long)r->total,
		GH_PAGES * GH_PAGE);
	return cl_fix(e, "install the App on selected repositories only");
}

/* ---- installations ---- */

void gh_installations_release(struct gh_installations *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].account);
		free(r->v[i].type);
		free(r->v[i].suspended_at);
		json_decref(r->v[i].permissions);
	}
	free(r->v);
	*r = GH_INSTALLATIONS_INIT;
}

/* A word out of an answer, fit for a terminal; owned. */
static char *word(const json_t *obj, const char *key, const char *without)
{
	const char *s = json_string_value(json_object_get(obj, key));
	char *copy;

	if (!s)
		s = without;
	copy = cl_strndup(s, cl_utf8_cut(s, strlen(s), WORD_MAX));
	cl_mask(copy, "");
	return copy;
}

static bool add_installation(struct gh_installations *out, const json_t *o)
{
	const json_t *account = json_object_get(o, "account"),
		     *permissions = json_object_get(o, "permissions"),
		     *suspended = json_object_get(o, "suspended_at");
	struct gh_installation *i;
	uint64_t id, app = 0;

	if (!gh_id(o, "id", &id) || !json_is_object(account))
		return false;
	(void)gh_id(o, "app_id", &app);
	out->v = cl_grow(out->v, &out->cap, out->n + 1, sizeof(*out->v));
	i = &out->v[out->n++];
	*i = (struct gh_installation){.id = id,
		.app_id = app,
		/* An enterprise has a slug and no login. */
		.account = word(account,
			json_is_string(json_object_get(account, "login")) ? "login" : "slug", "?"),
		.type = word(account, "type", "Enterprise"),
		.permissions =
			json_is_object(permissions) ? json_deep_copy(permissions) : json_object()};
	i->selected = !strcmp(
		"selected", json_is_string(json_object_get(o, "repository_selection"))
				    ? json_string_value(json_object_get(o, "repository_selection"))
				    : "");
	if (json_is_string(suspended))
		i->suspended_at = word(o, "suspended_at", "");
	return true;
}

int gh_installations_read(const struct gh_ask *q, const struct gh_answer *a,
	struct gh_installations *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const json_t *o;
	size_t i;

	if (gh_document(q, a, &d, e))
		return -1;
	if (!json_is_array(d.root) || json_array_size(d.root) > GH_PAGE)
		return gh_bad(q, e, "is no list of installations");
	out->page = json_array_size(d.root);
	json_array_foreach (d.root, i, o)
		if (!add_installation(out, o))
			return gh_bad(q, e, "is no list of installations");
	return 0;
}

/* ---- a token ---- */

void gh_token_release(struct gh_token *t)
{
	cl_buf_release(&t->token);
	json_decref(t->permissions);
	gh_repositories_release(&t->repositories);
	*t = GH_TOKEN_INIT;
}

static bool is_token(const char *s, size_t len)
{
	if (!len || len > TOKEN_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return false;
	return true;
}

int gh_token_read(
	const struct gh_ask *q, const struct gh_answer *a, struct gh_token *out, struct cl_err *e)
{
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	const json_t *token, *expires, *permissions, *list;
	const char *selection;
	struct cl_err quiet;

	if (parse(q, a, &d, e)) {
		/* Which tells more. */
		(void)check_type(q, a, e);
		return -1;
	}
	token = json_object_get(d.root, "token");
	if (json_is_string(token) && is_token(json_string_value(token), json_string_length(token)))
		cl_buf_add(&out->token, json_string_value(token), json_string_length(token));
	/* Not before: a token that came by a wrong type is one to destroy. */
	if (check_type(q, a, e))
		return -1;
	if (!out->token.len)
		return gh_bad(q, e, "holds no token");
	expires = json_object_get(d.root, "expires_at");
	if (!json_is_string(expires) ||
		cl_parse_time(json_string_value(expires), "expires_at", &out->expires_at, &quiet))
		return gh_bad(q, e, "does not say when the token ends");
	permissions = json_object_get(d.root, "permissions");
	if (!json_is_object(permissions))
		return gh_bad(q, e, "does not say what the token may do");
	out->permissions = json_deep_copy(permissions);
	selection = json_string_value(json_object_get(d.root, "repository_selection"));
	out->selected = selection && !strcmp(selection, "selected");
	list = json_object_get(d.root, "repositories");
	out->listed = json_is_array(list);
	if (list && (!out->listed || !gh_repositories_add(&out->repositories, list, true)))
		return gh_bad(q, e, "lists no repositories where it should");
	return 0;
}
