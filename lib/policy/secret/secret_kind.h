/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nine kinds of secret as rows of one table: what each may hold, which constraints a
 * grant of it takes, and how it reaches a workload. facts/secrets.md 3 and 9, the guide
 * "Granting secrets and egress". Pure: what a payload is checked against is in the payload.
 *
 * No error and no note made here ever holds a byte of a payload, except for the names and
 * paths of local_repo, host_device and host_interface, which are no credentials.
 */
#ifndef CL_POLICY_SECRET_KIND_H
#define CL_POLICY_SECRET_KIND_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sec_kind {
	SEC_GITHUB_PAT,
	SEC_GITHUB_APP,
	SEC_KUBECONFIG,
	SEC_REGISTRY,
	SEC_ENV,
	SEC_EGRESS_PROXY,
	SEC_LOCAL_REPO,
	SEC_HOST_DEVICE,
	SEC_HOST_INTERFACE,
	SEC_NKINDS
};

/* The constraints of a grant, in the order in which a summary names them. */
enum sec_list {
	SEC_REPOS,
	SEC_PERMISSIONS,
	SEC_BRANCHES,
	SEC_NAMESPACES,
	SEC_CONTEXTS,
	SEC_VERBS,
	SEC_HOSTS,
	SEC_REGISTRIES,
	SEC_ENV_KEYS,
	SEC_DEVICES,
	SEC_INTERFACES,
	SEC_NLISTS
};

/* What a kind makes of one constraint. */
enum sec_rule {
	SEC_IGNORED,  /* checked, named in a note, not kept: it would narrow nothing */
	SEC_OPTIONAL, /* may be given */
	SEC_REQUIRED, /* must be given; '*' is the way to mean everything */
	SEC_ONE_OF,   /* at least one of the constraints with this rule must be given */
	SEC_REFUSED   /* the grant is refused: whoever wrote it meant another kind */
};

/* How a kind reaches a workload: a set of these. */
enum sec_by {
	SEC_BY_FILE = 1,
	SEC_BY_ENV = 2,
	SEC_BY_MOUNT = 4,
	SEC_BY_DEVICE = 8,
	SEC_BY_INTERFACE = 16,
	SEC_BY_FORGE = 32 /* a token is minted at the forge for each lease */
};

struct sec_kind_row {
	const char *name;    /* "github_pat" */
	const char *payload; /* what mint takes, one clause */
	unsigned by;         /* enum sec_by */
	bool multiline;      /* the payload is a document; else one line, blanks around cut */
};
extern const struct sec_kind_row sec_kinds[SEC_NKINDS];

struct sec_list_row {
	const char *key;   /* in JSON: "env_keys" */
	const char *label; /* in a summary: "env" */
	const char *flag;  /* "--env-keys" */
	size_t max;        /* most entries */
};
extern const struct sec_list_row sec_lists[SEC_NLISTS];

enum sec_rule sec_rule_of(enum sec_kind k, enum sec_list l);
/* `writable` is SEC_OPTIONAL or SEC_REFUSED. */
enum sec_rule sec_writable_rule(enum sec_kind k);

/*
 * The kind that a word names: blanks around and case do not count. CL_EDATA with slug
 * "unknown_kind" and all nine in the remediation.
 */
int sec_kind_parse(const char *word, enum sec_kind *out, struct cl_err *e);

/*
 * A secret's name: 1-128 bytes of ASCII letters, digits, '-', '_', '.'. CL_EDATA with slug
 * "invalid_name"; the message quotes the first bad character,
 * and of the name what cp_echo shows.
 */
int sec_name_check(const char *name, struct cl_err *e);
/*
 * What somebody typed and what is kept or shown of it, `what` in the message: CL_EDATA, slug
 * "credential_typed", when it has the form of a credential.
 */
int sec_typed_check(const char *what, const char *text, struct cl_err *e);

#define SEC_PAYLOAD_MAX (1u << 20)

/*
 * Checks a payload as mint does, all nine kinds: empty, larger than SEC_PAYLOAD_MAX, and the
 * kind's own grammar. *out, which is empty, takes what is to be sealed: the payload without
 * the blanks around it where the kind says so. Make it a secret buffer for a secret kind.
 * notes (may be NULL) takes what is accepted and will not be delivered as it stands, such as
 * a kubeconfig whose user signs in through a plugin. CL_EDATA with slug "invalid_payload";
 * line is set where the payload has lines.
 */
int sec_payload_check(enum sec_kind k, const char *payload, size_t len, struct cl_buf *out,
	struct cl_strv *notes, struct cl_err *e);

/*
 * {"host","token"} for a personal access token of another server than github.com: what is
 * sealed when mint is given --github-host. The host is HOST or HOST:PORT without a scheme.
 */
int sec_github_pat_join(
	const char *token, size_t len, const char *host, struct cl_buf *out, struct cl_err *e);

/*
 * Whether an env payload has every one of the names; one that it has not is CL_EREFUSED, which says
 * what it has. `secret` is its secret's name, under which a payload goes that is one value.
 */
int sec_env_has(const struct cl_strv *keys, const char *secret, const char *payload, size_t len,
	struct cl_err *e);

/*
 * "sha256:" and the first 16 hex of the digest of a sealed record, never of the value: a
 * digest of the value would let who reads it test guesses. out holds SEC_FINGERPRINT bytes.
 */
#define SEC_FINGERPRINT 24
void sec_fingerprint(const void *sealed, size_t len, char out[SEC_FINGERPRINT]);

/* ---- how long things live ---- */

enum sec_ttl {
	SEC_TTL_GRANT,          /* cloop secret grant --ttl */
	SEC_TTL_GRANT_PANEL,    /* a grant made over HTTP */
	SEC_TTL_LEASE,          /* not configurable */
	SEC_TTL_EGRESS_GRANT,   /* cloop egress grant --ttl */
	SEC_TTL_EGRESS_SESSION, /* cloop egress grant --session-ttl */
	SEC_TTL_ENROLLMENT,     /* cloop executor enroll --ttl */
	SEC_TTL_REQUEST,        /* how long a request waits */
	SEC_TTL_APPROVAL,       /* the grant of an approved request */
	SEC_NTTLS
};
struct sec_ttl_row {
	const char *what; /* "a grant" */
	int64_t default_ms;
	int64_t ceiling_ms; /* 0: none */
};
extern const struct sec_ttl_row sec_ttls[SEC_NTTLS];
/*
 * A duration as a flag gives it; NULL or "" takes the default. Above the ceiling, zero and
 * negative are CL_EDATA; the message names the ceiling.
 */
int sec_ttl_parse(enum sec_ttl row, const char *text, int64_t *ms, struct cl_err *e);

#endif
