/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "sys/id.h"
#include "sys/path.h"
#include "work/paths.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct granting {
	struct cl_ctx *ctx;
	struct keyed k;
	struct store_secret secret;
	enum sec_kind kind;
	struct sec_subject subject;
	struct sec_constraints constraints;
	struct store_grant row;
};
#define GRANTING_INIT                                \
	((struct granting){.k = KEYED_INIT,          \
		.secret = STORE_SECRET_INIT,         \
		.subject = SEC_SUBJECT_INIT,         \
		.constraints = SEC_CONSTRAINTS_INIT, \
		.row = STORE_GRANT_INIT})

static void granting_release(struct granting *g)
{
	store_grant_release(&g->row);
	sec_constraints_release(&g->constraints);
	sec_subject_release(&g->subject);
	store_secret_release(&g->secret);
	keyed_release(&g->k);
}
#define cleanup_granting __attribute__((cleanup(granting_release)))

/*
 * The flags; where one is given it is the whole list, and a blank value empties it. What is in
 * `out` already stays where no flag is given.
 */
static int read_flags(struct cl_ctx *c, struct sec_constraints *out, struct cl_err *e)
{
	for (int l = 0; l < SEC_NLISTS; l++) {
		const char *name = sec_lists[l].flag + 2;
		cleanup_strv struct cl_strv values = CL_STRV_INIT;

		if (!cl_given(c, name))
			continue;
		cl_strv_release(&out->list[l]);
		cl_list(c, name, &values);
		for (size_t i = 0; i < values.n; i++) {
			cleanup_free char *text = cl_trim_dup(values.v[i]);

			if ((*text || values.n > 1) &&
				sec_constraints_add(out, (enum sec_list)l, text, e))
				return -1;
		}
	}
	if (cl_flag(c, "writable"))
		out->writable = true;
	return 0;
}

/* The constraints as they will be signed, checked by the kind and against this host. */
static int check_constraints(struct granting *g, struct cl_err *e)
{
	cleanup_strv struct cl_strv notes = CL_STRV_INIT;

	if (sec_constraints_check(g->kind, &g->constraints, &notes, e) ||
		secret_matches(&g->k, &g->secret, g->kind, &g->constraints, e))
		return -1;
	for (size_t i = 0; i < notes.n; i++)
		cl_warn(g->ctx, "%s", notes.v[i]);
	return 0;
}

static int check_subject(struct granting *g, struct cl_err *e)
{
	if (!*g->secret.owner || !sec_subject_everybody(&g->subject))
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"'%s' is a personal secret of %s, and this grant would be "
		"everybody's",
		g->secret.name, g->secret.owner);
	return cl_fix(e, "name a project, an executor or labels with --to");
}

/* A project is the directory that its path is in truth. */
static void look_at_project(struct granting *g)
{
	const char *p = g->subject.value;
	cleanup_free char *real = NULL;
	cleanup_fd int fd = -1;
	struct cl_err e;

	if (!strcmp(p, "*"))
		return;
	if (*p != '/') {
		cl_warn(g->ctx,
			"'%s' is no absolute path: a run is of its project's directory, and none "
			"is "
			"of this",
			p);
		return;
	}
	fd = sys_resolve_dir(p, &real, &e);
	if (fd >= 0 && strcmp(real, p) != 0)
		cl_warn(g->ctx,
			"'%s' leads to '%s', and its runs are of that: grant it to "
			"project:%s",
			p, real, real);
}

/* An executor may be made later; one that is nearly there is a slip. */
static void look_at_executor(struct granting *g)
{
	cleanup_strv struct cl_strv ids = CL_STRV_INIT;
	const char *near;

	for (size_t i = 0; i < g->k.cfg.nexecutors; i++)
		cl_strv_add(&ids, g->k.cfg.executors[i].id);
	if (!strcmp(g->subject.value, "*") || cl_strv_has(&ids, g->subject.value))
		return;
	near = cl_nearest(g->subject.value, (const char *const *)ids.v, ids.n);
	if (near)
		cl_warn(g->ctx, "the hub configures no executor '%s'; did you mean '%s'?",
			g->subject.value, near);
}

static void look_at_subject(struct granting *g)
{
	if (g->subject.kind == SEC_PROJECT)
		look_at_project(g);
	else if (g->subject.kind == SEC_EXECUTOR)
		look_at_executor(g);
}

/* Fills the row and signs it. */
static int make_row(struct granting *g, const char *scope, int64_t expires_at, struct cl_err *e)
{
	cleanup_signer struct seal_signer signer = SEAL_SIGNER_INIT;
	cleanup_buf struct cl_buf subject = CL_BUF_INIT;
	struct store_grant *r = &g->row;
	char id[40];

	if (sys_new_id("grant_", 24, id, sizeof(id), e) || keyed_signer(&g->k, &signer, e))
		return -1;
	sec_subject_text(&g->subject, &subject);
	r->id = cl_strdup(id);
	r->secret_id = cl_strdup(g->secret.id);
	r->secret_name = cl_strdup(g->secret.name);
	r->kind = cl_strdup(g->secret.kind);
	r->scope = cl_strdup(scope);
	r->subject = cl_buf_detach(&subject);
	r->constraints = sec_constraints_canonical(&g->constraints);
	r->expires_at = expires_at;
	r->created_at = g->k.now;
	r->created_by = cl_strdup(g->k.actor);
	r->owner = cl_strdup(g->secret.owner);
	return seal_grant_sign(&signer, r, e);
}

static int insert(struct granting *g, struct cl_err *e)
{
	bool won;

	if (store_grant_insert(g->k.store, &g->row, &won, e))
		return -1;
	if (!won)
		return cl_fail(e, CL_EREFUSED, "the secret '%s' was deleted or replaced meanwhile",
			g->secret.name);
	return keyed_audit(&g->k, "secret.grant", "secret", g->secret.id, grant_audit(&g->row), e);
}

/* Which executors a label grant reaches now: a typo in a selector reaches none. */
static void reach(struct granting *g, struct cl_strv *out)
{
	for (size_t i = 0; i < g->k.cfg.nexecutors; i++) {
		cleanup_labels struct sec_labels labels = SEC_LABELS_INIT;
		struct sec_requester r = {NULL, g->k.cfg.executors[i].id, &labels};
		struct cl_err e;

		if (!secret_labels(&g->k, r.executor, &labels, &e) &&
			sec_subject_matches(&g->subject, &r))
			cl_strv_add(out, r.executor);
	}
}

static void print_rest(struct granting *g)
{
	cleanup_free char *summary = grant_summary(&g->row), *who = NULL;
	cleanup_strv struct cl_strv reached = CL_STRV_INIT;
	char when[32], in[40];

	cl_format_time(g->row.expires_at / 1000, when);
	cl_format_duration((g->row.expires_at - g->k.now) / 1000 * 1000, in);
	(void)printf("  grant:       %s\n  constraints: %s\n", g->row.id, summary);
	if (g->row.expires_at)
		(void)printf("  expires:     %s (in %s)\n", when, in);
	else
		(void)printf("  expires:     never\n");
	if (g->subject.kind != SEC_LABEL)
		return;
	reach(g, &reached);
	who = cl_join((const char *const *)reached.v, reached.n, ", ");
	(void)printf(
		"  reaches:     %s\n", reached.n ? who : "no executor as it is configured now");
}

static void as_json(const struct store_grant *g, const char *replaces, const char *change)
{
	json_t *o = store_grant_json(g);

	if (replaces) {
		(void)json_object_set_new(o, "replaces", json_string(replaces));
		(void)json_object_set_new(o, "change", json_string(change));
	}
	cl_take_json(o);
}

/* A directory that is here is no token, whatever its name looks like. */
static int check_to(const char *to, struct cl_err *e)
{
	struct stat st;

	if (cl_starts(to, "project:/") && !stat(to + strlen("project:"), &st) &&
		S_ISDIR(st.st_mode))
		return 0;
	return sec_typed_check("--to", to, e);
}

static int grant(struct granting *g, int64_t ttl, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};

	if (sec_kind_parse(g->secret.kind, &g->kind, e) || check_to(cl_str(g->ctx, "to"), e) ||
		sec_subject_parse(cl_str(g->ctx, "to"), &g->subject, e) || check_subject(g, e) ||
		read_flags(g->ctx, &g->constraints, e) || check_constraints(g, e) ||
		sec_typed_check("--scope", cl_str_or(g->ctx, "scope", ""), e) ||
		make_row(g, cl_str_or(g->ctx, "scope", ""), g->k.now + ttl, e))
		return -1;
	look_at_subject(g);
	return store_begin(g->k.store, &t, e) || insert(g, e) || store_commit(&t, e) ? -1 : 0;
}

int cmd_secret_grant(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_granting struct granting g = GRANTING_INIT;
	const char *ref = cl_operand(c, 0);
	int64_t ttl;

	g.ctx = c;
	if (!cl_given(c, "to"))
		return cl_usage(c, e, "--to SUBJECT is missing: who may use it");
	if (sec_ttl_parse(SEC_TTL_GRANT, cl_str(c, "ttl"), &ttl, e)) {
		e->code = CL_EUSAGE;
		return cl_wrap(e, "--ttl");
	}
	if (keyed_open(c, &g.k, e) || secret_find(&g.k, ref, &g.secret, e))
		return -1;
	if (grant(&g, ttl, e))
		return secret_deny(&g.k, "secret.grant", g.secret.id,
			json_pack("{s:s, s:s, s:s}", "secret_id", g.secret.id, "secret_name",
				g.secret.name, "kind", g.secret.kind),
			e);
	if (c->json) {
		as_json(&g.row, NULL, NULL);
		return 0;
	}
	(void)printf("✓ granted %s to %s\n", g.secret.name, g.row.subject);
	print_rest(&g);
	return 0;
}

/* ---- edit: a new grant, and the old one retired by what the change is ---- */

struct edit {
	struct granting *g;
	struct store_grant old;
	struct sec_constraints was;
	enum sec_change change;
	struct cl_strv taken;
	int64_t leases; /* that it is asked back from, or that go on with the successor */
};

/* Who holds what was narrowed loses it at once; its next lease has the new terms. */
static int take_back(struct edit *x, struct cl_err *e)
{
	const struct store_lease_end end = {.state = "revoked",
		.at = x->g->k.now,
		.by = x->g->k.actor,
		.reason = "its grant was narrowed",
		.action = "scrub"};

	return revoke_take(x->g->k.store, x->old.id, &end, &x->leases, e);
}

static int retire_old(struct edit *x, struct cl_err *e)
{
	bool widens = x->change != SEC_NARROWS, won;
	const struct store_end end = {.at = x->g->k.now,
		.by = x->g->k.actor,
		.cause = widens ? "superseded" : NULL,
		.successor = x->g->row.id};
	json_t *detail = grant_audit(&x->old);

	(void)json_object_set_new(detail, "reason",
		cl_json_string(widens ? "superseded by an edit" : "narrowed by an edit"));
	if (store_grant_revoke(x->g->k.store, x->old.id, &end, &won, e)) {
		json_decref(detail);
		return -1;
	}
	if (!won) {
		json_decref(detail);
		return cl_fail(e, CL_EREFUSED, "the grant %s was revoked meanwhile", x->old.id);
	}
	if (keyed_audit(&x->g->k, "secret.revoke", "secret", x->old.secret_id, detail, e))
		return -1;
	return widens ? store_grant_succeed(x->g->k.store, x->old.id, x->g->row.id, &x->leases, e)
		      : take_back(x, e);
}

/* A new one is to be narrowed as it was. */
static int is_over(const struct store_grant *old, struct cl_err *e)
{
	cleanup_view struct grant_view v = GRANT_VIEW_INIT;
	cleanup_free char *again = NULL;

	if (grant_view(old, &v, e))
		return -1;
	again = sec_grant_again(&(struct sec_grant){.secret_name = old->secret_name,
					.kind = v.kind,
					.subject = &v.subject,
					.constraints = &v.constraints},
		NULL);
	(void)cl_fail(e, CL_EREFUSED, "the grant %s is %s", old->id,
		old->revoked_at ? "revoked" : "expired");
	return cl_fix(e, "make a new one: %s", again);
}

static int find_old(struct edit *x, struct cl_err *e)
{
	struct granting *g = x->g;
	cleanup_view struct grant_view v = GRANT_VIEW_INIT;

	if (store_grant_get(g->k.store, cl_operand(g->ctx, 0), &x->old, e))
		return -1;
	if (x->old.revoked_at || (x->old.expires_at && x->old.expires_at <= g->k.now))
		return is_over(&x->old, e);
	/* What is not ours, or was revoked, is not carried over under our signature. */
	if (grant_check(&g->k, &x->old, e) || secret_find(&g->k, x->old.secret_id, &g->secret, e) ||
		grant_view(&x->old, &v, e))
		return -1;
	g->kind = v.kind;
	g->subject = v.subject;
	v.subject = SEC_SUBJECT_INIT;
	x->was = sec_constraints_copy(&v.constraints);
	g->constraints = sec_constraints_copy(&v.constraints);
	return 0;
}

static int edit(struct edit *x, struct cl_err *e)
{
	struct granting *g = x->g;
	cleanup_txn struct store_txn t = {0};

	if (find_old(x, e))
		return -1;
	if (cl_flag(g->ctx, "read-only"))
		g->constraints.writable = false;
	if (read_flags(g->ctx, &g->constraints, e) || check_constraints(g, e))
		return -1;
	x->change = sec_constraints_compare(g->kind, &x->was, &g->constraints, &x->taken);
	if (x->change == SEC_SAME) {
		(void)cl_fail(e, CL_EUSAGE, "the grant %s is like that already", x->old.id);
		return cl_fix(e, "name what to change, such as --repos");
	}
	if (make_row(g, x->old.scope, x->old.expires_at, e))
		return -1;
	return store_begin(g->k.store, &t, e) || insert(g, e) || retire_old(x, e) ||
			       store_commit(&t, e)
		       ? -1
		       : 0;
}

static void print_edit(struct edit *x)
{
	cleanup_free char *taken = cl_join((const char *const *)x->taken.v, x->taken.n, ", ");

	(void)printf("✓ %s now is %s\n", x->old.id, x->g->row.id);
	print_rest(x->g);
	if (x->change == SEC_NARROWS)
		(void)printf("  before:      revoked, since this takes away: %s\n", taken);
	else
		(void)printf("  before:      superseded; who holds it keeps it until it expires\n");
	if (x->leases && x->change == SEC_NARROWS)
		(void)printf("  asked back:  from %lld lease(s)\n", (long long)x->leases);
}

int cmd_secret_grant_edit(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_granting struct granting g = GRANTING_INIT;
	struct edit x = {.g = &g, .was = SEC_CONSTRAINTS_INIT, .taken = CL_STRV_INIT};
	int rc;

	g.ctx = c;
	if (cl_flag(c, "writable") && cl_flag(c, "read-only"))
		return cl_usage(c, e, "--writable and --read-only exclude each other");
	rc = keyed_open(c, &g.k, e);
	if (!rc && edit(&x, e))
		rc = secret_deny(&g.k, "secret.grant", x.old.secret_id,
			json_pack("{s:s*}", "grant_id", x.old.id), e);
	if (!rc && x.leases && x.change == SEC_NARROWS) {
		cleanup_free char *base = work_run_base();

		revoke_tell(g.k.store, base);
	}
	if (!rc && c->json)
		as_json(&g.row, x.old.id, sec_change_name(x.change));
	else if (!rc)
		print_edit(&x);
	store_grant_release(&x.old);
	sec_constraints_release(&x.was);
	cl_strv_release(&x.taken);
	return rc;
}
