/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key ring: the root key together with the registry of key-encryption keys in the store.
 * It seals under the primary, as the store says who that is at that moment, and opens what any
 * live key sealed. A root key that cannot open what is there never makes a registry of its own
 * beside it (facts 1.3).
 */
#ifndef SEAL_RING_H
#define SEAL_RING_H

#include "seal/mem.h"
#include "seal/root.h"
#include "store/key.h"

struct seal_ring;

/* Who asks, for what the registry and the audit trail keep. */
struct seal_who {
	const char *actor; /* "uid:0" */
	int64_t now;       /* Unix milliseconds */
};

/*
 * Opens the ring: the primary is derived and must prove itself. Where there is no usable primary:
 * a live key that this root cannot derive is CL_ECONFIG, slug "key_wrong", naming how many, which
 * and the root's source; rows sealed under keys that are gone are "key_unknown"; else the newest
 * live key becomes the primary, or the first one is made. `root` is borrowed and must outlive it.
 */
int seal_ring_open(struct store *s, const struct seal_root *root, const struct seal_who *who,
	struct seal_ring **out, struct cl_err *e);
/* The same for who only looks: nothing is asked of the primary, nothing made or promoted. */
void seal_ring_peek(struct store *s, const struct seal_root *root, struct seal_ring **out);
void seal_ring_free(struct seal_ring *r);
void seal_ring_cleanup(struct seal_ring **r);
#define cleanup_ring __attribute__((cleanup(seal_ring_cleanup)))

/*
 * Seals a payload as row `id` of the set: fills key_id, wrapped and sealed of *out, owned. The
 * key is the primary of now; the store's insert refuses the row when it no longer is.
 */
int seal_ring_seal(struct seal_ring *r, enum store_set set, const char *id, const void *plain,
	size_t len, struct store_sealed *out, struct cl_err *e);
/*
 * Opens a row. Four ways to fail, each with a slug: "key_retired" (CL_EUNAVAIL; names when),
 * "key_wrong" (CL_ECONFIG; the root is another), "key_unknown" (CL_ECONFIG; not in the registry)
 * and "sealed_altered" (CL_EDATA). `what` names the row in messages: "secret 'app'".
 */
int seal_ring_unseal(struct seal_ring *r, enum store_set set, const struct store_sealed *row,
	const char *what, struct seal_buf *out, struct cl_err *e);

/* True when the key's check value opens: it is this root's. Retired keys never are. */
int seal_ring_opens(struct seal_ring *r, const char *key_id, bool *opens, struct cl_err *e);

/* ---- rotation ---- */

struct seal_rotate {
	bool resume;   /* go on with the primary of now instead of a new key */
	int64_t batch; /* rows a transaction */
	/* Polled between batches; true ends the pass as interrupted. */
	bool (*stop)(void *arg);
	void *arg;
};
/*
 * Makes a new primary (unless resuming) and wraps the data key of every row under it; payloads
 * are not touched. Each row moves by compare and swap, so writers in other processes and other
 * rotations go on; one that is killed is resumed. *out says how it ended, which is "failed"
 * when a row did not open, and "interrupted" when told to stop or when another rotation took
 * over. 0 in all of these cases.
 */
int seal_ring_rotate(struct seal_ring *r, const struct seal_rotate *how, const struct seal_who *who,
	struct store_rotation *out, struct cl_err *e);

/* ---- the key that signs ---- */

/* The hub's signing key; made, and sealed, when there is none yet. */
struct seal_signer {
	unsigned char public_key[SEAL_KEY];
	struct seal_buf private_key;
};
#define SEAL_SIGNER_INIT ((struct seal_signer){0})
void seal_signer_release(struct seal_signer *k);
#define cleanup_signer __attribute__((cleanup(seal_signer_release)))
/*
 * `known` is the public key in the hub's directory, NULL when there is none. A store without the
 * key while one is known, or with another: CL_ECONFIG, slug "signing_altered". *made: it is new.
 */
int seal_ring_signer(struct seal_ring *r, const unsigned char *known, const struct seal_who *who,
	struct seal_signer *out, bool *made, struct cl_err *e);

#endif
