/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CLOOP_EXEC_CONTAINER_PREPARE_H
#define CLOOP_EXEC_CONTAINER_PREPARE_H

#include "engine_verbs.h"
#include "policy/image/imagepolicy.h"

struct prepared {
	const struct cl_ctx *ctx; /* for talk on standard error */
	struct engine engine;
	struct engine_image image; /* what was asked for */
	struct engine_image built; /* with setup: what is run */
	bool cached, setup_reused;
	char setup_key[CT_BUILD_KEY_LEN];
	json_t *signature; /* who signed the image (work/registry.h); NULL: nobody was asked for */
	struct cl_strv warnings;
	char *cache; /* the hub's folder of cached answers */
};
#define PREPARED_INIT ((struct prepared){.image = ENGINE_IMAGE_INIT, .built = ENGINE_IMAGE_INIT})
void prepared_release(struct prepared *p);

/*
 * The image of the spec's setup commands over p->image, found or built with the run's own
 * network and limits (DECISIONS E8). The last lines of a failing step go to standard error.
 */
int prepare_setup(const struct work_spec *s, struct prepared *p, struct cl_err *e);

/* What the policy makes of the image. */
struct judged {
	struct ip_policy policy; /* one that restricts nothing where the image is not its affair */
	struct ip_decision d;
};

/*
 * signed.c: the signature that the policy asks for, and that of cloop's own images
 * (work/provenance.h). p->signature is who signed it, and the digest that is signed is pinned.
 */
int prepare_verify(struct work_spec *s, struct prepared *p, struct judged *j, struct cl_err *e);

#endif
