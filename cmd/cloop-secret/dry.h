/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lease without anybody to lend to: grants found, judged, opened and narrowed. */
#ifndef CLOOP_SECRET_DRY_H
#define CLOOP_SECRET_DRY_H

#include "policy/secret_lease.h"
#include "secret.h"

/* One grant that is aimed at the requester, with everything that its offer borrows. */
struct aimed {
	struct store_grant row;
	struct grant_view view;
	struct sec_grant grant;
	struct seal_buf payload;
	struct sec_reasons reasons; /* what stands in the way before it is opened */
	bool unreadable;            /* no row of ours: see refusal */
	bool refused;
	struct cl_err refusal;
	struct cl_strv names, paths;
	struct sec_candidate *candidates;
};

struct dry {
	struct cl_ctx *ctx;
	struct keyed k;
	char *project;
	const char *executor;
	struct sec_labels labels;
	struct sec_requester who;
	bool everybody; /* keep grants that are not for the requester too */
	unsigned char pub[SEAL_KEY];
	bool known;
	struct aimed **v; /* pointers: offers borrow from what they point to */
	size_t n, cap;
	struct sec_lease lease;
};

#define DRY_INIT(c)    \
	((struct dry){ \
		.ctx = (c), .k = KEYED_INIT, .labels = SEC_LABELS_INIT, .lease = SEC_LEASE_INIT})
void dry_release(struct dry *d);
#define cleanup_dry __attribute__((cleanup(dry_release)))

/* Opens the hub with its key, and takes the requester from --project and --executor. */
int dry_open(struct dry *d, struct cl_err *e);
/* Adds what the filter lets through and the requester is aimed at (or everybody's). */
int dry_find(struct dry *d, const struct store_grant_filter *f, struct cl_err *e);
/* Judges, opens and minimises what was found. Never fails: see each one's refusal. */
void dry_build(struct dry *d);
/* Why the lease does not deliver a grant; NULL: it does. */
const struct sec_refused *dry_refusal(const struct dry *d, const char *grant_id);

#endif
