/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a kind makes of the constraints of a grant. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_constraint.h"
#include "policy/secret/secret_pattern.h"

#include <string.h>

static int check_entry(enum sec_kind k, enum sec_list l, const char *text, struct cl_err *e)
{
	if (l == SEC_BRANCHES)
		return sec_branch_check(text, e);
	if (l == SEC_VERBS)
		return sec_verb_check(text, e);
	if (l == SEC_ENV_KEYS)
		return sec_env_key_check(text, e);
	if (l == SEC_PERMISSIONS && k == SEC_GITHUB_APP)
		return sec_permission_check(text, e);
	return sec_pattern_check(text, sec_lists[l].flag, e);
}

/* "github_pat, github_app": the kinds that take it. */
static char *kinds_with(enum sec_list l)
{
	const char *names[SEC_NKINDS];
	size_t n = 0;

	for (int k = 0; k < SEC_NKINDS; k++) {
		enum sec_rule r = l == SEC_NLISTS ? sec_writable_rule((enum sec_kind)k)
						  : sec_rule_of((enum sec_kind)k, l);

		if (r == SEC_REQUIRED || r == SEC_OPTIONAL || r == SEC_ONE_OF)
			names[n++] = sec_kinds[k].name;
	}
	return cl_join(names, n, ", ");
}

static int wrong_kind(enum sec_kind k, enum sec_list l, struct cl_err *e)
{
	const char *flag = l == SEC_NLISTS ? "--writable" : sec_lists[l].flag;
	cleanup_free char *fits = kinds_with(l);

	(void)cl_fail(e, CL_EDATA, "%s belongs to grants of %s, and this secret is a %s", flag,
		fits, sec_kinds[k].name);
	(void)cl_slug(e, "invalid_constraint");
	return cl_fix(e, "leave %s out", flag);
}

static const struct {
	enum sec_kind kind;
	const char *message, *fix;
} missing_rows[] = {
	{SEC_GITHUB_PAT, "a github_pat grant needs the repositories it is for (--repos)",
		"add --repos OWNER/NAME, or --repos '*' for every repository the token reaches"},
	{SEC_GITHUB_APP, "a github_app grant needs the repositories it is for (--repos)",
		"add --repos OWNER/NAME, or --repos '*' for every repository of the installation"},
	{SEC_KUBECONFIG,
		"a kubeconfig grant needs contexts or namespaces (--contexts, --namespaces)",
		"add --contexts NAME or --namespaces NAME; '*' means all of them"},
	{SEC_REGISTRY, "a registry grant needs the registries it is for (--registries)",
		"add --registries ghcr.io, or --registries '*' for every one in the secret"},
	{SEC_EGRESS_PROXY, "an egress_proxy grant needs the hosts it is for (--hosts)",
		"add --hosts api.example.com, or --hosts '*' for every host"},
	{SEC_LOCAL_REPO, "a local_repo grant needs the repositories it opens (--repos)",
		"add --repos my-service, or --repos '*' for every repository under the root"},
	{SEC_HOST_DEVICE, "a host_device grant needs the devices it opens (--devices)",
		"add --devices serial0, or --devices '*' for every device of the inventory"},
	{SEC_HOST_INTERFACE, "a host_interface grant needs the interfaces it moves (--interfaces)",
		"add --interfaces dut, or --interfaces '*' for every one of the inventory"},
};

static int missing(enum sec_kind k, struct cl_err *e)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(missing_rows); i++) {
		if (missing_rows[i].kind != k)
			continue;
		(void)cl_fail(e, CL_EDATA, "%s", missing_rows[i].message);
		(void)cl_slug(e, "invalid_constraint");
		return cl_fix(e, "%s", missing_rows[i].fix);
	}
	return cl_fail(
		e, CL_EBUG, "%s requires a constraint that no row tells of", sec_kinds[k].name);
}

static int check_present(enum sec_kind k, const struct sec_constraints *c, struct cl_err *e)
{
	bool one_of = false, any = false;

	for (int l = 0; l < SEC_NLISTS; l++) {
		enum sec_rule r = sec_rule_of(k, (enum sec_list)l);

		if (r == SEC_REFUSED && c->list[l].n)
			return wrong_kind(k, (enum sec_list)l, e);
		if (r == SEC_REQUIRED && !c->list[l].n)
			return missing(k, e);
		one_of = one_of || r == SEC_ONE_OF;
		any = any || (r == SEC_ONE_OF && c->list[l].n);
	}
	if (one_of && !any)
		return missing(k, e);
	return c->writable && sec_writable_rule(k) == SEC_REFUSED ? wrong_kind(k, SEC_NLISTS, e)
								  : 0;
}

static int check_branches(const struct sec_constraints *c, struct cl_err *e)
{
	if (!c->list[SEC_BRANCHES].n || sec_constraints_push(c))
		return 0;
	(void)cl_fail(e, CL_EDATA,
		"--branches limits where a grant may push, and this one may not "
		"push at all");
	(void)cl_slug(e, "invalid_constraint");
	return cl_fix(e, "add --permissions contents:write, or leave --branches out");
}

static void note_dead_repos(enum sec_kind k, const struct sec_constraints *c, struct cl_strv *notes)
{
	if (!notes || (k != SEC_GITHUB_PAT && k != SEC_GITHUB_APP))
		return;
	for (size_t i = 0; i < c->list[SEC_REPOS].n; i++)
		if (sec_repo_pattern_dead(c->list[SEC_REPOS].v[i]))
			cl_strv_addf(notes, "--repos '%s' matches no repository: write OWNER/NAME",
				c->list[SEC_REPOS].v[i]);
}

static void drop_ignored(enum sec_kind k, struct sec_constraints *c, struct cl_strv *notes)
{
	for (int l = 0; l < SEC_NLISTS; l++) {
		if (sec_rule_of(k, (enum sec_list)l) != SEC_IGNORED || !c->list[l].n)
			continue;
		if (notes)
			cl_strv_addf(notes, "%s narrows nothing in a grant of %s and is not kept",
				sec_lists[l].flag, sec_kinds[k].name);
		cl_strv_release(&c->list[l]);
	}
}

static void lower_all(struct cl_strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		cl_lower(s->v[i]);
	cl_strv_uniq(s);
}

int sec_constraints_check(
	enum sec_kind k, struct sec_constraints *c, struct cl_strv *notes, struct cl_err *e)
{
	for (int l = 0; l < SEC_NLISTS; l++)
		for (size_t i = 0; i < c->list[l].n; i++)
			if (check_entry(k, (enum sec_list)l, c->list[l].v[i], e))
				return -1;
	if (check_present(k, c, e))
		return -1;
	lower_all(&c->list[SEC_PERMISSIONS]);
	lower_all(&c->list[SEC_VERBS]);
	if (check_branches(c, e))
		return -1;
	note_dead_repos(k, c, notes);
	drop_ignored(k, c, notes);
	return 0;
}

bool sec_constraints_push(const struct sec_constraints *c)
{
	return sec_permission_allowed(&c->list[SEC_PERMISSIONS], "contents:write");
}

void sec_constraints_verbs(const struct sec_constraints *c, struct cl_strv *out)
{
	const struct cl_strv *v = &c->list[SEC_VERBS];

	for (size_t i = 0; i < CL_ARRAY_LEN(sec_verbs); i++)
		if (v->n ? cl_strv_has(v, sec_verbs[i]) : i < 3)
			cl_strv_add(out, sec_verbs[i]);
}

bool sec_constraints_all_verbs(const struct sec_constraints *c)
{
	cleanup_strv struct cl_strv v = CL_STRV_INIT;

	sec_constraints_verbs(c, &v);
	return v.n == CL_ARRAY_LEN(sec_verbs);
}

/* ---- comparing a grant with its successor ---- */

const char *sec_change_name(enum sec_change c)
{
	static const char *const names[] = {
		[SEC_SAME] = "same", [SEC_WIDENS] = "widens", [SEC_NARROWS] = "narrows"};

	return names[c];
}

struct comparing {
	enum sec_kind kind;
	const struct sec_constraints *was, *now;
	struct cl_strv *why;
	bool wider, narrower;
};

static void taken(struct comparing *x, const char *what, const char *entry)
{
	x->narrower = true;
	if (x->why)
		cl_strv_addf(x->why, "%s%s%s", what, entry ? " " : "", entry ? entry : "");
}

/*
 * An empty list that lets everything through: without namespaces nothing is pinned, and
 * without contexts every one that can be pinned is kept.
 */
static bool empty_is_all(const struct comparing *x, enum sec_list l)
{
	return l == SEC_BRANCHES || l == SEC_ENV_KEYS ||
	       (x->kind == SEC_KUBECONFIG && (l == SEC_NAMESPACES || l == SEC_CONTEXTS));
}

/* Write covers read, a bare scope means write, '*' covers all. */
static bool level_covers(const char *have, const char *want)
{
	static const char *const order[] = {"read", "write", "admin"};
	size_t h = strcspn(have, ":"), w = strcspn(want, ":"), hi = 1, wi = 1;

	if (!strcmp(have, "*"))
		return true;
	if (h != w || strncmp(have, want, h) != 0)
		return false;
	for (size_t i = 0; i < CL_ARRAY_LEN(order); i++) {
		hi = have[h] && !strcmp(have + h + 1, order[i]) ? i : hi;
		wi = want[w] && !strcmp(want + w + 1, order[i]) ? i : wi;
	}
	return hi >= wi;
}

static bool covers(enum sec_list l, const struct cl_strv *list, const char *entry)
{
	if (cl_strv_has(list, entry))
		return true;
	for (size_t i = 0; l == SEC_PERMISSIONS && i < list->n; i++)
		if (level_covers(list->v[i], entry))
			return true;
	return false;
}

/* A list as it works: verbs have a default, and every installation token may read contents. */
static void effective(
	enum sec_kind k, const struct sec_constraints *c, enum sec_list l, struct cl_strv *out)
{
	if (l == SEC_VERBS && k == SEC_KUBECONFIG) {
		sec_constraints_verbs(c, out);
		return;
	}
	if (l == SEC_PERMISSIONS && k == SEC_GITHUB_APP)
		cl_strv_add(out, "contents:read");
	for (size_t i = 0; i < c->list[l].n; i++)
		cl_strv_add(out, c->list[l].v[i]);
}

static void compare_list(struct comparing *x, enum sec_list l)
{
	cleanup_strv struct cl_strv was = CL_STRV_INIT, now = CL_STRV_INIT;
	bool was_all, now_all;

	effective(x->kind, x->was, l, &was);
	effective(x->kind, x->now, l, &now);
	was_all = !was.n && empty_is_all(x, l);
	now_all = !now.n && empty_is_all(x, l);
	if (was_all || now_all) {
		x->wider = x->wider || (now_all && !was_all);
		if (was_all && !now_all)
			taken(x, sec_lists[l].key, "that were not limited before");
		return;
	}
	for (size_t i = 0; i < was.n; i++)
		if (!covers(l, &now, was.v[i]))
			taken(x, sec_lists[l].key, was.v[i]);
	for (size_t i = 0; i < now.n; i++)
		x->wider = x->wider || !covers(l, &was, now.v[i]);
}

enum sec_change sec_constraints_compare(enum sec_kind k, const struct sec_constraints *was,
	const struct sec_constraints *now, struct cl_strv *why)
{
	struct comparing x = {k, was, now, why, false, false};

	for (int l = 0; l < SEC_NLISTS; l++)
		compare_list(&x, (enum sec_list)l);
	if (was->writable && !now->writable)
		taken(&x, "writable", NULL);
	x.wider = x.wider || (now->writable && !was->writable);
	return x.narrower ? SEC_NARROWS : x.wider ? SEC_WIDENS : SEC_SAME;
}
