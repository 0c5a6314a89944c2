/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/secret/secret_kube.h"
#include "base/b64.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "base/yaml_write.h"
#include "policy/secret/secret_internal.h"
#include "policy/secret/secret_pattern.h"

#include <stdlib.h>
#include <string.h>

#define KIND        "kubeconfig"
#define ENTRIES_MAX 1000 /* of a section; names are compared with each other */

void sec_kube_release(struct sec_kube *k)
{
	cl_json_wipe(k->doc);
	json_decref(k->doc);
	*k = SEC_KUBE_INIT;
}

/* ---- reading ---- */

static const struct {
	const char *list, *body;
} sections[] = {{"clusters", "cluster"}, {"contexts", "context"}, {"users", "user"}};

static int malformed(struct cl_err *e, const char *list, size_t i, const char *why)
{
	(void)sec_payload_bad(e, KIND, "payload: %s[%zu] %s", list, i, why);
	return cl_fix(e, "give the file that kubectl uses: kubectl config view --raw --flatten");
}

static json_t *text_or_empty(const json_t *obj, const char *key)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return json_string(s ? s : "");
}

/* cluster, user and namespace; whatever else stands there is not carried over. */
static json_t *context_body(const json_t *from)
{
	json_t *to = json_object();
	static const char *const keys[] = {"cluster", "user", "namespace"};

	for (size_t i = 0; i < CL_ARRAY_LEN(keys); i++)
		if (json_is_string(json_object_get(from, keys[i])))
			(void)json_object_set_new(to, keys[i], text_or_empty(from, keys[i]));
	return to;
}

static bool name_taken(const json_t *list, const char *name)
{
	json_t *v;
	size_t i;

	json_array_foreach (list, i, v)
		if (!strcmp(json_string_value(json_object_get(v, "name")), name))
			return true;
	return false;
}

static int read_section(const json_t *root, size_t s, json_t *to, struct cl_err *e)
{
	json_t *from = json_object_get(root, sections[s].list), *v;
	size_t i;

	if (from && !json_is_null(from) && !json_is_array(from))
		return malformed(e, sections[s].list, 0, "is no list");
	if (json_array_size(from) > ENTRIES_MAX)
		return malformed(e, sections[s].list, ENTRIES_MAX, "is one entry too many");
	json_array_foreach (from, i, v) {
		const char *name = json_string_value(json_object_get(v, "name"));
		json_t *body = json_object_get(v, sections[s].body);

		if (!name || !*name)
			return malformed(e, sections[s].list, i, "has no name");
		if (body && !json_is_null(body) && !json_is_object(body))
			return malformed(e, sections[s].list, i, "is no mapping");
		if (name_taken(to, name))
			return malformed(
				e, sections[s].list, i, "has a name that was there before");
		body = s == 1 ? context_body(body)
			      : (json_is_object(body) ? json_deep_copy(body) : json_object());
		(void)json_array_append_new(
			to, json_pack("{s:s, s:o}", "name", name, sections[s].body, body));
	}
	return 0;
}

static json_t *empty_doc(const char *version, const char *kind, const char *current)
{
	return json_pack("{s:s, s:s, s:s, s:[], s:[], s:[]}", "apiVersion", version, "kind", kind,
		"current-context", current, "clusters", "contexts", "users");
}

int sec_kube_read(const char *text, size_t len, struct sec_kube *out, struct cl_err *e)
{
	cleanup_secret_doc struct cl_doc d = CL_DOC_INIT;
	const char *version, *kind, *current;

	if (sec_doc_parse(&d, CL_DOC_YAML, KIND, text, len, e))
		return -1;
	version = json_string_value(json_object_get(d.root, "apiVersion"));
	kind = json_string_value(json_object_get(d.root, "kind"));
	current = json_string_value(json_object_get(d.root, "current-context"));
	out->doc = empty_doc(version && *version ? version : "v1", kind && *kind ? kind : "Config",
		current ? current : "");
	for (size_t s = 0; s < CL_ARRAY_LEN(sections); s++)
		if (read_section(d.root, s, json_object_get(out->doc, sections[s].list), e))
			return -1;
	if (json_array_size(json_object_get(out->doc, "contexts")))
		return 0;
	(void)sec_payload_bad(e, KIND, "payload has no contexts");
	return cl_fix(e, "give the file that kubectl uses: kubectl config view --raw --flatten");
}

/* ---- asking ---- */

static json_t *list_of(const struct sec_kube *k, const char *list)
{
	return json_object_get(k->doc, list);
}

static const char *name_of(const json_t *entry)
{
	return json_string_value(json_object_get(entry, "name"));
}

static const char *context_field(const json_t *entry, const char *key)
{
	const char *s = json_string_value(json_object_get(json_object_get(entry, "context"), key));

	return s ? s : "";
}

static json_t *body_named(const struct sec_kube *k, size_t section, const char *name)
{
	json_t *v;
	size_t i;

	json_array_foreach (list_of(k, sections[section].list), i, v)
		if (!strcmp(name_of(v), name))
			return json_object_get(v, sections[section].body);
	return NULL;
}

/* The plugin that a user signs in through, or NULL. */
static const char *plugin_of(const json_t *user)
{
	json_t *exec = json_object_get(user, "exec"), *provider;
	const char *name;

	provider = json_object_get(user, "auth-provider");
	if (exec && !json_is_null(exec)) {
		name = json_string_value(json_object_get(exec, "command"));
		return name && *name ? name : "an exec plugin";
	}
	if (!provider || json_is_null(provider))
		return NULL;
	name = json_string_value(json_object_get(provider, "name"));
	return name && *name ? name : "an auth-provider";
}

/* The key of a body whose value is a file of the machine that the document came from. */
static const char *file_key(const json_t *body)
{
	static const char *const keys[] = {
		"certificate-authority", "client-certificate", "client-key", "tokenFile"};

	for (size_t i = 0; i < CL_ARRAY_LEN(keys); i++) {
		const char *v = json_string_value(json_object_get(body, keys[i]));

		if (v && *v)
			return keys[i];
	}
	return NULL;
}

/* ---- cutting down ---- */

const char *sec_kube_namespace(const struct sec_constraints *c)
{
	const struct cl_strv *ns = &c->list[SEC_NAMESPACES];

	for (size_t i = 0; i < ns->n; i++)
		if (!strpbrk(ns->v[i], "*?[]"))
			return ns->v[i];
	return NULL;
}

static bool context_allowed(const struct sec_constraints *c, const char *name)
{
	return c->list[SEC_CONTEXTS].n ? sec_name_allowed(&c->list[SEC_CONTEXTS], name)
				       : c->list[SEC_NAMESPACES].n > 0;
}

/* False: there is no namespace that it could be pinned to. */
static bool pin(json_t *entry, const struct sec_constraints *c)
{
	const char *own = context_field(entry, "namespace"), *to;

	if (!c->list[SEC_NAMESPACES].n || sec_name_allowed(&c->list[SEC_NAMESPACES], own))
		return true;
	to = sec_kube_namespace(c);
	/* What kubectl takes for an absent one. */
	if (!to && !*own && sec_name_allowed(&c->list[SEC_NAMESPACES], "default"))
		to = "default";
	if (!to)
		return false;
	(void)json_object_set_new(json_object_get(entry, "context"), "namespace", json_string(to));
	return true;
}

static void cut_contexts(struct sec_kube *k, const struct sec_constraints *c)
{
	json_t *contexts = list_of(k, "contexts");

	for (size_t i = 0; i < json_array_size(contexts);) {
		json_t *v = json_array_get(contexts, i);

		if (context_allowed(c, name_of(v)) && pin(v, c)) {
			i++;
			continue;
		}
		(void)json_array_remove(contexts, i);
	}
}

static bool referred(const struct sec_kube *k, const char *key, const char *name)
{
	json_t *v;
	size_t i;

	json_array_foreach (list_of(k, "contexts"), i, v)
		if (!strcmp(context_field(v, key), name))
			return true;
	return false;
}

static void cut_section(struct sec_kube *k, size_t s)
{
	json_t *list = list_of(k, sections[s].list);

	for (size_t i = 0; i < json_array_size(list);) {
		json_t *v = json_array_get(list, i);

		if (referred(k, sections[s].body, name_of(v))) {
			i++;
			continue;
		}
		cl_json_wipe(v);
		(void)json_array_remove(list, i);
	}
}

static void settle_current(struct sec_kube *k)
{
	json_t *contexts = list_of(k, "contexts");
	const char *current = json_string_value(json_object_get(k->doc, "current-context"));

	if (!name_taken(contexts, current))
		(void)json_object_set_new(k->doc, "current-context",
			json_string(name_of(json_array_get(contexts, 0))));
}

static int refuse_plugin(const char *secret, const json_t *context, const char *plugin,
	const struct sec_constraints *c, struct cl_err *e)
{
	const char *ns = c ? sec_kube_namespace(c) : NULL;

	(void)cl_fail(e, CL_EREFUSED,
		"kubeconfig secret '%s': user '%s' (context %s) signs in through %s, a program "
		"that "
		"neither this host runs nor a sandbox has",
		secret, context_field(context, "user"), name_of(context), plugin);
	return cl_fix(e,
		"store a kubeconfig that signs in by a token instead: kubectl create token "
		"SERVICEACCOUNT --namespace %s",
		ns ? ns : "NAMESPACE");
}

static int refuse_file(const char *secret, const json_t *context, const char *key, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"kubeconfig secret '%s': context %s needs the file that %s names, and it is not in "
		"the document",
		secret, name_of(context), key);
	return cl_fix(e, "store the document with its files inside: kubectl config view --raw "
			 "--flatten");
}

static int check_usable(const struct sec_kube *k, const char *secret,
	const struct sec_constraints *c, struct cl_err *e)
{
	json_t *v;
	size_t i;

	json_array_foreach (list_of(k, "contexts"), i, v) {
		json_t *user = body_named(k, 2, context_field(v, "user"));
		const char *plugin = plugin_of(user), *key = file_key(user);

		if (plugin)
			return refuse_plugin(secret, v, plugin, c, e);
		if (!key)
			key = file_key(body_named(k, 0, context_field(v, "cluster")));
		if (key)
			return refuse_file(secret, v, key, e);
	}
	return 0;
}

int sec_kube_minimise(
	struct sec_kube *k, const struct sec_constraints *c, const char *secret, struct cl_err *e)
{
	cleanup_free char *contexts = NULL, *namespaces = NULL;
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	cleanup_buf struct cl_buf has = CL_BUF_INIT;
	json_t *v;
	size_t i;

	json_array_foreach (list_of(k, "contexts"), i, v)
		cl_strv_add(&names, name_of(v));
	cut_contexts(k, c);
	if (!json_array_size(list_of(k, "contexts"))) {
		contexts = cl_join(
			(const char *const *)c->list[SEC_CONTEXTS].v, c->list[SEC_CONTEXTS].n, ",");
		namespaces = sec_joined(&c->list[SEC_NAMESPACES]);
		sec_names_said(&names, &has);
		(void)cl_fail(e, CL_EREFUSED,
			"kubeconfig secret '%s' has no context that contexts [%s] and namespaces "
			"[%s] leave: it has %s",
			secret, contexts, namespaces, has.p);
		return cl_fix(e, "grant a context that it has, and name a namespace that is no "
				 "pattern");
	}
	cut_section(k, 0);
	cut_section(k, 2);
	settle_current(k);
	return check_usable(k, secret, c, e);
}

void sec_kube_notes(const struct sec_kube *k, struct cl_strv *notes)
{
	json_t *v;
	size_t i;

	json_array_foreach (list_of(k, "contexts"), i, v) {
		json_t *user = body_named(k, 2, context_field(v, "user"));
		const char *plugin = plugin_of(user), *key = file_key(user);

		if (!key)
			key = file_key(body_named(k, 0, context_field(v, "cluster")));
		if (plugin)
			cl_strv_addf(notes,
				"user '%s' (context %s) signs in through %s: a grant that keeps it "
				"is not delivered; store a kubeconfig that signs in by a token",
				context_field(v, "user"), name_of(v), plugin);
		else if (key)
			cl_strv_addf(notes,
				"context %s needs the file that %s names: a grant that keeps it is "
				"not delivered; store kubectl config view --raw --flatten",
				name_of(v), key);
	}
}

/* ---- telling ---- */

void sec_kube_summary(const struct sec_kube *k, struct cl_buf *out)
{
	json_t *v;
	size_t i;

	json_array_foreach (list_of(k, "contexts"), i, v) {
		const char *ns = context_field(v, "namespace");

		cl_buf_addf(out, "%s%s/%s", i ? "," : "", name_of(v), *ns ? ns : "default");
	}
}

void sec_kube_write(const struct sec_kube *k, struct cl_buf *out)
{
	cl_yaml_write(k->doc, out);
}

/* Public, or no credential by itself. */
static bool harmless(const char *key)
{
	static const char *const keys[] = {
		"username", "client-certificate-data", "as", "as-uid", "as-groups", "name"};

	for (size_t i = 0; i < CL_ARRAY_LEN(keys); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static void add_secret(const char *key, const char *text, struct cl_strv *out)
{
	cleanup_buf struct cl_buf raw = CL_BUF_SECRET;

	cl_strv_add(out, text);
	if (cl_ends(key, "-data") && cl_b64_decode(CL_B64, text, strlen(text), true, &raw) &&
		raw.len)
		cl_strv_addn(out, raw.p, raw.len);
}

static void collect(const json_t *body, struct cl_strv *out);

/* A number is written as the document has it. */
static void collect_value(const char *key, const json_t *v, struct cl_strv *out)
{
	char number[32];
	json_t *one;
	size_t i;

	if (json_is_object(v)) {
		collect(v, out);
	} else if (json_is_array(v)) {
		json_array_foreach (v, i, one)
			collect_value(key, one, out);
	} else if (harmless(key)) {
		return;
	} else if (json_is_integer(v)) {
		cl_strv_addf(out, "%lld", (long long)json_integer_value(v));
	} else if (json_is_real(v)) {
		cl_format_double(json_real_value(v), number);
		cl_strv_add(out, number);
	} else if (json_string_length(v)) {
		add_secret(key, json_string_value(v), out);
	}
}

static void collect(const json_t *body, struct cl_strv *out)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)body, key, v)
		collect_value(key, v, out);
}

void sec_kube_secrets(const struct sec_kube *k, struct cl_strv *out)
{
	static const char *const urls[] = {"server", "proxy-url"};
	json_t *v;
	size_t i;

	json_array_foreach (list_of(k, "users"), i, v)
		collect(json_object_get(v, "user"), out);
	json_array_foreach (list_of(k, "clusters"), i, v)
		for (size_t n = 0; n < CL_ARRAY_LEN(urls); n++) {
			const char *url = json_string_value(
				json_object_get(json_object_get(v, "cluster"), urls[n]));

			if (url)
				sec_url_password(url, strlen(url), out);
		}
}

void sec_kube_unenforced(const struct sec_constraints *c, struct cl_buf *out)
{
	cleanup_strv struct cl_strv verbs = CL_STRV_INIT;
	cleanup_free char *ns = NULL, *list = NULL;
	bool any = c->list[SEC_NAMESPACES].n > 0, reads = true;

	if (any) {
		ns = cl_join((const char *const *)c->list[SEC_NAMESPACES].v,
			c->list[SEC_NAMESPACES].n, ", ");
		cl_buf_addf(out, "namespaces %s", ns);
	}
	if (sec_constraints_all_verbs(c))
		return;
	sec_constraints_verbs(c, &verbs);
	for (size_t i = 0; i < verbs.n; i++)
		reads = reads && (!strcmp(verbs.v[i], "get") || !strcmp(verbs.v[i], "list") ||
					 !strcmp(verbs.v[i], "watch"));
	list = cl_join((const char *const *)verbs.v, verbs.n, ", ");
	cl_buf_addf(
		out, "%s%s (%s)", any ? " and " : "", reads ? "read-only access" : "verbs", list);
}
