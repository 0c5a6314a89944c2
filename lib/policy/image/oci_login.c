/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logins as docker(1) and podman(1) keep them: containers-auth.json(5). */
#include "policy/image/oci.h"
#include "base/b64.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void oci_login_release(struct oci_login *l)
{
	cl_buf_release(&l->basic);
	cl_buf_release(&l->token);
	cl_buf_release(&l->identity);
	free(l->key);
	free(l->helper);
	l->key = l->helper = NULL;
}

bool oci_login_has(const struct oci_login *l)
{
	return l->basic.len || l->token.len || l->identity.len;
}

/* What is looked for, and in which file. */
struct search {
	const char *file, *registry, *repository;
	struct cl_doc *d;
	json_t *auths;
};

/* A key as it names a place: without scheme, and of a URL the host alone; owned. */
static char *place(const char *key)
{
	bool url = cl_starts(key, "https://") || cl_starts(key, "http://");
	const char *p = url ? strstr(key, "://") + 3 : key;
	char *s = cl_strndup(p, url ? strcspn(p, "/") : strlen(p));

	while (*s && s[strlen(s) - 1] == '/')
		s[strlen(s) - 1] = '\0';
	return s;
}

/* Docker Hub's entry has one of several names. */
static const char *const hub_names[] = {IR_DOCKER, "index.docker.io", "registry-1.docker.io"};

/* "host/name/space", one shorter at each call; false when there is nothing left. */
static bool shorten(char *want)
{
	char *slash = strrchr(want, '/');

	if (slash)
		*slash = '\0';
	return slash != NULL;
}

/* The entry with exactly this key, else the first that means the place. */
static const char *entry_of(const json_t *map, const char *want)
{
	const char *key;
	json_t *v;

	if (json_object_get(map, want))
		return want;
	json_object_foreach ((json_t *)(uintptr_t)map, key, v) {
		cleanup_free char *here = place(key);

		if (!strcmp(here, want))
			return key;
	}
	return NULL;
}

/* The key of the nearest entry; NULL: none. *to owns what it may be borrowed from. */
static char *find_key(const struct search *s, const json_t *map, bool spaces)
{
	bool hub = !strcmp(s->registry, IR_DOCKER);

	for (size_t i = 0; i < (hub ? CL_ARRAY_LEN(hub_names) : 1); i++) {
		const char *host = hub ? hub_names[i] : s->registry;
		cleanup_free char *want =
			spaces ? cl_asprintf("%s/%s", host, s->repository) : cl_strdup(host);

		do {
			const char *key = entry_of(map, want);

			if (key)
				return cl_strdup(key);
		} while (shorten(want));
	}
	return NULL;
}

static int unusable(const struct search *s, const char *key, const char *why, struct cl_err *e)
{
	(void)cl_doc_fail(s->d, s->auths, key, 0, CL_ECONFIG, e, "the login for '%s' %s", key, why);
	return cl_fix(e,
		"log in again with 'podman login %s' or 'docker login %s', without a "
		"credential helper",
		s->registry, s->registry);
}

/* "user:password" in base64, kept as it is once it is known to be that. */
static int take_auth(const struct search *s, const char *key, const char *auth,
	struct oci_login *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf plain = CL_BUF_SECRET;
	const char *colon;

	if (!cl_b64_decode(CL_B64, auth, strlen(auth), false, &plain))
		return unusable(s, key, "is no base64", e);
	/* docker pads with NUL. */
	while (plain.len && !plain.p[plain.len - 1])
		plain.len--;
	colon = memchr(plain.p, ':', plain.len);
	if (!colon || colon == plain.p || memchr(plain.p, '\0', plain.len))
		return unusable(s, key, "is no user:password", e);
	cl_b64_encode(CL_B64, plain.p, plain.len, &out->basic);
	return 0;
}

static int take_entry(
	const struct search *s, const char *key, struct oci_login *out, struct cl_err *e)
{
	json_t *entry = json_object_get(s->auths, key);
	const char *auth = NULL, *user = NULL, *password = NULL, *identity = NULL, *token = NULL;
	cleanup_buf struct cl_buf plain = CL_BUF_SECRET;

	if (!json_is_object(entry))
		return unusable(s, key, "is no mapping", e);
	if (cl_doc_str(s->d, entry, "auth", &auth, e) ||
		cl_doc_str(s->d, entry, "username", &user, e) ||
		cl_doc_str(s->d, entry, "password", &password, e) ||
		cl_doc_str(s->d, entry, "identitytoken", &identity, e) ||
		cl_doc_str(s->d, entry, "registrytoken", &token, e))
		return unusable(s, key, "has a member that is no text", e);
	free(out->key);
	out->key = cl_strdup(key);
	if (token && *token) {
		if (!cl_all_in(token, CL_ALNUM "-._~+/="))
			return unusable(s, key, "has a registrytoken that is none", e);
		cl_buf_adds(&out->token, token);
		return 0;
	}
	/* The user beside it stands for nobody, and the password is empty. */
	if (identity && *identity) {
		if (strlen(identity) > OCI_TOKEN_MAX)
			return unusable(s, key, "has an identitytoken that is none", e);
		cl_buf_adds(&out->identity, identity);
		return 0;
	}
	if (auth && *auth)
		return take_auth(s, key, auth, out, e);
	if (!user || !*user || !password)
		return 0;
	if (strchr(user, ':'))
		return unusable(s, key, "has a user name with ':'", e);
	cl_buf_addf(&plain, "%s:%s", user, password);
	cl_b64_encode(CL_B64, plain.p, plain.len, &out->basic);
	return 0;
}

/* docker leaves an empty entry beside a helper; so the helper is asked about in any case. */
static void take_helper(const struct search *s, struct oci_login *out)
{
	const json_t *helpers = json_object_get(s->d->root, "credHelpers");
	const json_t *store = json_object_get(s->d->root, "credsStore");
	cleanup_free char *key = find_key(s, helpers, false);
	const char *name =
		key ? json_string_value(json_object_get(helpers, key)) : json_string_value(store);

	if (!name || !*name || oci_login_has(out))
		return;
	free(out->helper);
	out->helper = cl_strdup(name);
}

static int no_file(const char *file, const struct cl_err *why, struct cl_err *e)
{
	(void)cl_fail(e, CL_ECONFIG, "'%s' is no file of logins: %s", file, why->msg);
	return cl_fix(
		e, "it is JSON with \"auths\", as 'podman login --authfile %s' writes it", file);
}

/* The shape of ~/.dockercfg: the entries stand at the top. */
static bool legacy(const json_t *root)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)root, key, v)
		if (json_object_get(v, "auth"))
			return !json_object_get(root, "auths");
	return false;
}

int oci_login_find(const char *file, const char *text, size_t len, const char *registry,
	const char *repository, struct oci_login *out, struct cl_err *e)
{
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	struct search s = {file, registry, repository, &d, NULL};
	cleanup_free char *key = NULL;
	struct cl_err why;

	if (cl_doc_parse(&d, CL_DOC_JSON, file, text, len, NULL, &why))
		return no_file(file, &why, e);
	(void)cl_fail(&why, CL_ECONFIG, "it has no mapping");
	if (!json_is_object(d.root))
		return no_file(file, &why, e);
	(void)cl_fail(
		&why, CL_ECONFIG, "it is a .dockercfg, whose entries stand outside \"auths\"");
	if (legacy(d.root))
		return no_file(file, &why, e);
	s.auths = json_object_get(d.root, "auths");
	key = find_key(&s, s.auths, true);
	if (key && take_entry(&s, key, out, e))
		return -1;
	take_helper(&s, out);
	return 0;
}
