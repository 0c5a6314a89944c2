/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a lease delivers: of the grants aimed at one requester, at one time, the least that
 * each allows, or why it is not delivered. facts/secrets.md 3, 6, 7 and 9. Pure: opening
 * payloads, walking a root of repositories and asking GitHub for a token is done before, and
 * comes in as arguments; writing files and mounting is done after.
 */
#ifndef CL_POLICY_SECRET_LEASE_H
#define CL_POLICY_SECRET_LEASE_H

#include "policy/secret/secret_constraint.h"
#include "policy/secret/secret_inventory.h"
#include "policy/secret/secret_subject.h"

#include <stdint.h>

#define SEC_LEASE_SECONDS (15 * 60)

/* A grant as the store has it. Times are Unix seconds, 0 is never. All borrowed. */
struct sec_grant {
	const char *id, *secret_id, *secret_name;
	enum sec_kind kind;
	const struct sec_subject *subject;
	const struct sec_constraints *constraints;
	int64_t expires_at, revoked_at;
	const char *revoked_cause; /* "", "superseded", "secret_deleted", "owner_offboarded" */
	bool unguarded;            /* acknowledged by an administrator */
};

/* Why a grant is not delivered, and what changes that. */
struct sec_reason {
	const char *code; /* static: "subject", "expired", "revoked", "unguarded", ... */
	char *text, *fix; /* fix may be NULL */
};
struct sec_reasons {
	struct sec_reason *v;
	size_t n, cap;
};
#define SEC_REASONS_INIT ((struct sec_reasons){0})
void sec_reasons_release(struct sec_reasons *r);
#define cleanup_reasons __attribute__((cleanup(sec_reasons_release)))

/*
 * The command that grants the same again, for this requester; NULL: for whom the grant is. Owned.
 * A list of branches on a token that cannot be narrowed is left out: it would keep the new one from
 * everybody, too.
 */
char *sec_grant_again(const struct sec_grant *g, const struct sec_requester *r);
/*
 * What mends that a project's file names hardware that nobody lends it: `option` is "devices" or
 * "interfaces", `secret` one that has it. The name is of whoever wrote that file: one that a grant
 * would take for a pattern or for several is in no command. Owned.
 */
char *sec_grant_named(
	const char *name, const char *option, const char *secret, const char *project);

/*
 * Everything that stands in the way before the payload is opened: subject, revocation,
 * expiry (a grant ends at its expiry, not after it), a claim that nothing enforces, a branch
 * list on a token that cannot be narrowed. No reason: open it. A requester of NULL is not
 * asked about. sec_lease_build asks once more for all but the subject.
 */
void sec_grant_judge(const struct sec_grant *g, const struct sec_requester *r, int64_t now,
	struct sec_reasons *out);
/* Of those, what makes the grant none of the requester's business: subject alone. */
bool sec_grant_aimed(const struct sec_grant *g, const struct sec_requester *r);

/* A repository under the root of a local_repo, resolved and found to be inside it. */
struct sec_candidate {
	const char *name, *path;
	const char *id; /* which directory that is; "" or NULL: any that stands there */
};

/* A grant that was judged fit, and what there is to deliver. */
struct sec_offer {
	const struct sec_grant *grant;
	const char *payload; /* opened; NULL when `refusal` says why there is none */
	size_t len;
	const struct cl_err *refusal; /* what went wrong on the way here */
	/* local_repo */
	const struct sec_candidate *candidates;
	size_t ncandidates;
	/* github_app: the installation token, and when GitHub lets it end */
	const char *token;
	int64_t token_expires_at;
};

struct sec_file {
	char *name;         /* no '/' in it */
	bool executable;    /* 0700, else 0600 */
	struct cl_buf data; /* secret */
};
struct sec_var {
	char *name;
	struct cl_buf value; /* secret */
	bool sensitive;      /* named in CLOOP_REDACT_ENV, scrubbed from output */
	size_t material;     /* which one set it; SIZE_MAX: the lease itself */
};
struct sec_mount {
	char *name, *source, *target; /* "/repos/<name>" */
	char *id;                     /* of the source; "": any */
	bool writable;
};

/*
 * What the run takes of the host's hardware, by name; NULL: all that it is granted. It comes with
 * the project (capabilities.devices, capabilities.interfaces), so it can only take away.
 */
struct sec_pick {
	const struct cl_strv *devices, *interfaces;
};

/* What one grant delivers. */
struct sec_material {
	char *grant_id, *secret_id, *secret_name;
	enum sec_kind kind;
	struct cl_buf constraints; /* their summary */
	struct cl_buf delivers;    /* "github repos: myorg/ALL (helper-scoped=true)" */
	struct sec_file *files;
	size_t nfiles, files_cap;
	struct sec_mount *mounts;
	size_t nmounts, mounts_cap;
	struct sec_devices devices;
	struct sec_interfaces interfaces;
};
struct sec_refused {
	char *grant_id, *secret_id, *secret_name;
	enum sec_kind kind;
	struct cl_err error; /* message and remediation; no material */
};

struct sec_lease {
	int64_t longest;    /* in: seconds that it may last; 0: SEC_LEASE_SECONDS */
	int64_t expires_at; /* min(now + longest, the earliest expiry of what is in it) */
	struct sec_material *materials;
	size_t nmaterials, materials_cap;
	struct sec_refused *refused;
	size_t nrefused, refused_cap;
	struct sec_var *vars; /* of all of them, sorted by name, each name once */
	size_t nvars, vars_cap;
	bool merged; /* several grants share files: github or kubeconfig */
	/* Every text to scrub from output; owned, wiped on release. */
	struct cl_buf *secrets;
	size_t nsecrets, secrets_cap;
	struct sec_pick pick; /* given: what sec_lease_build narrows to; borrowed */
};
#define SEC_LEASE_INIT ((struct sec_lease){0})
void sec_lease_release(struct sec_lease *l);
#define cleanup_lease __attribute__((cleanup(sec_lease_release)))

/*
 * Minimises n offers into *out, which is SEC_LEASE_INIT but for `pick`. An offer that cannot be delivered
 * becomes a refusal; the others are delivered, but for one of which nothing was picked. No offer at all is an empty lease. Never fails.
 */
void sec_lease_build(const struct sec_offer *offers, size_t n, int64_t now, struct sec_lease *out);

/*
 * Adds CLOOP_LEASE_DIR, CLOOP_LEASE_ID, CLOOP_LEASE_EXPIRES_AT and CLOOP_REDACT_ENV, and puts
 * `dir` where a variable names the lease's directory. Once, when the place is known.
 */
void sec_lease_place(struct sec_lease *l, const char *id, const char *dir);

/* The variable of that name, or NULL. */
const struct sec_var *sec_lease_var(const struct sec_lease *l, const char *name);

/* ---- for the minimisers ---- */

struct sec_material *sec_lease_material(struct sec_lease *l, const struct sec_grant *g);
struct sec_file *sec_material_file(struct sec_material *m, const char *name, bool executable);
/* Sets or replaces it: of two materials that set one variable the later wins. */
struct cl_buf *sec_lease_set(
	struct sec_lease *l, const struct sec_material *m, const char *name, bool sensitive);
void sec_lease_secret(struct sec_lease *l, const char *text, size_t len);
void sec_lease_refuse(struct sec_lease *l, const struct sec_grant *g, const struct cl_err *e);

/* What is written for "the lease's directory" until sec_lease_place knows it. */
#define SEC_LEASE_DIR_MARK "\x01"

#endif
