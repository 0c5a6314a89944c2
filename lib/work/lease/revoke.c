/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/lease/revoke.h"
#include "work/lease/revoke_internal.h"

#include "base/mem.h"
#include "store/audit.h"
#include "store/run.h"
#include "sys/clock.h"
#include "work/control.h"
#include "work/guardian.h"
#include "work/paths.h"

#include <string.h>
#include <unistd.h>

/* How many leases an audit row names; all are counted. */
#define NAMED 100
/* How many holders one call tells; the sweep goes on with the others. */
#define TOLD 10000

/* ---- telling ---- */

struct telling {
	struct store *store;
	const char *run_base;
};

/* Sends the nudge and does not wait: the answer is what stands in the store. */
static int tell(const char *sandbox, void *arg, struct cl_err *e)
{
	const struct telling *t = arg;
	cleanup_rundir struct rundir rd = {0};
	cleanup_fd int fd = -1;
	json_t *msg;

	work_rundir_of(t->store, sandbox, t->run_base, &rd);
	if (control_connect(rd.sock, &fd, e))
		return 0;
	msg = json_pack("{s:s}", "op", "lease");
	(void)control_send(fd, msg, NULL, 0, e);
	json_decref(msg);
	return 0;
}

void revoke_tell(struct store *s, const char *run_base)
{
	struct telling t = {s, run_base};
	struct cl_err e;

	/* Best effort: whoever is not told looks by itself. */
	(void)store_asked_each(s, TOLD, tell, &t, &e);
}

/* ---- what is written ---- */

static int audit(struct store *s, const struct lease_actor *who, const char *action,
	const char *entity, const char *id, json_t *take_detail, struct cl_err *e)
{
	const struct store_audit_row row = {.actor = who->name,
		.action = action,
		.entity = entity,
		.entity_id = id,
		.project = "",
		.detail = take_detail};
	int rc;

	(void)json_object_set_new(take_detail, "decision", json_string("allow"));
	rc = store_audit_add(s, who->now, &row, e);
	json_decref(take_detail);
	return rc;
}

/* Each once: one lease may hold many grants, and an executor many leases. */
static void add_once(json_t *list, const char *name)
{
	json_t *known;
	size_t i;

	json_array_foreach (list, i, known)
		if (!strcmp(json_string_value(known), name))
			return;
	(void)json_array_append_new(list, cl_json_string(name));
}

static int name_holder(const struct store_holder *h, void *arg, struct cl_err *e)
{
	(void)e;
	if (strcmp(h->state, "taking") != 0)
		return 0;
	add_once(json_object_get(arg, "lease_ids"), h->lease_id);
	add_once(json_object_get(arg, "executor_ids"), h->executor_id);
	return 0;
}

static int audit_sent(struct store *s, const struct lease_actor *who,
	const struct store_holder_filter *f, const struct store_lease_end *end, int64_t n,
	struct cl_err *e)
{
	json_t *detail = json_pack("{s:s*, s:s*, s:s, s:s*, s:I, s:[], s:[]}", "grant_id",
		f->grant_id, "lease_id", f->lease_id, "action", end->action, "reason", end->reason,
		"leases", (json_int_t)n, "lease_ids", "executor_ids");

	if (store_holder_each(s, f, name_holder, detail, e)) {
		json_decref(detail);
		return -1;
	}
	return audit(s, who, "lease.revoke_sent", f->grant_id ? "grant" : "lease",
		f->grant_id ? f->grant_id : f->lease_id, detail, e);
}

/* ---- taking back ---- */

/* Who was asked to wipe it only, and lives, is asked to end. */
static int harden(struct store *s, const struct store_holder_filter *f, const char *action,
	int64_t at, int64_t *n, struct cl_err *e)
{
	int64_t more = 0;

	if (!strcmp(action, "kill") && store_hold_kill(s, f->grant_id, f->lease_id, at, &more, e))
		return -1;
	*n += more;
	return 0;
}

int revoke_take(struct store *s, const char *grant_id, const struct store_lease_end *end,
	int64_t *n, struct cl_err *e)
{
	const struct lease_actor who = {end->by, end->at};
	const struct store_holder_filter f = {.grant_id = grant_id, .limit = NAMED};

	if (store_grant_take(s, grant_id, end, n, e) || harden(s, &f, end->action, end->at, n, e))
		return -1;
	return *n ? audit_sent(s, &who, &f, end, *n, e) : 0;
}

static json_t *revoked(const struct store_grant *g, const char *reason)
{
	json_t *detail = grant_audit(g);

	if (reason)
		(void)json_object_set_new(detail, "reason", cl_json_string(reason));
	return detail;
}

int revoke_grant(struct store *s, const struct store_grant *g, const struct store_end *end,
	const char *action, const char *run_base, bool *was_live, int64_t *n, struct cl_err *e)
{
	const struct lease_actor who = {end->by, end->at};
	const struct store_lease_end lease = {.state = "revoked",
		.at = end->at,
		.by = end->by,
		.reason = end->reason ? end->reason : "its grants were revoked",
		.action = action};
	cleanup_txn struct store_txn t = {0};

	*n = 0;
	if (store_begin(s, &t, e) || store_grant_revoke(s, g->id, end, was_live, e) ||
		(*was_live && audit(s, &who, "secret.revoke", "secret", g->secret_id,
				      revoked(g, end->reason), e)) ||
		revoke_take(s, g->id, &lease, n, e) || store_commit(&t, e))
		return -1;
	if (*n)
		revoke_tell(s, run_base);
	return 0;
}

int revoke_lease(struct store *s, const struct store_lease *l, const struct lease_actor *who,
	const char *action, const char *reason, const char *run_base, bool *was_live, bool *asked,
	struct cl_err *e)
{
	int64_t n = 0;
	const struct store_lease_end end = {.state = "revoked",
		.at = who->now,
		.by = who->name,
		.reason = reason,
		.action = action};
	const struct store_holder_filter f = {.lease_id = l->id, .limit = NAMED};
	cleanup_txn struct store_txn t = {0};

	*asked = false;
	if (store_begin(s, &t, e) || store_lease_end(s, l->id, &end, was_live, e) ||
		harden(s, &f, action, who->now, &n, e))
		return -1;
	*asked = *was_live || n;
	if ((*asked && audit_sent(s, who, &f, &end, 1, e)) || store_commit(&t, e))
		return -1;
	if (*asked)
		revoke_tell(s, run_base);
	return 0;
}

int revoke_lapsed(struct store *s, const struct lease_actor *who, struct cl_err *e)
{
	const struct store_lease_end end = {.reason = "its time was over", .action = "scrub"};
	cleanup_strv struct cl_strv ids = CL_STRV_INIT;

	if (store_lease_lapsed(s, TOLD, &ids, e))
		return -1;
	for (size_t i = 0; i < ids.n; i++) {
		const struct store_holder_filter f = {.lease_id = ids.v[i], .limit = NAMED};
		cleanup_txn struct store_txn t = {0};
		int64_t n;

		if (store_begin(s, &t, e) || store_lease_ask(s, ids.v[i], who->now, &n, e) ||
			(n && audit_sent(s, who, &f, &end, 1, e)) || store_commit(&t, e))
			return -1;
	}
	return 0;
}

/* ---- waiting ---- */

static bool any(const struct holders *h, enum holder_state state)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].state == state)
			return true;
	return false;
}

int revoke_guard(const char *hub_dir, struct cl_err *e)
{
	cleanup_strv struct cl_strv env = CL_STRV_INIT;

	work_engine_env(&env);
	return guardian_ensure(hub_dir, env.v, e);
}

int revoke_adopt(const char *hub_dir, const struct holders *h, struct cl_err *e)
{
	return any(h, HOLDER_UNREACHABLE) ? revoke_guard(hub_dir, e) : 0;
}

int revoke_wait(struct store *s, const char *grant_id, const char *lease_id,
	const struct revoke_until *u, struct holders *out, struct cl_err *e)
{
	int64_t until = sys_mono_ms() + u->ms;

	for (;;) {
		holders_release(out);
		if (grant_id ? holders_of_grant(s, grant_id, out, e)
			     : holders_of_lease(s, lease_id, out, e))
			return -1;
		if ((!any(out, HOLDER_PENDING) && !any(out, HOLDER_UNREACHABLE)) ||
			sys_mono_ms() >= until || (u->stop && *u->stop))
			return 0;
		sys_sleep_ms(100);
	}
}
