/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef WORK_LEASE_INTERNAL_H
#define WORK_LEASE_INTERNAL_H

#include "work/lease/lease.h"

/* How the holder of a material has it: enum sec_by. */
int64_t lease_how(const struct sec_lease *l, size_t material);
/* Puts the lease's id and directory into its variables. */
void lease_place(struct sec_lease *l, const char *id);
/*
 * An audit row of each grant, or one that says that there was none, and a journal row of each
 * refusal.
 */
int lease_write_rows(const struct lease_case *c, const char *action, const struct store_lease *l,
	struct cl_err *e);
/* Everything that the project picked is lent; CL_EREFUSED, constraint devices or interfaces. */
int lease_picked(const struct lease_case *c, struct cl_err *e);
int lease_busy(const char *what, struct cl_err *e);
/* Takes one grant into the case, where it is aimed at the requester (or at anybody). */
void lease_case_add(struct lease_case *c, const struct store_grant *g);

#endif
