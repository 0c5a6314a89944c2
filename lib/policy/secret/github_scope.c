/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How wide a token is: what is asked for, and whether that is what came. */
#include "base/mem.h"
#include "base/num.h"
#include "policy/secret/github_internal.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>

int gh_level(const char *name)
{
	static const char *const levels[] = {"read", "write", "admin"};

	for (int i = 0; i < 3; i++)
		if (name && !strcmp(name, levels[i]))
			return i + 1;
	return 0;
}

void gh_scope_release(struct gh_scope *s)
{
	free(s->ids);
	json_decref(s->permissions);
	*s = GH_SCOPE_INIT;
}

static json_t *ids_json(const struct gh_scope *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->nids; i++)
		(void)json_array_append_new(a, json_integer((json_int_t)s->ids[i]));
	return a;
}

char *gh_scope_body(const struct gh_scope *s)
{
	json_t *o = json_object();
	char *text;

	if (s->nids)
		(void)json_object_set_new(o, "repository_ids", ids_json(s));
	if (s->permissions)
		(void)json_object_set(o, "permissions", s->permissions);
	text = cl_json_text(o);
	json_decref(o);
	return text;
}

json_t *gh_scope_json(const struct gh_scope *s)
{
	return json_pack("{s:o, s:o}", "repository_ids", s->nids ? ids_json(s) : json_null(),
		"permissions", s->permissions ? json_deep_copy(s->permissions) : json_null());
}

static void add_id(struct gh_scope *s, uint64_t id)
{
	s->ids = cl_realloc(s->ids, (s->nids + 1) * sizeof(*s->ids));
	s->ids[s->nids++] = id;
}

static int read_ids(json_t *list, struct gh_scope *out, struct cl_err *e)
{
	const json_t *v;
	size_t i;

	if (!json_array_size(list) || json_array_size(list) > GH_IDS_MAX)
		return cl_fail(e, CL_EDATA, "repository_ids are 1 to %d ids", GH_IDS_MAX);
	json_array_foreach (list, i, v) {
		if (!json_is_integer(v) || json_integer_value(v) <= 0)
			return cl_fail(e, CL_EDATA, "repository_ids holds what is no id");
		add_id(out, (uint64_t)json_integer_value(v));
	}
	return 0;
}

static int read_permissions(json_t *map, struct gh_scope *out, struct cl_err *e)
{
	const char *key;
	json_t *v;

	if (!json_object_size(map))
		return cl_fail(e, CL_EDATA, "permissions is empty");
	json_object_foreach (map, key, v)
		if (!gh_level(json_string_value(v)))
			return cl_fail(e, CL_EDATA, "the permission '%.64s' has no level", key);
	out->permissions = json_deep_copy(map);
	return 0;
}

int gh_scope_read(struct cl_doc *d, json_t *j, struct gh_scope *out, struct cl_err *e)
{
	static const char *const known[] = {"repository_ids", "permissions"};
	json_t *ids = NULL, *permissions = NULL;

	if (cl_doc_closed(d, j, "scope", known, CL_ARRAY_LEN(known), e) ||
		cl_doc_list(d, j, "repository_ids", &ids, e) ||
		cl_doc_map(d, j, "permissions", &permissions, e))
		return -1;
	return (ids && read_ids(ids, out, e)) ||
			       (permissions && read_permissions(permissions, out, e))
		       ? -1
		       : 0;
}

/* ---- the first token ---- */

static int too_many(size_t n, const char *secret, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"github_app secret '%s': the grant admits %zu repositories, and GitHub narrows a "
		"token to %d at most",
		secret, n, GH_IDS_MAX);
	return cl_fix(e, "grant a narrower --repos, or --repos '*' for the whole installation");
}

int gh_scope_of(const struct sec_constraints *c, const struct gh_repositories *have,
	const char *secret, struct gh_scope *out, struct cl_err *e)
{
	cleanup_free struct sec_repository *all = NULL;
	cleanup_free size_t *chosen = NULL;
	int n;

	out->permissions = sec_github_permissions(c);
	if (sec_repos_all(&c->list[SEC_REPOS]))
		return 0;
	all = cl_calloc(have->n + 1, sizeof(*all));
	chosen = cl_calloc(have->n + 1, sizeof(*chosen));
	for (size_t i = 0; i < have->n; i++)
		all[i] = (struct sec_repository){have->v[i].id, have->v[i].full_name};
	n = sec_github_select(c, all, have->n, secret, chosen, e);
	if (n < 0)
		return -1;
	if (n > GH_IDS_MAX)
		return too_many((size_t)n, secret, e);
	for (int i = 0; i < n; i++)
		add_id(out, all[chosen[i]].id);
	return 0;
}

/* ---- the next one ---- */

static int wider_record(const char *secret, const char *what, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"github_app secret '%s': the token's recorded scope has %s, and the grant does not",
		secret, what);
	(void)cl_slug(e, "github_scope");
	return cl_fix(e, "start the run again: its lease is computed from the grant as it is now");
}

/* Each recorded permission must be within the grant's, where that names any. */
static int hold_permissions(const struct gh_scope *was, const struct sec_constraints *c,
	const char *secret, struct gh_scope *out, struct cl_err *e)
{
	json_t *may = sec_github_permissions(c);
	const char *key;
	json_t *v;
	int rc = 0;

	json_object_foreach (was->permissions, key, v) {
		const char *level = json_string_value(v);
		bool implied = !strcmp(key, "metadata") && !strcmp(level, "read");
		cleanup_free char *text = cl_asprintf("%.64s:%.16s", key, level);

		if (may && !implied &&
			gh_level(level) > gh_level(json_string_value(json_object_get(may, key))))
			rc = wider_record(secret, text, e);
	}
	if (!rc && !was->permissions && may)
		rc = wider_record(secret, "every permission", e);
	json_decref(may);
	out->permissions = json_incref(was->permissions);
	return rc;
}

static const struct gh_repository *by_id(const struct gh_repositories *have, uint64_t id)
{
	for (size_t i = 0; i < have->n; i++)
		if (have->v[i].id == id)
			return &have->v[i];
	return NULL;
}

int gh_scope_again(const struct gh_scope *was, const struct sec_constraints *c,
	const struct gh_repositories *have, const char *secret, struct gh_scope *out,
	struct cl_strv *dropped, struct cl_err *e)
{
	const struct cl_strv *list = &c->list[SEC_REPOS];

	if (hold_permissions(was, c, secret, out, e))
		return -1;
	if (!was->nids)
		return sec_repos_all(list)
			       ? 0
			       : wider_record(secret, "every repository of the installation", e);
	for (size_t i = 0; i < was->nids; i++) {
		const struct gh_repository *r = by_id(have, was->ids[i]);

		if (r && sec_repo_allowed(list, r->full_name))
			add_id(out, was->ids[i]);
		else if (r)
			cl_strv_add(dropped, r->full_name);
		else
			cl_strv_addf(dropped, "repository %llu", (unsigned long long)was->ids[i]);
	}
	if (out->nids)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"github_app secret '%s': none of the repositories of the first token is both in "
		"the "
		"installation and in the grant any more",
		secret);
	(void)cl_slug(e, "github_scope");
	return cl_fix(e, "start the run again: its lease is computed from the grant as it is now");
}

/* ---- what came ---- */

static int not_held(const struct gh_ask *q, const char *slug, struct cl_err *e, const char *what)
{
	(void)gh_fail(
		q, CL_EREFUSED, slug, e, "%s gave a token %s, and it is not used", q->host, what);
	return cl_fix(e,
		"see that base_url is GitHub's own API; a token that was asked for narrowly "
		"must come narrow");
}

static int hold_granted(const struct gh_ask *q, const struct gh_token *t,
	const struct gh_scope *asked, struct cl_err *e)
{
	const char *key;
	json_t *v;

	json_object_foreach (t->permissions, key, v) {
		const char *level = json_string_value(v);
		int want = gh_level(json_string_value(json_object_get(asked->permissions, key)));
		cleanup_free char *text = cl_asprintf(
			"with %.64s:%.16s, which was not asked for", key, level ? level : "?");

		/* GitHub adds it to every token. */
		if (!strcmp(key, "metadata") && gh_level(level) == 1)
			continue;
		if (!gh_level(level) || gh_level(level) > want)
			return not_held(q, "github_wider", e, text);
	}
	json_object_foreach (asked->permissions, key, v) {
		const char *got = json_string_value(json_object_get(t->permissions, key));
		cleanup_free char *text = cl_asprintf(
			"without %.64s:%.16s, which was asked for", key, json_string_value(v));

		if (gh_level(got) < gh_level(json_string_value(v)))
			return not_held(q, "github_narrower", e, text);
	}
	return 0;
}

static bool asked_for(const struct gh_scope *s, uint64_t id)
{
	for (size_t i = 0; i < s->nids; i++)
		if (s->ids[i] == id)
			return true;
	return false;
}

static int hold_repositories(const struct gh_ask *q, const struct gh_token *t,
	const struct gh_scope *asked, struct cl_err *e)
{
	if (!t->selected)
		return not_held(q, "github_wider", e, "for every repository of the installation");
	if (!t->listed)
		return not_held(
			q, "github_wider", e, "without saying for which repositories it is");
	for (size_t i = 0; i < t->repositories.n; i++) {
		cleanup_free char *text = cl_asprintf("for '%.200s' too, which was not asked for",
			t->repositories.v[i].full_name);

		if (!asked_for(asked, t->repositories.v[i].id))
			return not_held(q, "github_wider", e, text);
	}
	for (size_t i = 0; i < asked->nids; i++)
		if (!by_id(&t->repositories, asked->ids[i]))
			return not_held(q, "github_narrower", e,
				"for fewer repositories than were asked for");
	return 0;
}

int gh_token_held(const struct gh_ask *q, const struct gh_token *t, const struct gh_scope *asked,
	const struct gh_answer *a, struct cl_err *e)
{
	char when[32];

	if (asked->permissions && hold_granted(q, t, asked, e))
		return -1;
	if (asked->nids && hold_repositories(q, t, asked, e))
		return -1;
	if (t->expires_at - a->now >= GH_FRESH)
		return 0;
	cl_format_time(t->expires_at, when);
	(void)gh_fail(q, CL_EREFUSED, "github_stale", e,
		"%s gave a token that ends at %s, in less than five minutes by this clock", q->host,
		when);
	if (a->date && (a->now - a->date > 60 || a->date - a->now > 60))
		return cl_fix(e,
			"this clock and GitHub's are %lld seconds apart: timedatectl "
			"set-ntp true",
			(long long)(a->now > a->date ? a->now - a->date : a->date - a->now));
	return cl_fix(e, "try again");
}
