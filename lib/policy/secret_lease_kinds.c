/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a registry login, of variables and of a proxy a grant delivers. */
#include "base/b64.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret_internal.h"
#include "policy/secret_lease.h"
#include "policy/secret_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool mine(const struct sec_offer *o, enum sec_kind k)
{
	return o->grant->kind == k;
}

static char *joined(const struct cl_strv *s)
{
	return cl_join((const char *const *)s->v, s->n, ",");
}

/* ---- registry ---- */

/* user:password for the first registry of the allowlist that is no pattern. */
static int wrap_login(
	const struct sec_offer *o, const char *p, size_t n, json_t *auths, struct cl_err *e)
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
	(void)json_object_set_new(auths, registry,
		json_pack("{s:o, s:o}", "username", json_stringn(p, (size_t)(colon - p)),
			"password", json_stringn(colon + 1, n - (size_t)(colon + 1 - p))));
	return 0;
}

static int cut_config(
	const struct sec_offer *o, const char *p, size_t n, json_t *auths, struct cl_err *e)
{
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	const struct cl_strv *list = &o->grant->constraints->list[SEC_REGISTRIES];
	cleanup_free char *all = joined(list);
	size_t kept = 0;
	const char *key;
	json_t *v;

	if (sec_doc_parse(&d, CL_DOC_JSON, "registry", p, n, e))
		return -1;
	json_object_foreach (json_object_get(d.root, "auths"), key, v) {
		if (!sec_host_allowed(list, key) || !json_is_object(v))
			continue;
		(void)json_object_set_new(auths, key, json_deep_copy(v));
		kept++;
	}
	if (kept)
		return 0;
	(void)cl_fail(e, CL_EREFUSED, "registry secret '%s' has no login for %s",
		o->grant->secret_name, all);
	return cl_fix(e, "grant a registry that stands under \"auths\" in the secret");
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
	json_t *auths = json_object(), *doc;
	struct sec_material *first = NULL;
	char *text;

	for (size_t i = 0; i < n; i++) {
		const char *p = o[i].payload;
		size_t len = o[i].len;
		cleanup_free char *list = NULL;
		struct sec_material *m;
		struct cl_err e;

		if (!mine(&o[i], SEC_REGISTRY))
			continue;
		sec_trim(&p, &len);
		if (len && *p == '{' ? cut_config(&o[i], p, len, auths, &e)
				     : wrap_login(&o[i], p, len, auths, &e)) {
			sec_lease_refuse(l, o[i].grant, &e);
			continue;
		}
		m = sec_lease_material(l, o[i].grant);
		list = joined(&o[i].grant->constraints->list[SEC_REGISTRIES]);
		cl_buf_addf(&m->delivers, "registries: %s", list);
		first = first ? first : m;
	}
	add_login_secrets(l, auths);
	doc = json_pack("{s:o}", "auths", auths);
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

/* ---- env ---- */

static bool variable_ok(const char *s)
{
	return cl_all_in(s, CL_ALNUM "_") && !strchr(CL_DIGITS, *s);
}

/* app-env becomes APP_ENV, 2fa becomes _2FA. */
static void variable_of(const char *name, struct cl_buf *out)
{
	if (strchr(CL_DIGITS, *name))
		cl_buf_addc(out, '_');
	for (; *name; name++) {
		char c = *name >= 'a' && *name <= 'z' ? (char)(*name - 32) : *name;

		cl_buf_addc(out, strchr(CL_UPPER CL_DIGITS, c) ? c : '_');
	}
}

struct setting {
	struct sec_lease *l;
	const struct sec_offer *o;
	struct sec_material *m;
	struct cl_strv names;
	size_t too_long; /* the most that its value may be; 0: none was longer */
	char name[64];   /* whose */
};

/* NAME=VALUE and a NUL, as execve(2) takes it (MAX_ARG_STRLEN). */
#define VARIABLE_MAX 131072

static bool wanted(const struct setting *s, const char *name)
{
	const struct cl_strv *keys = &s->o->grant->constraints->list[SEC_ENV_KEYS];

	return variable_ok(name) && (!keys->n || cl_strv_has(keys, name));
}

static void measure(struct setting *s, const char *name, size_t len)
{
	size_t head = strlen(name) + 2;

	if (!wanted(s, name) || (head < VARIABLE_MAX && len <= VARIABLE_MAX - head))
		return;
	(void)snprintf(s->name, sizeof(s->name), "%s", name);
	s->too_long = head < VARIABLE_MAX ? VARIABLE_MAX - head : 1;
}

static void set_one(struct setting *s, const char *name, const char *value, size_t len)
{
	if (s->too_long || !wanted(s, name))
		return;
	if (!s->m)
		s->m = sec_lease_material(s->l, s->o->grant);
	cl_buf_add(sec_lease_set(s->l, s->m, name, true), value, len);
	sec_lease_secret(s->l, value, len);
	cl_strv_add(&s->names, name);
}

/* True when the payload is an object of texts, whatever is delivered of it. */
static bool set_object(struct setting *s, const char *p, size_t n)
{
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err quiet;
	const char *key;
	json_t *v;

	if (!n || *p != '{' || cl_doc_parse(&d, CL_DOC_JSON, "env", p, n, NULL, &quiet))
		return false;
	json_object_foreach (d.root, key, v)
		if (!json_is_string(v))
			return false;
	json_object_foreach (d.root, key, v)
		measure(s, key, json_string_length(v));
	json_object_foreach (d.root, key, v)
		set_one(s, key, json_string_value(v), json_string_length(v));
	return true;
}

static void no_key(const struct setting *s, struct cl_err *e)
{
	const struct sec_offer *o = s->o;
	cleanup_free char *keys = joined(&o->grant->constraints->list[SEC_ENV_KEYS]);

	if (s->too_long) {
		(void)cl_fail(e, CL_EREFUSED,
			"env secret %s: the value of %s is longer than the %zu bytes that a "
			"variable can hold",
			o->grant->secret_name, s->name, s->too_long);
		return;
	}

	if (*keys)
		(void)cl_fail(e, CL_EREFUSED, "env secret %s has no key matching %s",
			o->grant->secret_name, keys);
	else
		(void)cl_fail(e, CL_EREFUSED, "env secret %s has no name that a variable can have",
			o->grant->secret_name);
	(void)cl_fix(e,
		"the payload is a JSON object of names to values; anything else is one value "
		"named after the secret");
}

void sec_build_env(struct sec_lease *l, const struct sec_offer *o, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct setting s = {.l = l, .o = &o[i]};
		cleanup_buf struct cl_buf name = CL_BUF_INIT;
		cleanup_free char *list = NULL;
		const char *p = o[i].payload;
		size_t len = o[i].len;
		struct cl_err e;

		if (!mine(&o[i], SEC_ENV))
			continue;
		sec_trim(&p, &len);
		if (!set_object(&s, p, len) && len && !memchr(p, '\0', len)) {
			variable_of(o[i].grant->secret_name, &name);
			measure(&s, name.p, len);
			set_one(&s, name.p, p, len);
		}
		if (s.m) {
			cl_strv_sort(&s.names);
			list = joined(&s.names);
			cl_buf_addf(&s.m->delivers, "variables: %s", list);
		} else {
			no_key(&s, &e);
			sec_lease_refuse(l, o[i].grant, &e);
		}
		cl_strv_release(&s.names);
	}
}

/* ---- egress_proxy ---- */

/* The password of scheme://user:password@host, to be scrubbed alone too. */
static void add_proxy_secrets(struct sec_lease *l, const char *p, size_t n)
{
	const char *at = memrchr(p, '@', n), *from = memmem(p, n, "://", 3), *colon;

	sec_lease_secret(l, p, n);
	from = from ? from + 3 : p;
	colon = at && at > from ? memchr(from, ':', (size_t)(at - from)) : NULL;
	if (colon)
		sec_lease_secret(l, colon + 1, (size_t)(at - colon - 1));
}

static void deliver_proxy(struct sec_lease *l, const struct sec_offer *o, const char *p, size_t n)
{
	static const char *const names[] = {
		"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"};
	const struct cl_strv *hosts = &o->grant->constraints->list[SEC_HOSTS];
	cleanup_free char *list = joined(hosts);
	struct sec_material *m = sec_lease_material(l, o->grant);
	struct sec_file *f = sec_material_file(m, "egress-allow.txt", false);

	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++)
		cl_buf_add(sec_lease_set(l, m, names[i], true), p, n);
	cl_buf_adds(sec_lease_set(l, m, "CLOOP_EGRESS_ALLOW", false), list);
	cl_buf_addf(sec_lease_set(l, m, "CLOOP_EGRESS_ALLOW_FILE", false), "%s/%s",
		SEC_LEASE_DIR_MARK, f->name);
	for (size_t i = 0; i < hosts->n; i++)
		cl_buf_addf(&f->data, "%s\n", hosts->v[i]);
	cl_buf_addf(&m->delivers, "egress hosts: %s", list);
	add_proxy_secrets(l, p, n);
}

/* A run has one proxy: of several grants the last is delivered, and the others say so. */
void sec_build_proxy(struct sec_lease *l, const struct sec_offer *o, size_t n)
{
	const struct sec_offer *last = NULL;

	for (size_t i = 0; i < n; i++)
		last = mine(&o[i], SEC_EGRESS_PROXY) ? &o[i] : last;
	for (size_t i = 0; i < n; i++) {
		const char *p = o[i].payload;
		size_t len = o[i].len;
		struct cl_err e;

		if (!mine(&o[i], SEC_EGRESS_PROXY))
			continue;
		sec_trim(&p, &len);
		if (&o[i] == last) {
			if (sec_proxy_check(p, len, &e))
				sec_lease_refuse(l, o[i].grant, &e);
			else
				deliver_proxy(l, &o[i], p, len);
			continue;
		}
		(void)cl_fail(&e, CL_EREFUSED,
			"a run has one outbound proxy, and grant %s of secret '%s' takes the place",
			last->grant->id, last->grant->secret_name);
		(void)cl_fix(&e, "cloop secret revoke the one that is not meant");
		sec_lease_refuse(l, o[i].grant, &e);
	}
}
