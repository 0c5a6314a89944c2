/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lease without anybody to lend to: for the project and the executor of the command line. */
#ifndef CLOOP_SECRET_DRY_H
#define CLOOP_SECRET_DRY_H

#include "secret.h"
#include "work/lease/lease.h"

struct dry {
	struct cl_ctx *ctx;
	struct keyed k;
	char *project;
	const char *executor;
	struct lease_case c;
};

#define DRY_INIT(cx) ((struct dry){.ctx = (cx), .k = KEYED_INIT, .c = LEASE_CASE_INIT})
void dry_release(struct dry *d);
#define cleanup_dry __attribute__((cleanup(dry_release)))

/* Opens the hub with its key, and takes the requester from --project and --executor. */
int dry_open(struct dry *d, struct cl_err *e);

#endif
