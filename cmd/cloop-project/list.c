/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "project.h"
#include "base/mem.h"
#include "base/num.h"
#include "seal/fleet.h"
#include "work/public.h"

#include <inttypes.h>
#include <string.h>

struct listing {
	struct cl_ctx *c;
	struct project_cmd *p;
	unsigned char pub[SEAL_KEY];
	bool known;
	struct cl_table table;
	size_t n;
};

/* What it is bound to, as far as a signature vouches for it; owned, NULL: to nothing. */
static int bound_to(struct listing *l, const char *path, char **out, bool *forged, struct cl_err *e)
{
	cleanup_binding struct store_binding b = STORE_BINDING_INIT;
	bool found;

	*forged = false;
	if (store_binding_get(l->p->store, path, &b, &found, e))
		return -1;
	if (!found)
		return 0;
	*forged = !l->known || !seal_binding_verify(l->pub, &b);
	*out = cl_strdup(b.executor_id);
	return 0;
}

static int row(const struct store_project *p, void *arg, struct cl_err *e)
{
	struct listing *l = arg;
	cleanup_free char *bound = NULL;
	char live[24], since[32];
	bool forged;
	int64_t n;

	if (bound_to(l, p->path, &bound, &forged, e) ||
		store_project_live(l->p->store, p->path, &n, e))
		return -1;
	l->n++;
	if (l->c->json) {
		json_t *o = store_project_json(p);

		(void)json_object_set_new(
			o, "executor_id", bound && !forged ? cl_json_string(bound) : json_null());
		(void)json_object_set_new(o, "binding_forged", json_boolean(forged));
		(void)json_object_set_new(o, "live_runs", json_integer(n));
		cl_take_json(o);
		return 0;
	}
	(void)snprintf(live, sizeof(live), "%" PRId64, n);
	cl_format_time(p->created_at / 1000, since);
	since[strlen("2026-11-29")] = '\0';
	cl_table_add(&l->table, p->path);
	cl_table_add(&l->table, p->owner);
	cl_table_add(&l->table, forged ? "(forged)" : bound ? bound : "-");
	cl_table_add(&l->table, live);
	cl_table_add(&l->table, since);
	return 0;
}

int cmd_project_list(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const head[] = {"PROJECT", "OWNER", "EXECUTOR", "LIVE", "SINCE"};
	cleanup_project_cmd struct project_cmd p = PROJECT_CMD_INIT;
	struct listing l = {.c = c, .p = &p};
	int rc;

	if (project_cmd_open(c, STORE_RO, &p, e) || work_public(p.hub.dir, l.pub, &l.known, e))
		return -1;
	cl_table_init(&l.table, CL_ARRAY_LEN(head));
	for (size_t i = 0; i < CL_ARRAY_LEN(head); i++)
		cl_table_add(&l.table, head[i]);
	rc = store_project_each(p.store, row, &l, e);
	if (!rc && !c->json && l.n)
		cl_table_print(&l.table, stdout);
	else if (!rc && !c->json)
		(void)puts("no projects");
	cl_table_release(&l.table);
	return rc;
}
