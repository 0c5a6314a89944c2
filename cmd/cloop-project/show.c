/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One project: its row, where its work goes, its ceiling, and whether it may still be one. */
#include "project.h"
#include "base/mem.h"
#include "base/num.h"
#include "work/fleet.h"

#include <string.h>

struct view {
	struct store_project row;
	char *executor;  /* where a run without -e goes; NULL: nowhere */
	const char *how; /* reg_how_name */
	struct cl_err no_executor, unconfined;
	bool confined, ceiling_set;
	struct sb_limits ceiling;
	int64_t live;
};

static int look(struct project_cmd *p, struct view *v, struct cl_err *e)
{
	cleanup_fleet struct work_fleet fleet = WORK_FLEET_INIT;
	cleanup_confine_dir struct confine_dir d = CONFINE_DIR_INIT;
	struct work_node *n;
	enum reg_how how;

	if (work_fleet_read(p->store, p->hub.dir, &p->cfg, p->now, &fleet, e) ||
		store_ceiling_get(
			p->store, SB_PROJECT, v->row.path, &v->ceiling, &v->ceiling_set, e) ||
		store_project_live(p->store, v->row.path, &v->live, e))
		return -1;
	if (!work_resolve(p->store, &fleet, NULL, v->row.path, &n, &how, &v->no_executor)) {
		v->executor = cl_strdup(n->x->id);
		v->how = reg_how_name(how);
	}
	v->confined = !work_confine(p->store, &p->hub, &p->cfg, v->row.path, CONFINE_RUN, &d,
			      &v->unconfined) &&
		      !strcmp(d.path, v->row.path);
	/* A link stands where the directory was. */
	if (!v->confined && !v->unconfined.msg[0])
		(void)cl_fail(&v->unconfined, CL_EREFUSED, "it leads to '%s' now", d.path);
	return 0;
}

static json_t *amounts(const struct sb_limits *l)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "cpu_milli", (json_int_t)l->v[SB_CPU], "memory_mb",
		(json_int_t)l->v[SB_MEMORY], "disk_mb", (json_int_t)l->v[SB_DISK], "pids",
		(json_int_t)l->v[SB_PIDS]);
}

static void as_json(const struct view *v)
{
	json_t *o = store_project_json(&v->row);

	(void)json_object_set_new(
		o, "executor_id", v->executor ? cl_json_string(v->executor) : json_null());
	if (v->executor)
		(void)json_object_set_new(o, "executor_by", json_string(v->how));
	else
		(void)json_object_set_new(
			o, "executor_refused", cl_json_string(v->no_executor.msg));
	(void)json_object_set_new(
		o, "ceiling", v->ceiling_set ? amounts(&v->ceiling) : json_null());
	(void)json_object_set_new(o, "live_runs", json_integer(v->live));
	(void)json_object_set_new(o, "confined", json_boolean(v->confined));
	if (!v->confined)
		(void)json_object_set_new(o, "refused", cl_json_string(v->unconfined.msg));
	cl_take_json(o);
}

static void line(struct cl_table *t, const char *key, const char *value)
{
	cl_table_add(t, key);
	cl_table_add(t, value);
}

static void ceiling(const struct view *v, struct cl_buf *out)
{
	for (int r = 0; r < SB_NRESOURCES; r++) {
		char text[40];

		if (!v->ceiling.v[r])
			continue;
		sb_amount((enum sb_resource)r, v->ceiling.v[r], text);
		cl_buf_addf(out, "%s%s %s", out->len ? ", " : "",
			sb_resource_name((enum sb_resource)r), text);
	}
}

static void as_text(const struct view *v)
{
	cleanup_buf struct cl_buf cap = CL_BUF_INIT, where = CL_BUF_INIT, since = CL_BUF_INIT;
	char when[32], live[24];
	struct cl_table t;

	cl_format_time(v->row.created_at / 1000, when);
	cl_buf_addf(&since, "%s, %s by %s", when, v->row.origin, v->row.created_by);
	(void)snprintf(live, sizeof(live), "%lld", (long long)v->live);
	if (v->executor)
		cl_buf_addf(&where, "%s (%s)", v->executor, v->how);
	else
		cl_buf_addf(&where, "none: %s", v->no_executor.msg);
	ceiling(v, &cap);
	cl_table_init(&t, 2);
	line(&t, "project", v->row.path);
	line(&t, "name", v->row.name);
	line(&t, "owner", v->row.owner);
	line(&t, "since", since.p);
	line(&t, "directory", v->row.made ? "made by the hub" : "not made by the hub");
	line(&t, "executor", where.p);
	line(&t, "ceiling", cap.len ? cap.p : "none of its own");
	line(&t, "live runs", live);
	line(&t, "runs", v->confined ? "may start" : v->unconfined.msg);
	cl_table_print(&t, stdout);
	cl_table_release(&t);
}

int cmd_project_show(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_project_cmd struct project_cmd p = PROJECT_CMD_INIT;
	struct view v = {.row = STORE_PROJECT_INIT};
	int rc;

	cl_err_init(&v.no_executor);
	cl_err_init(&v.unconfined);
	rc = project_cmd_open(c, STORE_RO, &p, e) || project_find(c, &p, &v.row, e) ||
	     look(&p, &v, e);
	if (!rc && c->json)
		as_json(&v);
	else if (!rc)
		as_text(&v);
	store_project_release(&v.row);
	cl_cleanup_free(&v.executor);
	return rc ? -1 : 0;
}
