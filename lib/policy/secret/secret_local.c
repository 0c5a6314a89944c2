/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "policy/sandbox/sandbox.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_inventory.h"
#include "policy/secret/secret_pattern.h"

#include <stdio.h>
#include <string.h>

#define KIND "local_repo"

static int bad_root(struct cl_err *e, const char *path, const char *why)
{
	(void)sec_payload_bad(e, KIND, "payload: the path '%s' %s", path, why);
	return cl_fix(e, "give the absolute path of a directory of repositories, such as "
			 "/home/dev/src");
}

int sec_local_root(const char *text, size_t len, struct cl_buf *out, struct cl_err *e)
{
	cleanup_free char *path = NULL;

	sec_trim(&text, &len);
	path = cl_strndup(text, len);
	if (!len)
		return bad_root(e, path, "is empty");
	if (strlen(path) != len || strpbrk(path, ":\\\r\n"))
		return bad_root(e, path, "has ':', '\\', a line end or a NUL in it");
	if (*path != '/')
		return bad_root(e, path, "is not absolute");
	sb_path_clean(path, out);
	if (strcmp(out->p, "/") != 0)
		return 0;
	cl_buf_reset(out);
	return bad_root(e, path, "is the whole file system");
}

bool sec_repo_name_ok(const char *name)
{
	cleanup_free char *shown = cl_strdup(name);
	size_t n = strlen(name);

	/* What a terminal would obey, and bytes that are no text: names go into variables and lists. */
	cl_mask(shown, "");
	return n && n <= 128 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       !strpbrk(name, ":/\\\r\n") && !strcmp(shown, name);
}

int sec_local_select(const struct cl_strv *repos, const struct cl_strv *candidates,
	const char *secret, struct cl_strv *out, struct cl_err *e)
{
	for (size_t i = 0; i < candidates->n; i++)
		if (sec_name_allowed(repos, candidates->v[i]) && sec_repo_name_ok(candidates->v[i]))
			cl_strv_add(out, candidates->v[i]);
	cl_strv_sort(out);
	cl_strv_uniq(out);
	return sec_selected(out->n, SEC_LOCAL_REPOS_MAX, "repositories", "--repos", repos,
		candidates, secret, e);
}

static void variable(const char *name, char out[160])
{
	int n = snprintf(out, 160, "CLOOP_LOCAL_REPO_");

	for (; *name && n < 159; name++, n++) {
		char c = *name;

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 32);
		out[n] = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
	}
	out[n] = '\0';
}

void sec_local_variable(const char *name, const struct cl_strv *all, char out[160])
{
	char other[160];

	variable(name, out);
	for (size_t i = 0; i < all->n; i++) {
		if (!strcmp(all->v[i], name))
			continue;
		variable(all->v[i], other);
		if (!strcmp(other, out)) {
			out[0] = '\0';
			return;
		}
	}
}
