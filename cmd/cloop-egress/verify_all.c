/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every filter that the store says should stand. */
#include "egress.h"
#include "verify.h"
#include "base/mem.h"
#include "work/paths.h"

#include <stdlib.h>
#include <string.h>

void egress_watched_release(struct egress_watched *w)
{
	work_filters_release(&w->filters);
	free(w->run_base);
	store_close(w->store);
	hub_release(&w->hub);
}

int egress_watched_open(
	struct cl_ctx *c, enum store_mode mode, struct egress_watched *w, struct cl_err *e)
{
	*w = (struct egress_watched){.hub = HUB_INIT, .filters = WORK_FILTERS_INIT};
	if (cl_flag(c, "all") == cl_given(c, "table"))
		return cl_usage(c, e, "give either --all or --table NAME");
	w->run_base = work_run_base();
	return hub_store_from_ctx(c, mode, &w->hub, &w->store, e);
}

static bool asked(const struct cl_strv *tables, const char *table)
{
	return !tables->n || cl_strv_has(tables, table);
}

/* Only the filters that are asked for stay. */
static void keep(struct work_filters *l, const struct cl_strv *tables)
{
	struct work_filters kept = WORK_FILTERS_INIT, rest = WORK_FILTERS_INIT;

	for (size_t i = 0; i < l->n; i++) {
		struct work_filters *to = asked(tables, l->v[i].table) ? &kept : &rest;

		to->v = cl_grow(to->v, &to->cap, to->n + 1, sizeof(*to->v));
		to->v[to->n++] = l->v[i];
	}
	free(l->v);
	work_filters_release(&rest);
	*l = kept;
}

static bool stands(const struct work_filters *l, const char *table)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].table, table))
			return true;
	return false;
}

int egress_watched_read(struct cl_ctx *c, struct egress_watched *w, bool strict, struct cl_err *e)
{
	cleanup_strv struct cl_strv tables = CL_STRV_INIT;

	cl_list(c, "table", &tables);
	work_filters_release(&w->filters);
	if (work_filters_read(w->store, w->hub.dir, w->run_base, &w->filters, e))
		return -1;
	for (size_t i = 0; strict && i < tables.n; i++) {
		if (stands(&w->filters, tables.v[i]))
			continue;
		(void)cl_fail(e, CL_ENOTFOUND, "no live workload has a filter in table '%s'",
			tables.v[i]);
		return cl_fix(e, "see 'cloop runs list', or give --all");
	}
	keep(&w->filters, &tables);
	return 0;
}

int egress_verify(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_watched struct egress_watched w;
	bool all = true;

	if (egress_watched_open(c, STORE_RO, &w, e) || egress_watched_read(c, &w, true, e))
		return -1;
	for (size_t i = 0; i < w.filters.n; i++) {
		cleanup_finding struct work_finding was = WORK_FINDING_INIT;

		if (work_filter_verify(&w.filters.v[i], w.run_base, &was, e))
			return -1;
		egress_finding_print(c, &w.filters.v[i], &was);
		all = all && was.same;
	}
	if (!w.filters.n && !c->json)
		(void)printf("no filter should stand: no live workload has one\n");
	return all ? 0 : 1;
}
