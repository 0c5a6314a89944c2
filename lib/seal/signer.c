/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key that signs grants (DECISIONS K8): its private half is a sealed row like any other. */
#include "base/mem.h"
#include "base/text.h"
#include "seal/ring_internal.h"
#include "sys/id.h"

#include <stdlib.h>
#include <string.h>

void seal_signer_release(struct seal_signer *k)
{
	seal_buf_release(&k->private_key);
	*k = SEAL_SIGNER_INIT;
}

static int altered(const char *how, struct cl_err *e)
{
	(void)cl_fail(e, CL_ECONFIG, "the key that signs this hub's grants %s", how);
	(void)cl_slug(e, "signing_altered");
	return cl_fix(e, "restore state.db and .cloop/grants.pub together from one backup");
}

static int make(struct seal_ring *r, const struct seal_who *who, bool *won, struct cl_err *e)
{
	cleanup_signing_row struct store_signing row = {0};
	cleanup_sealed_row struct store_sealed sealed = {0};
	cleanup_seal struct seal_buf seed = SEAL_BUF_INIT;
	unsigned char public_key[SEAL_KEY];
	char id[32], text[2 * SEAL_KEY + 1];

	if (sys_new_id("sign_", 24, id, sizeof(id), e) || seal_buf_make(&seed, SEAL_KEY, e) ||
		seal_random(seed.p, SEAL_KEY, e))
		return -1;
	seal_public(seed.p, public_key);
	if (seal_ring_seal(r, STORE_SIGNING, id, seed.p, SEAL_KEY, &sealed, e))
		return -1;
	cl_hex(public_key, sizeof(public_key), text);
	row.id = cl_strdup(id);
	row.public = cl_strdup(text);
	row.key_id = cl_steal(&sealed.key_id);
	row.wrapped = cl_steal(&sealed.wrapped);
	row.sealed = cl_steal(&sealed.sealed);
	row.created_at = who->now;
	row.created_by = cl_strdup(who->actor);
	return store_signing_add(r->store, &row, won, e);
}

static int open_row(struct seal_ring *r, const struct store_signing *row,
	const unsigned char *known, struct seal_signer *out, struct cl_err *e)
{
	struct store_sealed sealed = {row->id, row->key_id, row->wrapped, row->sealed};
	char text[2 * SEAL_KEY + 1];

	if (seal_ring_unseal(
		    r, STORE_SIGNING, &sealed, "the key that signs grants", &out->private_key, e))
		return -1;
	if (out->private_key.len != SEAL_KEY)
		return altered("has another length than a key", e);
	seal_public(out->private_key.p, out->public_key);
	cl_hex(out->public_key, SEAL_KEY, text);
	if (strcmp(text, row->public) != 0 || (known && memcmp(known, out->public_key, SEAL_KEY)))
		return altered("is not the one that .cloop/grants.pub and state.db name", e);
	return 0;
}

int seal_ring_signer(struct seal_ring *r, const unsigned char *known, const struct seal_who *who,
	struct seal_signer *out, bool *made, struct cl_err *e)
{
	*made = false;
	/* Twice when a rotation or another process came between. */
	for (int n = 0; n < 3; n++) {
		cleanup_signing_row struct store_signing row = {0};
		bool found;

		if (store_signing_get(r->store, &row, &found, e))
			return -1;
		if (found)
			return open_row(r, &row, known, out, e);
		if (known)
			return altered("is gone from state.db, and .cloop/grants.pub knows one", e);
		if (make(r, who, made, e))
			return -1;
	}
	return cl_fail(e, CL_EBUSY, "the registry changes too fast; try again");
}
