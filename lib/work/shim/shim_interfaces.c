/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interfaces of the host that a run is lent: judged before it starts, moved by its driver, and back
 * on the host the moment that the lease no longer has them.
 */
#include "work/shim/shim_internal.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void shim_interfaces_release(struct shim_interfaces *i)
{
	free(i->v);
	cl_strv_release(&i->texts);
	*i = SHIM_INTERFACES_INIT;
}

const struct shim_interfaces *shim_lent_interfaces(const struct shim *s)
{
	return &s->lent.interfaces;
}

/* ---- taking ---- */

/* The texts of the lease are wiped with it. */
static const char *keep(struct shim_interfaces *i, const char *text)
{
	if (!text)
		return NULL;
	cl_strv_add(&i->texts, text);
	return i->texts.v[i->texts.n - 1];
}

static int cannot(const struct lease_item *it, struct cl_err *e)
{
	if (!e->fix[0])
		(void)cl_fix(e,
			"bind the project to a container executor under runc or crun on the host "
			"that has "
			"it, or revoke the grant: cloop secret revoke %s",
			it->grant_id);
	(void)cl_constraint(e, "interfaces");
	return cl_wrap(e, "interface '%s', granted to this run by '%s' (%s)",
		it->interfaces[0].name, it->name, it->grant_id);
}

static int judge(struct shim *s, const struct lease_item *it, struct cl_err *e)
{
	if (!s->driver->moves_interfaces)
		(void)cl_fail(e, CL_EREFUSED, "executor '%s' moves none into what it runs",
			s->job.row.executor_id);
	else if (!s->driver->moves_interfaces(s->arg, e))
		return 0;
	return cannot(it, e);
}

int shim_interfaces_take(struct shim *s, const struct lease *l, struct cl_err *e)
{
	struct shim_interfaces *all = &s->lent.interfaces;

	for (size_t i = 0; i < l->nitems; i++) {
		const struct lease_item *it = &l->items[i];

		if (it->ninterfaces && judge(s, it, e))
			return -1;
		for (size_t k = 0; k < it->ninterfaces; k++) {
			const struct lease_interface *n = &it->interfaces[k];

			all->v = cl_grow(all->v, &all->cap, all->n + 1, sizeof(*all->v));
			all->v[all->n++] = (struct net_lend){.name = keep(all, n->name),
				.source = keep(all, n->source),
				.target = keep(all, n->target),
				.address = keep(all, n->address),
				.gateway = keep(all, n->gateway),
				.mtu = n->mtu};
			all->raw = all->raw || n->raw;
		}
	}
	return 0;
}

int shim_interfaces_move(struct shim *s, struct cl_err *e)
{
	const struct shim_interfaces *all = &s->lent.interfaces;

	if (net_lend(s->job.run_base, s->job.row.id, all->v, all->n, e))
		return -1;
	for (size_t i = 0; i < all->n; i++)
		shim_note(s, "interface", "%s (%s) is in the sandbox as '%s'", all->v[i].name,
			all->v[i].source, all->v[i].target);
	return 0;
}

/* ---- giving back ---- */

static bool brings(const struct lease *l, const char *name)
{
	for (size_t i = 0; l && i < l->nitems; i++)
		for (size_t k = 0; k < l->items[i].ninterfaces; k++)
			if (!strcmp(l->items[i].interfaces[k].name, name))
				return true;
	return false;
}

static int give_back(struct shim *s, const struct lease *l, struct cl_err *e)
{
	cleanup_strv struct cl_strv have = CL_STRV_INIT, stay = CL_STRV_INIT, said = CL_STRV_INIT;
	int rc;

	if (net_lent(s->job.run_base, s->job.row.id, &have, e))
		return -1;
	for (size_t i = 0; i < have.n; i++)
		if (brings(l, have.v[i]))
			cl_strv_add(&stay, have.v[i]);
	if (stay.n == have.n)
		return 0;
	rc = net_lend_back(s->job.run_base, s->job.row.id, &stay, &said, e);
	for (size_t i = 0; i < said.n; i++)
		shim_note(s, "interface", "%s", said.v[i]);
	return rc;
}

void shim_interfaces_back(struct shim *s, const struct lease *l)
{
	struct cl_err e;

	if (!s->driver->moves_interfaces)
		return;
	free(s->lent.stuck);
	s->lent.stuck = NULL;
	if (!give_back(s, l, &e))
		return;
	s->lent.stuck = cl_strdup(e.msg);
	shim_note(s, "interface", "not every interface is back on the host: %s", e.msg);
}
