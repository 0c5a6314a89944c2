/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of variables and of a proxy a grant delivers. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_lease.h"
#include "policy/secret/secret_pattern.h"

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
