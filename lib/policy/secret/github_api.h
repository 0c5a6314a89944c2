/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GitHub's REST API as far as a GitHub App needs it: what is asked, what an answer means, and
 * whether a token is exactly as wide as it was asked for. facts/secrets.md 8; GitHub's "REST API
 * endpoints for GitHub Apps", version 2022-11-28. Pure: what was received comes in as text.
 *
 * What went wrong is told apart by slug. Final, CL_EREFUSED: github_auth, github_suspended,
 * github_not_installed, github_not_granted, github_redirect, github_wider, github_narrower,
 * github_stale, github_refused. Another try may help, CL_EUNAVAIL: github_clock,
 * github_forbidden, github_unavailable, github_answer; CL_EBUSY: github_rate_limited.
 */
#ifndef CL_POLICY_GITHUB_API_H
#define CL_POLICY_GITHUB_API_H

#include "policy/secret/secret_github.h"

#define GH_ANSWER_MAX ((size_t)16 << 20) /* bytes of one answer that are read */
#define GH_PAGE       100
#define GH_PAGES      50
#define GH_IDS_MAX    500 /* repositories that one token can be narrowed to */
#define GH_FRESH      300 /* seconds that a new token must live at least */
#define GH_VERSION    "2022-11-28"
#define GH_ACCEPT     "application/vnd.github+json"

/* Who asks for what: for messages. */
enum gh_call { GH_MINT, GH_REPOSITORIES, GH_INSTALLATIONS, GH_DESTROY };
struct gh_ask {
	enum gh_call call;
	const char *host;   /* of the API: "api.github.com" */
	const char *secret; /* name of the secret; "" when it is not stored */
	uint64_t app_id, installation_id;
};

/* One answer as it came; texts are borrowed. */
struct gh_answer {
	int status;
	const char *content_type; /* "" where there was none */
	const char *location;     /* of a redirect; "" */
	int64_t retry_after;      /* seconds, -1: not said */
	int64_t remaining;        /* requests until the rate limit, -1: not said */
	int64_t reset_at;         /* Unix seconds when that limit starts anew, 0: not said */
	int64_t date, now;        /* the server's clock (0: not said) and ours, Unix seconds */
	const char *body;
	size_t len;
};

/* 0 for a success of that call; else the error that it means. Quotes GitHub's own words, with
 * whatever looks like a credential taken out. */
int gh_check(const struct gh_ask *q, const struct gh_answer *a, struct cl_err *e);
/* True where another try may succeed while the present token lives. */
bool gh_retry(const struct cl_err *e);

/* ---- repositories and installations ---- */

struct gh_repository {
	uint64_t id;
	char *full_name; /* "acme/tool" */
	bool private;
};
struct gh_repositories {
	struct gh_repository *v;
	size_t n, cap;
	uint64_t total; /* as GitHub counts them */
	size_t page;    /* how many the page read last had */
};
#define GH_REPOSITORIES_INIT ((struct gh_repositories){0})
void gh_repositories_release(struct gh_repositories *r);
#define cleanup_gh_repositories __attribute__((cleanup(gh_repositories_release)))
/* Adds a page {"total_count", "repositories"}; one that is there already is not added again. */
int gh_repositories_read(const struct gh_ask *q, const struct gh_answer *a,
	struct gh_repositories *out, struct cl_err *e);
/* True when the pages read so far are all; more than GH_PAGES of them are CL_EREFUSED. */
int gh_repositories_all(const struct gh_ask *q, const struct gh_repositories *r, size_t pages,
	bool *all, struct cl_err *e);

struct gh_installation {
	uint64_t id, app_id;
	char *account, *type; /* "acme", "Organization" */
	bool selected;        /* a chosen subset of its repositories; else all of them */
	char *suspended_at;   /* RFC 3339, or NULL */
	json_t *permissions;  /* {"contents": "write"}; owned */
};
struct gh_installations {
	struct gh_installation *v;
	size_t n, cap, page;
};
#define GH_INSTALLATIONS_INIT ((struct gh_installations){0})
void gh_installations_release(struct gh_installations *r);
#define cleanup_gh_installations __attribute__((cleanup(gh_installations_release)))
/* Adds a page, which is an array. */
int gh_installations_read(const struct gh_ask *q, const struct gh_answer *a,
	struct gh_installations *out, struct cl_err *e);

/* ---- tokens ---- */

/* How wide a token is asked for. */
struct gh_scope {
	uint64_t *ids; /* sorted as asked; NULL with nids 0: every repository of the installation */
	size_t nids;
	json_t *permissions; /* owned; NULL: all that the installation has */
};
#define GH_SCOPE_INIT ((struct gh_scope){0})
void gh_scope_release(struct gh_scope *s);
#define cleanup_gh_scope __attribute__((cleanup(gh_scope_release)))
/* The body of the request; owned. */
char *gh_scope_body(const struct gh_scope *s);
/*
 * The scope that a grant asks for first: sec_github_permissions, and of `have` what
 * sec_github_select admits. More than GH_IDS_MAX of them are CL_EREFUSED. `have` is not looked at
 * for an allowlist of everything.
 */
int gh_scope_of(const struct sec_constraints *c, const struct gh_repositories *have,
	const char *secret, struct gh_scope *out, struct cl_err *e);
/*
 * The scope of a further token: `was` (recorded at the first), held to what the grant allows now.
 * Repositories that are gone from `have` or from the allowlist are named in `dropped`. CL_EREFUSED,
 * slug github_scope: none is left, or a permission or the whole installation is more than the grant
 * gives.
 */
int gh_scope_again(const struct gh_scope *was, const struct sec_constraints *c,
	const struct gh_repositories *have, const char *secret, struct gh_scope *out,
	struct cl_strv *dropped, struct cl_err *e);
/* {"repository_ids": [...]|null, "permissions": {...}|null}, and back; CL_EDATA. */
json_t *gh_scope_json(const struct gh_scope *s);
int gh_scope_read(struct cl_doc *d, json_t *j, struct gh_scope *out, struct cl_err *e);

struct gh_token {
	struct cl_buf token;   /* secret */
	int64_t expires_at;    /* Unix seconds */
	json_t *permissions;   /* what was granted; owned */
	bool selected, listed; /* "repository_selection"; "repositories" was there */
	struct gh_repositories repositories;
};
#define GH_TOKEN_INIT ((struct gh_token){.token = {cl_buf_empty, 0, 0, true}})
void gh_token_release(struct gh_token *t);
#define cleanup_gh_token __attribute__((cleanup(gh_token_release)))
/*
 * Reads the answer of a mint. A token is printable ASCII without blanks, at most 4096 bytes,
 * whatever its form. When this fails with a token in *out, it is to be destroyed.
 */
int gh_token_read(
	const struct gh_ask *q, const struct gh_answer *a, struct gh_token *out, struct cl_err *e);
/*
 * Whether the token is what was asked: no wider (another repository, a permission or level that
 * was not asked for but for metadata:read, the whole installation instead of some of it), no
 * narrower, and fresh. CL_EREFUSED: destroy it.
 */
int gh_token_held(const struct gh_ask *q, const struct gh_token *t, const struct gh_scope *asked,
	const struct gh_answer *a, struct cl_err *e);

#endif
