/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that read GitHub's answers share; nobody else includes this. */
#ifndef CL_POLICY_GITHUB_INTERNAL_H
#define CL_POLICY_GITHUB_INTERNAL_H

#include "policy/secret/github_api.h"

/* Code, slug and message, with the secret's name in front; returns -1. */
int gh_fail(const struct gh_ask *q, enum cl_code code, const char *slug, struct cl_err *e,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* "<host>'s answer <fmt>": slug github_answer; returns -1. */
int gh_bad(const struct gh_ask *q, struct cl_err *e, const char *what);
/* The body as a document: JSON by its type, whole. */
int gh_document(
	const struct gh_ask *q, const struct gh_answer *a, struct cl_doc *d, struct cl_err *e);
/* A positive whole number. */
bool gh_id(const json_t *obj, const char *key, uint64_t *out);
/*
 * Adds what is in a JSON array of repositories, each once; those whose name no grant could mean only
 * when `every` says so. False: one of them is none, or there are more than are ever asked for.
 */
bool gh_repositories_add(struct gh_repositories *out, const json_t *array, bool every);

/* "read", "write", "admin": 1, 2, 3; 0 for any other word. */
int gh_level(const char *name);

#endif
