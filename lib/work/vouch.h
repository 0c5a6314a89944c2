/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What says that stored rules are those that were set. Rules only take away, so that who can
 * write the state file would remove a row or put an older one back, which no signature over
 * rows shows (of grants, which only give, it is otherwise: DECISIONS K8). So the hub keeps,
 * beside its configuration, the digest of the newest row of every subject that ever had rules
 * (.cloop/egress-rules). It needs no key. Only the owner may write there.
 */
#ifndef WORK_VOUCH_H
#define WORK_VOUCH_H

#include "store/rules.h"
#include "sys/hub.h"

#define VOUCH_FILE "egress-rules"

/*
 * store_rules_newest of rows that are vouched for. CL_ECONFIG with constraint "egress_rules"
 * and slug "rules_altered" where a newest row is not the one that was set, or is gone; *out
 * then has what the state file has.
 */
int vouch_newest(const struct hub *h, struct store *s, const struct store_rules_of *of, size_t n,
	struct store_rules *out, struct cl_err *e);

/*
 * In the transaction that adds a subject's next row: from here on both the row before and
 * this one hold, so that a reader between the two, or a process that dies, refuses nothing.
 */
int vouch_add(const struct hub *h, struct store *s, const struct store_rules_of *of,
	const struct store_rules *before, struct cl_err *e);
/* After the commit: the newest row alone. */
int vouch_settle(
	const struct hub *h, struct store *s, const struct store_rules_of *of, struct cl_err *e);

#endif
