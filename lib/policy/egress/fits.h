/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does one level lie inside another? Exact set arithmetic over addresses, protocols and
 * ports, and what sticks out in the words of whoever wrote the lists. Facts 8. Pure.
 */
#ifndef CL_POLICY_FITS_H
#define CL_POLICY_FITS_H

#include "policy/egress/change.h"
#include "policy/egress/egress_stack.h"

/* The slug of a refusal of what does not fit. */
#define FITS_CODE "firewall_exceeds_bound"

struct fits {
	struct change_side child, parent; /* what was compared */
	struct change outside;            /* what the child allows and the parent does not */
	struct cl_strv reasons;           /* one each; none when it fits */
};
#define FITS_INIT ((struct fits){CHANGE_SIDE_INIT, CHANGE_SIDE_INIT, CHANGE_INIT, CL_STRV_INIT})
void fits_release(struct fits *f);
#define cleanup_fits __attribute__((cleanup(fits_release)))

/*
 * Compares. parent_name stands in the reasons: "executor build-box". What a level denies
 * holds for every level below, so the parent's denies, and the ranges that its
 * block_special_use blocks, count as the child's too; `own_denies`: they do not, and the child must lie inside all by itself. Nothing else is
 * inherited: ports, resolvers and ranges are the child's own. *out is FITS_INIT and is filled
 * also when it does not fit: *inside. Errors are those of eg_stack_compile.
 */
int fits_check(const struct eg_stack *child, const struct eg_stack *parent, const char *parent_name,
	bool own_denies, struct fits *out, bool *inside, struct cl_err *e);

/* CL_EREFUSED with FITS_CODE: `child` does not fit, and why; returns -1. */
int fits_fail(const struct fits *f, const char *child, const char *parent, struct cl_err *e);

#endif
