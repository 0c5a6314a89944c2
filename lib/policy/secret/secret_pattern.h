/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pattern languages of a grant's allowlists, facts/secrets.md 5 with DECISIONS K3. In
 * all of them '*' is a run of characters and '?' one character, neither of them a '/'; an
 * empty list lets nothing through. No function allocates. Pure.
 */
#ifndef CL_POLICY_SECRET_PATTERN_H
#define CL_POLICY_SECRET_PATTERN_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

#define SEC_PATTERN_MAX 256
#define SEC_BRANCH_MAX  200
#define SEC_REPO_TEXT   (100 + 1 + 100 + 1) /* owner/name and a NUL */
#define SEC_HOST_TEXT   254

/* ---- what may be written: each 0, or CL_EDATA with slug "invalid_constraint" ---- */

/*
 * Repositories, namespaces, contexts, hosts, registries, devices, interfaces: not blank, at
 * most SEC_PATTERN_MAX bytes of [A-Za-z0-9-_./:*?], no "..". `what` names it: "--repos".
 */
int sec_pattern_check(const char *text, const char *what, struct cl_err *e);
/* Names of variables, no patterns: [A-Za-z_][A-Za-z0-9_]*. */
int sec_env_key_check(const char *text, struct cl_err *e);
/* A branch, with or without refs/heads/, by git's rules; "**" alone or as the last part. */
int sec_branch_check(const char *text, struct cl_err *e);
/* SCOPE[:LEVEL] or '*', scope [a-z_]{1,64}, level read, write or admin: github_app. */
int sec_permission_check(const char *text, struct cl_err *e);
/* get list watch create update patch delete deletecollection, any case. */
int sec_verb_check(const char *text, struct cl_err *e);
extern const char *const sec_verbs[8]; /* in the order in which they are listed */

/* ---- what matches ---- */

/* Case-sensitive; '*' and '?' stop at '/'. */
bool sec_glob(const char *pattern, const char *text);
/* True when the pattern has a '*' or a '?'. */
bool sec_has_wildcard(const char *pattern);

/* Directory names, devices, interfaces, namespaces, contexts: sec_glob, and '*' alone is all. */
bool sec_name_match(const char *pattern, const char *name);
bool sec_name_allowed(const struct cl_strv *patterns, const char *name);

/*
 * owner/name of what git, a URL (https://HOST/owner/name.git) or scp form names, lower case.
 * The host is dropped: binding a credential to its host is a check of its own. False when it
 * is no owner/name.
 */
bool sec_repo_of(const char *subject, char out[SEC_REPO_TEXT]);
/* Owner and name are matched as two segments, case-insensitively; '*' alone is all. */
bool sec_repo_match(const char *pattern, const char *subject);
bool sec_repo_allowed(const struct cl_strv *patterns, const char *subject);
/* The pattern can match no repository: it is neither '*' nor of two segments. */
bool sec_repo_pattern_dead(const char *pattern);
/* The list has '*' or its long form for repositories: no narrowing at all. */
bool sec_repos_all(const struct cl_strv *patterns);

/* A branch name or refs/heads/...; no tag or other ref ever matches. */
bool sec_branch_match(const char *pattern, const char *ref);
bool sec_branch_allowed(const struct cl_strv *patterns, const char *ref);

/*
 * The host that a URL, HOST:PORT or HOST/path names: no scheme, userinfo, port, path, query
 * or final dot, lower case. False when none can be told, or with * ? [ ] \ blank or "..".
 */
bool sec_host_of(const char *subject, char out[SEC_HOST_TEXT]);
/* Exact, '*', or *.SUFFIX for what is below it; no other wildcards. */
bool sec_host_match(const char *pattern, const char *subject);
bool sec_host_allowed(const struct cl_strv *patterns, const char *subject);

/*
 * True when the list grants scope:level: exactly, by '*', or by the bare scope. An empty list
 * grants nothing. Case-insensitive.
 */
bool sec_permission_allowed(const struct cl_strv *list, const char *permission);

#endif
