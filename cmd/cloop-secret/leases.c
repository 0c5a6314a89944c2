/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is lent now: by lease, by grant and by secret. Names and times, never values. */
#include "secret.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/secret/secret_kind.h"
#include "store/run.h"
#include "store/token.h"
#include "work/lease/revoke.h"

#include <stdlib.h>
#include <string.h>

char *secret_how(int64_t how)
{
	static const struct {
		int64_t bit;
		const char *name;
	} ways[] = {{SEC_BY_FILE, "files"}, {SEC_BY_ENV, "variables"}, {SEC_BY_MOUNT, "mounts"},
		{SEC_BY_DEVICE, "devices"}, {SEC_BY_INTERFACE, "interfaces"}};
	struct cl_buf b = CL_BUF_INIT;

	for (size_t i = 0; i < CL_ARRAY_LEN(ways); i++)
		if (how & ways[i].bit)
			cl_buf_addf(&b, "%s%s", b.len ? ", " : "", ways[i].name);
	return cl_buf_detach(&b);
}

/* How long it still lasts, in whole seconds. */
static char *left(int64_t expires_at, int64_t now)
{
	int64_t ms = expires_at - now;
	char text[40];

	if (ms <= 0)
		return cl_strdup("lapsed");
	cl_format_duration(ms / 1000 * 1000, text);
	return cl_strdup(text);
}

/* ---- leases ---- */

struct leases {
	struct cl_ctx *ctx;
	struct keyed *k;
	struct cl_table table;
	size_t n, queued;
};

/* What no revocation reaches stays with its workload. */
static void add_names(const struct holders *h, struct cl_strv *out)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].state != HOLDER_REVOKED)
			cl_strv_add(out, h->v[i].secret_name);
	cl_strv_sort(out);
}

/*
 * A run is over for everybody before its supervisor has wiped what it was lent: until that is
 * done its lease is neither of use nor gone.
 */
static const char *state_of(struct store *s, const struct store_lease *l)
{
	cleanup_run_row struct store_run r = STORE_RUN_INIT;
	struct cl_err ignored;

	if (strcmp(l->state, "live") != 0 || !l->run_id ||
		store_run_get(s, l->run_id, &r, &ignored) || strcmp(r.state, "finished") != 0)
		return l->state;
	return "ending";
}

static int add_token(const struct store_token *t, void *arg, struct cl_err *e)
{
	char when[32];

	(void)e;
	cl_format_time(t->expires_at / 1000, when);
	(void)json_array_append_new(
		arg, json_pack("{s:s, s:s, s:s, s:I, s:o}", "id", t->id, "grant_id", t->grant_id,
			     "expires_at", when, "tries", (json_int_t)t->tries, "error",
			     cl_json_string(t->error)));
	return 0;
}

int secret_tokens(
	struct store *s, const struct store_token_filter *f, json_t **out, struct cl_err *e)
{
	*out = json_array();
	return store_token_each(s, f, add_token, *out, e);
}

/* What is over is gone, but for a token that GitHub has not destroyed yet. */
static const char *queued_state(const char *state, const json_t *tokens)
{
	return strcmp(state, "live") != 0 && json_array_size(tokens) ? "token queued" : state;
}

static json_t *lease_json(const struct store_lease *l, const char *state, const struct holders *h)
{
	json_t *o = store_lease_json(l), *grants = json_array();

	for (size_t i = 0; i < h->n; i++) {
		cleanup_free char *how = secret_how(h->v[i].how);

		(void)json_array_append_new(grants,
			json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "grant_id", h->v[i].grant_id,
				"secret_name", h->v[i].secret_name, "kind", h->v[i].kind, "held_as",
				how, "state", holder_state_name(h->v[i].state), "stays",
				h->v[i].state == HOLDER_STAYS));
	}
	(void)json_object_set_new(o, "grants", grants);
	(void)json_object_set_new(o, "state", json_string(state));
	return o;
}

static void add_row(
	struct leases *x, const struct store_lease *l, const char *state, const struct holders *h)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	cleanup_free char *all = NULL, *time = NULL;

	add_names(h, &names);
	all = cl_join((const char *const *)names.v, names.n, ", ");
	time = strcmp(state, "live") ? cl_strdup(state) : left(l->expires_at, x->k->now);
	cl_table_add(&x->table, l->id);
	cl_table_add(&x->table, l->run_id ? l->run_id : "-");
	cl_table_add(&x->table, *l->executor_id ? l->executor_id : "-");
	cl_table_add(&x->table, *l->project ? l->project : "-");
	cl_table_add(&x->table, time);
	cl_table_add(&x->table, all);
}

static int add_lease(const struct store_lease *l, void *arg, struct cl_err *e)
{
	struct leases *x = arg;
	cleanup_holders struct holders h = HOLDERS_INIT;
	const struct store_token_filter due = {.lease_id = l->id, .due = x->k->now};
	const char *state = state_of(x->k->store, l);
	json_t *tokens = NULL;
	int rc = holders_of_lease(x->k->store, l->id, &h, e) ||
		 secret_tokens(x->k->store, &due, &tokens, e);

	if (rc) {
		json_decref(tokens);
		return -1;
	}
	x->n++;
	x->queued += json_array_size(tokens);
	if (x->ctx->json) {
		json_t *o = lease_json(l, state, &h);

		(void)json_object_set(o, "queued_tokens", tokens);
		cl_take_json(o);
	} else {
		add_row(x, l, queued_state(state, tokens), &h);
	}
	json_decref(tokens);
	return 0;
}

static void heads(struct cl_table *t, const char *const *names, size_t n)
{
	cl_table_init(t, n);
	for (size_t i = 0; i < n; i++)
		cl_table_add(t, names[i]);
}

int cmd_secret_leases(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const names[] = {
		"LEASE", "RUN", "EXECUTOR", "PROJECT", "LEFT", "CREDENTIALS"};
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
	cleanup_free char *run = NULL;
	struct store_lease_filter f = {.ended_too = cl_flag(c, "all"),
		.tokens_too = true,
		.limit = cl_int(c, "limit", 100)};
	struct leases x = {.ctx = c, .k = &k};
	int rc;

	if (keyed_without(c, STORE_RO, &k, e) ||
		(cl_given(c, "run") &&
			store_id(k.store, "run", "run", "run_", cl_str(c, "run"), &run, e)) ||
		(cl_given(c, "grant") && store_grant_get(k.store, cl_str(c, "grant"), &g, e)))
		return -1;
	f.run_id = run;
	f.grant_id = g.id;
	heads(&x.table, names, CL_ARRAY_LEN(names));
	rc = store_lease_each(k.store, &f, add_lease, &x, e);
	if (!rc && !c->json) {
		cl_table_print(&x.table, stdout);
		(void)printf("\n%zu lease(s)\n", x.n);
		if (x.queued)
			(void)printf("%zu token(s) that GitHub has not destroyed yet: each sweep "
				     "tries again\n",
				x.queued);
	}
	cl_table_release(&x.table);
	return rc;
}

/* ---- holders ---- */

json_t *secret_holder_json(const struct holder *h)
{
	cleanup_free char *how = secret_how(h->how);
	char when[32];

	cl_format_time(h->expires_at / 1000, when);
	return json_pack("{s:s, s:s, s:s?, s:s?, s:o, s:o, s:s, s:s, s:b, s:s}", "grant_id",
		h->grant_id, "lease_id", h->lease_id, "run_id", h->run_id, "sandbox", h->sandbox,
		"project", cl_json_string(h->project), "executor_id",
		cl_json_string(h->executor_id), "held_as", how, "state",
		holder_state_name(h->state), "stays", h->state == HOLDER_STAYS, "lease_expires_at",
		when);
}

void secret_print_holder(const struct holder *h, const char *indent, int64_t now)
{
	cleanup_free char *how = secret_how(h->how), *time = left(h->expires_at, now);
	cleanup_free char *executor = cl_masked(*h->executor_id ? h->executor_id : "no executor");
	cleanup_free char *project = cl_masked(*h->project ? h->project : "-");

	(void)printf("%s%s on %s, project %s: %s; ", indent, h->run_id ? h->run_id : h->lease_id,
		executor, project, *how ? how : "nothing secret");
	if (h->state == HOLDER_HOLDS && h->expires_at > now)
		(void)printf("lease ends in %s\n", time);
	else if (h->state == HOLDER_HOLDS)
		(void)printf("its lease has lapsed, and it has not given it up\n");
	else
		(void)printf("%s%s\n", holder_state_name(h->state),
			h->state == HOLDER_STAYS ? ", stays until the run ends" : "");
}

static size_t count(const struct holders *h, int64_t how)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++)
		n += h->v[i].state != HOLDER_REVOKED && (!how || (h->v[i].how & how));
	return n;
}

int cmd_secret_holders(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_keyed struct keyed k = KEYED_INIT;
	cleanup_grant_row struct store_grant g = STORE_GRANT_INIT;
	cleanup_holders struct holders h = HOLDERS_INIT;

	if (keyed_without(c, STORE_RO, &k, e) ||
		store_grant_get(k.store, cl_operand(c, 0), &g, e) ||
		holders_of_grant(k.store, g.id, &h, e))
		return -1;
	if (!c->json)
		(void)printf("%zu running workload(s) hold %s (%s), %zu in their environment\n",
			count(&h, 0), g.id, g.secret_name, count(&h, SEC_BY_ENV));
	for (size_t i = 0; i < h.n; i++) {
		if (h.v[i].state == HOLDER_REVOKED)
			continue;
		if (c->json)
			cl_take_json(secret_holder_json(&h.v[i]));
		else
			secret_print_holder(&h.v[i], "  ", k.now);
	}
	if (!c->json && count(&h, SEC_BY_ENV))
		(void)printf("  revoking it removes containers and Pods that hold it in their "
			     "environment\n");
	return count(&h, 0) ? 0 : 1;
}
