/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cosign's signatures as a registry holds them: SIGNATURE_SPEC of the cosign project. */
#include "policy/image/oci.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

#define PAYLOAD_TYPE "cosign container image signature"
#define DIGEST_LEN   (OCI_DIGEST - 1 - 7)

char *oci_signature_tag(const char *digest)
{
	return cl_asprintf("sha256-%.*s.sig", DIGEST_LEN, digest + 7);
}

static int refuse(struct cl_err *e, const char *fix)
{
	(void)cl_slug(e, "image_signature");
	return cl_fix(e, "%s", fix);
}

static const char sign_again[] = "sign the image again with 'cosign sign --key', by its digest";

int oci_signatures_check(const struct oci_manifest *m, struct cl_err *e)
{
	if (m->index || !m->n || m->n > OCI_SIGNATURES_MAX) {
		if (m->index)
			(void)cl_fail(
				e, CL_EREFUSED, "the signatures are an index, not a manifest");
		else
			(void)cl_fail(e, CL_EREFUSED,
				"it carries %zu signatures: from 1 to %d are looked at", m->n,
				OCI_SIGNATURES_MAX);
		return refuse(
			e, "delete the tag of its signatures in the registry, and sign again");
	}
	for (size_t i = 0; i < m->n; i++) {
		const struct oci_descriptor *d = &m->v[i];

		if (strcmp(d->media_type, OCI_COSIGN_TYPE) != 0)
			(void)cl_fail(e, CL_EREFUSED, "signature %zu has the type '%.80s'", i + 1,
				d->media_type);
		else if (!d->signature || !*d->signature)
			(void)cl_fail(
				e, CL_EREFUSED, "signature %zu has no signature in it", i + 1);
		else if (d->size > (int64_t)OCI_PAYLOAD_MAX)
			(void)cl_fail(e, CL_EREFUSED,
				"what signature %zu signs has %lld bytes, more than %zu", i + 1,
				(long long)d->size, OCI_PAYLOAD_MAX);
		else
			continue;
		return refuse(e, sign_again);
	}
	return 0;
}

/* The member, or "". */
static const char *member(const json_t *o, const char *a, const char *b)
{
	const char *s = json_string_value(json_object_get(json_object_get(o, a), b));

	return s ? s : "";
}

int oci_payload_check(const char *text, size_t len, const struct ir_ref *image, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	const json_t *critical;
	const char *type, *digest, *name;
	struct ir_ref signed_for;
	struct cl_err why;

	if (cl_doc_parse(&d, CL_DOC_JSON, "payload", text, len, NULL, &why)) {
		(void)cl_fail(e, CL_EREFUSED, "what is signed is no JSON: %s", why.msg);
		return refuse(e, sign_again);
	}
	critical = json_object_get(d.root, "critical");
	type = json_string_value(json_object_get(critical, "type"));
	digest = member(critical, "image", "docker-manifest-digest");
	name = member(critical, "identity", "docker-reference");
	if (!type || strcmp(type, PAYLOAD_TYPE) != 0)
		(void)cl_fail(e, CL_EREFUSED, "what is signed is '%.80s', not a '" PAYLOAD_TYPE "'",
			type ? type : "");
	else if (strcmp(digest, image->digest) != 0)
		(void)cl_fail(e, CL_EREFUSED, "the signature is over another image, %.80s", digest);
	else if (ir_parse(name, &signed_for, &why) ||
		 strcmp(signed_for.registry, image->registry) != 0 ||
		 strcmp(signed_for.repository, image->repository) != 0)
		(void)cl_fail(e, CL_EREFUSED, "the signature is for '%.200s', not for %s/%s", name,
			image->registry, image->repository);
	else
		return 0;
	return refuse(e, sign_again);
}
