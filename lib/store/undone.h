/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ends that were undone: a signature says of a grant how it was made and not that it was revoked, and a
 * process that may only write the state file can put the row back as it was. The audit trail has the end
 * still; who takes it out of there breaks the chain, which `audit verify` says.
 */
#ifndef STORE_UNDONE_H
#define STORE_UNDONE_H

#include "store/store.h"

#include <stdbool.h>

/*
 * *end: the grant's row is not revoked, and the trail says that it was, or that its secret was deleted.
 * *word: it has an acknowledgement (unguarded), and the trail says that the last one was withdrawn.
 * Both are of one moment, so that what is revoked meanwhile is neither.
 */
int store_grant_undone(struct store *s, const char *id, bool *end, bool *word, struct cl_err *e);
/* The lease's row is live, and the trail says that it was taken back whole. */
int store_lease_undone(struct store *s, const char *id, bool *end, struct cl_err *e);

#endif
