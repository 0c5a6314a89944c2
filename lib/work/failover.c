/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/failover.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "store/audit.h"
#include "store/health.h"
#include "store/journal.h"
#include "store/lease.h"
#include "store/run.h"
#include "sys/clock.h"
#include "sys/proc.h"
#include "work/control.h"
#include "work/paths.h"
#include "work/lease/revoke.h"
#include "work/rundir.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define ACTOR    "failover"
#define CAP_MOST 10
/* How many are claimed in one pass: the others are the next one's. */
#define CLAIMED   100
#define ENDING_MS 20000 /* a lost workload has that long to end */
#define START_MS  60000 /* a replacement to begin, before the pass goes on without it */

void failover_release(struct failover *f)
{
	cl_strv_release(&f->notes);
	cl_strv_release(&f->troubles);
}

int64_t failover_cap(const struct cfg *cfg)
{
	const struct cfg_value *v = cfg ? cfg_value(cfg, "executors.failover.max_attempts") : NULL;
	json_int_t n = v && json_is_integer(v->value) ? json_integer_value(v->value) : 2;

	return n < 0 ? 0 : n > CAP_MOST ? CAP_MOST : n;
}

static void trouble(struct failover *f, const char *id, const struct cl_err *e)
{
	cl_strv_addf(&f->troubles, "failover: %s: %s", id, e->msg);
}

/* ---- what is written ---- */

static int audit(struct store *s, const struct store_session *r, const char *action,
	const char *entity, const char *id, json_t *take_detail, int64_t now, struct cl_err *e)
{
	const struct store_audit_row row = {ACTOR, action, entity, id, r->project, take_detail};
	int rc = store_audit_add(s, now, &row, e);

	json_decref(take_detail);
	return rc;
}

static int journal(struct store *s, const struct store_session *r, const char *kind,
	const char *text, int64_t now, struct cl_err *e)
{
	return store_journal_add(s, now, r->project, r->run_id, kind, text, NULL, e);
}

int failover_give_up(struct store *s, const struct store_session *r, int64_t before,
	const char *why, int64_t now, bool *won, struct cl_err *e)
{
	cleanup_free char *text = cl_asprintf(
		"executor %s was lost and the run was not started again: %s", r->executor_id, why);
	cleanup_txn struct store_txn t = {0};

	if (store_begin(s, &t, e) || store_session_give_up(s, r->id, before, why, now, won, e))
		return -1;
	if (!*won)
		return 0;
	if (audit(s, r, "executor.failover", "executor", r->executor_id,
		    json_pack("{s:s, s:s, s:I, s:o}", "session_id", r->id, "run_id", r->run_id,
			    "attempt", (json_int_t)r->attempt, "error", cl_json_string(why)),
		    now, e) ||
		journal(s, r, "executor_lost", text, now, e))
		return -1;
	return store_commit(&t, e);
}

/* The executors of the chain that ends here, as a JSON array and as words. */
struct chain {
	json_t *ids;
	struct cl_buf text;
};

static int look_back(
	struct store *s, const struct store_session *r, struct chain *c, struct cl_err *e)
{
	cleanup_session struct store_session at = STORE_SESSION_INIT;
	cleanup_free char *before = r->requeued_from ? cl_strdup(r->requeued_from) : NULL;

	(void)json_array_append_new(c->ids, cl_json_string(r->executor_id));
	cl_buf_adds(&c->text, r->executor_id);
	for (int i = 0; before && i < CAP_MOST + 1; i++) {
		store_session_release(&at);
		if (store_session_get(s, before, &at, e))
			return -1;
		(void)json_array_append_new(c->ids, cl_json_string(at.executor_id));
		cl_buf_addf(&c->text, ", %s", at.executor_id);
		free(before);
		before = at.requeued_from ? cl_strdup(at.requeued_from) : NULL;
	}
	return 0;
}

static int note_exhausted(
	struct store *s, const struct store_session *r, int64_t cap, int64_t now, struct cl_err *e)
{
	struct chain c = {json_array(), CL_BUF_INIT};
	cleanup_free char *text = NULL;
	int rc = look_back(s, r, &c, e);

	text = cl_asprintf("the run was lost with %s, and is not started again: "
			   "executors.failover.max_attempts is %lld",
		c.text.p, (long long)cap);
	cl_buf_release(&c.text);
	if (rc) {
		json_decref(c.ids);
		return -1;
	}
	return audit(s, r, "executor.failover_exhausted", "executor", r->executor_id,
		       json_pack("{s:s, s:s, s:I, s:I, s:o}", "session_id", r->id, "run_id",
			       r->run_id, "attempt", (json_int_t)r->attempt, "max_attempts",
			       (json_int_t)cap, "executors", c.ids),
		       now, e) ||
			       journal(s, r, "executor_lost", text, now, e)
		       ? -1
		       : 0;
}

static int note_quarantined(
	struct store *s, const struct store_session *r, int64_t now, struct cl_err *e)
{
	cleanup_suspect struct store_suspect q = STORE_SUSPECT_INIT;
	cleanup_free char *text = NULL;
	bool found;

	if (store_suspect_find(s, r->project, r->workload, &q, &found, e))
		return -1;
	text = cl_asprintf("executors %s were lost with this workload: it may have taken them "
			   "down, and runs again after 'cloop executor pardon %s'",
		found ? q.executors : "[]", r->id);
	return audit(s, r, "task.quarantine", "session", r->id,
		       json_pack("{s:s, s:s, s:s, s:s, s:s}", "kind", "node_killer", "run_id",
			       r->run_id, "workload", r->workload, "executors",
			       found ? q.executors : "[]", "marked_by", ACTOR),
		       now, e) ||
			       journal(s, r, "quarantine", text, now, e)
		       ? -1
		       : 0;
}

/* ---- claiming ---- */

/* The decision and what is written of it: one transaction. */
static int claim(struct failover *f, struct store *s, const struct store_session *r,
	enum store_claim *got, struct cl_err *e)
{
	cleanup_free char *why = cl_asprintf("its executor %s was lost", r->executor_id);
	int64_t now = sys_now_ms(), cap = failover_cap(f->cfg);
	cleanup_txn struct store_txn t = {0};

	if (store_begin(s, &t, e) ||
		store_session_claim(s, r->id, r->claim_token, cap, why, now, got, e))
		return -1;
	if (*got == CLAIM_LOST)
		return 0;
	if ((*got == CLAIM_EXHAUSTED && note_exhausted(s, r, cap, now, e)) ||
		(*got == CLAIM_QUARANTINED && note_quarantined(s, r, now, e)))
		return -1;
	return store_commit(&t, e);
}

/* 1: it has ended and is being settled, which is its supervisor's. */
static int has_ended(struct store *s, const char *run_id, struct cl_err *e)
{
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;

	if (store_handle_of_run(s, run_id, &h, e))
		return e->code == CL_ENOTFOUND ? 0 : -1;
	return strcmp(h.state, "live") != 0;
}

static int take_back(const struct store_lease *l, void *arg, struct cl_err *e)
{
	(void)e;
	cl_strv_add(arg, l->id);
	return 0;
}

/* A workload out of reach keeps no credential. What is missed here the sweep finds. */
static void end_leases(struct failover *f, struct store *s, const char *run_id)
{
	const struct store_lease_filter of_run = {.run_id = run_id};
	const struct lease_actor who = {ACTOR, sys_now_ms()};
	cleanup_strv struct cl_strv ids = CL_STRV_INIT;
	struct cl_err e;
	bool was, asked;

	if (store_lease_each(s, &of_run, take_back, &ids, &e))
		trouble(f, run_id, &e);
	for (size_t i = 0; i < ids.n; i++) {
		cleanup_lease_row struct store_lease l = STORE_LEASE_INIT;

		if (store_lease_get(s, ids.v[i], &l, &e) ||
			revoke_lease(s, &l, &who, "kill", "its executor was lost", f->run_base,
				&was, &asked, &e))
			trouble(f, ids.v[i], &e);
	}
}

/* True when nothing of it runs any more on this host, where its supervisor is. */
static bool end_workload(const struct failover *f, struct store *s, const char *run_id)
{
	int64_t until = sys_mono_ms() + ENDING_MS;

	for (bool asked = false;; sys_sleep_ms(100)) {
		cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;
		cleanup_rundir struct rundir rd = {0};
		cleanup_free char *base = NULL;
		struct cl_err e;
		json_t *msg;

		if (store_handle_of_run(s, run_id, &h, &e))
			return e.code == CL_ENOTFOUND;
		if (strcmp(h.state, "live") != 0)
			return true;
		if (sys_mono_ms() >= until || sys_told_to_end(f->stop))
			return false;
		if (asked)
			continue;
		base = work_base_of(&h);
		rundir_init(&rd, base, h.id);
		msg = json_pack("{s:s, s:i}", "op", "stop", "grace_ms", 0);
		asked = !control_ask(rd.sock, msg, &e);
		json_decref(msg);
		if (!asked && e.code == CL_EUNAVAIL)
			return false; /* it has no supervisor: a sweep gives it one */
	}
}

static void tell_claim(struct failover *f, const struct store_session *r, enum store_claim got)
{
	static const char *const words[] = {[CLAIM_REQUEUED] = "",
		[CLAIM_EXHAUSTED] = ", and was started again as often as it may be",
		[CLAIM_QUARANTINED] = ", which is not the first: it is held as a suspect"};

	cl_strv_addf(
		&f->notes, "%s is lost with executor %s%s", r->run_id, r->executor_id, words[got]);
}

static void claim_one(struct failover *f, struct store *s, const struct store_session *r)
{
	enum store_claim got = CLAIM_LOST;
	struct cl_err e;
	int ended = has_ended(s, r->run_id, &e);

	if (ended > 0)
		return;
	if (ended < 0 || claim(f, s, r, &got, &e)) {
		trouble(f, r->run_id, &e);
		return;
	}
	if (got == CLAIM_LOST)
		return;
	tell_claim(f, r, got);
	end_leases(f, s, r->run_id);
	/* One that is started again is ended when somebody takes that on. */
	if (got != CLAIM_REQUEUED && !end_workload(f, s, r->run_id))
		cl_strv_addf(
			&f->troubles, "failover: the workload of %s has not ended yet", r->run_id);
}

/* ---- starting again ---- */

static int argv_of(const struct store_run *run, struct cl_strv *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	json_t *word;
	size_t i;

	if (cl_doc_parse(&d, CL_DOC_JSON, "argv", run->argv, strlen(run->argv), NULL, e))
		return -1;
	json_array_foreach (d.root, i, word) {
		if (!json_is_string(word))
			return cl_fail(e, CL_EDATA, "the row of %s has no command", run->id);
		cl_strv_add(out, json_string_value(word));
	}
	return i ? 0 : cl_fail(e, CL_EDATA, "the row of %s has no command", run->id);
}

static int build_argv(struct failover *f, const struct store_session *r,
	const struct store_run *run, struct cl_strv *out, struct cl_err *e)
{
	const char *const head[] = {
		"cloop-run", "-C", f->hub_dir, "--replaces", r->id, "--detach", "-p", run->project};

	for (size_t i = 0; i < CL_ARRAY_LEN(head); i++)
		cl_strv_add(out, head[i]);
	if (run->task)
		cl_strv_addf(out, "--task=%s", run->task);
	if (run->deadline > run->created_at)
		cl_strv_addf(out, "--timeout=%lldms", (long long)(run->deadline - run->created_at));
	cl_strv_add(out, "--");
	return argv_of(run, out, e);
}

/*
 * It settles the session itself, also when it is refused. One that takes long (an image is built)
 * goes on without us.
 */
static int start(struct failover *f, const struct store_session *r, const struct store_run *run,
	struct cl_err *e)
{
	cleanup_strv struct cl_strv argv = CL_STRV_INIT, env = CL_STRV_INIT;
	cleanup_free char *path = cl_sibling("cloop-run");
	struct pollfd ends[2] = {{.fd = f->stop, .events = POLLIN}, {.events = POLLIN}};
	struct sys_spawn sp = SYS_SPAWN_INIT;
	cleanup_fd int began = -1;

	if (build_argv(f, r, run, &argv, e))
		return -1;
	work_engine_env(&env);
	sp.path = path;
	sp.argv = argv.v;
	sp.envp = env.v;
	sp.new_session = true;
	sp.cwd = "/";
	if (sys_spawn_away(&sp, &began, e))
		return -1;
	ends[1].fd = began;
	if (began >= 0)
		(void)poll(ends, CL_ARRAY_LEN(ends), START_MS);
	return 0;
}

/* What became of it, as a line. */
static void tell_start(struct failover *f, struct store *s, const struct store_session *was)
{
	cleanup_session struct store_session r = STORE_SESSION_INIT, now = STORE_SESSION_INIT;
	struct cl_err e;

	if (store_session_get(s, was->id, &r, &e) ||
		(r.replaced_by && store_session_get(s, r.replaced_by, &now, &e)))
		trouble(f, was->run_id, &e);
	else if (r.replaced_by)
		cl_strv_addf(&f->notes, "%s is started again on %s as %s", r.run_id,
			now.executor_id, now.run_id);
	else if (!strcmp(r.state, "failed"))
		cl_strv_addf(&f->notes, "%s is not started again: %s", r.run_id,
			r.reason ? r.reason : "nothing replaced it");
	else
		cl_strv_addf(&f->notes, "%s is not started again yet", r.run_id);
}

static void start_one(struct failover *f, struct store *s, const struct store_session *r)
{
	cleanup_run_row struct store_run run = STORE_RUN_INIT;
	int64_t now = sys_now_ms();
	struct cl_err e;
	bool mine = false;

	if (store_session_take_on(s, r->id, now - FAILOVER_TRY_MS, now, &mine, &e)) {
		trouble(f, r->run_id, &e);
		return;
	}
	if (!mine)
		return;
	end_leases(f, s, r->run_id);
	if (!end_workload(f, s, r->run_id)) {
		/* Who is told to end leaves it to the next that comes, not for two minutes. */
		if (sys_told_to_end(f->stop) &&
			store_session_take_on(s, r->id, now + 1, 0, &mine, &e))
			trouble(f, r->run_id, &e);
		cl_strv_addf(&f->notes, "%s is not started again yet: its workload has not ended",
			r->run_id);
		return;
	}
	if (store_run_get(s, r->run_id, &run, &e) || start(f, r, &run, &e))
		trouble(f, r->run_id, &e);
	tell_start(f, s, r);
}

static void abandon(struct failover *f, struct store *s, const struct store_session *r, int64_t now)
{
	struct cl_err e;
	bool won = false;

	if (failover_give_up(s, r, now - FAILOVER_MS + 1, "nothing replaced it within five minutes",
		    now, &won, &e))
		trouble(f, r->run_id, &e);
	else if (won)
		cl_strv_addf(&f->notes, "%s was not started again", r->run_id);
}

/* ---- one pass ---- */

/* Rows that are kept while others are written. */
struct sessions {
	struct store_session *v;
	size_t n;
};

static int keep(const struct store_session *r, void *arg, struct cl_err *e)
{
	struct sessions *k = arg;

	(void)e;
	k->v = cl_realloc(k->v, (k->n + 1) * sizeof(*k->v));
	store_session_copy(r, &k->v[k->n++]);
	return 0;
}

static void sessions_release(struct sessions *k)
{
	for (size_t i = 0; i < k->n; i++)
		store_session_release(&k->v[i]);
	free(k->v);
}
#define cleanup_sessions __attribute__((cleanup(sessions_release)))

static int note_lost(const struct store_health *h, void *arg, struct cl_err *e)
{
	(void)e;
	if (!strcmp(h->state, "unreachable"))
		cl_strv_add(arg, h->executor_id);
	return 0;
}

static void claim_all(struct failover *f, struct store *s)
{
	cleanup_sessions struct sessions k = {0};
	cleanup_strv struct cl_strv lost = CL_STRV_INIT;
	struct cl_err e;

	if (store_health_each(s, note_lost, &lost, &e))
		trouble(f, "health", &e);
	for (size_t i = 0; i < lost.n && k.n < CLAIMED; i++)
		if ((!f->executor || !strcmp(f->executor, lost.v[i])) &&
			store_session_each(
				s, "running", lost.v[i], CLAIMED - (int64_t)k.n, keep, &k, &e))
			trouble(f, lost.v[i], &e);
	for (size_t i = 0; i < k.n && !sys_told_to_end(f->stop); i++)
		claim_one(f, s, &k.v[i]);
}

void failover_pass(struct failover *f, struct store *s)
{
	cleanup_sessions struct sessions k = {0};
	struct cl_err e;

	if (f->cfg)
		claim_all(f, s);
	if (store_session_each(s, "requeued", f->executor, CLAIMED, keep, &k, &e))
		trouble(f, "sessions", &e);
	for (size_t i = 0; i < k.n && !sys_told_to_end(f->stop); i++) {
		int64_t now = sys_now_ms();

		/* A time in the future means that the clock was set: it is left alone. */
		if (k.v[i].updated_at > now)
			continue;
		if (now - k.v[i].updated_at >= FAILOVER_MS)
			abandon(f, s, &k.v[i], now);
		else if (f->cfg)
			start_one(f, s, &k.v[i]);
	}
}
