/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The images that cloop itself publishes, and who signs them: the workflow that publishes them, by
 * the identity that GitHub vouches for. They are verified whoever chose them
 * (`executors.image_provenance`), beside the image policy and not by it. The guide "Per-project
 * sandbox", cloop's own images. Pure.
 */
#ifndef CL_POLICY_OWN_IMAGE_H
#define CL_POLICY_OWN_IMAGE_H

#include "policy/image/imagepolicy.h"

#define IP_RULE_PROVENANCE "image-provenance"

struct own_image {
	const char *registry, *repository; /* as ir_parse has them */
	const char *issuer, *subject_regexp;
};

/* The row of the image that the reference names; NULL: it is none of cloop's. */
const struct own_image *own_image_find(const struct ir_ref *r);
/* The policy that a signature of that publisher satisfies alone; *out is IP_POLICY_INIT. */
void own_image_policy(const struct own_image *own, struct ip_policy *out);

#endif
