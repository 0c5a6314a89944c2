/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef WORK_REVOKE_INTERNAL_H
#define WORK_REVOKE_INTERNAL_H

#include "work/lease/revoke.h"

/* What became of one of them at `now` (Unix milliseconds). */
enum holder_state holder_judge(struct store *s, const struct store_holder *h, int64_t now);

/* What lapsed is asked back like what was revoked: a live workload that has it gives it up and says so. */
int revoke_lapsed(struct store *s, const struct lease_actor *who, struct cl_err *e);

#endif
