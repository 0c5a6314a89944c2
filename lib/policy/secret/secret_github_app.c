/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an installation token is asked for. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_github.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>

static const char *const levels[] = {"read", "write", "admin"};

static size_t level_of(const char *name)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(levels); i++)
		if (!strcmp(name, levels[i]))
			return i;
	return 0;
}

bool sec_github_withheld(const struct sec_constraints *c)
{
	return c->list[SEC_BRANCHES].n > 0;
}

static void raise_scope(json_t *j, const char *permission, bool read_only)
{
	size_t n = strcspn(permission, ":");
	cleanup_free char *scope = cl_strndup(permission, n);
	size_t level = permission[n] ? level_of(permission + n + 1) : 1;
	const char *before = json_string_value(json_object_get(j, scope));

	if (read_only)
		level = 0;
	if (!before || level_of(before) < level)
		(void)json_object_set_new(j, scope, json_string(levels[level]));
}

json_t *sec_github_permissions(const struct sec_constraints *c)
{
	const struct cl_strv *list = &c->list[SEC_PERMISSIONS];
	bool read_only = sec_github_withheld(c), all = cl_strv_has(list, "*");
	json_t *j;

	if (all && !read_only)
		return NULL;
	j = json_object();
	raise_scope(j, "contents:read", read_only);
	for (size_t i = 0; i < list->n && !all; i++)
		raise_scope(j, list->v[i], read_only);
	return j;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The concrete patterns that no repository of the installation is, sorted. */
static char *missing_of(const struct cl_strv *list, const struct sec_repository *have, size_t n)
{
	const char **miss = cl_calloc(list->n + 1, sizeof(*miss));
	size_t nmiss = 0;
	char *text;

	for (size_t i = 0; i < list->n; i++) {
		bool found = sec_has_wildcard(list->v[i]);

		for (size_t k = 0; k < n && !found; k++)
			found = sec_repo_match(list->v[i], have[k].full_name);
		if (!found)
			miss[nmiss++] = list->v[i];
	}
	qsort(miss, nmiss, sizeof(*miss), by_text);
	text = cl_join(miss, nmiss, ", ");
	free(miss);
	return text;
}

int sec_github_select(const struct sec_constraints *c, const struct sec_repository *have, size_t n,
	const char *secret, size_t *out, struct cl_err *e)
{
	const struct cl_strv *list = &c->list[SEC_REPOS];
	cleanup_free char *miss = missing_of(list, have, n);
	cleanup_free char *all = sec_joined(list);
	int found = 0;

	if (*miss) {
		(void)cl_fail(e, CL_EREFUSED,
			"github_app secret '%s': its installation has %zu repositories, and not %s",
			secret, n, miss);
		return cl_fix(e, "add it to the App's installation at GitHub, or grant without it");
	}
	for (size_t i = 0; i < n; i++) {
		int at = found;

		if (!sec_repo_allowed(list, have[i].full_name))
			continue;
		for (; at && strcmp(have[out[at - 1]].full_name, have[i].full_name) > 0; at--)
			out[at] = out[at - 1];
		out[at] = i;
		found++;
	}
	if (found)
		return found;
	(void)cl_fail(e, CL_EREFUSED,
		"github_app secret '%s': none of its installation's %zu repositories matches %s",
		secret, n, all);
	return cl_fix(e,
		"grant a pattern that one of them matches: the installation's own page at GitHub "
		"lists them");
}
