/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Manifests and blobs, whole. A digest in a header is somebody's claim, so a manifest is never asked
 * for by HEAD: what counts is the digest of its bytes.
 */
#include "registry.h"
#include "base/mem.h"

#include <string.h>

int fetch_manifest(struct client *c, const char *which, struct fetched *out, struct cl_err *e)
{
	bool digest = strchr(which, ':') != NULL;
	cleanup_free char *path = cl_asprintf("/v2/%s/manifests/%s", c->ref.repository, which);
	cleanup_free char *what = cl_asprintf("the manifest of %s/%s%c%s", c->ref.registry,
		c->ref.repository, digest ? '@' : ':', which);
	cleanup_http_answer struct http_answer a = HTTP_ANSWER_INIT;

	if (client_get(c, path, OCI_ACCEPT, OCI_MANIFEST_MAX, what, &a, e) ||
		oci_digest_check(a.body.p, a.body.len, digest ? which : "", a.digest, what,
			out->digest, e) ||
		oci_manifest_read(a.body.p, a.body.len, a.content_type, &out->m, e))
		return -1;
	out->size = a.body.len;
	return 0;
}

int fetch_blob(
	struct client *c, const struct oci_descriptor *d, struct cl_buf *out, struct cl_err *e)
{
	cleanup_free char *path = cl_asprintf("/v2/%s/blobs/%s", c->ref.repository, d->digest);
	cleanup_free char *what =
		cl_asprintf("blob %s of %s/%s", d->digest, c->ref.registry, c->ref.repository);
	cleanup_http_answer struct http_answer a = HTTP_ANSWER_INIT;
	char digest[OCI_DIGEST];

	/* A byte more than it has is another blob. */
	if (client_get(c, path, "*/*", (size_t)d->size, what, &a, e) ||
		oci_digest_check(a.body.p, a.body.len, d->digest, "", what, digest, e))
		return -1;
	cl_buf_add(out, a.body.p, a.body.len);
	return 0;
}
