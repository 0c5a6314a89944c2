/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the key ring share. */
#ifndef SEAL_RING_INTERNAL_H
#define SEAL_RING_INTERNAL_H

#include "seal/envelope.h"
#include "seal/ring.h"

/* A key as the registry has it, and what was derived of it so far. */
struct ring_key {
	struct store_key row;
	struct store_mark mark; /* from before it was read */
	struct seal_buf kek;    /* p NULL: not derived */
	bool wrong;             /* derived, and its check value did not open */
};

struct seal_ring {
	struct store *store;
	const struct seal_root *root;
	struct ring_key **keys; /* pointers: a borrowed one stays good while the ring grows */
	size_t nkeys, cap;
};

/* The key of that id, as the store has it now; NULL in *out: there is none. */
int ring_find(struct seal_ring *r, const char *id, struct ring_key **out, struct cl_err *e);
/* Derives it once. 0 whether it proves itself or not: see k->wrong. */
int ring_derive(struct seal_ring *r, struct ring_key *k, struct cl_err *e);
/* The primary of now, derived and proven. */
int ring_primary(struct seal_ring *r, struct ring_key **out, struct cl_err *e);
/* A key that opens rows, or the error of facts 1.3 that says why not. */
int ring_usable(struct seal_ring *r, const char *id, const char *what, struct ring_key **out,
	struct cl_err *e);
/* A new key in the place of the primary `was`; *won false: somebody else was faster. */
int ring_mint(struct seal_ring *r, const char *was, const struct seal_who *who, bool *won,
	struct cl_err *e);
struct seal_kek ring_kek(const struct ring_key *k);

#endif
