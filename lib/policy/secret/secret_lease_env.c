/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables: which a payload has, and what of them a grant delivers. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE                                                                                \
	"mint a JSON object of names to values; anything else is one value named after the " \
	"secret"

bool sec_variable_ok(const char *s)
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

static bool is_object(const char *p, size_t n, struct cl_doc *d)
{
	struct cl_err quiet;
	const char *key;
	json_t *v;

	if (!n || *p != '{' || cl_doc_parse(d, CL_DOC_JSON, "env", p, n, NULL, &quiet))
		return false;
	json_object_foreach (d->root, key, v)
		if (!json_is_string(v))
			return false;
	return true;
}

/* One value goes by the secret's name. */
static bool is_value(const char *p, size_t n)
{
	return n && !memchr(p, '\0', n);
}

/* ---- what there is ---- */

struct there {
	struct cl_strv names; /* that a variable can have, sorted */
	bool object;
};

static void look(const char *secret, const char *p, size_t n, struct there *out)
{
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_buf struct cl_buf name = CL_BUF_INIT;
	const char *key;
	json_t *v;

	sec_trim(&p, &n);
	out->names = CL_STRV_INIT;
	out->object = is_object(p, n, &d);
	if (out->object) {
		json_object_foreach (d.root, key, v)
			if (sec_variable_ok(key))
				cl_strv_add(&out->names, key);
	} else if (is_value(p, n)) {
		variable_of(secret, &name);
		cl_strv_add(&out->names, name.p);
	}
	cl_strv_sort(&out->names);
}

/* What --env-keys should have been: for each name that is not there the one nearest to it, or all. */
static char *meant(const struct there *t, const struct cl_strv *keys)
{
	cleanup_strv struct cl_strv want = CL_STRV_INIT;

	for (size_t i = 0; i < keys->n; i++) {
		const char *near = cl_strv_has(&t->names, keys->v[i])
					   ? keys->v[i]
					   : cl_nearest(keys->v[i], (const char *const *)t->names.v,
						     t->names.n);

		if (near)
			cl_strv_add(&want, near);
	}
	cl_strv_sort(&want);
	cl_strv_uniq(&want);
	return sec_joined(want.n ? &want : &t->names);
}

/* Says that it has none of the names, and what it has. */
static int none_of(const struct there *t, const char *secret, const char *names, struct cl_err *e)
{
	cleanup_buf struct cl_buf has = CL_BUF_INIT;

	sec_names_said(&t->names, &has);
	if (!t->names.n)
		return cl_fail(
			e, CL_EREFUSED, "env secret %s has no key matching %s", secret, names);
	return cl_fail(e, CL_EREFUSED, "env secret %s has no key matching %s: it %s %s", secret,
		names, t->object ? "has" : "is no JSON object of names to values, but one value,",
		has.p);
}

int sec_env_has(const struct cl_strv *keys, const char *secret, const char *payload, size_t len,
	struct cl_err *e)
{
	cleanup_strv struct cl_strv missing = CL_STRV_INIT;
	cleanup_free char *names = NULL, *right = NULL;
	struct there t;

	look(secret, payload, len, &t);
	for (size_t i = 0; i < keys->n; i++)
		if (!cl_strv_has(&t.names, keys->v[i]))
			cl_strv_add(&missing, keys->v[i]);
	if (missing.n) {
		names = sec_joined(&missing);
		right = meant(&t, keys);
		(void)none_of(&t, secret, names, e);
		(void)cl_fix(
			e, "write --env-keys %s; without --env-keys every one is delivered", right);
		if (!t.names.n)
			(void)cl_fix(e, SHAPE);
	}
	cl_strv_release(&t.names);
	return missing.n ? -1 : 0;
}

/* ---- what is delivered ---- */

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

	return sec_variable_ok(name) && (!keys->n || cl_strv_has(keys, name));
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
	const char *key;
	json_t *v;

	if (!is_object(p, n, &d))
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
	cleanup_free char *keys = sec_joined(&o->grant->constraints->list[SEC_ENV_KEYS]),
			  *right = NULL;
	struct there t;

	if (s->too_long) {
		(void)cl_fail(e, CL_EREFUSED,
			"env secret %s: the value of %s is longer than the %zu bytes that a "
			"variable can hold",
			o->grant->secret_name, s->name, s->too_long);
		return;
	}

	if (!*keys) {
		(void)cl_fail(e, CL_EREFUSED, "env secret %s has no name that a variable can have",
			o->grant->secret_name);
		(void)cl_fix(e, SHAPE);
		return;
	}
	look(o->grant->secret_name, o->payload, o->len, &t);
	right = meant(&t, &o->grant->constraints->list[SEC_ENV_KEYS]);
	(void)none_of(&t, o->grant->secret_name, keys, e);
	if (t.names.n)
		(void)cl_fix(e, "%scloop secret grant edit %s --env-keys %s",
			t.object ? "" : "mint such an object under another name, or: ",
			o->grant->id, right);
	else
		(void)cl_fix(e, SHAPE);
	cl_strv_release(&t.names);
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

		if (o[i].grant->kind != SEC_ENV)
			continue;
		sec_trim(&p, &len);
		if (!set_object(&s, p, len) && is_value(p, len)) {
			variable_of(o[i].grant->secret_name, &name);
			measure(&s, name.p, len);
			set_one(&s, name.p, p, len);
		}
		if (s.m) {
			cl_strv_sort(&s.names);
			list = sec_joined(&s.names);
			cl_buf_addf(&s.m->delivers, "variables: %s", list);
		} else {
			no_key(&s, &e);
			sec_lease_refuse(l, o[i].grant, &e);
		}
		cl_strv_release(&s.names);
	}
}
