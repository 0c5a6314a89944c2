/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of cloop that speaks to GitHub (DECISIONS D15), run by lib/work/forge.c. Standard input
 * is one line of JSON without secrets, and behind it the secret itself: the payload of a github_app,
 * or a token. So neither is in arguments, in the environment or in a tree of JSON. Standard output is
 * lines, so that whoever asked knows of each token from GitHub's answer on, whatever becomes of us:
 *
 *	+EXPIRES URL TOKEN  GitHub gave it (Unix seconds, 0: it did not say); it is not looked at yet
 *	-                   the last of them is destroyed
 *	!WHY                it is not
 *	{...}               the answer; of a mint, it is about the last of them
 */
#ifndef CLOOP_FORGE_H
#define CLOOP_FORGE_H

#include "base/doc.h"
#include "cli/cli.h"
#include "policy/secret/github_api.h"
#include "seal/mem.h"
#include "wire/http.h"

int cmd_forge_mint(struct cl_ctx *c, struct cl_err *e);
int cmd_forge_revoke(struct cl_ctx *c, struct cl_err *e);
int cmd_forge_installations(struct cl_ctx *c, struct cl_err *e);
int cmd_forge_repositories(struct cl_ctx *c, struct cl_err *e);

/* One invocation. */
struct forge {
	struct seal_buf in;
	struct cl_doc d;    /* the first line */
	const char *secret; /* what follows it, NUL at its end */
	size_t len;
	const char *name, *base_url; /* of the request */
	struct sec_github_app app;
	struct gh_ask ask;
	char *api_host; /* "api.github.com" */
	struct http_to to;
	struct http *http;
	int64_t deadline; /* sys_mono_ms */
	struct seal_buf jwt;
};
#define FORGE_INIT ((struct forge){.d = CL_DOC_INIT})
void forge_release(struct forge *f);
#define cleanup_forge __attribute__((cleanup(forge_release)))

/* Reads the request and makes the client for base_url, or for the App's own when it is NULL. */
int forge_read(struct forge *f, struct cl_err *e);
/* The payload behind it, checked; what the client and messages need is set from it. installation_id
 * may be missing unless `installed`. */
int forge_read_app(struct forge *f, bool installed, struct cl_err *e);
int forge_connect(struct forge *f, const char *base_url, struct cl_err *e);

/* One request and its answer, checked. Release *http in any case. */
struct forge_call {
	enum gh_call call;
	const char *method, *path, *bearer, *body;
	int64_t timeout_ms; /* 0: what is left until the deadline, 30 s at most */
};
int forge_ask(struct forge *f, const struct forge_call *call, struct http_answer *http,
	struct gh_answer *out, struct cl_err *e);

/* The App's signature, made at the first use; NULL with *e filled. */
const char *forge_jwt(struct forge *f, struct cl_err *e);
/* Writes to who asked; CL_EOS when nobody is there any more. */
int forge_put(const char *p, size_t len, struct cl_err *e);
/* Asks for a token and holds the answer to the scope; one that is not held is destroyed. */
int forge_token(
	struct forge *f, const struct gh_scope *scope, struct gh_token *out, struct cl_err *e);
/* Destroys a token; CL_EUNAVAIL and the like when GitHub did not say that it did. *gone, unless NULL:
 * it was so before. */
int forge_destroy(struct forge *f, const char *token, bool *gone, struct cl_err *e);
/* All repositories of the installation, by a token of its own that may read metadata only and is
 * destroyed before this returns, where GitHub does it. */
int forge_inventory(struct forge *f, struct gh_repositories *out, struct cl_err *e);

#endif
