/* SPDX-License-Identifier: GPL-3.0-or-later */
/* resolve: the digest that a reference stands for at its registry now, and the image of an index. */
#include "registry.h"
#include "base/mem.h"

#include <stdio.h>

/* The id that an engine has for the image: of an index, that of the image for this machine. */
static void find_config(struct client *c, const struct fetched *f,
	const struct oci_descriptor *platform, char out[OCI_DIGEST])
{
	struct fetched image = FETCHED_INIT;
	struct cl_err ignored;

	(void)snprintf(out, OCI_DIGEST, "%s", f->m.config);
	/* One that cannot be had is not known: it is asked for by nobody but who compares. */
	if (platform && !fetch_manifest(c, platform->digest, &image, &ignored))
		(void)snprintf(out, OCI_DIGEST, "%s", image.m.config);
	oci_manifest_release(&image.m);
}

static json_t *platform_json(const struct oci_descriptor *d, const struct cl_err *e)
{
	/* Another machine may be the one that runs it. */
	if (!d)
		return json_pack("{s:n, s:o}", "digest", "note", cl_json_string(e->msg));
	return json_pack("{s:s, s:s, s:o, s:o}", "digest", d->digest, "os", "linux", "arch",
		cl_json_string(d->arch), "variant", cl_json_string(d->variant));
}

static void answer(struct client *c, const struct fetched *f)
{
	cleanup_buf struct cl_buf name = CL_BUF_INIT;
	const struct oci_descriptor *platform = NULL;
	char config[OCI_DIGEST];
	struct cl_err e;

	if (f->m.index)
		platform = oci_platform(&f->m, c->arch, c->variant, &e);
	find_config(c, f, platform, config);
	(void)snprintf(c->ref.digest, sizeof(c->ref.digest), "%s", f->digest);
	ir_canonical(&c->ref, &name);
	cl_take_json(json_pack("{s:s, s:s, s:s, s:I, s:b, s:s, s:o}", "reference", name.p, "digest",
		f->digest, "media_type", f->m.media_type, "size", (json_int_t)f->size, "index",
		f->m.index, "image_id", config, "platform",
		f->m.index ? platform_json(platform, &e) : json_null()));
}

int cmd_registry_resolve(struct cl_ctx *ctx, struct cl_err *e)
{
	cleanup_client struct client c = CLIENT_INIT;
	struct fetched f = FETCHED_INIT;
	const char *which;
	int rc;

	(void)ctx;
	if (client_read(&c, NULL, 0, e))
		return -1;
	which = *c.ref.digest ? c.ref.digest : *c.ref.tag ? c.ref.tag : "latest";
	rc = fetch_manifest(&c, which, &f, e);
	if (!rc)
		answer(&c, &f);
	oci_manifest_release(&f.m);
	return rc;
}
