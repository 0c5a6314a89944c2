/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Installation tokens of a GitHub App (facts/secrets.md 8), for whoever leases: asked for, asked for
 * again before they end, destroyed. The work is done by cloop-forge, which alone speaks HTTP
 * (DECISIONS D15); it gets the opened payload through a pipe and gives the token back through one.
 * Each function waits for GitHub, two minutes at most: no transaction may be open.
 *
 * At the start of a run:
 *
 *	cleanup_forge_token struct forge_token t = FORGE_TOKEN_INIT;
 *	const struct forge_grant g = {name, payload, len, &constraints, NULL};
 *
 *	if (forge_token_mint(k, &g, &t, e))
 *		... the grant is refused with *e; there is nothing to fall back to
 *	offer.token = (const char *)t.token.p;
 *	offer.token_expires_at = t.expires_at;
 *	... keep t.scope, t.base_url and t.expires_at with the lease; none of them is secret
 *
 * In any case: what is in t.left is to be kept (token_keep_left).
 *
 * While it lives, when forge_token_due() says so: the same with `scope` set. After that the new token
 * is renamed over the file, and the old one destroyed once nobody uses it. When it fails and
 * forge_retry() is true, the present token stays and the next minute tries again; else the grant's
 * access ends. At the end, and wherever a lease is taken back: forge_token_revoke().
 */
#ifndef WORK_FORGE_H
#define WORK_FORGE_H

#include "policy/secret/secret_constraint.h"
#include "work/keyed.h"

/*
 * A token is replaced when this much of its hour is left, in seconds: what a lease lasts, so that none
 * ends in the middle of one.
 */
#define FORGE_DUE 900

/* What a token is asked for. All borrowed. */
struct forge_grant {
	const char *secret_name;
	const char *payload; /* of the github_app, opened */
	size_t len;
	const struct sec_constraints *constraints; /* of the grant, as it is now */
	/*
	 * NULL for the first token: the allowlist is held against what the installation has. Else the
	 * scope of the first one, and the new one has those repositories and permissions, as far as
	 * the grant still gives them, and none that came since.
	 */
	const json_t *scope;
	int64_t timeout_ms; /* for all that GitHub is asked; 0: two minutes */
};

/* A token that GitHub gave and nobody uses, which it has not destroyed. */
struct forge_left {
	struct seal_buf token;
	char *base_url;
	int64_t expires_at; /* Unix seconds, as GitHub says; 0: it does not */
	char *why; /* GitHub was asked to destroy it, and this came of it; NULL: it was not */
};
struct forge_lefts {
	struct forge_left *v;
	size_t n, cap;
};
#define FORGE_LEFTS_INIT ((struct forge_lefts){0})
void forge_lefts_release(struct forge_lefts *l);
#define cleanup_forge_lefts __attribute__((cleanup(forge_lefts_release)))

struct forge_token {
	struct seal_buf token;
	int64_t expires_at; /* Unix seconds, as GitHub says */
	uint64_t installation_id;
	char *base_url;              /* where it is destroyed */
	char *host;                  /* the one web host that it is for */
	json_t *scope;               /* {"repository_ids", "permissions"}: for the next one */
	struct cl_strv repositories; /* full names; none: all of the installation */
	struct cl_strv notes;        /* what somebody should know: for the audit trail */
	struct forge_lefts left;     /* of this asking, whether or not there is a token */
};
#define FORGE_TOKEN_INIT ((struct forge_token){0})
void forge_token_release(struct forge_token *t);
#define cleanup_forge_token __attribute__((cleanup(forge_token_release)))

/*
 * Asks for a token. It is exactly as wide as was asked; one that came wider was destroyed, or is in
 * out->left, which is filled also when this fails. Slugs are those of policy/secret/github_api.h and
 * wire/http.h. CL_EREFUSED for what another try does not change.
 */
int forge_token_mint(
	struct keyed *k, const struct forge_grant *g, struct forge_token *out, struct cl_err *e);
/* True where another try may help: GitHub out of reach or order, a rate limit, a clock. */
bool forge_retry(const struct cl_err *e);
/* True when a token that ends then is to be replaced. Unix seconds. */
bool forge_token_due(int64_t expires_at, int64_t now);

/* A token that is to end, and whose it was, for the audit trail. "" or NULL where it is not known. */
struct forge_end {
	const char *base_url, *token;
	size_t len;
	int64_t expires_at;
	const char *secret_id, *secret_name, *grant_id, *lease_id;
	const char *reason; /* "released", "revoked", "refreshed", ... */
};
/*
 * Destroys it at GitHub. One that is gone already counts as destroyed, and *gone, unless NULL, says so.
 * Needs no root key: keyed_without is enough. -1 with *e when it may live on.
 */
int forge_token_destroy(struct keyed *k, const struct forge_end *t, bool *gone, struct cl_err *e);
/* The audit row github_app.token_destroy; `why`: a denial with that reason. NULL: it was destroyed. */
int forge_token_write(
	struct keyed *k, const struct forge_end *t, const char *why, struct cl_err *e);
/* Both; a denial says until when it lives. */
int forge_token_revoke(struct keyed *k, const struct forge_end *t, struct cl_err *e);

/* The row of one whose text nobody has any more: it lives until its end. */
void forge_token_lost(struct keyed *k, const struct forge_end *t);

enum forge_list { FORGE_INSTALLATIONS, FORGE_REPOSITORIES };
/*
 * What GitHub says of an App: {"installations": [{installation_id, account, type, repositories,
 * suspended_at, permissions}], "more": whether there are others}, for which the payload may lack
 * installation_id, or {"repositories": [{repository_id, full_name, private}]}. secret_name is "" for
 * credentials that are not stored. *out is owned; *left is filled also when this fails.
 */
int forge_discover(struct keyed *k, enum forge_list what, const char *secret_name,
	const char *payload, size_t len, json_t **out, struct forge_lefts *left, struct cl_err *e);

#endif
