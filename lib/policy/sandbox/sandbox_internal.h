/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the reader of sandbox.yaml shares between its files; nobody else includes this. */
#ifndef CL_POLICY_SANDBOX_INTERNAL_H
#define CL_POLICY_SANDBOX_INTERNAL_H

#include "policy/sandbox/sandbox.h"

struct sb_reading {
	struct cl_doc *d;
	json_t *root, *resources, *caps; /* the last two may be NULL */
	struct sb_spec *s;
	struct cl_err *e;
};

/* Fails at parent[key], or at parent[index] when key is NULL, with a remediation. */
int sb_refuse(struct sb_reading *r, const json_t *parent, const char *key, size_t index,
	const char *fix, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Refuses unknown keys in the entries of `mounts`; then reads them. sandbox_mounts.c. */
int sb_close_mounts(struct sb_reading *r);
int sb_read_mounts(struct sb_reading *r);

#endif
