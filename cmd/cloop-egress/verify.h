/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CMD_EGRESS_VERIFY_H
#define CMD_EGRESS_VERIFY_H

#include "cli/cli.h"
#include "policy/verify.h"

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

#endif
