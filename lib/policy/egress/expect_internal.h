/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the readers of a test file share. */
#ifndef CL_POLICY_EXPECT_INTERNAL_H
#define CL_POLICY_EXPECT_INTERNAL_H

#include "policy/egress/expect.h"

/* A growing list of targets, wherever it is kept. */
struct exp_targets {
	struct exp_target **v;
	size_t *n, *cap;
};

/* Adds what one text names: an address, a range, an endpoint or a list. CL_EDATA, no place. */
int exp_target_read(const struct exp_suite *s, const char *text, bool lists, struct exp_targets to,
	struct cl_err *e);
/* The name of a list of the block set's, which no file can give away. */
bool exp_list_is_built_in(const char *name);
/* A list's name: a letter, then letters, digits, '-' and '_'; at most 64. */
bool exp_list_name(const char *name);

#endif
