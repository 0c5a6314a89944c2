/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether one of cloop's own published images is what its publisher signed: by the operator's cosign.
 * A signature that is there and wrong is refused. One that is missing, or cannot be checked, is a
 * warning, and a refusal where `executors.image_provenance` is required.
 */
#ifndef WORK_PROVENANCE_H
#define WORK_PROVENANCE_H

#include "policy/image/own_image.h"

struct provenance_ask {
	const json_t *reach;           /* work/registry.h */
	const struct own_image *own;   /* which it is */
	const char *reference;         /* as it was written */
	const struct cl_strv *digests; /* that it has, best first; may be none */
	const char *cache;             /* folder, or NULL */
	bool required;
};
/*
 * 0: *signature is what work_registry_verify answers, or NULL where *warning says why not; both
 * owned. -1: CL_EREFUSED with rule "image-provenance".
 */
int provenance_check(
	const struct provenance_ask *a, json_t **signature, char **warning, struct cl_err *e);

#endif
