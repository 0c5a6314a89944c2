/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signatures that were verified, for an hour: FOLDER/signatures.json (facts/executors.md 2.3). Only
 * successes; at 512 the whole is emptied. A folder that others may write is not used.
 */
#ifndef WORK_REGISTRY_CACHE_H
#define WORK_REGISTRY_CACHE_H

#include "policy/image/imagepolicy.h"

/*
 * What an answer depends on: the policy, the bytes of its key files, the image's digests; owned. A key
 * file that changes is another key.
 */
char *registry_cache_key(
	const struct ip_policy *p, const char *repository, const struct cl_strv *digests);
/* The answer that was kept, owned; NULL: none that still holds. */
json_t *registry_cache_find(const char *dir, const char *key);
/* Best effort. */
void registry_cache_keep(const char *dir, const char *key, const json_t *answer);

#endif
