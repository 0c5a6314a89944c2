/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The registry of projects, and claims on directories that are being made or deleted. No two
 * projects, and no project and another's claim, overlap: that a path is free is judged and
 * written in one statement.
 */
#ifndef STORE_PROJECT_H
#define STORE_PROJECT_H

#include "store/store.h"

#include <jansson.h>

struct store_project {
	char *path; /* as the kernel opens it */
	char *name;
	char *owner;  /* a user of this host */
	char *origin; /* "added", "created", "run" */
	char *made;   /* device:inode:birth of the directory the hub made, or NULL */
	int64_t created_at;
	char *created_by;
};
#define STORE_PROJECT_INIT ((struct store_project){0})
void store_project_release(struct store_project *p);
#define cleanup_project_row __attribute__((cleanup(store_project_release)))

/* The exact path; *found false and 0 when there is none. */
int store_project_get(struct store *s, const char *path, struct store_project *out, bool *found,
	struct cl_err *e);
/* By path; fn as in store/run.h. */
typedef int (*store_project_fn)(const struct store_project *p, void *arg, struct cl_err *e);
int store_project_each(struct store *s, store_project_fn fn, void *arg, struct cl_err *e);
/* Every path, added to *out. */
int store_project_paths(struct store *s, struct cl_strv *out, struct cl_err *e);

/*
 * Registers p unless a project is at, in or above its path, or a claim other than `token`
 * (NULL: any) that is live at `now`. *won false: one is, and *holder (owned) is its path.
 */
int store_project_add(struct store *s, const struct store_project *p, const char *token,
	int64_t now, bool *won, char **holder, struct cl_err *e);
/* Forgets it unless a run of it is live. *won: this caller did it. */
int store_project_delete(struct store *s, const char *path, bool *won, struct cl_err *e);
/* Runs of it that are not finished. */
int store_project_live(struct store *s, const char *path, int64_t *n, struct cl_err *e);

#define STORE_CLAIM_ID 31 /* "claim_", 24 hex, NUL */
/* How long a claim holds when whoever made it was killed. */
#define STORE_CLAIM_MS (10 * 60 * 1000LL)
/*
 * Claims a path under the same condition; the project at exactly `path` does not count when
 * `mine`. token is filled.
 */
int store_claim(struct store *s, const char *path, bool mine, const char *by, int64_t now,
	char token[STORE_CLAIM_ID], bool *won, char **holder, struct cl_err *e);
int store_claim_drop(struct store *s, const char *token, struct cl_err *e);

json_t *store_project_json(const struct store_project *p);

#endif
