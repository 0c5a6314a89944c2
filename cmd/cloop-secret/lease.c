/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a lease would deliver, opened and minimised for real and shown without any value. */
#include "here.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#include <string.h>

/* ---- what is written about it ---- */

/* A row for each grant aimed at the requester, and one for the whole: one transaction. */
static int audit(struct dry *d, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};

	if (store_begin(d->k.store, &t, e) || lease_case_audit(&d->c, e) ||
		keyed_audit(&d->k, "secret.lease", "secret", "",
			json_pack("{s:b, s:o, s:o, s:I, s:I}", "dry_run", 1, "executor_id",
				cl_json_string(d->executor), "project_id",
				cl_json_string(d->project), "delivered",
				(json_int_t)d->c.lease.nmaterials, "refused",
				(json_int_t)d->c.lease.nrefused),
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
	for (size_t i = 0; i < d->c.lease.nvars; i++)
		if (d->c.lease.vars[i].material == material && !names_place(&d->c.lease.vars[i]))
			cl_strv_add(out, d->c.lease.vars[i].name);
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

/* Limits that an administrator lets go without anything that enforces them. */
static void print_unguarded(const struct dry *d, const struct sec_material *m)
{
	for (size_t i = 0; i < d->c.n; i++) {
		const struct lease_aimed *a = d->c.v[i];
		cleanup_free char *word = NULL;

		if (!a->grant.unguarded || strcmp(a->row.id, m->grant_id) != 0)
			continue;
		word = secret_unguarded(&a->row);
		if (word)
			(void)printf("    %-12s %s\n", "unguarded:", word);
	}
}

static void print_material(const struct dry *d, size_t i)
{
	const struct sec_material *m = &d->c.lease.materials[i];
	cleanup_strv struct cl_strv vars = CL_STRV_INIT, files = CL_STRV_INIT;

	vars_of(d, i, &vars);
	files_of(m, &files);
	(void)printf("\n  %s (%s)\n    grant:       %s\n    constraints: %s\n    delivers:    %s\n",
		m->secret_name, sec_kinds[m->kind].name, m->grant_id, m->constraints.p,
		m->delivers.p);
	line("env:", &vars);
	line("files:", &files);
	print_unguarded(d, m);
}

/* Where grants share files, what the workload sees is one folder and one set of variables. */
static void print_merged(const struct dry *d)
{
	cleanup_strv struct cl_strv vars = CL_STRV_INIT, files = CL_STRV_INIT;

	if (!d->c.lease.merged)
		return;
	for (size_t i = 0; i < d->c.lease.nmaterials; i++)
		for (size_t k = 0; k < d->c.lease.materials[i].nfiles; k++)
			cl_strv_add(&files, d->c.lease.materials[i].files[k].name);
	for (size_t i = 0; i < d->c.lease.nvars; i++)
		cl_strv_add(&vars, d->c.lease.vars[i].name);
	cl_strv_sort(&files);
	(void)printf("\n  delivered as one directory\n");
	line("env:", &vars);
	line("files:", &files);
}

static void as_text(const struct dry *d)
{
	cleanup_buf struct cl_buf labels = CL_BUF_INIT;
	char when[32];

	sec_labels_text(&d->c.labels, &labels);
	if (labels.len)
		(void)printf("executor %s has the labels %s\n", d->executor, labels.p);
	if (!d->c.n) {
		(void)printf("no active grant is for project %s%s%s\n", d->project,
			*d->executor ? " or executor " : "", d->executor);
		return;
	}
	for (size_t i = 0; i < d->c.lease.nrefused; i++) {
		const struct cl_err *why = &d->c.lease.refused[i].error;

		(void)printf("✗ %s (%s) not delivered\n    reason:      %s%s%s\n",
			d->c.lease.refused[i].secret_name, d->c.lease.refused[i].grant_id, why->msg,
			*why->fix ? " — " : "", why->fix);
	}
	if (!d->c.lease.nmaterials)
		return;
	cl_format_time(d->c.lease.expires_at, when);
	(void)printf("%zu material(s), lease expires %s\n", d->c.lease.nmaterials, when);
	for (size_t i = 0; i < d->c.lease.nmaterials; i++)
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

	for (size_t i = 0; i < d->c.lease.nmaterials; i++) {
		const struct sec_material *m = &d->c.lease.materials[i];
		cleanup_strv struct cl_strv vars = CL_STRV_INIT, files = CL_STRV_INIT;

		vars_of(d, i, &vars);
		files_of(m, &files);
		(void)json_array_append_new(
			materials, json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "grant_id",
					   m->grant_id, "secret_id", m->secret_id, "secret_name",
					   m->secret_name, "kind", sec_kinds[m->kind].name,
					   "constraints", cl_json_string(m->constraints.p),
					   "delivers", cl_json_string(m->delivers.p), "env",
					   names_json(&vars), "files", names_json(&files)));
	}
	for (size_t i = 0; i < d->c.lease.nrefused; i++) {
		const struct sec_refused *r = &d->c.lease.refused[i];

		(void)json_array_append_new(
			refused, json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "grant_id",
					 r->grant_id, "secret_name", r->secret_name, "kind",
					 sec_kinds[r->kind].name, "code", cl_err_slug(&r->error),
					 "reason", cl_json_string(r->error.msg), "remediation",
					 cl_json_string(r->error.fix)));
	}
	sec_labels_text(&d->c.labels, &labels);
	cl_format_time(d->c.lease.expires_at, when);
	cl_take_json(json_pack("{s:o, s:o, s:s, s:s?, s:o, s:o}", "project",
		cl_json_string(d->project), "executor", cl_json_string(d->executor), "labels",
		labels.p, "expires_at", d->c.lease.nmaterials ? when : NULL, "materials", materials,
		"refused", refused));
}

/* The lease would be as it is shown, and the run be refused. */
static void warn_of_here(const struct dry *d)
{
	json_t *here = here_look(d), *o;
	size_t i;

	json_array_foreach (here, i, o) {
		const char *fix = json_string_value(json_object_get(o, "remediation"));

		cl_warn(d->ctx, "%s: a run on '%s' is refused: %s%s%s",
			json_string_value(json_object_get(o, "grant_id")), d->executor,
			json_string_value(json_object_get(o, "reason")), fix ? "; fix: " : "",
			fix ? fix : "");
	}
	json_decref(here);
}

int cmd_secret_lease(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_dry struct dry d = DRY_INIT(c);
	struct store_grant_filter f = {.lost_too = true};

	if (dry_open(&d, e))
		return -1;
	f.active_at = d.k.now;
	if (lease_case_find(&d.c, &f, e))
		return -1;
	lease_case_build(&d.c);
	if (audit(&d, e))
		return -1;
	if (c->json)
		as_json(&d);
	else
		as_text(&d);
	warn_of_here(&d);
	return 0;
}
