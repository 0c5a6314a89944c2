/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What who holds a lease tells the store, and is told by it: no key is needed for any of it. */
#include "work/lease/lease.h"

#include "base/mem.h"
#include "store/audit.h"

#include <stdlib.h>
#include <string.h>

static int audit(struct store *s, const struct lease_actor *who, const char *action,
	const struct store_lease *l, json_t *take_detail, struct cl_err *e)
{
	const struct store_audit_row row = {.actor = who->name,
		.action = action,
		.entity = "lease",
		.entity_id = l->id,
		.project = l->project,
		.detail = take_detail};
	int rc;

	(void)json_object_set_new(take_detail, "lease_id", json_string(l->id));
	(void)json_object_set_new(take_detail, "executor_id", cl_json_string(l->executor_id));
	if (l->run_id)
		(void)json_object_set_new(take_detail, "run_id", json_string(l->run_id));
	rc = store_audit_add(s, who->now, &row, e);
	json_decref(take_detail);
	return rc;
}

int lease_release(struct store *s, const struct lease_actor *who, const char *id,
	const char *reason, struct cl_err *e)
{
	const struct store_lease_end end = {
		.state = "released", .at = who->now, .by = who->name, .reason = reason};
	cleanup_txn struct store_txn t = {0};
	cleanup_lease_row struct store_lease l = STORE_LEASE_INIT;
	bool won;

	if (store_begin(s, &t, e) || store_lease_get(s, id, &l, e) ||
		store_lease_end(s, l.id, &end, &won, e))
		return -1;
	if (won && audit(s, who, "secret.release", &l,
			   json_pack("{s:s, s:s*}", "decision", "allow", "reason", reason), e))
		return -1;
	return store_commit(&t, e);
}

void lease_take_backs_release(struct lease_take_backs *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].grant_id);
		free(t->v[i].secret_name);
	}
	free(t->v);
	*t = LEASE_TAKE_BACKS_INIT;
}

static int keep_taking(const struct store_hold *h, void *arg, struct cl_err *e)
{
	struct lease_take_backs *t = arg;

	(void)e;
	/* As long as it holds something it is not over. */
	t->over = t->over && strcmp(h->state, "held") != 0;
	if (strcmp(h->state, "taking") != 0)
		return 0;
	t->v = cl_grow(t->v, &t->cap, t->n + 1, sizeof(*t->v));
	t->v[t->n++] = (struct lease_take_back){.grant_id = cl_strdup(h->grant_id),
		.kill = h->action && !strcmp(h->action, "kill"),
		.answered = h->answered_at > 0,
		.asked_at = h->asked_at};
	return 0;
}

int lease_take_backs(struct store *s, const char *id, int64_t now, struct lease_take_backs *out,
	struct cl_err *e)
{
	cleanup_lease_row struct store_lease l = STORE_LEASE_INIT;

	out->over = true;
	if (store_lease_get(s, id, &l, e) || store_hold_each(s, l.seq, keep_taking, out, e))
		return -1;
	out->over = out->over || strcmp(l.state, "live") != 0 || l.expires_at <= now;
	for (size_t i = 0; i < out->n; i++) {
		cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;

		if (store_grant_get(s, out->v[i].grant_id, &g, e))
			return -1;
		out->v[i].secret_name = cl_strdup(g.secret_name);
	}
	return 0;
}

static json_t *answer_json(const struct lease_answer *a)
{
	if (a->stays)
		return json_pack("{s:b}", "stays", 1);
	return a->failed
		       ? json_pack("{s:o}", "error", cl_json_string(a->error ? a->error : ""))
		       : json_pack("{s:I, s:b, s:b}", "files_removed", (json_int_t)a->files_removed,
				 "env_stays", a->env_stays, "terminated", a->terminated);
}

struct asked {
	const char *grant_id;
	json_t *detail;
	int64_t now;
};

/* What was asked of it, and how long it took to answer. */
static int tell_asked(const struct store_hold *h, void *arg, struct cl_err *e)
{
	const struct asked *a = arg;

	(void)e;
	if (strcmp(h->grant_id, a->grant_id) != 0)
		return 0;
	if (h->action)
		(void)json_object_set_new(a->detail, "action", json_string(h->action));
	if (h->asked_at)
		(void)json_object_set_new(a->detail, "took_ms",
			json_integer(a->now > h->asked_at ? a->now - h->asked_at : 0));
	return 0;
}

int lease_answer(struct store *s, const struct lease_actor *who, const char *id,
	const char *grant_id, const struct lease_answer *a, struct cl_err *e)
{
	/* What stays is asked for until the workload is over. */
	const char *state = a->failed ? "failed" : a->stays ? "taking" : "taken";
	cleanup_txn struct store_txn t = {0};
	cleanup_lease_row struct store_lease l = STORE_LEASE_INIT;
	json_t *result = answer_json(a);
	cleanup_free char *text = cl_json_text(result);
	struct asked asked = {grant_id, result, who->now};
	bool won;

	(void)json_object_set_new(result, "grant_id", json_string(grant_id));
	(void)json_object_set_new(result, "decision", json_string(a->failed ? "deny" : "allow"));
	(void)json_object_set_new(result, "state", json_string(a->failed ? "failed" : "revoked"));
	if (store_begin(s, &t, e) || store_lease_get(s, id, &l, e) ||
		store_hold_each(s, l.seq, tell_asked, &asked, e) ||
		store_hold_answer(s, l.seq, grant_id, state, text, who->now, &won, e)) {
		json_decref(result);
		return -1;
	}
	if (!won)
		json_decref(result);
	else if (audit(s, who, a->failed ? "lease.revoke_failed" : "lease.revoke_acked", &l, result,
			 e))
		return -1;
	return store_commit(&t, e);
}
