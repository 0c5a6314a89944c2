/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GitHub credentials: what is sealed, what an installation token is asked for, and what a
 * workload gets of either kind. facts/secrets.md 3, 6 and 8. Pure.
 */
#ifndef CL_POLICY_SECRET_GITHUB_H
#define CL_POLICY_SECRET_GITHUB_H

#include "policy/secret/secret_constraint.h"

#include <jansson.h>
#include <stdint.h>

#define SEC_GITHUB_HOST "github.com"
#define SEC_GITHUB_API  "https://api.github.com"

/* A personal access token and the one server it belongs to. */
struct sec_github_pat {
	char *token; /* wiped on release */
	char *host;  /* "github.com", "ghes.example.com:8443": lower case, no default port */
};
#define SEC_GITHUB_PAT_INIT ((struct sec_github_pat){0})
void sec_github_pat_release(struct sec_github_pat *p);
#define cleanup_github_pat __attribute__((cleanup(sec_github_pat_release)))

/*
 * Reads a payload: the token alone, or {"token", "host"}. A token is printable ASCII without
 * blanks, at most 4096 bytes: what goes into an answer of the credential helper is one line.
 * CL_EDATA, slug "invalid_payload".
 */
int sec_github_pat_read(const char *text, size_t len, struct sec_github_pat *out, struct cl_err *e);

/* What App credentials are made of. */
struct sec_github_app {
	uint64_t app_id, installation_id;
	char *private_key; /* PEM; wiped on release */
	char *base_url;    /* the API, no '/' at its end: "https://api.github.com" */
	char *host;        /* the web host its tokens work on: "github.com" */
};
#define SEC_GITHUB_APP_INIT ((struct sec_github_app){0})
void sec_github_app_release(struct sec_github_app *a);
#define cleanup_github_app __attribute__((cleanup(sec_github_app_release)))

/*
 * Reads {"app_id", "installation_id", "private_key"[, "base_url"]}, closed; ids are positive
 * integers or their decimal text; the key is RSA of 2048 bits or more, PKCS#1 or PKCS#8. No
 * message holds a byte of the key. CL_EDATA, slug "invalid_payload".
 */
int sec_github_app_read(const char *text, size_t len, struct sec_github_app *out, struct cl_err *e);
/* The same where installation_id is what somebody wants to find out: it may be missing, and is 0. */
int sec_github_app_seek(const char *text, size_t len, struct sec_github_app *out, struct cl_err *e);

/*
 * A web host as somebody writes it: HOST or HOST:PORT. *out takes it in lower case, without a
 * final dot and without :443. False: no host (a scheme, a path, userinfo, not ASCII).
 */
bool sec_web_host(const char *text, struct cl_buf *out);
/*
 * The host that a URL, HOST or HOST:PORT names, to be compared: no https://, userinfo or path,
 * lower case, no final dot, no :443, labels outside ASCII in their encoded form (RFC 3492). Two
 * spellings of one server come out the same; a look-alike, another port and a longer name do
 * not. False: it names none.
 */
bool sec_web_host_of(const char *text, struct cl_buf *out);
bool sec_web_host_same(const char *a, const char *b);

/* ---- what an installation token is asked for (facts 8) ---- */

/*
 * The "permissions" of the request: contents:read and what the grant adds, the highest level
 * of a scope winning, a bare scope meaning write. NULL for '*': the whole installation's. A
 * grant with a branch list, which only a git proxy could enforce, is asked for with every
 * scope at read. Owned.
 */
json_t *sec_github_permissions(const struct sec_constraints *c);
/* True for such a grant: the workload is told that writing was withheld. */
bool sec_github_withheld(const struct sec_constraints *c);

struct sec_repository {
	uint64_t id;
	const char *full_name; /* "acme/tool" */
};
/*
 * Of the installation's repositories, those that the grant admits: their indexes in
 * out[0..n), sorted by name; returns how many, or -1. A name without a pattern that the
 * installation does not have, and an allowlist that matches nothing, are CL_EREFUSED; the
 * message names what is missing and how many repositories there are.
 */
int sec_github_select(const struct sec_constraints *c, const struct sec_repository *have, size_t n,
	const char *secret, size_t *out, struct cl_err *e);

/* ---- what a workload gets (facts 6) ---- */

/*
 * The credential helper: a POSIX shell script that answers `get` for https, this host and the
 * allowlist's owner/name, matched as two segments, and is silent else. The token is read from
 * `token_file` beside the script at each call and is nowhere in the text. CL_EREFUSED for a
 * pattern or a host that could mean anything else to a shell.
 */
int sec_github_helper(const struct cl_strv *repos, const char *host, const char *token_file,
	struct cl_buf *out, struct cl_err *e);
/* A gitconfig that asks these helpers, in their order and no other. */
void sec_github_gitconfig(const struct cl_strv *helpers, struct cl_buf *out);

#endif
