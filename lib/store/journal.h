/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happened to a project, in words for its people: clamps, limits, stops, warnings. */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include "store/store.h"

#include <jansson.h>

struct store_journal {
	int64_t seq; /* given by the store, rising */
	int64_t at;  /* Unix milliseconds */
	char *project;
	char *run_id; /* or NULL */
	char *kind;   /* "disk_limit", "resource_ceiling", "egress_warning", ... */
	char *text;   /* one line */
	char *data;   /* JSON, or NULL */
};

/* Appends one row; run_id may be NULL, and so may data, which is borrowed. */
int store_journal_add(struct store *s, int64_t at, const char *project, const char *run_id,
	const char *kind, const char *text, const json_t *data, struct cl_err *e);
/*
 * Rows of a project, of a run, or of both (NULL: any), with seq > after, the oldest
 * first. limit 0: all; otherwise the newest `limit` of them. fn as in store/run.h.
 */
typedef int (*store_journal_fn)(const struct store_journal *j, void *arg, struct cl_err *e);
int store_journal_each(struct store *s, const char *project, const char *run_id, int64_t after,
	int64_t limit, store_journal_fn fn, void *arg, struct cl_err *e);
json_t *store_journal_json(const struct store_journal *j);

#endif
