/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What "the public Internet" leaves out: facts/egress.md 1 and DECISIONS E1, E2. One
 * table; every rule, warning and refusal about a blocked range is made from it.
 */
#ifndef CL_POLICY_BLOCKSET_H
#define CL_POLICY_BLOCKSET_H

#include "policy/addr.h"

enum eg_block_kind {
	EG_BLOCK_METADATA,    /* a service that hands out credentials: one host each */
	EG_BLOCK_BASE,        /* loopback, link-local, private, ... */
	EG_BLOCK_TRANSLATION, /* an IPv4 address inside IPv6: never waived */
	EG_BLOCK_SPECIAL      /* DECISIONS E2: only with block_special_use */
};

struct eg_block {
	enum eg_block_kind kind;
	struct pol_prefix prefix;
	const char *reason; /* as rules carry it */
	const char *name;   /* metadata: whose service it is; NULL for the others */
};

/* The table, in the order in which ties between its rows are settled. */
extern const struct eg_block eg_blocks[];
extern const size_t eg_nblocks;

/*
 * Why an allowed prefix is one that the block set closes: the narrowest row that holds
 * it, else the first that overlaps it (no metadata row then), else NULL. `special`:
 * with the rows of block_special_use.
 */
const struct eg_block *eg_block_of(const struct pol_prefix *p, bool special);

#endif
