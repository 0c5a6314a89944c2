/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For each grant: delivered, or everything that keeps it from the requester and what changes that. */
#include "here.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_kind.h"

#include <string.h>

static void add(json_t *reasons, const char *code, const char *text, const char *fix)
{
	(void)json_array_append_new(
		reasons, json_pack("{s:s, s:o, s:o}", "code", code, "reason", cl_json_string(text),
				 "remediation", fix && *fix ? cl_json_string(fix) : json_null()));
}

/*
 * All that was found before opening it, or else what opening and narrowing it met; and of what would
 * be delivered, what this host says of it.
 */
static json_t *reasons_of(const struct dry *d, const struct lease_aimed *a, const json_t *here)
{
	const struct sec_refused *r = lease_case_refusal(&d->c, a->row.id);
	json_t *reasons = json_array(), *o;
	size_t k;

	for (size_t i = 0; i < a->reasons.n; i++)
		add(reasons, a->reasons.v[i].code, a->reasons.v[i].text, a->reasons.v[i].fix);
	if (!a->reasons.n && r)
		add(reasons, cl_err_slug(&r->error), r->error.msg, r->error.fix);
	json_array_foreach (here, k, o)
		if (!strcmp(json_string_value(json_object_get(o, "grant_id")), a->row.id))
			add(reasons, json_string_value(json_object_get(o, "code")),
				json_string_value(json_object_get(o, "reason")),
				json_string_value(json_object_get(o, "remediation")));
	return reasons;
}

static void print_one(const struct lease_aimed *a, json_t *reasons)
{
	cleanup_free char *name = cl_masked(a->row.secret_name), *kind = cl_masked(a->row.kind);
	cleanup_free char *subject = cl_masked(a->row.subject);
	json_t *r;
	size_t i;

	(void)printf("%s %s (%s) to %s, %s\n", json_array_size(reasons) ? "✗" : "✓", name, kind,
		subject, a->row.id);
	if (!json_array_size(reasons))
		(void)printf("    delivered\n");
	json_array_foreach (reasons, i, r) {
		const char *fix = json_string_value(json_object_get(r, "remediation"));
		cleanup_free char *said =
			cl_masked(json_string_value(json_object_get(r, "reason")));
		cleanup_free char *typed = cl_masked(fix ? fix : "");

		(void)printf("    %s\n", said);
		if (fix)
			(void)printf("      fix: %s\n", typed);
	}
}

/* *delivered counts. */
static void answer(const struct dry *d, size_t *delivered)
{
	json_t *here = here_look(d);

	for (size_t i = 0; i < d->c.n; i++) {
		const struct lease_aimed *a = d->c.v[i];
		json_t *reasons = reasons_of(d, a, here);

		*delivered += !json_array_size(reasons);
		if (!d->ctx->json) {
			print_one(a, reasons);
			json_decref(reasons);
			continue;
		}
		cl_take_json(json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "grant_id", a->row.id,
			"secret_name", a->row.secret_name, "kind", a->row.kind, "subject",
			a->row.subject, "delivered", !json_array_size(reasons), "reasons",
			reasons));
	}
	json_decref(here);
}

/* What a grant of that kind cannot be without, at its narrowest that holds as it is typed. */
static const char *needed(const struct store_secret *s)
{
	static const struct {
		enum sec_kind kind;
		const char *flags;
	} rows[] = {
		{SEC_GITHUB_PAT, " --repos OWNER/NAME"},
		{SEC_GITHUB_APP, " --repos OWNER/NAME"},
		{SEC_KUBECONFIG, " --contexts '*'"},
		{SEC_REGISTRY, " --registries '*'"},
		{SEC_EGRESS_PROXY, " --hosts '*'"},
		{SEC_LOCAL_REPO, " --repos '*'"},
		{SEC_HOST_DEVICE, " --devices '*'"},
		{SEC_HOST_INTERFACE, " --interfaces '*'"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++)
		if (!strcmp(s->kind, sec_kinds[rows[i].kind].name))
			return rows[i].flags;
	return "";
}

static void none(const struct dry *d, const struct store_secret *s)
{
	cleanup_free char *to = cl_asprintf("project:%s", d->project), *word = cl_shell_word(to);
	cleanup_free char *typed = cl_masked(word);

	if (d->ctx->json)
		return;
	if (s->id)
		(void)printf("%s is not granted to anybody\n      fix: cloop secret grant %s --to "
			     "%s%s\n",
			s->name, s->name, typed, needed(s));
	else
		(void)printf(
			"there is no grant\n      fix: cloop secret grant SECRET --to %s\n", typed);
}

int cmd_secret_why(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_dry struct dry d = DRY_INIT(c);
	cleanup_secret_row struct store_secret secret = STORE_SECRET_INIT;
	struct store_grant_filter f = {.lost_too = true};
	const char *name = cl_operand(c, 0);
	size_t delivered = 0;

	if (dry_open(&d, e) || (name && secret_find(&d.k, name, &secret, e)))
		return -1;
	/* Of one secret also what has ended: that may be the reason. */
	f.active_at = name ? 0 : d.k.now;
	f.secret_id = secret.id;
	d.c.everybody = true;
	if (lease_case_find(&d.c, &f, e))
		return -1;
	lease_case_build(&d.c);
	if (!d.c.n)
		none(&d, &secret);
	answer(&d, &delivered);
	return delivered ? 0 : 1;
}
