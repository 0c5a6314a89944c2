/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What image registries say, for whoever judges an image: asked by cloop-registry, which alone speaks
 * HTTP to them (DECISIONS D15). Each function may wait for a minute and more: no transaction may be
 * open. Nothing is pulled.
 */
#ifndef WORK_REGISTRY_H
#define WORK_REGISTRY_H

#include "policy/config/config.h"

/*
 * `sandbox.registry` as far as it is set: {auth_file, certs_dir, cosign, plain_http, proxy}; owned.
 * It is what a driver gets in its spec and what the functions below take.
 */
json_t *work_registry_reach(const struct cfg *c);

/*
 * Which digest a reference stands for at its registry now: {reference (canonical), digest,
 * media_type, size, index, image_id (an engine's id of it; "" where it is not known), platform};
 * platform is null, or of an index {digest, os, arch, variant}
 * for this machine, or {digest: null, note}. *out is owned. Slugs are those of policy/image/oci.h and
 * wire/http.h.
 */
int work_registry_resolve(
	const json_t *reach, const char *reference, json_t **out, struct cl_err *e);

/*
 * Is one of the digests ("sha256:...", best first) of "registry/repository" signed by one of the
 * policy's keys or identities? {reference, digest, by, how: native|cosign, cached}; *out is owned. The
 * answer is looked for in, and a yes is kept in, the folder `cache` (NULL: none) for an hour: under
 * the policy, what its key files hold, and the digests. CL_EREFUSED, slug image_signature and a
 * constraint of policy/image/oci.h, when nobody's is.
 */
int work_registry_verify(const json_t *reach, const struct ip_policy *policy,
	const char *repository, const struct cl_strv *digests, const char *cache, json_t **out,
	struct cl_err *e);

#endif
