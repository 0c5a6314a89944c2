/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leases: what a run is lent of the grants that are for it, narrowed, for a quarter of an hour at
 * most, and recomputed from the grants of the moment at every renewal. The guide "Granting secrets
 * and egress"; facts/secrets.md 9; DECISIONS K5, K6.
 *
 * Who holds the key calls lease_take and lease_renew. Whoever runs a workload holds none: it asks
 * a process of cloop-secret (work/lease/lease_ask.h) and gets the same struct lease. What is done with
 * it, files, variables, mounts, is the deliverer's (work/lease/delivery.h).
 *
 * A lease lives in the state file as ids only, never as material: store/lease.h.
 */
#ifndef WORK_LEASE_H
#define WORK_LEASE_H

#include "policy/secret/secret_lease.h"
#include "seal/mem.h"
#include "store/lease.h"
#include "work/forge.h"
#include "work/known.h"
#include "work/secrets.h"

/* Who asks. All borrowed. */
struct lease_request {
	const char *run_id;   /* run_<24 hex>, or NULL */
	const char *sandbox;  /* c-<12 hex>, or NULL while there is none: store_lease_bind */
	const char *project;  /* absolute and without links, as grants name it; or NULL */
	const char *executor; /* its id; NULL or "": none */
	/* What the hub records of the executor; NULL: those of its configuration. */
	const struct sec_labels *labels;
	int64_t now; /* Unix milliseconds; 0: when the key's holder began */
	/* What the project takes of the host's hardware. lease_take refuses a name that nothing
	 * lends: CL_EREFUSED, constraint "devices" or "interfaces". */
	struct sec_pick pick;
};

/* ---- a lease as it is held: everything points into one locked, wiped block of memory ---- */

/* Bytes, and a NUL after them. */
struct lease_text {
	const char *p;
	size_t len;
};
struct lease_env {
	const char *name; /* each name once in a lease */
	struct lease_text value;
	bool sensitive; /* named in CLOOP_REDACT_ENV */
};
struct lease_file {
	const char *name; /* no '/', never "." or ".."; below lease->dir */
	unsigned mode;    /* 0600 or 0700 */
	struct lease_text data;
};
struct lease_mount {
	const char *name, *source, *target; /* "/repos/<name>" */
	const char *id;                     /* sys/repos.h: which directory that was; "": any */
	bool writable;
};
struct lease_device {
	const char *name, *source, *target;
	enum sec_access access;
};
struct lease_interface {
	const char *name, *source, *target;
	const char *address, *gateway; /* NULL: none */
	unsigned mtu;                  /* 0: as it is */
	bool raw;                      /* CAP_NET_RAW and AF_PACKET for the run */
};

/* What one grant delivers. */
struct lease_item {
	enum sec_kind kind;
	const char *name; /* the secret's */
	const char *secret_id, *grant_id;
	const char *constraints, *delivers; /* for people */
	const struct lease_env *env;
	size_t nenv;
	const struct lease_file *files;
	size_t nfiles;
	const struct lease_mount *mounts;
	size_t nmounts;
	const struct lease_device *devices;
	size_t ndevices;
	const struct lease_interface *interfaces;
	size_t ninterfaces;
};
/* A grant that was for the requester and is not delivered. */
struct lease_refusal {
	enum sec_kind kind;
	const char *name, *secret_id, *grant_id;
	const char *code, *reason, *fix; /* code as in cl_err_slug; fix may be "" */
};

struct lease {
	const char *id; /* lease_<24 hex> */
	/*
	 * The lease's directory inside the sandbox, "/run/cloop/cloop-lease-<24 hex>": files go
	 * there and the variables say so. It stays the same when the lease is renewed.
	 */
	const char *dir;
	int64_t expires_at; /* Unix milliseconds */
	const struct lease_item *items;
	size_t nitems;
	/* The lease's own variables: CLOOP_LEASE_DIR, _ID, _EXPIRES_AT, CLOOP_REDACT_ENV. With
	 * those of the items this is all of them. */
	const struct lease_env *env;
	size_t nenv;
	/* Everything to scrub from output, longest forms not added: policy/secret/scrub.h does that. */
	const struct lease_text *redact;
	size_t nredact;
	const struct lease_refusal *refused;
	size_t nrefused;
	/* owned */
	struct seal_buf mem;
	void *tables;
};
void lease_free(struct lease *l); /* wipes; takes NULL */
void lease_cleanup(struct lease **l);
#define cleanup_held __attribute__((cleanup(lease_cleanup)))

#define LEASE_DIR_PREFIX "/run/cloop/cloop-lease-"

/* ---- for who holds the key ---- */

/*
 * Judges, opens, narrows, and writes the lease: one transaction with its audit and journal rows,
 * refused when a grant in it ended meanwhile, then all is judged again. *out is owned. A requester
 * that nothing is for gets a lease without items, which is not written and has no id: the empty
 * text. CL_EBUSY when grants changed faster than they could be judged.
 */
int lease_take(
	struct keyed *k, const struct lease_request *r, struct lease **out, struct cl_err *e);
/*
 * Recomputes a live lease from what its grants say now and lets it live on: what is still granted
 * stays, what is not is taken back and named in the refusals. New grants are for the next lease; a
 * grant that was superseded has given its leases to its successor (store_grant_succeed).
 * CL_EREFUSED, slug "lease_over", when it has ended or lapsed: a lapsed lease stays lapsed. When
 * nothing is left it ends, and *out has no items and no id. `labels` of the executor as of now;
 * NULL: those of its configuration.
 */
int lease_renew(struct keyed *k, const char *id, const struct sec_labels *labels, int64_t now,
	struct lease **out, struct cl_err *e);
/* What the holder of a lease is, as its supervisor knows it and not as the store says. */
struct lease_holder {
	const char *run_id, *project, *executor; /* NULL: none */
};
/*
 * The same with the labels and the time of now, for that holder: a row that is another's by now was
 * altered, and is CL_EREFUSED, slug "forged_lease", and audited. Handed to `give` once its rows are
 * committed and before tokens that it replaces are destroyed: GitHub may take a minute over those, and
 * the holder needs the new ones. What `give` fails with is returned.
 */
int lease_renew_to(struct keyed *k, const char *id, const struct lease_holder *holder,
	int (*give)(void *arg, const struct lease *l, struct cl_err *e), void *arg,
	struct cl_err *e);

/* ---- for who holds the lease, without the key ---- */

/* Who does something to a lease, and when. */
struct lease_actor {
	const char *name; /* "cli:root", "run:run_..." */
	int64_t now;      /* Unix milliseconds */
};
/*
 * Its holder is over and has wiped everything: "released", with an audit row, also after somebody
 * else ended it. Twice is success.
 */
int lease_release(struct store *s, const struct lease_actor *who, const char *id,
	const char *reason, struct cl_err *e);

/* What a holder is asked to give up: the grants of its lease that were taken back. */
struct lease_take_back {
	char *grant_id, *secret_name;
	bool kill;     /* end the workload too: SIGTERM, SIGKILL five seconds later */
	bool answered; /* that it stays until the workload ends */
	int64_t asked_at;
};
struct lease_take_backs {
	struct lease_take_back *v;
	size_t n, cap;
	bool over; /* the lease has ended or lapsed: nothing of it may stay */
};
#define LEASE_TAKE_BACKS_INIT ((struct lease_take_backs){0})
void lease_take_backs_release(struct lease_take_backs *t);
#define cleanup_take_backs __attribute__((cleanup(lease_take_backs_release)))
/* Reads only; a holder asks when it is nudged, and every few seconds. *out is _INIT. */
int lease_take_backs(struct store *s, const char *id, int64_t now, struct lease_take_backs *out,
	struct cl_err *e);

/* What a holder did about one grant that was taken back. */
struct lease_answer {
	bool failed;
	const char *error; /* when it failed; else NULL */
	int64_t files_removed;
	bool env_stays;  /* variables of a running process cannot be taken */
	bool terminated; /* the workload was removed */
	bool stays; /* it was heard of, and ends with the workload: one more answer follows then */
};
/* Once for each: the row, and lease.revoke_acked or lease.revoke_failed in the audit trail. */
int lease_answer(struct store *s, const struct lease_actor *who, const char *id,
	const char *grant_id, const struct lease_answer *a, struct cl_err *e);

/* ---- the parts, for who only wants to know ---- */

/* One grant that is aimed at the requester, with everything that its offer borrows. */
struct lease_aimed {
	/* Borrowed of `known` where it is one of those, else its own. */
	struct store_grant row;
	struct grant_view view;
	struct known_grant *known; /* of the case's snapshot, or NULL */
	struct sec_grant grant;
	struct seal_buf payload;
	struct sec_reasons reasons; /* what stands in the way before it is opened */
	bool unreadable;            /* no row of ours: see refusal */
	bool refused;
	struct cl_err refusal;
	struct cl_strv names, paths, ids;
	struct sec_candidate *candidates;
	struct forge_token app; /* github_app: the token that it delivers */
	bool app_new;           /* it was asked for now */
	/* Why the one that is there could not be replaced: it stays while it is good. */
	struct cl_err app_late;
};
struct lease_case {
	struct keyed *k;
	struct sec_requester who; /* borrowed texts */
	struct sec_labels labels;
	int64_t now;    /* Unix milliseconds */
	bool everybody; /* keep grants that are not for the requester too */
	unsigned kinds; /* 1 << enum sec_kind of those that are looked at; 0: all */
	/* Tokens are asked of GitHub; else this is a dry run, which asks nobody for any. */
	bool lend;
	int64_t lend_until; /* sys_mono_ms: when GitHub must have answered */
	const struct app_slots
		*slots; /* work/lease/app_token.h: of the lease that is renewed, or NULL */
	unsigned char pub[SEAL_KEY];
	bool known;
	struct known *snapshot; /* held, or NULL */
	struct lease_aimed **v; /* pointers: offers borrow from what they point to */
	size_t n, cap;
	struct sec_lease lease;
};
#define LEASE_CASE_INIT ((struct lease_case){.labels = SEC_LABELS_INIT, .lease = SEC_LEASE_INIT})
void lease_case_release(struct lease_case *c);
#define cleanup_case __attribute__((cleanup(lease_case_release)))

/* Takes the requester; *c is LEASE_CASE_INIT. */
int lease_case_open(
	struct lease_case *c, struct keyed *k, const struct lease_request *r, struct cl_err *e);
/* Adds what the filter lets through and the requester is aimed at (or everybody's). */
int lease_case_find(struct lease_case *c, const struct store_grant_filter *f, struct cl_err *e);
/* Judges, opens and minimises what was found. Never fails: see each one's refusal. */
void lease_case_build(struct lease_case *c);
/* A dry run's audit rows, one of each grant, in the caller's transaction. */
int lease_case_audit(const struct lease_case *c, struct cl_err *e);
/* Why the lease does not deliver a grant; NULL: it does. */
const struct sec_refused *lease_case_refusal(const struct lease_case *c, const char *grant_id);
/* The three in one, over all grants that are active, and those lost with their secret: a dry run. */
int lease_judge(
	struct lease_case *c, struct keyed *k, const struct lease_request *r, struct cl_err *e);

#endif
