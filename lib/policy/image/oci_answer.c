/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Manifests, indexes, and what a registry says instead of one. */
#include "policy/image/oci.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- statuses ---- */

struct status {
	int from, to;
	enum cl_code code;
	const char *slug, *says, *fix;
};

static const struct status statuses[] = {
	{401, 401, CL_EDENIED, "registry_denied", "asks for a login before it gives",
		"log in with 'podman login' as the hub's user, or name a file of logins as "
		"sandbox.registry.auth_file"},
	{403, 403, CL_EDENIED, "registry_denied", "does not let this login have",
		"ask its owner for the right to pull, or log in as somebody who has it"},
	{404, 404, CL_ENOTFOUND, "registry_no_image", "does not have",
		"check the name and the tag; a private repository looks the same to who may not "
		"pull"},
	{429, 429, CL_EBUSY, "registry_busy", "has had too many requests to give",
		"try again later, or log in: accounts have limits of their own"},
	{300, 399, CL_EREFUSED, "registry_redirect", "sends one elsewhere without a place for",
		"see that it is the registry that was meant"},
	{500, 599, CL_EUNAVAIL, "registry_unavailable", "is out of order and does not give",
		"try again later"},
};

int oci_status(int status, const char *registry, const char *what, struct cl_err *e)
{
	struct status s = {0, 0, CL_EUNAVAIL, "registry_answer", "does not give",
		"see that it is a registry of images (its API answers below /v2/)"};

	for (size_t i = 0; i < CL_ARRAY_LEN(statuses); i++)
		if (status >= statuses[i].from && status <= statuses[i].to)
			s = statuses[i];
	(void)cl_fail(e, s.code, "registry '%s' %s %s (status %d)", registry, s.says, what, status);
	(void)cl_slug(e, s.slug);
	return cl_fix(e, "%s", s.fix);
}

/* ---- digests ---- */

void oci_digest(const void *p, size_t len, char out[OCI_DIGEST])
{
	memcpy(out, "sha256:", 7);
	cl_sha256_hex(p, len, out + 7);
}

static bool is_digest(const char *s)
{
	return s && cl_starts(s, "sha256:") && strlen(s) == OCI_DIGEST - 1 &&
	       strspn(s + 7, "0123456789abcdef") == 64;
}

int oci_digest_check(const void *p, size_t len, const char *asked, const char *said,
	const char *what, char out[OCI_DIGEST], struct cl_err *e)
{
	const char *other = NULL;

	oci_digest(p, len, out);
	if (*asked && strcmp(asked, out) != 0)
		other = asked;
	else if (cl_starts(said, "sha256:") && strcmp(said, out) != 0)
		other = said;
	if (!other)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"the registry lies about %s: its bytes have the digest %s, not %.80s", what, out,
		other);
	(void)cl_slug(e, "registry_lies");
	return cl_fix(e, "do not use this registry until its owner has explained it; a proxy in "
			 "between may do the same");
}

/* ---- manifests ---- */

void oci_manifest_release(struct oci_manifest *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].media_type);
		free(m->v[i].os);
		free(m->v[i].arch);
		free(m->v[i].variant);
		free(m->v[i].signature);
	}
	free(m->v);
	free(m->media_type);
	*m = OCI_MANIFEST_INIT;
}

static int no_manifest(const char *why, struct cl_err *e)
{
	(void)cl_fail(e, CL_EUNAVAIL, "what the registry gave is no manifest: %s", why);
	(void)cl_slug(e, "registry_answer");
	return cl_fix(e, "push the image again with a current tool (schema 2 or OCI)");
}

static const char *member_text(const json_t *o, const char *a, const char *b)
{
	return json_string_value(json_object_get(json_object_get(o, a), b));
}

static char *text_at(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return cl_strdup(s ? s : "");
}

static int add(struct oci_manifest *m, const json_t *o, struct cl_err *e)
{
	const char *digest = json_string_value(json_object_get(o, "digest"));
	const json_t *size = json_object_get(o, "size");
	const json_t *platform = json_object_get(o, "platform");
	const char *signature = json_string_value(json_object_get(
		json_object_get(o, "annotations"), "dev.cosignproject.cosign/signature"));
	struct oci_descriptor d;

	if (!json_is_object(o) || !is_digest(digest))
		return no_manifest("a descriptor has no sha256 digest", e);
	if (!json_is_integer(size) || json_integer_value(size) < 0)
		return no_manifest("a descriptor has no size", e);
	d = (struct oci_descriptor){.size = json_integer_value(size),
		.media_type = text_at(o, "mediaType"),
		.os = text_at(platform, "os"),
		.arch = text_at(platform, "architecture"),
		.variant = text_at(platform, "variant"),
		.signature = cl_strdup_null(signature)};
	(void)snprintf(d.digest, sizeof(d.digest), "%s", digest);
	m->v = cl_grow(m->v, &m->cap, m->n + 1, sizeof(*m->v));
	m->v[m->n++] = d;
	return 0;
}

static const struct {
	const char *type;
	bool index;
} types[] = {
	{OCI_INDEX_TYPE, true},
	{OCI_DOCKER_LIST, true},
	{OCI_IMAGE_TYPE, false},
	{OCI_DOCKER_TYPE, false},
};

/* 1 an index, 0 a manifest, -1 neither. */
static int kind_of(const char *type)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(types); i++)
		if (!strcmp(types[i].type, type))
			return types[i].index;
	return -1;
}

/* "application/json; charset=utf-8" without its parameters, in lower case; owned. */
static char *bare_type(const char *content_type)
{
	cleanup_free char *s = cl_strndup(content_type, strcspn(content_type, ";"));

	cl_lower(s);
	return cl_trim_dup(s);
}

/* The one type that body and header agree on. */
static int find_type(
	const json_t *root, const char *content_type, struct oci_manifest *out, struct cl_err *e)
{
	const char *inside = json_string_value(json_object_get(root, "mediaType"));
	cleanup_free char *outside = bare_type(content_type);

	/* A registry may serve any JSON as just that; then only the body can say. */
	if (!strcmp(outside, "application/json") || !strcmp(outside, "application/octet-stream") ||
		cl_starts(outside, "text/"))
		*outside = '\0';
	if (inside && *outside && strcmp(inside, outside) != 0)
		return no_manifest("its mediaType is another than the answer's Content-Type", e);
	out->media_type = cl_strdup(inside ? inside : outside);
	if (!*out->media_type) {
		free(out->media_type);
		out->media_type = cl_strdup(
			json_object_get(root, "manifests") ? OCI_INDEX_TYPE : OCI_IMAGE_TYPE);
	}
	if (kind_of(out->media_type) < 0)
		return no_manifest("its media type is none of an image's", e);
	out->index = kind_of(out->media_type) == 1;
	return 0;
}

int oci_manifest_read(const char *text, size_t len, const char *content_type,
	struct oci_manifest *out, struct cl_err *e)
{
	const struct cl_doc_limits limits = {.max_bytes = OCI_MANIFEST_MAX};
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const json_t *list, *v, *other;
	struct cl_err why;
	size_t i;

	if (cl_doc_parse(&d, CL_DOC_JSON, "manifest", text, len, &limits, &why))
		return no_manifest(why.msg, e);
	if (!json_is_object(d.root))
		return no_manifest("it is no mapping", e);
	if (json_integer_value(json_object_get(d.root, "schemaVersion")) != 2)
		return no_manifest("its schemaVersion is not 2", e);
	if (find_type(d.root, content_type, out, e))
		return -1;
	list = json_object_get(d.root, out->index ? "manifests" : "layers");
	other = json_object_get(d.root, out->index ? "layers" : "manifests");
	if (other || (out->index && json_object_get(d.root, "config")))
		return no_manifest("it is a manifest and an index at once", e);
	if (is_digest(member_text(d.root, "config", "digest")))
		(void)snprintf(out->config, sizeof(out->config), "%s",
			member_text(d.root, "config", "digest"));
	if (!json_is_array(list))
		return no_manifest(out->index ? "it lists no manifests" : "it lists no layers", e);
	json_array_foreach (list, i, v)
		if (add(out, v, e))
			return -1;
	return 0;
}

/* ---- platforms ---- */

void oci_machine(const char *machine, const char **arch, const char **variant)
{
	static const char *const rows[][3] = {{"x86_64", "amd64", ""}, {"aarch64", "arm64", ""},
		{"i686", "386", ""}, {"i386", "386", ""}, {"armv7l", "arm", "v7"},
		{"armv6l", "arm", "v6"}, {"armv8l", "arm", "v8"}};

	*arch = machine;
	*variant = "";
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i][0], machine)) {
			*arch = rows[i][1];
			*variant = rows[i][2];
		}
}

/* How well a variant serves: 0 not at all. An arm runs what is older, nearest first. */
static int serves(const char *arch, const char *want, const char *has)
{
	if (!strcmp(arch, "arm64") && (!*has || !strcmp(has, "v8")))
		return 100;
	if (!strcmp(want, has) || !*has || !*want)
		return !strcmp(want, has) ? 100 : 1;
	if (!strcmp(arch, "arm") && has[0] == 'v' && want[0] == 'v' && has[1] <= want[1])
		return 2 + (has[1] - '0');
	return 0;
}

static int nothing_for(
	const struct oci_manifest *m, const char *arch, const char *variant, struct cl_err *e)
{
	cleanup_buf struct cl_buf have = CL_BUF_INIT;

	for (size_t i = 0; i < m->n && have.len < 300; i++)
		cl_buf_addf(&have, "%s%.20s/%.20s%s%.20s", i ? ", " : "", m->v[i].os, m->v[i].arch,
			*m->v[i].variant ? "/" : "", m->v[i].variant);
	(void)cl_fail(e, CL_EREFUSED, "the index has no image for linux/%s%s%s, only %s", arch,
		*variant ? "/" : "", variant, have.len ? have.p : "nothing at all");
	(void)cl_slug(e, "registry_platform");
	return cl_fix(e, "have it built for this machine, or use an image that is");
}

const struct oci_descriptor *oci_platform(
	const struct oci_manifest *m, const char *arch, const char *variant, struct cl_err *e)
{
	const struct oci_descriptor *best = NULL;
	int grade = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct oci_descriptor *d = &m->v[i];
		int now = serves(arch, variant, d->variant);

		/* What is no image manifest (an index in an index, somebody's artifact) does not run. */
		if (strcmp(d->os, "linux") != 0 || strcmp(d->arch, arch) != 0 || now <= grade ||
			kind_of(d->media_type) != 0)
			continue;
		grade = now;
		best = d;
	}
	if (!best)
		(void)nothing_for(m, arch, variant, e);
	return best;
}
