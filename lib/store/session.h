/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sessions: what the hub has dispatched, and who decides when an executor is lost
 * (facts/executors.md 9, guide "Failover"). One conditional UPDATE decides: it rotates the claim
 * token, holds the cap, and keeps a workload that went down with two executors from a third.
 * The end of a run ends its session by itself (schema).
 */
#ifndef STORE_SESSION_H
#define STORE_SESSION_H

#include "store/store.h"

#include <jansson.h>

#define STORE_SESSION_ID    29 /* "ses_", 24 hex, NUL */
#define STORE_SESSION_TOKEN 38 /* "claim_", 31 hex, NUL at most */

struct store_session {
	char *id;
	char *run_id;
	char *executor_id;
	char *project;
	char *workload; /* store_workload */
	bool isolated;
	char *claim_token;
	char *state; /* "running", "requeued", "replaced", "finished", "failed", ... */
	int64_t attempt;
	char *requeued_from, *replaced_by; /* of other sessions, or NULL */
	char *reason;
	int64_t started_at, updated_at, ended_at;
	int64_t tried_at; /* when somebody last took on to start it again */
};
#define STORE_SESSION_INIT ((struct store_session){.attempt = 1})
void store_session_release(struct store_session *s);
#define cleanup_session __attribute__((cleanup(store_session_release)))
/* *to, new or released, becomes a row of its own. */
void store_session_copy(const struct store_session *from, struct store_session *to);
json_t *store_session_json(const struct store_session *s);

/*
 * What a workload is in its project, over all its runs: its task label, else the hash of its
 * argv as JSON text. Owned.
 */
char *store_workload(const char *task, const char *argv);

/*
 * Opens a session of `run_id`, running, with a fresh id and token: id, claim_token and state of
 * *r are set here (owned by it), the rest is the caller's. requeued_from names the session that
 * it replaces, which must be requeued and not replaced yet, and becomes so in the same
 * transaction; its attempt is that one's and one. CL_EREFUSED with constraint "session" where
 * somebody else was faster; CL_EBUSY while the workload of the lost one has not ended. Call it in
 * the transaction that inserts the run.
 */
int store_session_open(struct store *s, struct store_session *r, struct cl_err *e);
/* By id or prefix. *out is STORE_SESSION_INIT. */
int store_session_get(struct store *s, const char *id, struct store_session *out, struct cl_err *e);
/* The session of a run; *found false: it has none. */
int store_session_of_run(struct store *s, const char *run_id, struct store_session *out,
	bool *found, struct cl_err *e);
/*
 * Those in a state (a word of ours, not of anybody's input), of an executor or (NULL) of all, the oldest first, `limit` at most (0: all); fn
 * as in store/run.h.
 */
typedef int (*store_session_fn)(const struct store_session *r, void *arg, struct cl_err *e);
int store_session_each(struct store *s, const char *state, const char *executor, int64_t limit,
	store_session_fn fn, void *arg, struct cl_err *e);

/* What became of a session that somebody wanted to claim. */
enum store_claim {
	CLAIM_LOST,       /* somebody else decided, or it has ended: no error, and nothing to do */
	CLAIM_REQUEUED,   /* to be started again elsewhere, by this caller alone */
	CLAIM_EXHAUSTED,  /* it was started again often enough */
	CLAIM_QUARANTINED /* the executors that it was lost with are two: a suspect */
};

/*
 * Its executor is lost: decides what becomes of the session, if its token is still `token`
 * and it is still running. `cap`: how many times one dispatch may be started again, 0 never.
 * The winner's transaction also records the loss, and finishes the run as lost with `why`.
 */
int store_session_claim(struct store *s, const char *id, const char *token, int64_t cap,
	const char *why, int64_t now, enum store_claim *out, struct cl_err *e);

/*
 * requeued -> failed, with a reason: nothing replaced it. *won: this caller did it, and it was
 * neither replaced nor touched since `before`.
 */
int store_session_give_up(struct store *s, const char *id, int64_t before, const char *why,
	int64_t now, bool *won, struct cl_err *e);

/*
 * Of those who would start a requeued session again, one: *won when nobody has taken it on since
 * `before`.
 */
int store_session_take_on(
	struct store *s, const char *id, int64_t before, int64_t now, bool *won, struct cl_err *e);
/*
 * The replacement `run_id` never started, whoever was to start it has died: it is finished as lost,
 * and what it replaced is requeued once more, one attempt on; *won false where it is no such
 * replacement, has a handle, or the attempts are used up, and then nothing is changed.
 */
int store_session_reopen(struct store *s, const char *run_id, int64_t cap, const char *why,
	int64_t now, bool *won, struct cl_err *e);

/* ---- what was lost with two executors ---- */

struct store_suspect {
	char *project, *workload;
	char *session_id; /* the last that was lost */
	char *executors;  /* JSON array of ids */
	int64_t lost_at;  /* the last time */
};
#define STORE_SUSPECT_INIT ((struct store_suspect){0})
void store_suspect_release(struct store_suspect *r);
#define cleanup_suspect __attribute__((cleanup(store_suspect_release)))
json_t *store_suspect_json(const struct store_suspect *r);

/* By project and workload; fn as in store/run.h. */
typedef int (*store_suspect_fn)(const struct store_suspect *r, void *arg, struct cl_err *e);
int store_suspect_each(struct store *s, store_suspect_fn fn, void *arg, struct cl_err *e);
/* *found: that workload is one. *out is STORE_SUSPECT_INIT. */
int store_suspect_find(struct store *s, const char *project, const char *workload,
	struct store_suspect *out, bool *found, struct cl_err *e);
/* Lets a workload go: forgets what it was lost with; *n losses. */
int store_session_pardon(
	struct store *s, const char *project, const char *workload, int64_t *n, struct cl_err *e);

/* A run that is not finished, with what there is of it: what the stale ones are found among. */
struct store_open_run {
	char *run_id, *executor_id, *project;
	char *handle_id, *handle_state; /* NULL: it has no handle */
	int64_t created_at, handle_ended_at;
	bool starting; /* it never said that it runs */
};
/* The oldest first. A walk holds no lock while its callback writes. */
typedef int (*store_open_run_fn)(const struct store_open_run *r, void *arg, struct cl_err *e);
int store_open_runs(struct store *s, store_open_run_fn fn, void *arg, struct cl_err *e);
/*
 * store_run_finished of many as lost, in one transaction: runs.v[from..to) for the reasons in
 * why.v. won[i - from] says of each whether this caller did it.
 */
int store_runs_lost(struct store *s, const struct cl_strv *runs, const struct cl_strv *why,
	size_t from, size_t to, int64_t at, bool *won, struct cl_err *e);

#endif
