/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sessions in the store: one decision among many, and what follows from it. */
#include "race.h"
#include "store-fixture.h"
#include "store/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW INT64_C(1000000000000)

/* A run with its session, `from` NULL: nothing was lost before. *id is the session's. */
static int dispatch(struct store *s, const char *executor, const char *task, const char *from,
	char id[STORE_SESSION_ID], struct cl_err *e)
{
	struct store_session ses = STORE_SESSION_INIT;
	struct store_run r = STORE_RUN_INIT;
	cleanup_txn struct store_txn t = {0};
	char run[STORE_RUN_ID];
	int rc;

	if (store_new_run_id(run, e))
		return -1;
	r.id = run;
	r.project = (char *)(uintptr_t) "/srv/p";
	r.executor_id = (char *)(uintptr_t)executor;
	r.argv = (char *)(uintptr_t) "[\"make\"]";
	r.harness = (char *)(uintptr_t) "make";
	r.created_at = 1;
	ses.run_id = cl_strdup(run);
	ses.executor_id = cl_strdup(executor);
	ses.project = cl_strdup("/srv/p");
	ses.workload = store_workload(task, r.argv);
	ses.requeued_from = from ? cl_strdup(from) : NULL;
	ses.started_at = 1;
	rc = store_begin(s, &t, e) || store_run_insert(s, &r, e) ||
	     store_session_open(s, &ses, e) || store_commit(&t, e);
	if (!rc)
		(void)snprintf(id, STORE_SESSION_ID, "%s", ses.id);
	store_session_release(&ses);
	return rc ? -1 : 0;
}

static struct store_session get(struct store *s, const char *id)
{
	struct store_session r = STORE_SESSION_INIT;
	struct cl_err e;

	if (store_session_get(s, id, &r, &e))
		UNIT_FAIL("%s", e.msg);
	return r;
}

/* Its run's id, until the next one is asked for. */
static const char *run_of(struct store *s, const char *id)
{
	static char run[STORE_RUN_ID];
	cleanup_session struct store_session r = get(s, id);

	(void)snprintf(run, sizeof(run), "%s", r.run_id);
	return run;
}

static enum store_claim claim(struct store *s, const char *id, int64_t cap)
{
	cleanup_session struct store_session r = get(s, id);
	enum store_claim got = CLAIM_LOST;
	struct cl_err e;

	if (store_session_claim(s, id, r.claim_token, cap, "node a is gone", NOW, &got, &e))
		UNIT_FAIL("%s", e.msg);
	return got;
}

static void expect_state(struct store *s, const char *id, const char *state)
{
	cleanup_session struct store_session r = get(s, id);

	CHECK_STR(r.state, state);
}

void test_session_store__the_cap_counts_the_chain(void)
{
	char first[STORE_SESSION_ID], second[STORE_SESSION_ID], third[STORE_SESSION_ID];
	struct store *s;
	struct cl_err e;

	fresh();
	s = open_as(STORE_CREATE);
	/* The same executor each time: nobody is a suspect. */
	CHECK_INT(dispatch(s, "a", NULL, NULL, first, &e), 0);
	CHECK_INT(claim(s, first, 2), CLAIM_REQUEUED);
	CHECK_INT(claim(s, first, 2), CLAIM_LOST);
	CHECK_INT(dispatch(s, "a", NULL, first, second, &e), 0);
	expect_state(s, first, "replaced");
	/* It is replaced: not a second time. */
	CHECK_INT(dispatch(s, "a", NULL, first, third, &e), -1);
	CHECK_STR(e.constraint, "session");
	CHECK_INT(claim(s, second, 2), CLAIM_REQUEUED);
	CHECK_INT(dispatch(s, "a", NULL, second, third, &e), 0);
	{
		cleanup_session struct store_session r = get(s, third);

		CHECK_INT(r.attempt, 3);
		CHECK_STR(r.requeued_from, second);
	}
	CHECK_INT(claim(s, third, 2), CLAIM_EXHAUSTED);
	CHECK_INT(dispatch(s, "a", NULL, third, first, &e), -1);
	/* 0 turns it off, also for a first loss; a raised cap does not bring one back. */
	CHECK_INT(dispatch(s, "a", "t", NULL, first, &e), 0);
	CHECK_INT(claim(s, first, 0), CLAIM_EXHAUSTED);
	CHECK_INT(claim(s, first, 10), CLAIM_LOST);
	store_close(s);
	expect_sound();
	gone();
}

void test_session_store__two_executors_make_a_suspect(void)
{
	char id[STORE_SESSION_ID];
	struct store *s;
	struct cl_err e;
	int64_t n = 0;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(dispatch(s, "a", "bomb", NULL, id, &e), 0);
	CHECK_INT(claim(s, id, 10), CLAIM_REQUEUED);
	/* Another workload of the project is none. */
	CHECK_INT(dispatch(s, "b", "other", NULL, id, &e), 0);
	CHECK_INT(claim(s, id, 10), CLAIM_REQUEUED);
	CHECK_INT(dispatch(s, "b", "bomb", NULL, id, &e), 0);
	CHECK_INT(claim(s, id, 10), CLAIM_QUARANTINED);
	CHECK_INT(dispatch(s, "c", "bomb", id, id, &e), -1);
	/* Every loss counts against it until somebody lets it go. */
	CHECK_INT(dispatch(s, "a", "bomb", NULL, id, &e), 0);
	CHECK_INT(claim(s, id, 10), CLAIM_QUARANTINED);
	CHECK_INT(store_session_pardon(s, "/srv/p", "task:bomb", &n, &e), 0);
	CHECK_INT(n, 3);
	CHECK_INT(dispatch(s, "a", "bomb", NULL, id, &e), 0);
	CHECK_INT(claim(s, id, 10), CLAIM_REQUEUED);
	store_close(s);
	expect_sound();
	gone();
}

void test_session_store__ends_with_its_run(void)
{
	char a[STORE_SESSION_ID], b[STORE_SESSION_ID], c[STORE_SESSION_ID];
	cleanup_run_row struct store_run run = STORE_RUN_INIT;
	cleanup_session struct store_session one = STORE_SESSION_INIT;
	struct store *s;
	struct cl_err e;
	bool won, found;
	json_t *json;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(dispatch(s, "a", NULL, NULL, a, &e), 0);
	CHECK_INT(dispatch(s, "a", NULL, NULL, b, &e), 0);
	CHECK_INT(dispatch(s, "a", NULL, NULL, c, &e), 0);
	CHECK_INT(store_run_finished(s, run_of(s, a), OUTCOME_EXITED, 3, NULL, 5, &won, &e), 0);
	expect_state(s, a, "finished");
	CHECK_INT(store_run_finished(s, run_of(s, b), OUTCOME_LOST, -1, "why", 5, &won, &e), 0);
	expect_state(s, b, "failed");
	CHECK_INT(claim(s, a, 2), CLAIM_LOST);
	/* A claim finishes the run; its own supervisor is too late then. */
	CHECK_INT(claim(s, c, 2), CLAIM_REQUEUED);
	CHECK_INT(store_run_finished(s, run_of(s, c), OUTCOME_EXITED, 0, NULL, 6, &won, &e), 0);
	CHECK(!won);
	expect_state(s, c, "requeued");
	CHECK_INT(store_run_get(s, run_of(s, c), &run, &e), 0);
	CHECK_STR(run.outcome, "lost");
	CHECK_STR(run.error, "node a is gone");
	CHECK_INT(store_session_of_run(s, run.id, &one, &found, &e), 0);
	CHECK(found);
	json = store_session_json(&one);
	CHECK(!json_object_get(json, "claim_token"));
	CHECK_STR(json_string_value(json_object_get(json, "state")), "requeued");
	json_decref(json);
	/* Nothing came of it: given up once, and not while it is young. */
	CHECK_INT(store_session_give_up(s, c, NOW, "nothing", NOW + 1, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(store_session_give_up(s, c, NOW + 1, "nothing", NOW + 1, &won, &e), 0);
	CHECK(won);
	CHECK_INT(dispatch(s, "a", NULL, c, a, &e), -1);
	store_close(s);
	gone();
}

static int count_suspect(const struct store_suspect *q, void *arg, struct cl_err *e)
{
	(void)e;
	CHECK_STR(q->workload, "task:bomb");
	++*(int *)arg;
	return 0;
}

void test_session_store__suspects_are_found_by_workload(void)
{
	cleanup_suspect struct store_suspect q = STORE_SUSPECT_INIT;
	char id[STORE_SESSION_ID];
	struct store *s;
	struct cl_err e;
	bool found;
	int n = 0;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(store_suspect_each(s, count_suspect, &n, &e), 0);
	CHECK_INT(n, 0);
	CHECK_INT(dispatch(s, "a", "bomb", NULL, id, &e), 0);
	CHECK_INT(claim(s, id, 10), CLAIM_REQUEUED);
	CHECK_INT(store_suspect_find(s, "/srv/p", "task:bomb", &q, &found, &e), 0);
	CHECK(!found);
	CHECK_INT(dispatch(s, "b", "bomb", NULL, id, &e), 0);
	CHECK_INT(claim(s, id, 10), CLAIM_QUARANTINED);
	CHECK_INT(dispatch(s, "b", "other", NULL, id, &e), 0);
	CHECK_INT(claim(s, id, 10), CLAIM_REQUEUED);
	CHECK_INT(store_suspect_each(s, count_suspect, &n, &e), 0);
	CHECK_INT(n, 1);
	CHECK_INT(store_suspect_find(s, "/srv/p", "task:bomb", &q, &found, &e), 0);
	CHECK(found);
	CHECK_STR(q.executors, "[\"a\",\"b\"]");
	CHECK_INT(store_suspect_find(s, "/srv/other", "task:bomb", &q, &found, &e), 0);
	CHECK(!found);
	store_close(s);
	gone();
}

void test_session_store__a_replacement_that_never_started(void)
{
	char old[STORE_SESSION_ID], new[STORE_SESSION_ID], again[STORE_SESSION_ID];
	char run[STORE_RUN_ID];
	struct store *s;
	struct cl_err e;
	bool won;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(dispatch(s, "a", NULL, NULL, old, &e), 0);
	CHECK_INT(store_session_take_on(s, old, NOW, NOW, &won, &e), 0);
	CHECK(!won); /* it runs */
	CHECK_INT(claim(s, old, 2), CLAIM_REQUEUED);
	CHECK_INT(store_session_take_on(s, old, NOW, NOW, &won, &e), 0);
	CHECK(won);
	CHECK_INT(store_session_take_on(s, old, NOW, NOW + 1, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(dispatch(s, "b", NULL, old, new, &e), 0);
	(void)snprintf(run, sizeof(run), "%s", run_of(s, new));
	CHECK_INT(store_session_reopen(s, run_of(s, old), 2, "x", NOW, &won, &e), 0);
	CHECK(!won); /* it replaces nothing */
	CHECK_INT(store_session_reopen(s, run, 1, "x", NOW, &won, &e), 0);
	CHECK(!won); /* there are no more attempts */
	CHECK_INT(store_session_reopen(s, run, 2, "x", NOW, &won, &e), 0);
	CHECK(won);
	expect_state(s, old, "requeued");
	expect_state(s, new, "failed");
	CHECK_INT(store_session_reopen(s, run, 2, "x", NOW, &won, &e), 0);
	CHECK(!won);
	CHECK_INT(dispatch(s, "c", NULL, old, again, &e), 0);
	(void)snprintf(run, sizeof(run), "%s", run_of(s, again));
	CHECK_INT(store_run_started(s, run, "c-000000000001", NOW, &won, &e), 0);
	CHECK_INT(store_session_reopen(s, run, 9, "x", NOW, &won, &e), 0);
	CHECK(!won); /* it runs */
	store_close(s);
	expect_sound();
	gone();
}

/* ---- a hundred supervisors ---- */

#define RACERS 100

static char contested[STORE_SESSION_ID], token[STORE_SESSION_TOKEN];

/* What a supervisor does that sees the executor gone: claim, and start again what it won. */
static int supervise(int n)
{
	cleanup_store struct store *s = NULL;
	char id[STORE_SESSION_ID];
	enum store_claim got;
	struct cl_err e;

	(void)n;
	if (store_open(path, STORE_RW, &s, &e) ||
		store_session_claim(s, contested, token, 2, "gone", NOW, &got, &e))
		return 2;
	if (got != CLAIM_REQUEUED)
		return got == CLAIM_LOST ? 0 : 2;
	return dispatch(s, "b", NULL, contested, id, &e) ? 2 : 1;
}

/* The same by those who only heard that it is requeued: from an event, or after a crash. */
static int restart(int n)
{
	cleanup_store struct store *s = NULL;
	char id[STORE_SESSION_ID];
	struct cl_err e;

	(void)n;
	if (store_open(path, STORE_RW, &s, &e))
		return 2;
	if (!dispatch(s, "b", NULL, contested, id, &e))
		return 1;
	return e.code == CL_EREFUSED ? 0 : 2;
}

static int add_run(const struct store_run *r, void *arg, struct cl_err *e)
{
	(void)r;
	(void)e;
	++*(int *)arg;
	return 0;
}

static void contest(struct store *s)
{
	cleanup_session struct store_session r = STORE_SESSION_INIT;
	struct cl_err e;

	CHECK_INT(dispatch(s, "a", NULL, NULL, contested, &e), 0);
	r = get(s, contested);
	(void)snprintf(token, sizeof(token), "%s", r.claim_token);
}

void test_session_store__a_hundred_supervisors_dispatch_once(void)
{
	struct store_run_filter all = STORE_RUN_FILTER_INIT;
	struct store *s;
	struct cl_err e;
	int runs = 0;

	fresh();
	s = open_as(STORE_CREATE);
	contest(s);
	store_close(s);
	CHECK_INT(race(RACERS, supervise), 1);
	s = open_as(STORE_RW);
	CHECK_INT(store_run_each(s, &all, add_run, &runs, &e), 0);
	CHECK_INT(runs, 2);
	expect_state(s, contested, "replaced");
	/* The winner was killed before it started anything again: whoever does, does it once. */
	contest(s);
	CHECK_INT(claim(s, contested, 2), CLAIM_REQUEUED);
	store_close(s);
	CHECK_INT(race(RACERS, restart), 1);
	s = open_as(STORE_RW);
	runs = 0;
	CHECK_INT(store_run_each(s, &all, add_run, &runs, &e), 0);
	CHECK_INT(runs, 4);
	store_close(s);
	expect_sound();
	gone();
}
