/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CL_WORK_SWEEP_INTERNAL_H
#define CL_WORK_SWEEP_INTERNAL_H

#include "work/sweep.h"

/* Looks for what ended workloads of this hub have left. */
void sweep_collect(struct sweep *s, struct store *store);

#endif
