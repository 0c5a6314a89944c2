/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CL_WORK_SWEEP_INTERNAL_H
#define CL_WORK_SWEEP_INTERNAL_H

#include "work/sweep.h"

/* One thing done, as a line. */
void sweep_did(struct sweep *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One that was not. */
void sweep_trouble(struct sweep *s, const char *what, const struct cl_err *e);

/* The janitors; what one cannot do stops no other. */
void sweep_adopt(struct sweep *s, struct store *store);
void sweep_leases(struct sweep *s, struct store *store);
void sweep_sessions(struct sweep *s, struct store *store);
void sweep_orphans(struct sweep *s, struct store *store);
void sweep_staging(struct sweep *s, struct store *store);
void sweep_mounts(struct sweep *s, struct store *store);
void sweep_networks(struct sweep *s, struct store *store);
void sweep_worktrees(struct sweep *s, struct store *store);
void sweep_evidence(struct sweep *s, struct store *store);
void sweep_images(struct sweep *s, struct store *store);

#endif
