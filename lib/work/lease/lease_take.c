/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking a lease: its rows, and what is written about it. */
#include "work/lease/lease.h"
#include "work/lease/app_token.h"
#include "work/lease/lease_internal.h"
#include "work/lease/lease_wire.h"

#include "base/mem.h"
#include "base/num.h"
#include "store/audit.h"
#include "store/journal.h"
#include "sys/id.h"

#include <stdlib.h>
#include <string.h>

/* Grants change under a judge who opens payloads; a hub where they always do is busy. */
#define TRIES 8

/* ---- what is written about a lease ---- */

static int audit(const struct lease_case *c, const char *action, const char *entity_id,
	json_t *take_detail, struct cl_err *e)
{
	return keyed_audit(c->k, action, "secret", entity_id, take_detail, e);
}

static void who_asked(json_t *detail, const struct lease_case *c, const struct store_lease *l)
{
	(void)json_object_set_new(detail, "executor_id",
		c->who.executor ? cl_json_string(c->who.executor) : json_string(""));
	(void)json_object_set_new(detail, "project_id",
		c->who.project ? cl_json_string(c->who.project) : json_string(""));
	if (l->id)
		(void)json_object_set_new(detail, "lease_id", json_string(l->id));
	if (l->run_id)
		(void)json_object_set_new(detail, "run_id", json_string(l->run_id));
}

/* How wide a token was asked for, and until when it is good. */
static void about_token(const struct lease_aimed *a, json_t *detail)
{
	json_t *notes = NULL;
	char when[32];

	if (!a->app_new)
		return;
	cl_format_time(a->app.expires_at, when);
	(void)json_object_set_new(detail, "token_expires_at", json_string(when));
	(void)json_object_set(detail, "token_scope", a->app.scope);
	for (size_t i = 0; i < a->app.notes.n; i++) {
		if (!notes)
			(void)json_object_set_new(detail, "notes", notes = json_array());
		(void)json_array_append_new(notes, cl_json_string(a->app.notes.v[i]));
	}
}

static json_t *of_grant(const struct lease_aimed *a)
{
	cleanup_buf struct cl_buf summary = CL_BUF_INIT;

	if (a->unreadable)
		return grant_audit(&a->row);
	sec_constraints_summary(&a->view.constraints, &summary);
	return grant_audit_as(&a->row, summary.p);
}

/* A token that could not be replaced, and stays for as long as it is good. */
static int write_late(const struct lease_case *c, const struct lease_aimed *a, const char *action,
	const struct store_lease *l, struct cl_err *e)
{
	json_t *detail;

	if (!a->app_late.code)
		return 0;
	detail = of_grant(a);
	(void)json_object_set_new(detail, "decision", json_string("deny"));
	(void)json_object_set_new(detail, "reason", cl_json_string(a->app_late.msg));
	who_asked(detail, c, l);
	return audit(c, action, a->row.secret_id, detail, e);
}

/* A row for each grant aimed at the requester, and one for the whole. */
static int write_audit(const struct lease_case *c, const char *action, const struct store_lease *l,
	struct cl_err *e)
{
	json_t *sum;

	for (size_t i = 0; i < c->n; i++) {
		const struct sec_refused *r = lease_case_refusal(c, c->v[i]->row.id);
		json_t *detail = of_grant(c->v[i]);

		(void)json_object_set_new(detail, "decision", json_string(r ? "deny" : "allow"));
		who_asked(detail, c, l);
		if (r)
			(void)json_object_set_new(detail, "reason", cl_json_string(r->error.msg));
		else
			about_token(c->v[i], detail);
		if (audit(c, action, c->v[i]->row.secret_id, detail, e) ||
			(!r && write_late(c, c->v[i], action, l, e)))
			return -1;
	}
	sum = json_pack("{s:I, s:I, s:I}", "delivered", (json_int_t)c->lease.nmaterials, "refused",
		(json_int_t)c->lease.nrefused, "expires_at", (json_int_t)l->expires_at);
	who_asked(sum, c, l);
	return audit(c, action, l->id ? l->id : "", sum, e);
}

static int write_refusals(const struct lease_case *c, const struct store_lease *l, struct cl_err *e)
{
	for (size_t i = 0; i < c->lease.nrefused; i++) {
		const struct sec_refused *r = &c->lease.refused[i];
		cleanup_free char *text = cl_asprintf("this run goes without %s \"%s\" (%s): %s",
			sec_kinds[r->kind].name, r->secret_name, r->grant_id, r->error.msg);
		json_t *data = json_pack("{s:s, s:s, s:s, s:s}", "grant_id", r->grant_id,
			"secret_name", r->secret_name, "kind", sec_kinds[r->kind].name, "code",
			cl_err_slug(&r->error));
		int rc = store_journal_add(c->k->store, c->now, l->project, l->run_id,
			"credential_refused", text, data, e);

		json_decref(data);
		if (rc)
			return -1;
	}
	return 0;
}

int lease_write_rows(const struct lease_case *c, const char *action, const struct store_lease *l,
	struct cl_err *e)
{
	return write_audit(c, action, l, e) || write_refusals(c, l, e) ? -1 : 0;
}

/* ---- taking ---- */

int64_t lease_how(const struct sec_lease *l, size_t material)
{
	const struct sec_material *m = &l->materials[material];
	int64_t how = (m->nfiles ? SEC_BY_FILE : 0) | (m->nmounts ? SEC_BY_MOUNT : 0) |
		      (m->devices.n ? SEC_BY_DEVICE : 0) | (m->interfaces.n ? SEC_BY_INTERFACE : 0);

	for (size_t i = 0; i < l->nvars; i++)
		if (l->vars[i].material == material && l->vars[i].sensitive)
			how |= SEC_BY_ENV;
	return how;
}

/* What the lease stands on; grant_id is borrowed of the case. */
static struct store_hold *make_holds(const struct lease_case *c)
{
	struct store_hold *h = cl_calloc(c->lease.nmaterials + 1, sizeof(*h));

	for (size_t i = 0; i < c->lease.nmaterials; i++) {
		h[i].grant_id = c->lease.materials[i].grant_id;
		h[i].how = lease_how(&c->lease, i);
	}
	return h;
}

static void make_row(const struct lease_case *c, const struct lease_request *r, const char *id,
	struct store_lease *l)
{
	cleanup_buf struct cl_buf labels = CL_BUF_INIT;

	sec_labels_text(&c->labels, &labels);
	*l = (struct store_lease){.id = *id ? cl_strdup(id) : NULL,
		.run_id = cl_strdup_null(r->run_id),
		.sandbox = cl_strdup_null(r->sandbox),
		.project = cl_strdup(r->project ? r->project : ""),
		.executor_id = cl_strdup(r->executor ? r->executor : ""),
		.labels = cl_buf_detach(&labels),
		.actor = cl_strdup(c->k->actor),
		.created_at = c->now,
		.expires_at = c->lease.expires_at * 1000};
}

static int write_lease(struct lease_case *c, struct store_lease *l, bool *won, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	struct store_hold *holds = make_holds(c);
	int rc = store_begin(c->k->store, &t, e);

	*won = true;
	if (!rc && l->id)
		rc = store_lease_insert(c->k->store, l, holds, c->lease.nmaterials, won, e) ||
		     (*won && app_token_write(c, l->seq, l->id, e));
	free(holds);
	if (rc || (*won && lease_write_rows(c, "secret.lease", l, e)))
		return -1;
	return store_commit(&t, e);
}

void lease_place(struct sec_lease *l, const char *id)
{
	char dir[sizeof(LEASE_DIR_PREFIX) + LEASE_ID_SIZE];

	(void)snprintf(dir, sizeof(dir), "%s%s", LEASE_DIR_PREFIX, id + sizeof("lease_") - 1);
	sec_lease_place(l, id, dir);
}

static int try_take(struct keyed *k, const struct lease_request *r, struct lease **out, bool *won,
	struct cl_err *e)
{
	cleanup_case struct lease_case c = LEASE_CASE_INIT;
	cleanup_lease_row struct store_lease row = STORE_LEASE_INIT;
	cleanup_seal struct seal_buf bytes = SEAL_BUF_INIT;
	char id[LEASE_ID_SIZE] = "";
	int rc;

	/* Drawn first: once a token is there, nothing may be left half done. */
	if (sys_new_id("lease_", 24, id, sizeof(id), e))
		return -1;
	c.lend = true;
	if (lease_judge(&c, k, r, e))
		return -1;
	if (lease_picked(&c, e)) {
		app_token_undo(&c, true, "the lease was not made");
		return -1;
	}
	app_token_undo(&c, false, "it is not delivered");
	if (c.lease.nmaterials)
		lease_place(&c.lease, id);
	else
		id[0] = '\0';
	make_row(&c, r, id, &row);
	/* Packed before it is written: what cannot be held is not lent. */
	rc = lease_pack(&c.lease, id, &bytes, e) || write_lease(&c, &row, won, e) ? -1 : 0;
	if (rc || !*won)
		app_token_undo(&c, true, "the lease was not made");
	return !rc && *won ? lease_parse(&bytes, out, e) : rc;
}

int lease_busy(const char *what, struct cl_err *e)
{
	(void)cl_fail(e, CL_EBUSY, "the grants of %s change faster than they can be lent", what);
	return cl_fix(e, "try again");
}

int lease_take(struct keyed *k, const struct lease_request *r, struct lease **out, struct cl_err *e)
{
	bool won = false;

	*out = NULL;
	for (int i = 0; i < TRIES; i++) {
		if (try_take(k, r, out, &won, e))
			return -1;
		if (won)
			return 0;
	}
	return lease_busy(r->project ? r->project : "this run", e);
}
