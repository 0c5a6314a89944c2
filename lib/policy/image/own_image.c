/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/image/own_image.h"
#include "base/mem.h"

#include <string.h>

/* What pushes them runs on main (edge) and on tags of releases, and is nowhere else. */
#define ISSUER "https://token.actions.githubusercontent.com"
#define WORKFLOW                                                                                  \
	"^https://github\\.com/blechschmidt/cloop/\\.github/workflows/publish-images\\.yml@refs/" \
	"(heads/main|tags/v[0-9][0-9A-Za-z.+-]*)$"

static const struct own_image rows[] = {
	{"ghcr.io", "blechschmidt/cloop", ISSUER, WORKFLOW},
	{"ghcr.io", "blechschmidt/cloop-harness", ISSUER, WORKFLOW},
	{"ghcr.io", "blechschmidt/cloop-harness-copilot", ISSUER, WORKFLOW},
};

const struct own_image *own_image_find(const struct ir_ref *r)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++)
		if (!strcmp(r->registry, rows[i].registry) &&
			!strcmp(r->repository, rows[i].repository))
			return &rows[i];
	return NULL;
}

void own_image_policy(const struct own_image *own, struct ip_policy *out)
{
	out->require_signature = true;
	out->identities = cl_grow(out->identities, &out->identities_cap, out->nidentities + 1,
		sizeof(*out->identities));
	out->identities[out->nidentities++] =
		(struct ip_identity){cl_strdup(own->issuer), cl_strdup(own->subject_regexp)};
}
