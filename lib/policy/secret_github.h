/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GitHub credentials: what is sealed, what an installation token is asked for, and what a
 * workload gets of either kind. facts/secrets.md 3, 6 and 8. Pure.
 */
#ifndef CL_POLICY_SECRET_GITHUB_H
#define CL_POLICY_SECRET_GITHUB_H

#include "base/buf.h"
#include "base/err.h"

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

/*
 * A web host as somebody writes it: HOST or HOST:PORT. *out takes it in lower case, without a
 * final dot and without :443. False: no host (a scheme, a path, userinfo, not ASCII).
 */
bool sec_web_host(const char *text, struct cl_buf *out);

#endif
