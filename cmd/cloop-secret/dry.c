/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dry.h"
#include "base/mem.h"

#include <stdlib.h>

void dry_release(struct dry *d)
{
	lease_case_release(&d->c);
	free(d->project);
	keyed_release(&d->k);
}

/* The project as grants name it: its own path without links, or as typed where it is not here. */
static int find_project(struct dry *d, struct cl_err *e)
{
	const char *typed = cl_str_or(d->ctx, "project", ".");
	char *real = realpath(typed, NULL);

	if (!real && typed[0] != '/')
		return cl_usage(d->ctx, e,
			"--project '%s' is no directory here, and no absolute "
			"path",
			typed);
	d->project = real ? real : cl_strdup(typed);
	d->executor = cl_str_or(d->ctx, "executor", "");
	return 0;
}

int dry_open(struct dry *d, struct cl_err *e)
{
	struct lease_request r = {0};

	if (sec_typed_check("--executor", cl_str_or(d->ctx, "executor", ""), e) ||
		keyed_open(d->ctx, &d->k, e) || find_project(d, e))
		return -1;
	r.project = d->project;
	r.executor = d->executor;
	return lease_case_open(&d->c, &d->k, &r, e);
}
