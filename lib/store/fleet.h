/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What people have said of executors and projects: bindings and labels, which are signed
 * (seal/fleet.h; a row is of no worth before its signature was seen to hold), access lists and
 * ceilings.
 */
#ifndef STORE_FLEET_H
#define STORE_FLEET_H

#include "policy/sandbox/ceiling.h"
#include "store/store.h"

#include <jansson.h>

/* ---- bindings ---- */

struct store_binding {
	char *project; /* its directory; "": the default of every other */
	char *executor_id;
	int64_t created_at;
	char *created_by;
	char *signature; /* hex */
};
#define STORE_BINDING_INIT ((struct store_binding){0})
void store_binding_release(struct store_binding *b);
#define cleanup_binding __attribute__((cleanup(store_binding_release)))

int store_binding_get(struct store *s, const char *project, struct store_binding *out, bool *found,
	struct cl_err *e);
/* Replaces what the project had. */
int store_binding_put(struct store *s, const struct store_binding *b, struct cl_err *e);
/* *was: there was one. */
int store_binding_delete(struct store *s, const char *project, bool *was, struct cl_err *e);
/* By project, the default first; executor NULL: to any. fn as in store/run.h. */
typedef int (*store_binding_fn)(const struct store_binding *b, void *arg, struct cl_err *e);
int store_binding_each(
	struct store *s, const char *executor, store_binding_fn fn, void *arg, struct cl_err *e);

/* ---- labels ---- */

struct store_labels {
	char *executor_id;
	char *labels; /* JSON object of strings */
	int64_t created_at;
	char *created_by;
	char *signature;
};
#define STORE_LABELS_INIT ((struct store_labels){0})
void store_labels_release(struct store_labels *l);
#define cleanup_label_row __attribute__((cleanup(store_labels_release)))

/*
 * The row, if there is one (*found), and what the audit trail knows of it, of one moment. *undone: its last
 * word on the executor's labels is of another time than the row, so that an older one was put back; or,
 * where there is no row, is not that they were cleared. Who has no key may clear them, so that is all that
 * the trail can tell.
 */
int store_labels_get(struct store *s, const char *executor, struct store_labels *out, bool *found,
	bool *undone, struct cl_err *e);
/*
 * Writes the row if what stands there has exactly the signature `was` (NULL: if there is none).
 * *won: this caller did it.
 */
int store_labels_put(struct store *s, const struct store_labels *l, const char *was, bool *won,
	struct cl_err *e);
int store_labels_delete(struct store *s, const char *executor, bool *was, struct cl_err *e);

/* ---- access ---- */

/* *changed: it was not there (or, removed, it was). */
int store_access_add(struct store *s, const char *executor, const char *entry, const char *by,
	int64_t at, bool *changed, struct cl_err *e);
int store_access_remove(
	struct store *s, const char *executor, const char *entry, bool *changed, struct cl_err *e);
/* Its entries in order, added to *out; none: everybody may use it. */
int store_access_list(struct store *s, const char *executor, struct cl_strv *out, struct cl_err *e);

/* ---- ceilings ---- */

/* *found false, and all zero, where there is none. */
int store_ceiling_get(struct store *s, enum sb_source level, const char *subject,
	struct sb_limits *out, bool *found, struct cl_err *e);
/* All zero takes it away. Not of SB_FLEET, which is configured. */
int store_ceiling_put(struct store *s, enum sb_source level, const char *subject,
	const struct sb_limits *l, const char *by, int64_t at, struct cl_err *e);

#endif
