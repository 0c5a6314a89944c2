/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Logins to container registries: what mint takes, and what of it a grant delivers. The guide's
 * "Container registries"; facts/secrets.md 3 and 5.5; docker's and podman's readers of the file.
 */
#include "base/b64.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_kind.h"
#include "policy/secret/secret_lease.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && *s ? s : NULL;
}

/* "auth" is base64 of user:password; one that is not makes clients refuse the whole file. */
static bool auth_ok(const char *auth)
{
	cleanup_buf struct cl_buf raw = CL_BUF_SECRET;

	return cl_b64_decode(CL_B64, auth, strlen(auth), true, &raw) && raw.len &&
	       memchr(raw.p, ':', raw.len);
}

/*
 * Something to log in with. An empty object stands under "auths" for each login that docker has
 * given to a helper.
 */
static bool is_login(const json_t *v)
{
	const char *auth = text_of(v, "auth");

	if (auth)
		return auth_ok(auth);
	return text_of(v, "password") || text_of(v, "identitytoken") || text_of(v, "registrytoken");
}

/* ---- mint ---- */

/* The file before "auths" there was: registries at its top. */
static bool is_dockercfg(const json_t *root)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)root, key, v)
		if (!is_login(v))
			return false;
	return json_object_size(root) > 0;
}

static int no_login(const json_t *root, struct cl_err *e)
{
	const char *kind = sec_kinds[SEC_REGISTRY].name;

	if (is_dockercfg(root)) {
		(void)sec_payload_bad(e, kind,
			"payload is an old .dockercfg: its logins stand under no \"auths\"");
		return cl_fix(e, "log in again with 'docker login', which writes a config.json, or "
				 "put the file's content under \"auths\"");
	}
	(void)sec_payload_bad(e, kind, "payload has no \"auths\" with a login in it");
	return cl_fix(e, "a file that leaves the logins to a helper holds none: log in with "
			 "'docker login' and no credsStore, or give user:password");
}

static int check_auths(const json_t *root, struct cl_strv *notes, struct cl_err *e)
{
	const json_t *auths = json_object_get(root, "auths");
	size_t logins = 0, empty = 0;
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)auths, key, v) {
		const char *auth = text_of(v, "auth");

		if (auth && !auth_ok(auth)) {
			(void)sec_payload_bad(e, sec_kinds[SEC_REGISTRY].name,
				"payload has an \"auth\" that is not user:password in base64");
			return cl_fix(e, "log in again with 'docker login', or give user:password");
		}
		*(is_login(v) ? &logins : &empty) += 1;
	}
	if (!logins)
		return no_login(root, e);
	if (empty && notes)
		cl_strv_addf(notes,
			"%zu of the entries under \"auths\" have no login in them and are never "
			"delivered: a helper has it",
			empty);
	if (json_object_size(root) > 1 && notes)
		cl_strv_add(notes,
			"only \"auths\" is ever delivered; every other key of the file is dropped");
	return 0;
}

int sec_registry_check(const char *p, size_t n, struct cl_strv *notes, struct cl_err *e)
{
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	const char *kind = sec_kinds[SEC_REGISTRY].name, *colon;

	if (n && *p == '{')
		return sec_doc_parse(&d, CL_DOC_JSON, kind, p, n, e) ||
				       check_auths(d.root, notes, e)
			       ? -1
			       : 0;
	colon = memchr(p, ':', n);
	if (colon && colon != p && !memchr(p, '\n', n) && !memchr(p, '\0', n) &&
		cl_utf8_valid(p, n))
		return 0;
	(void)sec_payload_bad(e, kind, "payload is neither a docker config.json nor user:password");
	return cl_fix(e, "give --file ~/.docker/config.json, or one line of user:password");
}

/* ---- delivery ---- */

/* Docker Hub has several names; its logins stand under this one, and clients look there. */
#define HUB_KEY "https://index.docker.io/v1/"

static bool is_docker_hub(const char *host)
{
	return !strcasecmp(host, "docker.io") || !strcasecmp(host, "index.docker.io") ||
	       !strcasecmp(host, "registry-1.docker.io");
}

/* Docker reads either form, podman and its kin only "auth". */
static json_t *login_of(const char *p, size_t n, size_t user)
{
	cleanup_buf struct cl_buf auth = CL_BUF_SECRET;

	cl_b64_encode(CL_B64, p, n, &auth);
	return json_pack("{s:s, s:o, s:o}", "auth", auth.p, "username", json_stringn(p, user),
		"password", json_stringn(p + user + 1, n - user - 1));
}

/* What is lent: the logins, and by host which grant each is of, as its index among the offers. */
struct logins {
	json_t *auths, *owners;
	const struct sec_offer *offers;
};

/* A file has one login a host; another grant of the same secret lends the same one. */
static int taken(
	const struct logins *l, const struct sec_offer *o, const char *host, struct cl_err *e)
{
	const json_t *i = json_object_get(l->owners, host);
	const struct sec_grant *by = i ? l->offers[json_integer_value(i)].grant : NULL;

	if (!by || !strcmp(by->secret_id, o->grant->secret_id))
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"registry secret '%s' has a login for '%s', and so has '%s', which is lent "
		"already: a config.json holds one login a registry",
		o->grant->secret_name, host, by->secret_name);
	return cl_fix(e, "revoke one of the two, or grant this one with --registries that the "
			 "other has not");
}

static void lend(struct logins *l, const struct sec_offer *o, const char *host, json_t *take)
{
	cl_json_wipe(json_object_get(l->auths, host));
	(void)json_object_set_new(l->auths, host, take);
	(void)json_object_set_new(l->owners, host, json_integer(o - l->offers));
}

/* user:password for the first registry of the allowlist that is no pattern. */
static int wrap_login(
	const struct sec_offer *o, const char *p, size_t n, struct logins *l, struct cl_err *e)
{
	const struct cl_strv *list = &o->grant->constraints->list[SEC_REGISTRIES];
	const char *colon = memchr(p, ':', n), *registry = NULL;

	for (size_t i = list->n; i-- > 0;)
		registry = sec_has_wildcard(list->v[i]) ? registry : list->v[i];
	if (!colon || colon == p || memchr(p, '\0', n) || !cl_utf8_valid(p, n))
		return cl_fail(e, CL_EREFUSED,
			"registry secret '%s' is neither a docker config.json nor user:password",
			o->grant->secret_name);
	if (!registry) {
		(void)cl_fail(e, CL_EREFUSED,
			"registry secret '%s' is user:password, and --registries names only "
			"patterns: there is no registry to log in to",
			o->grant->secret_name);
		return cl_fix(e, "grant it with --registries and a host, such as ghcr.io");
	}
	registry = is_docker_hub(registry) ? HUB_KEY : registry;
	if (taken(l, o, registry, e))
		return -1;
	lend(l, o, registry, login_of(p, n, (size_t)(colon - p)));
	return 0;
}

/* What was granted and what stands in the file do not meet; two of the reasons are known. */
static int none_matches(const struct sec_offer *o, json_t *auths, struct cl_err *e)
{
	const struct cl_strv *list = &o->grant->constraints->list[SEC_REGISTRIES];
	cleanup_free char *all = sec_joined(list);
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	cleanup_buf struct cl_buf has = CL_BUF_INIT;
	const char *key;
	json_t *v;
	bool hub = false;

	json_object_foreach (auths, key, v) {
		if (!is_login(v))
			continue;
		cl_strv_add(&names, key);
		hub = hub || strstr(key, "docker.io");
	}
	cl_strv_sort(&names);
	sec_names_said(&names, &has);
	(void)cl_fail(e, CL_EREFUSED, "registry secret '%s' has no login for %s%s%s",
		o->grant->secret_name, all, has.len ? ": it has " : "", has.p);
	for (size_t i = 0; i < list->n; i++) {
		const char *colon = strchr(list->v[i], ':');

		if (colon)
			return cl_fix(e,
				"a registry is granted by its host alone: --registries %.*s",
				(int)(colon - list->v[i]), list->v[i]);
		if (hub && is_docker_hub(list->v[i]))
			return cl_fix(e, "the logins of Docker Hub stand under index.docker.io: "
					 "--registries index.docker.io");
	}
	return cl_fix(e, "name one that it has: cloop secret grant edit %s --registries HOST",
		o->grant->id);
}

static int cut_config(
	const struct sec_offer *o, const char *p, size_t n, struct logins *l, struct cl_err *e)
{
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	const struct cl_strv *list = &o->grant->constraints->list[SEC_REGISTRIES];
	size_t kept = 0;
	const char *key;
	json_t *v;

	if (sec_doc_parse(&d, CL_DOC_JSON, "registry", p, n, e))
		return -1;
	json_object_foreach (json_object_get(d.root, "auths"), key, v)
		if (sec_host_allowed(list, key) && is_login(v) && taken(l, o, key, e))
			return -1;
	json_object_foreach (json_object_get(d.root, "auths"), key, v) {
		if (!sec_host_allowed(list, key) || !is_login(v))
			continue;
		lend(l, o, key, json_deep_copy(v));
		kept++;
	}
	return kept ? 0 : none_matches(o, json_object_get(d.root, "auths"), e);
}

/* Passwords and tokens as they stand, and what an "auth" has behind its colon. */
static void add_login_secrets(struct sec_lease *l, const json_t *auths)
{
	const char *host, *key;
	json_t *login, *v;

	json_object_foreach ((json_t *)(uintptr_t)auths, host, login)
		json_object_foreach (login, key, v) {
			cleanup_buf struct cl_buf raw = CL_BUF_SECRET;
			const char *s = json_string_value(v), *colon;

			if (!s || !*s || !strcmp(key, "username") || !strcmp(key, "email"))
				continue;
			sec_lease_secret(l, s, strlen(s));
			if (strcmp(key, "auth") != 0 ||
				!cl_b64_decode(CL_B64, s, strlen(s), true, &raw))
				continue;
			colon = memchr(raw.p, ':', raw.len);
			if (colon)
				sec_lease_secret(
					l, colon + 1, raw.len - (size_t)(colon + 1 - raw.p));
		}
}

/* One config.json for all of them, owned by the first. */
void sec_build_registry(struct sec_lease *l, const struct sec_offer *o, size_t n)
{
	struct logins logins = {json_object(), json_object(), o};
	json_t *doc;
	struct sec_material *first = NULL;
	char *text;

	for (size_t i = 0; i < n; i++) {
		const char *p = o[i].payload;
		size_t len = o[i].len;
		cleanup_free char *list = NULL;
		struct sec_material *m;
		struct cl_err e;

		if (o[i].grant->kind != SEC_REGISTRY)
			continue;
		sec_trim(&p, &len);
		if (len && *p == '{' ? cut_config(&o[i], p, len, &logins, &e)
				     : wrap_login(&o[i], p, len, &logins, &e)) {
			sec_lease_refuse(l, o[i].grant, &e);
			continue;
		}
		m = sec_lease_material(l, o[i].grant);
		list = sec_joined(&o[i].grant->constraints->list[SEC_REGISTRIES]);
		cl_buf_addf(&m->delivers, "registries: %s", list);
		first = first ? first : m;
	}
	add_login_secrets(l, logins.auths);
	json_decref(logins.owners);
	doc = json_pack("{s:o}", "auths", logins.auths);
	if (first) {
		text = cl_json_text(doc);
		cl_buf_adds(&sec_material_file(first, "config.json", false)->data, text);
		explicit_bzero(text, strlen(text));
		free(text);
		cl_buf_adds(sec_lease_set(l, first, "DOCKER_CONFIG", false), SEC_LEASE_DIR_MARK);
	}
	cl_json_wipe(doc);
	json_decref(doc);
}
