/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a lease would deliver, opened and minimised for real and shown without any value. */
#include "secret.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "policy/secret_lease.h"
#include "sys/repos.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One grant that is aimed at the requester, with everything that its offer borrows. */
struct aimed {
	struct store_grant row;
	struct grant_view view;
	struct sec_grant grant;
	struct seal_buf payload;
	struct cl_err refusal;
	bool refused;
	struct cl_strv names, paths;
	struct sec_candidate *candidates;
};

struct dry {
	struct cl_ctx *ctx;
	struct keyed k;
	char *project;
	const char *executor;
	struct sec_labels labels;
	struct sec_requester who;
	unsigned char pub[SEAL_KEY];
	bool known;
	struct aimed **v; /* pointers: offers borrow from what they point to */
	size_t n, cap;
	struct sec_lease lease;
};

static void aimed_free(struct aimed *a)
{
	store_grant_release(&a->row);
	grant_view_release(&a->view);
	seal_buf_release(&a->payload);
	cl_strv_release(&a->names);
	cl_strv_release(&a->paths);
	free(a->candidates);
	free(a);
}

static void dry_release(struct dry *d)
{
	sec_lease_release(&d->lease);
	for (size_t i = 0; i < d->n; i++)
		aimed_free(d->v[i]);
	free(d->v);
	sec_labels_release(&d->labels);
	free(d->project);
	keyed_release(&d->k);
}
#define cleanup_dry __attribute__((cleanup(dry_release)))

static int refuse(struct aimed *a)
{
	a->refused = true;
	return 0;
}

static int forged(const struct store_grant *g, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"the grant is not signed by this hub: it was altered, or put into state.db by a "
		"process without the key");
	(void)cl_slug(e, "forged_grant");
	return cl_fix(e, "cloop secret revoke %s, and find out who writes to state.db", g->id);
}

static char *copy(const char *s)
{
	return s ? cl_strdup(s) : NULL;
}

static void copy_row(struct store_grant *to, const struct store_grant *g)
{
	*to = *g;
	to->id = copy(g->id);
	to->secret_id = copy(g->secret_id);
	to->secret_name = copy(g->secret_name);
	to->kind = copy(g->kind);
	to->scope = copy(g->scope);
	to->subject = copy(g->subject);
	to->constraints = copy(g->constraints);
	to->created_by = copy(g->created_by);
	to->owner = copy(g->owner);
	to->signature = copy(g->signature);
	to->revoked_by = copy(g->revoked_by);
	to->revoked_cause = copy(g->revoked_cause);
	to->superseded_by = copy(g->superseded_by);
	to->unguarded = copy(g->unguarded);
}

static int keep_aimed(const struct store_grant *g, void *arg, struct cl_err *e)
{
	struct dry *d = arg;
	struct aimed *a = cl_calloc(1, sizeof(*a));
	struct cl_err why;

	(void)e;
	a->view = GRANT_VIEW_INIT;
	a->names = a->paths = CL_STRV_INIT;
	copy_row(&a->row, g);
	if (grant_view(&a->row, &a->view, &why) ||
		!sec_subject_matches(&a->view.subject, &d->who)) {
		aimed_free(a);
		return 0;
	}
	a->grant = (struct sec_grant){.id = a->row.id,
		.secret_id = a->row.secret_id,
		.secret_name = a->row.secret_name,
		.kind = a->view.kind,
		.subject = &a->view.subject,
		.constraints = &a->view.constraints,
		.expires_at = a->row.expires_at / 1000,
		.revoked_at = a->row.revoked_at / 1000,
		.revoked_cause = a->row.revoked_cause ? a->row.revoked_cause : "",
		.unguarded = d->known && seal_unguarded_verify(d->pub, &a->row)};
	d->v = cl_grow(d->v, &d->cap, d->n + 1, sizeof(*d->v));
	d->v[d->n++] = a;
	return 0;
}

/* What stands in the way before anything is opened. */
static bool judged(struct dry *d, struct aimed *a)
{
	struct sec_reasons why = SEC_REASONS_INIT;
	bool fit;

	if (!d->known || !seal_grant_verify(d->pub, &a->row)) {
		(void)forged(&a->row, &a->refusal);
		return false;
	}
	sec_grant_judge(&a->grant, &d->who, d->k.now / 1000, &why);
	fit = !why.n;
	if (!fit) {
		(void)cl_fail(&a->refusal, CL_EREFUSED, "grant %s %s", a->row.id, why.v[0].text);
		(void)cl_slug(&a->refusal, why.v[0].code);
		if (why.v[0].fix)
			(void)cl_fix(&a->refusal, "%s", why.v[0].fix);
	}
	sec_reasons_release(&why);
	return fit;
}

static int find_candidates(struct aimed *a, struct cl_err *e)
{
	cleanup_buf struct cl_buf root = CL_BUF_INIT;

	if (sec_local_root((const char *)a->payload.p, a->payload.len, &root, e) ||
		sys_repos(root.p, &a->names, &a->paths, e))
		return -1;
	a->candidates = cl_calloc(a->names.n + 1, sizeof(*a->candidates));
	for (size_t i = 0; i < a->names.n; i++)
		a->candidates[i] = (struct sec_candidate){a->names.v[i], a->paths.v[i]};
	return 0;
}

/* The secret as the signature has it, opened. */
static int open_aimed(struct dry *d, struct aimed *a, struct cl_err *e)
{
	cleanup_secret_row struct store_secret s = STORE_SECRET_INIT;

	if (secret_find(&d->k, a->row.secret_id, &s, e))
		return -1;
	if (strcmp(s.id, a->row.secret_id) != 0 || strcmp(s.kind, a->row.kind) != 0 ||
		strcmp(s.name, a->row.secret_name) != 0) {
		(void)cl_fail(e, CL_EREFUSED,
			"its secret is another one than was granted: kind or "
			"name were altered in state.db");
		return cl_slug(e, "forged_grant");
	}
	if (a->view.kind == SEC_GITHUB_APP) {
		(void)cl_fail(e, CL_EUNAVAIL,
			"an installation token has to be asked of GitHub, and "
			"no program of this release does");
		return cl_fix(e, "grant a github_pat, narrowed to the same repositories");
	}
	if (secret_open(&d->k, &s, &a->payload, e))
		return -1;
	return a->view.kind == SEC_LOCAL_REPO ? find_candidates(a, e) : 0;
}

static void build(struct dry *d)
{
	struct sec_offer *offers = cl_calloc(d->n + 1, sizeof(*offers));

	for (size_t i = 0; i < d->n; i++) {
		struct aimed *a = d->v[i];

		cl_err_init(&a->refusal);
		if (!judged(d, a) || open_aimed(d, a, &a->refusal))
			(void)refuse(a);
		offers[i] = (struct sec_offer){.grant = &a->grant,
			.payload = a->refused ? NULL : (const char *)a->payload.p,
			.len = a->payload.len,
			.refusal = a->refused ? &a->refusal : NULL,
			.candidates = a->candidates,
			.ncandidates = a->names.n};
	}
	sec_lease_build(offers, d->n, d->k.now / 1000, &d->lease);
	free(offers);
}

/* ---- what is written about it ---- */

static const struct sec_refused *refusal_of(const struct dry *d, const char *grant_id)
{
	for (size_t i = 0; i < d->lease.nrefused; i++)
		if (!strcmp(d->lease.refused[i].grant_id, grant_id))
			return &d->lease.refused[i];
	return NULL;
}

/* A row for each grant aimed at the requester, and one for the whole: one transaction. */
static int audit(struct dry *d, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};

	if (store_begin(d->k.store, &t, e))
		return -1;
	for (size_t i = 0; i < d->n; i++) {
		const struct sec_refused *r = refusal_of(d, d->v[i]->row.id);
		json_t *detail = grant_audit(&d->v[i]->row);

		(void)json_object_set_new(detail, "decision", json_string(r ? "deny" : "allow"));
		(void)json_object_set_new(detail, "dry_run", json_true());
		(void)json_object_set_new(detail, "executor_id", cl_json_string(d->executor));
		(void)json_object_set_new(detail, "project_id", cl_json_string(d->project));
		if (r)
			(void)json_object_set_new(detail, "reason", cl_json_string(r->error.msg));
		if (keyed_audit(&d->k, "secret.lease", "secret", d->v[i]->row.secret_id, detail, e))
			return -1;
	}
	if (keyed_audit(&d->k, "secret.lease", "secret", "",
		    json_pack("{s:b, s:o, s:o, s:I, s:I}", "dry_run", 1, "executor_id",
			    cl_json_string(d->executor), "project_id", cl_json_string(d->project),
			    "delivered", (json_int_t)d->lease.nmaterials, "refused",
			    (json_int_t)d->lease.nrefused),
		    e))
		return -1;
	return store_commit(&t, e);
}

/* ---- what is shown of it: names, never values ---- */

/* A variable that only says where the lease's directory is belongs to the place, not to the grant. */
static bool names_place(const struct sec_var *v)
{
	return strstr(v->value.p, SEC_LEASE_DIR_MARK) != NULL;
}

static void vars_of(const struct dry *d, size_t material, struct cl_strv *out)
{
	for (size_t i = 0; i < d->lease.nvars; i++)
		if (d->lease.vars[i].material == material && !names_place(&d->lease.vars[i]))
			cl_strv_add(out, d->lease.vars[i].name);
	cl_strv_sort(out);
}

static void files_of(const struct sec_material *m, struct cl_strv *out)
{
	for (size_t i = 0; i < m->nfiles; i++)
		cl_strv_add(out, m->files[i].name);
	cl_strv_sort(out);
}

static void line(const char *label, const struct cl_strv *names)
{
	cleanup_free char *all = cl_join((const char *const *)names->v, names->n, ", ");

	if (names->n)
		(void)printf("    %-12s %s\n", label, all);
}

static void print_material(const struct dry *d, size_t i)
{
	const struct sec_material *m = &d->lease.materials[i];
	cleanup_strv struct cl_strv vars = CL_STRV_INIT, files = CL_STRV_INIT;

	vars_of(d, i, &vars);
	files_of(m, &files);
	(void)printf("\n  %s (%s)\n    grant:       %s\n    constraints: %s\n    delivers:    %s\n",
		m->secret_name, sec_kinds[m->kind].name, m->grant_id, m->constraints.p,
		m->delivers.p);
	line("env:", &vars);
	line("files:", &files);
}

/* Where grants share files, what the workload sees is one folder and one set of variables. */
static void print_merged(const struct dry *d)
{
	cleanup_strv struct cl_strv vars = CL_STRV_INIT, files = CL_STRV_INIT;

	if (!d->lease.merged)
		return;
	for (size_t i = 0; i < d->lease.nmaterials; i++)
		for (size_t k = 0; k < d->lease.materials[i].nfiles; k++)
			cl_strv_add(&files, d->lease.materials[i].files[k].name);
	for (size_t i = 0; i < d->lease.nvars; i++)
		cl_strv_add(&vars, d->lease.vars[i].name);
	cl_strv_sort(&files);
	(void)printf("\n  delivered as one directory\n");
	line("env:", &vars);
	line("files:", &files);
}

static void as_text(const struct dry *d)
{
	cleanup_buf struct cl_buf labels = CL_BUF_INIT;
	char when[32];

	sec_labels_text(&d->labels, &labels);
	if (labels.len)
		(void)printf("executor %s has the labels %s\n", d->executor, labels.p);
	if (!d->n) {
		(void)printf("no active grant is for project %s%s%s\n", d->project,
			*d->executor ? " or executor " : "", d->executor);
		return;
	}
	for (size_t i = 0; i < d->lease.nrefused; i++)
		(void)printf("✗ %s (%s) not delivered\n    reason:      %s\n",
			d->lease.refused[i].secret_name, d->lease.refused[i].grant_id,
			d->lease.refused[i].error.msg);
	if (!d->lease.nmaterials)
		return;
	cl_format_time(d->lease.expires_at, when);
	(void)printf("%zu material(s), lease expires %s\n", d->lease.nmaterials, when);
	for (size_t i = 0; i < d->lease.nmaterials; i++)
		print_material(d, i);
	print_merged(d);
}

static json_t *names_json(const struct cl_strv *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n; i++)
		(void)json_array_append_new(a, cl_json_string(s->v[i]));
	return a;
}

static void as_json(const struct dry *d)
{
	json_t *materials = json_array(), *refused = json_array();
	cleanup_buf struct cl_buf labels = CL_BUF_INIT;
	char when[32];

	for (size_t i = 0; i < d->lease.nmaterials; i++) {
		const struct sec_material *m = &d->lease.materials[i];
		cleanup_strv struct cl_strv vars = CL_STRV_INIT, files = CL_STRV_INIT;

		vars_of(d, i, &vars);
		files_of(m, &files);
		(void)json_array_append_new(materials,
			json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "grant_id",
				m->grant_id, "secret_id", m->secret_id, "secret_name",
				m->secret_name, "kind", sec_kinds[m->kind].name, "constraints",
				m->constraints.p, "delivers", m->delivers.p, "env",
				names_json(&vars), "files", names_json(&files)));
	}
	for (size_t i = 0; i < d->lease.nrefused; i++) {
		const struct sec_refused *r = &d->lease.refused[i];

		(void)json_array_append_new(
			refused, json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "grant_id",
					 r->grant_id, "secret_name", r->secret_name, "kind",
					 sec_kinds[r->kind].name, "code", cl_err_slug(&r->error),
					 "reason", cl_json_string(r->error.msg), "remediation",
					 cl_json_string(r->error.fix)));
	}
	sec_labels_text(&d->labels, &labels);
	cl_format_time(d->lease.expires_at, when);
	cl_take_json(json_pack("{s:o, s:o, s:s, s:s?, s:o, s:o}", "project",
		cl_json_string(d->project), "executor", cl_json_string(d->executor), "labels",
		labels.p, "expires_at", d->lease.nmaterials ? when : NULL, "materials", materials,
		"refused", refused));
}

/* The project as grants name it: its own path without links, or as typed where it is not here. */
static int set_who(struct dry *d, struct cl_err *e)
{
	const char *typed = cl_str_or(d->ctx, "project", ".");
	char *real = realpath(typed, NULL);

	if (!real && typed[0] != '/')
		return cl_usage(d->ctx, e,
			"--project '%s' is no directory here, and no absolute "
			"path",
			typed);
	d->project = real ? real : cl_strdup(typed);
	d->executor = cl_str_or(d->ctx, "executor", "");
	d->who = (struct sec_requester){d->project, *d->executor ? d->executor : NULL, &d->labels};
	return secret_labels(&d->k, d->executor, &d->labels, e);
}

int cmd_secret_lease(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_dry struct dry d = {
		.ctx = c, .k = KEYED_INIT, .labels = SEC_LABELS_INIT, .lease = SEC_LEASE_INIT};
	struct store_grant_filter f = {.lost_too = true};

	if (keyed_open(c, &d.k, e) || set_who(&d, e) || keyed_public(&d.k, d.pub, &d.known, e))
		return -1;
	f.active_at = d.k.now;
	if (store_grant_each(d.k.store, &f, keep_aimed, &d, e))
		return -1;
	build(&d);
	if (audit(&d, e))
		return -1;
	if (c->json)
		as_json(&d);
	else
		as_text(&d);
	return 0;
}
