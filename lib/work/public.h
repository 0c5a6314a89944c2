/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public half of the key that signs a hub's grants, bindings and labels: .cloop/grants.pub. */
#ifndef WORK_PUBLIC_H
#define WORK_PUBLIC_H

#include "seal/crypto.h"

#define WORK_PUBLIC_FILE "grants.pub"

/* A descriptor of the hub's .cloop, no link followed; -1 with *e. */
int work_open_inner(const char *hub_dir, struct cl_err *e);
/*
 * *known false when there is none yet: nothing was ever signed. CL_ECONFIG when others could
 * have written it, or it holds no key.
 */
int work_public(const char *hub_dir, unsigned char out[SEAL_KEY], bool *known, struct cl_err *e);

#endif
