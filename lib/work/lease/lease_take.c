/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking a lease: its rows, and what is written about it. */
#include "work/lease/lease.h"
#include "work/lease/app_token.h"
#include "work/lease/lease_internal.h"
#include "work/lease/lease_wire.h"

#include "base/credpat.h"
#include "base/doc.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/num.h"
#include "store/audit.h"
#include "store/journal.h"
#include "store/lease.h"

#include <stdlib.h>
#include <string.h>

/* Grants change under a judge who opens payloads; a hub where they always do is busy. */
#define TRIES 8

/* ---- what is written about a lease ---- */

static void quote(struct cl_buf *out, const char *text)
{
	if (!cl_json_quote_exact(out, text, strlen(text)))
		cl_json_quote(out, text);
}

/* Canonical JSON, whose keys come in their order: a lease writes little else. */
static void say(struct cl_buf *out, const char *key, const char *text)
{
	if (!text)
		return;
	cl_buf_adds(out, out->len ? ",\"" : "{\"");
	cl_buf_adds(out, key);
	cl_buf_adds(out, "\":");
	quote(out, text);
}

static void say_number(struct cl_buf *out, const char *key, int64_t n)
{
	cl_buf_adds(out, out->len ? ",\"" : "{\"");
	cl_buf_adds(out, key);
	cl_buf_adds(out, "\":");
	cl_json_int(out, n);
}

static const char *some(const char *text)
{
	return text ? text : "";
}

/* How wide a token was asked for, and until when it is good. */
static void say_token(struct cl_buf *out, const struct lease_aimed *a)
{
	cleanup_free char *scope = NULL;
	char when[32];

	if (!a->app_new)
		return;
	cl_format_time(a->app.expires_at, when);
	say(out, "token_expires_at", when);
	if (!a->app.scope)
		return;
	scope = cl_json_text(a->app.scope);
	cl_buf_adds(out, ",\"token_scope\":");
	cl_buf_adds(out, scope);
}

static char *summary_of(const struct lease_aimed *a)
{
	struct cl_buf b = CL_BUF_INIT;

	if (a->unreadable)
		return grant_summary(&a->row);
	sec_constraints_summary(&a->view.constraints, &b);
	return cl_buf_detach(&b);
}

/* What was odd about the answer that it came with. */
static void say_notes(struct cl_buf *out, const struct lease_aimed *a)
{
	if (!a->app_new || !a->app.notes.n)
		return;
	cl_buf_adds(out, ",\"notes\":[");
	for (size_t i = 0; i < a->app.notes.n; i++) {
		cl_buf_adds(out, i ? "," : "");
		quote(out, a->app.notes.v[i]);
	}
	cl_buf_addc(out, ']');
}

/* A grant that was for the requester, and why it is not delivered (NULL: it is). */
static int audit_grant(const struct lease_case *c, const struct lease_aimed *a, const char *action,
	const struct store_lease *l, const char *denied, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;
	cleanup_free char *summary = summary_of(a), *why = denied ? cp_redact(denied) : NULL;

	(void)cl_buf_reserve(&text, 900);
	say(&text, "constraints", summary);
	say(&text, "decision", denied ? "deny" : "allow");
	if (!c->lend)
		cl_buf_adds(&text, ",\"dry_run\":true");
	say(&text, "executor_id", some(c->who.executor));
	say_number(&text, "expires_at", a->row.expires_at);
	say(&text, "grant_id", a->row.id);
	say(&text, "kind", a->row.kind);
	if (l->id)
		say_number(&text, "lease_expires_at", l->expires_at);
	say(&text, "lease_id", l->id);
	if (!denied)
		say_notes(&text, a);
	say(&text, "project_id", some(c->who.project));
	say(&text, "reason", why);
	say(&text, "run_id", l->run_id);
	say(&text, "secret_id", a->row.secret_id);
	say(&text, "secret_name", a->row.secret_name);
	say(&text, "subject", a->row.subject);
	if (!denied)
		say_token(&text, a);
	cl_buf_addc(&text, '}');
	return keyed_audit_text(c->k, action, "secret", a->row.secret_id, text.p, e);
}

/* Nothing was for the requester: there is no grant whose row would say that he asked. */
static int audit_nothing(const struct lease_case *c, const char *action,
	const struct store_lease *l, struct cl_err *e)
{
	cleanup_buf struct cl_buf text = CL_BUF_INIT;

	say(&text, "decision", "allow");
	say_number(&text, "delivered", 0);
	say(&text, "executor_id", some(c->who.executor));
	say(&text, "project_id", some(c->who.project));
	say(&text, "run_id", l->run_id);
	cl_buf_addc(&text, '}');
	return keyed_audit_text(c->k, action, "secret", "", text.p, e);
}

/* A row for each grant aimed at the requester; what they have in common each of them says. */
static int audit_grants(const struct lease_case *c, const char *action, const struct store_lease *l,
	struct cl_err *e)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct lease_aimed *a = c->v[i];
		const struct sec_refused *r = lease_case_refusal(c, a->row.id);

		if (audit_grant(c, a, action, l, r ? r->error.msg : NULL, e))
			return -1;
		/* A token that could not be replaced, and stays for as long as it is good. */
		if (!r && a->app_late.code && audit_grant(c, a, action, l, a->app_late.msg, e))
			return -1;
	}
	return 0;
}

int lease_case_audit(const struct lease_case *c, struct cl_err *e)
{
	const struct store_lease none = STORE_LEASE_INIT;

	return audit_grants(c, "secret.lease", &none, e);
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
	return (c->n ? audit_grants(c, action, l, e) : audit_nothing(c, action, l, e)) ||
			       write_refusals(c, l, e)
		       ? -1
		       : 0;
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

	sec_labels_text(c->who.labels, &labels);
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
	char dir[sizeof(LEASE_DIR_PREFIX) + STORE_LEASE_ID];

	(void)snprintf(dir, sizeof(dir), "%s%s", LEASE_DIR_PREFIX, id + sizeof("lease_") - 1);
	sec_lease_place(l, id, dir);
}

static int try_take(struct keyed *k, const struct lease_request *r, struct lease **out, bool *won,
	struct cl_err *e)
{
	cleanup_case struct lease_case c = LEASE_CASE_INIT;
	cleanup_lease_row struct store_lease row = STORE_LEASE_INIT;
	cleanup_seal struct seal_buf bytes = SEAL_BUF_INIT;
	char id[STORE_LEASE_ID] = "";
	int rc;

	/* Drawn first: once a token is there, nothing may be left half done. */
	if (store_lease_new_id(r->now ? r->now : k->now, id, e))
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
