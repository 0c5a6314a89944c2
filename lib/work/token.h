/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tokens of GitHub Apps as the hub keeps them: sealed from the moment that GitHub gave one, so that it
 * can be destroyed by whoever has the key, and queued until GitHub says that it is gone, which it also
 * says of one that ended by itself (after an hour at most). What a lease delivers of them is
 * work/lease/app_token.h's.
 */
#ifndef WORK_TOKEN_H
#define WORK_TOKEN_H

#include "store/token.h"
#include "work/forge.h"
#include "work/keyed.h"

/*
 * Seals and writes down what GitHub just gave, in a transaction of its own: from here on it is found
 * by its sum (SHA-256, hex) and destroyed, unless a lease stands on it. Needs the key (keyed_open).
 */
struct token_of {
	const char *grant_id, *secret_id, *secret_name; /* "" where there is none */
};
int token_keep(
	struct keyed *k, const struct forge_token *t, const struct token_of *of, struct cl_err *e);
/*
 * The same for those that GitHub gave and nobody uses: queued at once, as far as the key is at hand. A
 * line of each is added to notes, and an audit row says so where GitHub was asked to destroy it.
 */
void token_keep_left(struct keyed *k, const struct forge_lefts *left, const struct token_of *of,
	struct cl_strv *notes);

/*
 * A token as its holder gave it back, for who has no key to open the sealed one with. It is sent to an
 * address that the hub's key signed, and to no other. Borrowed.
 */
struct token_given {
	const char *p;
	size_t len;
};

/* Opens the key where that is not done yet; false, with why, where there is none (DECISIONS K9). */
bool token_ring(struct keyed *k, struct cl_err *why);

/* The slug of `why` below where another process is about the token at this moment. */
#define TOKEN_BUSY "token_busy"

/* What one pass over the queue did. */
struct token_pass {
	int64_t destroyed, queued, lapsed;
	int64_t last;      /* when the last of the queued ones ends by itself; Unix milliseconds */
	struct cl_err why; /* of a queued one */
};

/*
 * Has each token of the filter destroyed and forgets it; what GitHub does not destroy stays, with why.
 * One that has ended by this clock is asked for all the same, and forgotten when GitHub does not know it
 * any more, or after so many tries since that its hour is over whatever the clock did. Opens the key
 * as far as it is there (DECISIONS K9): only without one is what is `given` (n of them) asked for. Rows
 * are written in the audit trail. Waits for GitHub, a minute at most. -1 only when the store cannot be used.
 */
int token_replay(struct keyed *k, const struct store_token_filter *f,
	const struct token_given *given, size_t n, struct token_pass *out, struct cl_err *e);

/*
 * After a revocation: has tokens of the filter destroyed that no holder is about, and waits for those
 * that one is about, until `until` (sys_mono_ms). *out says what is queued then.
 */
int token_wait(struct keyed *k, const struct store_token_filter *f, int64_t until,
	struct token_pass *out, struct cl_err *e);

#endif
