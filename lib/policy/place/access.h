/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who may use an executor: a list of users and groups of this host (DECISIONS D12). It is a gate,
 * not a grant; without an entry it stands open. Pure.
 */
#ifndef POLICY_ACCESS_H
#define POLICY_ACCESS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

#define ACCESS_MAX     256 /* entries of one executor */
#define ACCESS_MAX_LEN 128 /* bytes of a name */

/* Somebody who asks. */
struct access_who {
	const char *user;             /* name, or "uid:N" where it has none */
	const struct cl_strv *groups; /* names */
};

/*
 * "user:NAME" or "group:NAME"; a group may be written as a path ("group:/platform"). *out (owned)
 * is its one form. CL_EDATA.
 */
int access_parse(const char *text, char **out, struct cl_err *e);
/* True when one of the entries, in their one form, is of who asks, or there are none. */
bool access_allows(const struct cl_strv *entries, const struct access_who *who);

#endif
