/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CMD_EGRESS_VERIFY_H
#define CMD_EGRESS_VERIFY_H

#include "cli/cli.h"
#include "work/ctx.h"
#include "work/filters.h"

/* A filter that should stand. Borrowed. */
struct egress_filter {
	const char *table, *bridge;
	const struct eg_policy *policy; /* NULL: everything leaves */
};

/* Reads the kernel; *report is VF_REPORT_INIT. */
int egress_verify_one(
	const struct egress_filter *f, struct vf_report *report, bool *same, struct cl_err *e);
/* As text, or with --json as an object on a line. */
void egress_verify_print(
	const struct cl_ctx *c, const struct egress_filter *f, const struct vf_report *r);
/* The same for one that the store knows, with the tables beside it. */
void egress_finding_print(
	const struct cl_ctx *c, const struct work_filter *f, const struct work_finding *was);

/* The hub's filters that --all or --table ask for; CL_EUSAGE without either. */
struct egress_watched {
	struct hub hub;
	struct store *store;
	char *run_base;
	struct work_filters filters;
};
void egress_watched_release(struct egress_watched *w);
#define cleanup_watched __attribute__((cleanup(egress_watched_release)))
int egress_watched_open(
	struct cl_ctx *c, enum store_mode mode, struct egress_watched *w, struct cl_err *e);
/* Reads again what should stand. A table that none of them has is CL_ENOTFOUND when `strict`. */
int egress_watched_read(struct cl_ctx *c, struct egress_watched *w, bool strict, struct cl_err *e);

#endif
