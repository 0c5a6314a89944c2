/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which worktree below a project's .cloop/worktrees is left over (guide "Leaked worktrees"). Pure.
 * Whatever is uncertain stays: one that is collected late costs disk space, one that is
 * collected early costs somebody's work.
 */
#ifndef POLICY_WORKTREE_H
#define POLICY_WORKTREE_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds. */
#define WT_MIN_AGE_MS (2 * 3600 * 1000LL)

struct wt_facts {
	bool plain;    /* it is a directory, or registered and gone; no link or anything else */
	bool readable; /* all that there is of it could be read */
	bool locked;   /* git worktree lock */
	bool live;     /* a run of the project is not finished */
	int64_t changed_at, now; /* Unix milliseconds; 0 unknown */
	int64_t min_age;         /* 0 is WT_MIN_AGE_MS: no age at all spares nobody */
};

/* True: it is left over. *why is a clause for people, static. */
bool wt_stale(const struct wt_facts *f, const char **why);

#endif
