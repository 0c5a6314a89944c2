/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gate of an executor, asked for who runs this process. */
#ifndef WORK_ACCESS_H
#define WORK_ACCESS_H

#include "policy/place/access.h"
#include "store/store.h"

/* The real user and all groups of this process, by name. */
struct work_who {
	char *user; /* "uid:N" for one that has no account */
	bool named; /* it has one: only names can be on a list */
	struct cl_strv groups;
};
#define WORK_WHO_INIT ((struct work_who){NULL, false, CL_STRV_INIT})
void work_who(struct work_who *out);
void work_who_release(struct work_who *w);
#define cleanup_who __attribute__((cleanup(work_who_release)))

/*
 * *allowed: the executor's list has no entry, or one that is of this process. *listed: it has
 * some (may be NULL).
 */
int work_access(
	struct store *s, const char *executor, bool *allowed, bool *listed, struct cl_err *e);
/* The same as a refusal: CL_EDENIED with constraint "access". */
int work_access_check(struct store *s, const char *executor, struct cl_err *e);

#endif
