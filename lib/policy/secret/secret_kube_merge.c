/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several grants of kubeconfigs in one document. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_kube.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>

/* Named namespaces, then patterns, then the whole cluster. */
static int reach(const struct sec_constraints *c)
{
	const struct cl_strv *ns = &c->list[SEC_NAMESPACES];

	for (size_t i = 0; i < ns->n; i++)
		if (sec_has_wildcard(ns->v[i]))
			return 1;
	return ns->n ? 0 : 2;
}

static int writes(const struct sec_constraints *c)
{
	cleanup_strv struct cl_strv v = CL_STRV_INIT;

	sec_constraints_verbs(c, &v);
	for (size_t i = 0; i < v.n; i++)
		if (strcmp(v.v[i], "get") != 0 && strcmp(v.v[i], "list") != 0 &&
			strcmp(v.v[i], "watch") != 0)
			return 1;
	return 0;
}

static int narrower(const struct sec_kube_part *a, const struct sec_kube_part *b)
{
	size_t na = a->constraints->list[SEC_NAMESPACES].n,
	       nb = b->constraints->list[SEC_NAMESPACES].n;

	if (reach(a->constraints) != reach(b->constraints))
		return reach(a->constraints) - reach(b->constraints);
	if (writes(a->constraints) != writes(b->constraints))
		return writes(a->constraints) - writes(b->constraints);
	if (na != nb)
		return na < nb ? -1 : 1;
	return strcmp(a->secret, b->secret);
}

/* Insertion keeps the order of equals, and there are few. */
static void sort_parts(struct sec_kube_part *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && narrower(&v[k], &v[k - 1]) < 0; k--) {
			struct sec_kube_part t = v[k];

			v[k] = v[k - 1];
			v[k - 1] = t;
		}
}

/* Lower case letters, digits and '-': nothing that a shell would have quoted. */
static void add_plain(struct cl_buf *out, const char *s)
{
	for (; *s; s++) {
		char c = *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s;

		cl_buf_addc(out, strchr(CL_LOWER CL_DIGITS, c) ? c : '-');
	}
}

static char *fresh_name(const struct cl_strv *taken, const char *secret, const char *context)
{
	cleanup_buf struct cl_buf name = CL_BUF_INIT;
	size_t len;

	add_plain(&name, secret);
	if (context) {
		cl_buf_addc(&name, '-');
		add_plain(&name, context);
	}
	len = name.len;
	for (unsigned i = 2; cl_strv_has(taken, name.p); i++) {
		name.len = len;
		cl_buf_addf(&name, "-%u", i);
	}
	return cl_buf_detach(&name);
}

static const json_t *body_of(
	const struct sec_kube *k, const char *list, const char *body, const char *name)
{
	json_t *v;
	size_t i;

	json_array_foreach (json_object_get(k->doc, list), i, v)
		if (name && !strcmp(json_string_value(json_object_get(v, "name")), name))
			return json_object_get(v, body);
	return NULL;
}

static void put(json_t *doc, const char *list, const char *key, const char *name, json_t *body)
{
	(void)json_array_append_new(json_object_get(doc, list),
		json_pack("{s:s, s:o}", "name", name, key, body ? body : json_object()));
}

static void add_context(
	json_t *doc, const struct sec_kube_part *p, const json_t *context, const char *name)
{
	const json_t *c = json_object_get(context, "context");
	const char *cluster = json_string_value(json_object_get(c, "cluster"));
	const char *user = json_string_value(json_object_get(c, "user"));
	const char *ns = json_string_value(json_object_get(c, "namespace"));
	json_t *body = json_pack("{s:s, s:s}", "cluster", name, "user", name);

	if (ns)
		(void)json_object_set_new(body, "namespace", json_string(ns));
	put(doc, "clusters", "cluster", name,
		json_deep_copy(body_of(p->kube, "clusters", "cluster", cluster)));
	put(doc, "contexts", "context", name, body);
	put(doc, "users", "user", name, json_deep_copy(body_of(p->kube, "users", "user", user)));
}

static void add_part(json_t *doc, struct sec_kube_part *p, struct cl_strv *taken, bool first)
{
	json_t *contexts = json_object_get(p->kube->doc, "contexts"), *v;
	const char *current = json_string_value(json_object_get(p->kube->doc, "current-context"));
	bool several = json_array_size(contexts) > 1;
	size_t i;

	json_array_foreach (contexts, i, v) {
		const char *own = json_string_value(json_object_get(v, "name"));
		cleanup_free char *name = fresh_name(taken, p->secret, several ? own : NULL);

		add_context(doc, p, v, name);
		cl_strv_add(taken, name);
		cl_strv_add(&p->contexts, name);
		if (first && (!i || !strcmp(own, current)))
			(void)json_object_set_new(doc, "current-context", json_string(name));
	}
}

/* The one that stands alone keeps its names. */
static void keep_part(struct sec_kube_part *p, struct sec_kube *out)
{
	json_t *v;
	size_t i;

	out->doc = json_deep_copy(p->kube->doc);
	json_array_foreach (json_object_get(out->doc, "contexts"), i, v)
		cl_strv_add(&p->contexts, json_string_value(json_object_get(v, "name")));
}

void sec_kube_merge(struct sec_kube_part *v, size_t n, struct sec_kube *out)
{
	cleanup_strv struct cl_strv taken = CL_STRV_INIT;

	if (n == 1) {
		keep_part(v, out);
		return;
	}
	sort_parts(v, n);
	out->doc = json_pack("{s:s, s:s, s:s, s:[], s:[], s:[]}", "apiVersion", "v1", "kind",
		"Config", "current-context", "", "clusters", "contexts", "users");
	for (size_t i = 0; i < n; i++)
		add_part(out->doc, &v[i], &taken, i == 0);
}

static json_t *texts(const struct cl_strv *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n; i++)
		(void)json_array_append_new(a, cl_json_string(s->v[i]));
	return a;
}

char *sec_kube_grants_json(const struct sec_kube_part *v, size_t n)
{
	json_t *a = json_array();
	char *text;

	for (size_t i = 0; i < n; i++) {
		cleanup_strv struct cl_strv verbs = CL_STRV_INIT;
		const char *ns = sec_kube_namespace(v[i].constraints);

		sec_constraints_verbs(v[i].constraints, &verbs);
		(void)json_array_append_new(
			a, json_pack("{s:o, s:s, s:s, s:o, s:o, s:b}", "contexts",
				   texts(&v[i].contexts), "secret", v[i].secret, "namespace",
				   ns ? ns : "", "namespaces",
				   texts(&v[i].constraints->list[SEC_NAMESPACES]), "verbs",
				   texts(&verbs), "monitored", 0));
	}
	/* In this order, which the guide shows. */
	text = json_dumps(a, JSON_COMPACT);
	json_decref(a);
	if (!text)
		abort();
	return text;
}
