/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading and printing of sandbox.image_policy. */
#include "policy/image/imagepolicy.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most entries of one list: a policy is written by hand. */
#define LIST_MAX 1024

/* What the reader passes around; the mapping being read is `obj`. */
struct reading {
	struct cl_doc *d;
	json_t *obj;
	struct ip_policy *p;
	struct cl_err *e;
};

/* The place of entry `index` of the list `key`. */
static int entry_bad(
	struct reading *r, const char *key, size_t index, const char *why, const char *fix)
{
	const json_t *list = json_object_get(r->obj, key);
	const char *text = json_string_value(json_array_get(list, index));

	(void)cl_doc_fail(r->d, list, NULL, index, CL_ECONFIG, r->e, "%s[%zu] '%s' %s", key, index,
		text ? text : "", why);
	return cl_fix(r->e, "%s", fix);
}

/* Trimmed, in lower case; owned. */
static char *normal(const char *text)
{
	char *s = cl_trim_dup(text);

	cl_lower(s);
	return s;
}

/* "*", "*.host", or a host: the pattern normalised into out; NULL when fine, else why not. */
static const char *registry_pattern(const char *text, char out[IR_MAX + 1])
{
	char host[IR_MAX + 1];

	if (!*text || strlen(text) > IR_MAX - 2)
		return "is no registry";
	if (strchr(text, '/'))
		return "holds a '/': a registry is a host alone";
	if (!strcmp(text, "*")) {
		memcpy(out, "*", 2);
		return NULL;
	}
	if (cl_starts(text, "*.")) {
		if (strchr(text + 2, '*') || !ir_registry(text + 2, host))
			return "has a malformed host after '*.'";
		(void)snprintf(out, IR_MAX + 1, "*.%.*s", IR_MAX - 2, host);
		return NULL;
	}
	if (strchr(text, '*'))
		return "has a '*' other than '*' alone or a leading '*.'";
	return ir_registry(text, out) ? NULL : "is a malformed registry host";
}

static int read_registries(struct reading *r)
{
	static const char key[] = "allowed_registries";
	cleanup_strv struct cl_strv raw = CL_STRV_INIT;
	char out[IR_MAX + 1];

	if (cl_doc_strv(r->d, r->obj, key, LIST_MAX, &raw, r->e))
		return -1;
	for (size_t i = 0; i < raw.n; i++) {
		cleanup_free char *text = normal(raw.v[i]);
		const char *why = registry_pattern(text, out);

		if (why)
			return entry_bad(r, key, i, why,
				"write a host such as ghcr.io or localhost:5000, '*.example.com', "
				"or '*'");
		cl_strv_add(&r->p->registries, out);
	}
	cl_strv_uniq(&r->p->registries);
	return 0;
}

/* Takes the registry off a repository pattern; *path is the rest. False: malformed. */
static bool split_repo(const char *text, char registry[IR_MAX + 1], const char **path)
{
	const char *slash = strchr(text, '/');
	char first[IR_MAX + 1];

	*registry = '\0';
	*path = text;
	if (!slash || !ir_names_registry(text, (size_t)(slash - text)))
		return true;
	memcpy(first, text, (size_t)(slash - text));
	first[slash - text] = '\0';
	*path = slash + 1;
	return ir_registry(first, registry);
}

/* A pattern normalised: "registry/repository", "registry/prefix/" + star, or without registry. */
static const char *repo_pattern(const char *text, bool any_registry, struct cl_buf *out)
{
	char registry[IR_MAX + 1], path[IR_MAX + 1];
	const char *rest;
	size_t len;
	bool star;

	if (!*text || strlen(text) > IR_MAX - 8)
		return "is no repository";
	if (!split_repo(text, registry, &rest))
		return "names a malformed registry";
	if (!*registry && any_registry)
		return "names no registry, and allowed_registries is empty";
	len = strlen(rest);
	star = !strcmp(rest, "*") || (len > 2 && cl_ends(rest, "/*"));
	if (star)
		len -= len > 1 ? 2 : 1;
	memcpy(path, rest, len);
	path[len] = '\0';
	if (strchr(path, '*') || (star && !len && !*registry))
		return "has a '*' other than a final '/*'";
	if ((len || !star) && !ir_repository(path))
		return "is a malformed repository (no tag or digest belongs here)";
	/* Exactly one component on Docker Hub is one of its own images; a prefix is what it says. */
	cl_buf_addf(out, "%s%s%s%s%s", registry, *registry ? "/" : "",
		!star && !strcmp(registry, IR_DOCKER) && !strchr(path, '/') ? "library/" : "", path,
		star ? len ? "/*" : "*" : "");
	return NULL;
}

static int read_repos(struct reading *r)
{
	static const char key[] = "allowed_repos";
	cleanup_strv struct cl_strv raw = CL_STRV_INIT;

	if (cl_doc_strv(r->d, r->obj, key, LIST_MAX, &raw, r->e))
		return -1;
	for (size_t i = 0; i < raw.n; i++) {
		cleanup_free char *text = normal(raw.v[i]);
		cleanup_buf struct cl_buf out = CL_BUF_INIT;
		const char *why = repo_pattern(text, !r->p->registries.n, &out);

		if (why)
			return entry_bad(r, key, i, why,
				"write a repository such as ghcr.io/acme/tools, or ghcr.io/acme/* "
				"for everything below one");
		cl_strv_add(&r->p->repos, out.p);
	}
	cl_strv_uniq(&r->p->repos);
	return 0;
}

static int read_default(struct reading *r)
{
	static const char key[] = "default_registry";
	const char *raw = "";
	cleanup_free char *text = NULL;
	char out[IR_MAX + 1];

	if (cl_doc_str(r->d, r->obj, key, &raw, r->e))
		return -1;
	text = normal(raw);
	if (!*text)
		return 0;
	if (!ir_registry(text, out)) {
		(void)cl_doc_fail(r->d, r->obj, key, 0, CL_ECONFIG, r->e,
			"default_registry '%s' is no registry host", text);
		return cl_fix(r->e, "write one host such as docker.io, without '/' and '*'");
	}
	r->p->default_registry = cl_strdup(out);
	return 0;
}

/*
 * cosign compiles the expression (RE2); here only what no dialect takes is refused: an
 * open group or class, an escape of nothing, a repetition of nothing. NULL when fine.
 */
static const char *regexp_flaw(const char *s)
{
	int depth = 0;
	bool atom = false;

	for (; *s; s++) {
		if (*s == '\\') {
			if (!*++s)
				return "ends in a backslash";
		} else if (*s == '[') {
			s += s[1] == '^' ? 2 : 1;
			s += *s == ']';
			while (*s && *s != ']')
				s += *s == '\\' && s[1] ? 2 : 1;
			if (!*s)
				return "has a '[' that is not closed";
		} else if (*s == '(') {
			depth++;
			atom = false;
			s += s[1] == '?';
			continue;
		} else if (*s == ')') {
			if (!depth--)
				return "has a ')' without its '('";
		} else if (strchr("*+?", *s) && !atom) {
			return "repeats nothing";
		}
		atom = *s != '|';
	}
	return depth ? "has a '(' that is not closed" : NULL;
}

static int read_identity(struct reading *r, json_t *list, size_t i)
{
	static const char *const known[] = {"issuer", "subject_regexp"};
	json_t *obj = json_array_get(list, i);
	const char *v[2] = {NULL, NULL}, *flaw;

	if (!json_is_object(obj)) {
		(void)cl_doc_fail(r->d, list, NULL, i, CL_ECONFIG, r->e,
			"cosign_identities[%zu] is no mapping", i);
		return cl_fix(r->e, "write {issuer: URL, subject_regexp: PATTERN}");
	}
	if (cl_doc_closed(r->d, obj, "cosign_identities", known, 2, r->e))
		return -1;
	for (size_t k = 0; k < 2; k++) {
		if (cl_doc_str(r->d, obj, known[k], &v[k], r->e))
			return -1;
		if (v[k] && *v[k])
			continue;
		(void)cl_doc_fail(r->d, list, NULL, i, CL_ECONFIG, r->e,
			"cosign_identities[%zu] has no %s", i, known[k]);
		return cl_fix(r->e, "an issuer alone would trust everybody who can sign in "
				    "there: give both");
	}
	flaw = regexp_flaw(v[1]);
	if (flaw) {
		(void)cl_doc_fail(r->d, obj, known[1], 0, CL_ECONFIG, r->e,
			"subject_regexp '%s' %s", v[1], flaw);
		return cl_fix(r->e, "write it in the syntax of RE2, which cosign reads");
	}
	r->p->identities = cl_grow(r->p->identities, &r->p->identities_cap, r->p->nidentities + 1,
		sizeof(*r->p->identities));
	r->p->identities[r->p->nidentities++] =
		(struct ip_identity){cl_strdup(v[0]), cl_strdup(v[1])};
	return 0;
}

static int read_signers(struct reading *r)
{
	json_t *list = NULL;

	if (cl_doc_strv(r->d, r->obj, "cosign_public_keys", LIST_MAX, &r->p->keys, r->e) ||
		cl_doc_list(r->d, r->obj, "cosign_identities", &list, r->e))
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (read_identity(r, list, i))
			return -1;
	for (size_t i = 0; i < r->p->keys.n; i++)
		if (!*r->p->keys.v[i])
			return entry_bad(r, "cosign_public_keys", i, "is empty",
				"name the file of a public key");
	if (!r->p->require_signature || r->p->keys.n || r->p->nidentities)
		return 0;
	(void)cl_doc_fail(r->d, r->obj, "require_signature", 0, CL_ECONFIG, r->e,
		"require_signature is on, and nothing says whose signature counts");
	return cl_fix(r->e, "add cosign_public_keys or cosign_identities");
}

static int read_all(struct reading *r)
{
	static const char *const known[] = {"allowed_registries", "allowed_repos", "require_digest",
		"require_signature", "cosign_public_keys", "cosign_identities", "default_registry",
		"govern_operator_images", "unusable"};
	const char *unusable = NULL;

	if (!json_is_object(r->obj)) {
		(void)cl_fail(r->e, CL_ECONFIG, "sandbox.image_policy is no mapping");
		return cl_fix(r->e, "write keys below it, such as require_digest: true");
	}
	/* First, so that it is known of a policy that is broken further on. */
	if (cl_doc_bool(
		    r->d, r->obj, "govern_operator_images", &r->p->govern_operator_images, r->e) ||
		cl_doc_closed(
			r->d, r->obj, "sandbox.image_policy", known, CL_ARRAY_LEN(known), r->e) ||
		cl_doc_bool(r->d, r->obj, "require_digest", &r->p->require_digest, r->e) ||
		cl_doc_bool(r->d, r->obj, "require_signature", &r->p->require_signature, r->e) ||
		cl_doc_str(r->d, r->obj, "unusable", &unusable, r->e))
		return -1;
	/* As ip_policy_json has one that could not be read where it was written. */
	if (unusable) {
		ip_policy_break(r->p, unusable);
		return 0;
	}
	return read_registries(r) || read_repos(r) || read_default(r) || read_signers(r) ? -1 : 0;
}

int ip_policy_read(struct cl_doc *d, json_t *obj, struct ip_policy *out, struct cl_err *e)
{
	struct reading r = {d, obj, out, e};

	if (!obj || json_is_null(obj) || !read_all(&r))
		return 0;
	e->code = CL_ECONFIG;
	ip_policy_break(out, e->msg);
	return cl_rule(e, IP_RULE_CONFIG);
}

static json_t *strings(const struct cl_strv *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n; i++)
		(void)json_array_append_new(a, json_string(s->v[i]));
	return a;
}

json_t *ip_policy_json(const struct ip_policy *p)
{
	json_t *ids = json_array();

	/* Whoever reads this must refuse what whoever wrote it would. */
	if (p->unusable) {
		json_decref(ids);
		return json_pack("{s:o, s:b}", "unusable", cl_json_string(p->unusable),
			"govern_operator_images", p->govern_operator_images);
	}

	for (size_t i = 0; i < p->nidentities; i++)
		(void)json_array_append_new(
			ids, json_pack("{s:s, s:s}", "issuer", p->identities[i].issuer,
				     "subject_regexp", p->identities[i].subject_regexp));
	return json_pack("{s:o, s:o, s:b, s:b, s:o, s:o, s:s, s:b}", "allowed_registries",
		strings(&p->registries), "allowed_repos", strings(&p->repos), "require_digest",
		p->require_digest, "require_signature", p->require_signature, "cosign_public_keys",
		strings(&p->keys), "cosign_identities", ids, "default_registry",
		p->default_registry ? p->default_registry : "", "govern_operator_images",
		p->govern_operator_images);
}

void ip_policy_fingerprint(const struct ip_policy *p, char out[17])
{
	json_t *j = ip_policy_json(p);
	cleanup_free char *text = cl_json_text(j);
	char hex[CL_SHA256_HEX];

	json_decref(j);
	cl_sha256_hex(text, strlen(text), hex);
	memcpy(out, hex, 16);
	out[16] = '\0';
}
