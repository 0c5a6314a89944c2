/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "seal/ring.h"

#include "base/b64.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "seal/ring_internal.h"
#include "sys/id.h"

#include <stdlib.h>
#include <string.h>

void seal_ring_free(struct seal_ring *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nkeys; i++) {
		store_key_release(&r->keys[i]->row);
		seal_buf_release(&r->keys[i]->kek);
		free(r->keys[i]);
	}
	free(r->keys);
	free(r);
}

void seal_ring_cleanup(struct seal_ring **r)
{
	seal_ring_free(*r);
	*r = NULL;
}

struct seal_kek ring_kek(const struct ring_key *k)
{
	return (struct seal_kek){k->row.id, k->kek.p};
}

/* A key that was there when we looked may have been retired since: then somebody wrote. */
int ring_find(struct seal_ring *r, const char *id, struct ring_key **out, struct cl_err *e)
{
	cleanup_key_row struct store_key row = STORE_KEY_INIT;
	struct ring_key *k = NULL;
	struct store_mark mark;
	bool found;

	*out = NULL;
	if (store_mark(r->store, &mark, e))
		return -1;
	for (size_t i = 0; i < r->nkeys && !k; i++)
		if (!strcmp(r->keys[i]->row.id, id))
			k = r->keys[i];
	if (k && store_mark_same(&k->mark, &mark)) {
		*out = k;
		return 0;
	}
	if (store_key_get(r->store, id, &row, &found, e))
		return -1;
	if (!found)
		return 0;
	if (!k) {
		r->keys = cl_grow(r->keys, &r->cap, r->nkeys + 1, sizeof(*r->keys));
		k = r->keys[r->nkeys++] = cl_calloc(1, sizeof(*k));
	}
	store_key_release(&k->row);
	k->row = row;
	k->mark = mark;
	row = STORE_KEY_INIT;
	*out = k;
	return 0;
}

/* False: no text of ours, so no key that can be proven. */
static bool parse_key(
	const struct store_key *row, unsigned char salt[SEAL_SALT], unsigned char proof[SEAL_PROOF])
{
	return cl_unhex(row->salt, salt, SEAL_SALT) && cl_unhex(row->proof, proof, SEAL_PROOF);
}

int ring_derive(struct seal_ring *r, struct ring_key *k, struct cl_err *e)
{
	unsigned char salt[SEAL_SALT], proof[SEAL_PROOF];
	struct seal_kek kek;

	if (k->kek.p || k->wrong)
		return 0;
	k->wrong = !parse_key(&k->row, salt, proof) ||
		   strcmp(k->row.method, seal_root_method(r->root)) != 0;
	if (k->wrong)
		return 0;
	if (seal_buf_make(&k->kek, SEAL_KEY, e) ||
		seal_root_derive(r->root, k->row.id, salt, k->kek.p, e))
		return -1;
	k->kek.len = SEAL_KEY;
	kek = ring_kek(k);
	if (!seal_check(&kek, proof, e))
		return 0;
	seal_buf_release(&k->kek);
	k->wrong = true;
	return e->code == CL_EDATA ? 0 : -1;
}

static int wrong_key(const struct seal_ring *r, const char *ids, size_t n, struct cl_err *e)
{
	(void)cl_fail(e, CL_ECONFIG,
		"the root key of %s is not the one that sealed this hub's secrets: %zu key%s (%s) "
		"cannot be derived from it",
		r->root->source, n, n == 1 ? "" : "s", ids);
	(void)cl_slug(e, "key_wrong");
	return cl_fix(e, "name the right one with CLOOP_SECRET_KEY_FILE (or CLOOP_SECRET_KEY), or "
			 "restore it: cloop hub key escrow import FILE");
}

static int unknown_key(const char *what, const char *id, struct cl_err *e)
{
	(void)cl_fail(e, CL_ECONFIG,
		"%s was sealed under the key %s, which this hub's registry "
		"does not have",
		what, id);
	(void)cl_slug(e, "key_unknown");
	return cl_fix(e, "restore a state.db that has both from a backup");
}

int ring_usable(struct seal_ring *r, const char *id, const char *what, struct ring_key **out,
	struct cl_err *e)
{
	char when[32];

	if (ring_find(r, id, out, e))
		return -1;
	if (!*out)
		return unknown_key(what, id, e);
	if (!strcmp((*out)->row.state, "retired")) {
		cl_format_time((*out)->row.retired_at / 1000, when);
		(void)cl_fail(e, CL_EUNAVAIL,
			"%s was sealed under the key %s, which was retired on %s: it cannot be "
			"opened again",
			what, id, when);
		(void)cl_slug(e, "key_retired");
		return cl_fix(e, "restore a state.db from before that, or store the secret anew");
	}
	if (ring_derive(r, *out, e))
		return -1;
	return (*out)->wrong ? wrong_key(r, id, 1, e) : 0;
}

int ring_primary(struct seal_ring *r, struct ring_key **out, struct cl_err *e)
{
	cleanup_free char *id = NULL;

	if (store_key_primary(r->store, &id, e))
		return -1;
	if (!id)
		return cl_fail(e, CL_ECONFIG, "the registry has lost its primary key");
	return ring_usable(r, id, "the primary", out, e);
}

int ring_mint(struct seal_ring *r, const char *was, const struct seal_who *who, bool *won,
	struct cl_err *e)
{
	unsigned char salt[SEAL_SALT], proof[SEAL_PROOF];
	char id[32], salt_text[2 * SEAL_SALT + 1], proof_text[2 * SEAL_PROOF + 1];
	cleanup_seal struct seal_buf key = SEAL_BUF_INIT;
	struct seal_kek kek = {id, NULL};
	struct store_key row = {
		.id = id, .salt = salt_text, .proof = proof_text, .created_at = who->now};

	if (sys_new_id("kek_", 24, id, sizeof(id), e) || seal_random(salt, sizeof(salt), e) ||
		seal_buf_make(&key, SEAL_KEY, e) || seal_root_derive(r->root, id, salt, key.p, e))
		return -1;
	kek.key = key.p;
	if (seal_prove(&kek, NULL, proof, e))
		return -1;
	cl_hex(salt, sizeof(salt), salt_text);
	cl_hex(proof, sizeof(proof), proof_text);
	row.state = (char *)(uintptr_t) "primary";
	row.method = (char *)(uintptr_t)seal_root_method(r->root);
	row.created_by = (char *)(uintptr_t)who->actor;
	return store_key_add(r->store, &row, was, won, e);
}

/* ---- opening ---- */

/* What a registry without a usable primary has. */
struct survey {
	struct seal_ring *ring;
	struct cl_buf wrong; /* ids, separated */
	size_t nwrong, nlive;
	char newest[32]; /* of those that can be derived */
	int64_t newest_at;
};

static int survey_key(const struct store_key *row, void *arg, struct cl_err *e)
{
	struct survey *s = arg;
	struct ring_key *k;

	if (!strcmp(row->state, "retired"))
		return 0;
	s->nlive++;
	if (ring_find(s->ring, row->id, &k, e))
		return -1;
	if (!k)
		return 0;
	if (ring_derive(s->ring, k, e))
		return -1;
	if (k->wrong) {
		cl_buf_addf(&s->wrong, "%s%s", s->nwrong++ ? ", " : "", row->id);
	} else if (row->created_at > s->newest_at) {
		/* In order of age and id: of two as new the lower id stays. */
		s->newest_at = row->created_at;
		(void)snprintf(s->newest, sizeof(s->newest), "%s", row->id);
	}
	return 0;
}

struct orphans {
	struct seal_ring *ring;
	bool late; /* another process has made the first key, and sealed by it, since we looked */
};

static int orphan(const struct store_sealed *row, void *arg, struct cl_err *e)
{
	cleanup_free char *what = cl_asprintf("a row (%s)", row->id);
	struct orphans *o = arg;
	struct ring_key *k;

	if (ring_find(o->ring, row->key_id, &k, e))
		return -1;
	o->late = k && strcmp(k->row.state, "retired") != 0;
	return o->late ? 0 : unknown_key(what, row->key_id, e);
}

/* No live key: the first is made, unless rows say that there was one. */
static int first_key(struct seal_ring *r, const struct seal_who *who, struct cl_err *e)
{
	struct orphans o = {.ring = r};
	bool won;

	for (int set = 0; set < STORE_NSETS && !o.late; set++)
		if (store_sealed_each(r->store, (enum store_set)set, "", "", 1, orphan, &o, e))
			return -1;
	return o.late ? 0 : ring_mint(r, "", who, &won, e);
}

static int recover(struct seal_ring *r, const struct seal_who *who, struct cl_err *e)
{
	struct survey s = {.ring = r, .wrong = CL_BUF_INIT};
	bool won;
	int rc = store_key_each(r->store, survey_key, &s, e);

	if (!rc && s.nwrong)
		rc = wrong_key(r, s.wrong.p, s.nwrong, e);
	else if (!rc && s.newest[0])
		rc = store_key_promote(r->store, s.newest, &won, e);
	else if (!rc)
		rc = first_key(r, who, e);
	cl_buf_release(&s.wrong);
	return rc;
}

void seal_ring_peek(struct store *s, const struct seal_root *root, struct seal_ring **out)
{
	*out = cl_calloc(1, sizeof(**out));
	(*out)->store = s;
	(*out)->root = root;
}

int seal_ring_open(struct store *s, const struct seal_root *root, const struct seal_who *who,
	struct seal_ring **out, struct cl_err *e)
{
	cleanup_ring struct seal_ring *r = NULL;
	cleanup_free char *id = NULL;
	struct ring_key *k = NULL;

	*out = NULL;
	seal_ring_peek(s, root, &r);
	if (store_key_primary(s, &id, e) || (id && ring_find(r, id, &k, e)) ||
		(k && ring_derive(r, k, e)))
		return -1;
	if ((!k || k->wrong) && (recover(r, who, e) || ring_primary(r, &k, e)))
		return -1;
	*out = cl_steal(&r);
	return 0;
}

int seal_ring_opens(struct seal_ring *r, const char *key_id, bool *opens, struct cl_err *e)
{
	struct ring_key *k;

	*opens = false;
	if (ring_find(r, key_id, &k, e))
		return -1;
	if (!k || !strcmp(k->row.state, "retired"))
		return 0;
	if (ring_derive(r, k, e))
		return -1;
	*opens = !k->wrong;
	return 0;
}

/* ---- sealing and opening rows ---- */

int seal_ring_seal(struct seal_ring *r, enum store_set set, const char *id, const void *plain,
	size_t len, struct store_sealed *out, struct cl_err *e)
{
	struct seal_place at = {store_set_name(set), id};
	cleanup_seal struct seal_buf dek = SEAL_BUF_INIT;
	cleanup_buf struct cl_buf blob = CL_BUF_INIT, text = CL_BUF_INIT;
	unsigned char wrapped[SEAL_WRAPPED];
	char wrapped_text[2 * SEAL_WRAPPED + 1];
	struct ring_key *k;
	struct seal_kek kek;

	if (len > SEAL_PAYLOAD_MAX)
		return cl_fail(e, CL_EDATA, "a payload of %zu bytes is larger than %zu", len,
			SEAL_PAYLOAD_MAX);
	if (ring_primary(r, &k, e) || seal_buf_make(&dek, SEAL_KEY, e) ||
		seal_random(dek.p, SEAL_KEY, e))
		return -1;
	kek = ring_kek(k);
	if (seal_wrap(&kek, &at, NULL, dek.p, wrapped, e) ||
		seal_payload(dek.p, &at, NULL, plain, len,
			(unsigned char *)cl_buf_reserve(&blob, len + SEAL_EXTRA), e))
		return -1;
	cl_b64_encode(CL_B64, blob.p, len + SEAL_EXTRA, &text);
	cl_hex(wrapped, sizeof(wrapped), wrapped_text);
	store_sealed_release(out);
	out->id = cl_strdup(id);
	out->key_id = cl_strdup(k->row.id);
	out->wrapped = cl_strdup(wrapped_text);
	out->sealed = cl_buf_detach(&text);
	return 0;
}

static int altered(const char *what, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA,
		"%s does not open: its row in state.db was altered, or is "
		"another row's",
		what);
	(void)cl_slug(e, "sealed_altered");
	return cl_fix(e, "store it anew, and find out who writes to state.db");
}

int seal_ring_unseal(struct seal_ring *r, enum store_set set, const struct store_sealed *row,
	const char *what, struct seal_buf *out, struct cl_err *e)
{
	struct seal_place at = {store_set_name(set), row->id};
	cleanup_seal struct seal_buf dek = SEAL_BUF_INIT;
	cleanup_buf struct cl_buf blob = CL_BUF_INIT;
	unsigned char wrapped[SEAL_WRAPPED];
	struct ring_key *k;
	struct seal_kek kek;

	if (ring_usable(r, row->key_id, what, &k, e) || seal_buf_make(&dek, SEAL_KEY, e))
		return -1;
	kek = ring_kek(k);
	if (!cl_unhex(row->wrapped, wrapped, sizeof(wrapped)) ||
		!cl_b64_decode(CL_B64, row->sealed, strlen(row->sealed), false, &blob))
		return altered(what, e);
	if (seal_unwrap(&kek, &at, wrapped, dek.p, e) ||
		seal_unpayload(dek.p, &at, blob.p, blob.len, out, e))
		return e->code == CL_EDATA ? altered(what, e) : -1;
	return 0;
}
