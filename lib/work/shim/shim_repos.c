/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Repositories of the host that a run is lent: what the driver binds, and where they are inside. */
#include "work/shim/shim_internal.h"
#include "base/mem.h"
#include "policy/secret/secret_inventory.h"

#include <stdlib.h>
#include <string.h>

#define REPOS "/repos"

void shim_repos_release(struct shim_repos *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].source);
		free(r->v[i].target);
		free(r->v[i].id);
	}
	free(r->v);
	cl_strv_release(&r->names);
	cl_strv_release(&r->variables);
	cl_strv_release(&r->values);
	*r = SHIM_REPOS_INIT;
}

static int refuse(const struct lease_item *it, struct cl_err *e)
{
	(void)cl_constraint(e, "host_mounts");
	return cl_fix(e,
		"'cloop secret why %s' shows what is granted; revoke one of them: cloop secret "
		"revoke %s",
		it->name, it->grant_id);
}

/*
 * The name becomes a path in an engine's option, and came from a directory of the host: it is
 * looked at again (facts/secrets.md 3.1).
 */
static int add(struct shim_repos *r, const struct lease_item *it, const struct lease_mount *m,
	struct cl_err *e)
{
	cleanup_free char *target = cl_asprintf(REPOS "/%s", m->name);

	if (!sec_repo_name_ok(m->name) || strcmp(m->target, target) != 0 || *m->source != '/' ||
		strpbrk(m->source, ":\r\n")) {
		(void)cl_fail(e, CL_EREFUSED, "'%.200s' of '%s' cannot be bound at '%.200s'",
			m->source, it->name, m->target);
		return refuse(it, e);
	}
	if (cl_strv_has(&r->names, m->name)) {
		(void)cl_fail(e, CL_EREFUSED,
			"two grants lend a repository '%s', and only one can be at '%s': the other "
			"is of "
			"'%s' (%s)",
			m->name, target, it->name, it->grant_id);
		return refuse(it, e);
	}
	if (r->n == SHIM_REPOS) {
		(void)cl_fail(e, CL_EREFUSED, "more than %d repositories are granted to this run",
			SHIM_REPOS);
		return refuse(it, e);
	}
	cl_strv_add(&r->names, m->name);
	r->v = cl_grow(r->v, &r->cap, r->n + 1, sizeof(*r->v));
	r->v[r->n++] = (struct shim_repo){
		cl_strdup(m->source), cl_steal(&target), cl_strdup(m->id), m->writable};
	return 0;
}

int shim_repos_take(struct shim_repos *r, const struct lease *l, struct cl_err *e)
{
	char variable[160];

	for (size_t i = 0; i < l->nitems; i++)
		for (size_t k = 0; k < l->items[i].nmounts; k++)
			if (add(r, &l->items[i], &l->items[i].mounts[k], e))
				return -1;
	if (!r->n)
		return 0;
	cl_strv_add(&r->variables, "CLOOP_LOCAL_REPO_ROOT");
	cl_strv_add(&r->values, REPOS);
	for (size_t i = 0; i < r->n; i++) {
		sec_local_variable(r->names.v[i], &r->names, variable);
		if (!*variable)
			continue;
		cl_strv_add(&r->variables, variable);
		cl_strv_add(&r->values, r->v[i].target);
	}
	return 0;
}

const struct shim_repos *shim_lent_repos(const struct shim *s)
{
	return &s->lent.repos;
}
