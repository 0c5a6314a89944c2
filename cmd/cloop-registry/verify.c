/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * verify: is one of an image's digests signed by somebody who is trusted? Keys are checked here, over
 * what cosign left in the registry; identities, and keys that only cosign can reach, are cosign's. One
 * signature by one of them is enough.
 */
#include "verify.h"
#include "base/b64.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX     ((size_t)64 << 10)
#define DIGESTS_MAX 16
#define SIG_MAX     8192

static void verify_release(struct verify *v)
{
	for (size_t i = 0; i < v->nkeys; i++)
		seal_pubkey_free(v->keys[i].key);
	cl_strv_release(&v->digests);
	cl_strv_release(&v->key_paths);
	client_release(&v->c);
}

void verify_note(struct verify *v, enum verify_flaw flaw, const char *fix, const char *fmt, ...)
{
	va_list ap;
	char text[600];

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (flaw > v->flaw)
		v->flaw = flaw;
	if (v->nreasons++ && v->reasons.len < 700)
		cl_buf_adds(&v->reasons, "; ");
	if (v->reasons.len < 700)
		cl_buf_adds(&v->reasons, text);
	if (!*v->fix)
		(void)snprintf(v->fix, sizeof(v->fix), "%s", fix);
}

/* ---- the request ---- */

static int read_identities(struct verify *v, struct cl_err *e)
{
	static const char *const known[] = {"issuer", "subject_regexp"};
	struct cl_doc *d = &v->c.d;

	if (cl_doc_list(d, d->root, "identities", &v->identities, e))
		return -1;
	for (size_t i = 0; i < json_array_size(v->identities); i++) {
		json_t *o = json_array_get(v->identities, i);

		if (cl_doc_closed(d, o, "identities", known, CL_ARRAY_LEN(known), e))
			return -1;
		if (!json_is_string(json_object_get(o, "issuer")) ||
			!json_is_string(json_object_get(o, "subject_regexp")))
			return cl_fail(e, CL_EDATA, "an identity needs issuer and subject_regexp");
	}
	return 0;
}

static int read_request(struct verify *v, struct cl_err *e)
{
	static const char *const more[] = {"digests", "keys", "identities"};
	struct cl_doc *d = &v->c.d;

	if (client_read(&v->c, more, CL_ARRAY_LEN(more), e) ||
		cl_doc_strv(d, d->root, "digests", DIGESTS_MAX, &v->digests, e) ||
		cl_doc_strv(d, d->root, "keys", VERIFY_KEYS, &v->key_paths, e) ||
		read_identities(v, e))
		return -1;
	for (size_t i = 0; i < v->digests.n; i++)
		if (!cl_starts(v->digests.v[i], "sha256:") ||
			strlen(v->digests.v[i]) != OCI_DIGEST - 1)
			return cl_fail(
				e, CL_EDATA, "'%.100s' is no sha256 digest", v->digests.v[i]);
	if (!v->digests.n || (!v->key_paths.n && !json_array_size(v->identities)))
		return cl_fail(e, CL_EDATA, "the request has no digest, or nobody to trust");
	return 0;
}

/* A key that cannot be used is told; another one may do. */
static void read_keys(struct verify *v)
{
	for (size_t i = 0; i < v->key_paths.n; i++) {
		cleanup_buf struct cl_buf pem = CL_BUF_INIT;
		struct verify_key *k = &v->keys[v->nkeys++];
		struct cl_err e;

		k->path = v->key_paths.v[i];
		/* A key of a service (awskms://, k8s://) is one that cosign reaches. */
		k->remote = strstr(k->path, "://") != NULL;
		if (k->remote)
			continue;
		if (cl_read_file(k->path, KEY_MAX, &pem, &e) ||
			seal_pubkey_read(k->path, pem.p, pem.len, &k->key, &e))
			verify_note(v, VERIFY_UNCHECKED, e.fix, "%s", e.msg);
	}
}

/* ---- keys ---- */

struct signed_by {
	const struct verify_key *key; /* NULL: nobody */
	size_t tried;                 /* signatures that are for this image */
};

/* One signature against every key. */
static void try_layer(struct verify *v, const struct oci_descriptor *d,
	const struct cl_buf *payload, struct signed_by *out)
{
	cleanup_buf struct cl_buf sig = CL_BUF_INIT;

	out->tried++;
	if (strlen(d->signature) > SIG_MAX ||
		!cl_b64_decode(CL_B64, d->signature, strlen(d->signature), false, &sig))
		return;
	for (size_t i = 0; i < v->nkeys && !out->key; i++)
		if (v->keys[i].key && seal_pubkey_verify(v->keys[i].key, payload->p, payload->len,
					      sig.p, sig.len))
			out->key = &v->keys[i];
}

/* All signatures of one digest: they mostly share one payload, which is fetched once. */
static int try_signatures(
	struct verify *v, const struct oci_manifest *m, struct signed_by *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf payload = CL_BUF_INIT;
	const char *have = "";
	bool fits = false;
	struct cl_err why;

	for (size_t i = 0; i < m->n && !out->key; i++) {
		const struct oci_descriptor *d = &m->v[i];

		if (strcmp(have, d->digest) != 0) {
			cl_buf_reset(&payload);
			if (fetch_blob(&v->c, d, &payload, e))
				return -1;
			have = d->digest;
			fits = !oci_payload_check(payload.p, payload.len, &v->c.ref, &why);
			if (!fits)
				verify_note(v, VERIFY_WRONG, why.fix, "%s", why.msg);
		}
		if (fits)
			try_layer(v, d, &payload, out);
	}
	return 0;
}

/* *found: there are signatures, so that what they say is final for the keys that we have. */
static int try_digest(struct verify *v, bool *found, struct signed_by *out, struct cl_err *e)
{
	cleanup_free char *tag = oci_signature_tag(v->c.ref.digest);
	struct fetched f = FETCHED_INIT;
	struct cl_err why;
	int rc = fetch_manifest(&v->c, tag, &f, e);

	*found = !rc;
	if (rc && e->code == CL_ENOTFOUND) {
		rc = 0;
		verify_note(v, VERIFY_MISSING, "sign it with 'cosign sign --key', by its digest",
			"%s has no signatures in its registry", v->c.ref.digest);
	} else if (!rc && oci_signatures_check(&f.m, &why)) {
		verify_note(v, VERIFY_WRONG, why.fix, "%s", why.msg);
	} else if (!rc) {
		rc = try_signatures(v, &f.m, out, e);
		if (!rc && !out->key && out->tried)
			verify_note(v, VERIFY_WRONG,
				"sign it with one of the keys of cosign_public_keys, or add "
				"the key of who signed it",
				"none of the %zu signatures over %s is by a key of the policy",
				out->tried, v->c.ref.digest);
	}
	oci_manifest_release(&f.m);
	return rc;
}

static void answer(const struct verify *v, const char *by, const char *how)
{
	cleanup_buf struct cl_buf name = CL_BUF_INIT;

	ir_canonical(&v->c.ref, &name);
	cl_take_json(json_pack("{s:s, s:s, s:o, s:s}", "reference", name.p, "digest",
		v->c.ref.digest, "by", cl_json_string(by), "how", how));
}

static void look_at(struct verify *v, size_t i)
{
	(void)snprintf(v->c.ref.digest, sizeof(v->c.ref.digest), "%s", v->digests.v[i]);
}

/* *done: somebody was found, who is answered. *found: one of the digests has signatures. */
static int by_keys(struct verify *v, bool *found, bool *done, struct cl_err *e)
{
	for (size_t i = 0; i < v->digests.n && v->key_paths.n; i++) {
		struct signed_by by = {0};
		bool here;

		look_at(v, i);
		if (try_digest(v, &here, &by, e))
			return -1;
		*found = *found || here;
		*done = by.key != NULL;
		if (*done) {
			answer(v, by.key->path, "native");
			return 0;
		}
	}
	return 0;
}

static bool by_cosign(struct verify *v, bool found)
{
	const char *who;

	for (size_t i = 0; i < v->digests.n; i++) {
		look_at(v, i);
		if (!verify_by_cosign(v, found, &who))
			continue;
		answer(v, who, "cosign");
		return true;
	}
	return false;
}

static int refused(struct verify *v, struct cl_err *e)
{
	static const char *const flaws[] = {[VERIFY_MISSING] = OCI_SIGNATURE_MISSING,
		[VERIFY_UNCHECKED] = OCI_SIGNATURE_UNCHECKED,
		[VERIFY_WRONG] = OCI_SIGNATURE_WRONG};

	(void)cl_fail(e, CL_EREFUSED, "%s/%s is not signed by anybody who is trusted: %s",
		v->c.ref.registry, v->c.ref.repository, v->reasons.p);
	(void)cl_slug(e, "image_signature");
	(void)cl_constraint(e, flaws[v->flaw]);
	return cl_fix(e, "%s", v->fix);
}

static int verify(struct verify *v, struct cl_err *e)
{
	bool found = false, done = false;

	if (read_request(v, e))
		return -1;
	read_keys(v);
	if (by_keys(v, &found, &done, e))
		return -1;
	return done || by_cosign(v, found) ? 0 : refused(v, e);
}

int cmd_registry_verify(struct cl_ctx *ctx, struct cl_err *e)
{
	cleanup_free struct verify *v = cl_calloc(1, sizeof(*v));
	int rc;

	(void)ctx;
	v->c = CLIENT_INIT;
	v->reasons = CL_BUF_INIT;
	rc = verify(v, e);
	cl_buf_release(&v->reasons);
	verify_release(v);
	return rc;
}
