/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ceilings of an executor or a project, below the fleet's: shown, and set. */
#include "executor.h"
#include "base/mem.h"
#include "base/num.h"
#include "work/project.h"

#include <string.h>

static const char *const options[SB_NRESOURCES] = {
	[SB_CPU] = "cpu", [SB_MEMORY] = "memory", [SB_DISK] = "disk", [SB_PIDS] = "pids"};

struct ask {
	enum sb_source level;
	const char *subject;
	char *project; /* owned */
	struct sb_limits before, after;
	bool set, changed;
};

/* One option; 0 (and 0 cores, 0m) takes the ceiling away. */
static int read_one(const struct cl_ctx *c, enum sb_resource r, int64_t *out, struct cl_err *e)
{
	cleanup_free char *what = cl_asprintf("--%s", options[r]);
	const char *text = cl_str(c, options[r]);
	double cores;
	int64_t n;

	if (r == SB_PIDS)
		return cl_parse_i64(text, 0, SB_MAX_PIDS, what, out, e);
	if (r != SB_CPU) {
		if (sb_size_mb(text, what, &n, NULL, e))
			return -1;
		*out = n;
		return 0;
	}
	if (cl_parse_double(text, what, &cores, e))
		return -1;
	if (cores < 0 || cores > SB_MAX_CPU || (cores > 0 && cores < 0.001)) {
		(void)cl_fail(
			e, CL_EDATA, "--cpu %.40s is not from 0.001 to %d cores", text, SB_MAX_CPU);
		return cl_fix(e, "write for example --cpu 1.5, or --cpu 0 for no ceiling");
	}
	*out = (int64_t)(cores * 1000 + 0.5);
	return 0;
}

static int read_options(struct cl_ctx *c, struct ask *a, struct cl_err *e)
{
	bool clear = cl_flag(c, "clear");

	for (int r = 0; r < SB_NRESOURCES; r++) {
		if (!cl_given(c, options[r]))
			continue;
		if (clear)
			return cl_usage(
				c, e, "--clear takes all away: give it or --%s", options[r]);
		if (read_one(c, (enum sb_resource)r, &a->after.v[r], e))
			return -1;
	}
	if (clear)
		a->after = (struct sb_limits){{0}};
	return 0;
}

static bool wants_change(const struct cl_ctx *c)
{
	bool any = cl_flag(c, "clear");

	for (int r = 0; r < SB_NRESOURCES; r++)
		any = any || cl_given(c, options[r]);
	return any;
}

static int find_subject(struct cl_ctx *c, struct fleet_cmd *f, struct ask *a, struct cl_err *e)
{
	cleanup_free char *path = NULL;
	struct work_node *n;

	if (c->noperands && cl_given(c, "project"))
		return cl_usage(c, e, "name an executor or --project, not both");
	if (!c->noperands && !cl_given(c, "project"))
		return cl_usage(c, e, "name whose ceiling: an executor, or --project DIR");
	a->level = c->noperands ? SB_EXECUTOR : SB_PROJECT;
	if (c->noperands) {
		if (fleet_cmd_node(c, f, &n, e))
			return -1;
		a->subject = n->x->id;
		return 0;
	}
	if (work_project_path(cl_str(c, "project"), &path, e))
		return -1;
	a->project = work_project_of(path);
	a->subject = a->project;
	return 0;
}

json_t *limits_json(const struct sb_limits *l)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "cpu_milli", (json_int_t)l->v[SB_CPU], "memory_mb",
		(json_int_t)l->v[SB_MEMORY], "disk_mb", (json_int_t)l->v[SB_DISK], "pids",
		(json_int_t)l->v[SB_PIDS]);
}

void limits_text(const struct sb_limits *l, struct cl_buf *out)
{
	for (int r = 0; r < SB_NRESOURCES; r++) {
		char text[40];

		if (!l->v[r])
			continue;
		sb_amount((enum sb_resource)r, l->v[r], text);
		cl_buf_addf(out, "%s%s %s", out->len ? ", " : "",
			sb_resource_name((enum sb_resource)r), text);
	}
}

static int apply(struct cl_ctx *c, struct fleet_cmd *f, struct ask *a, struct cl_err *e)
{
	cleanup_txn struct store_txn t = {0};
	bool found;

	if (store_begin(f->store, &t, e) ||
		store_ceiling_get(f->store, a->level, a->subject, &a->before, &found, e))
		return -1;
	a->after = a->before;
	if (read_options(c, a, e))
		return -1;
	a->changed = memcmp(&a->before, &a->after, sizeof(a->after)) != 0;
	if (!a->changed)
		return 0;
	return store_ceiling_put(f->store, a->level, a->subject, &a->after, f->actor, f->now, e) ||
			       fleet_audit(f, "executor.limits",
				       a->level == SB_EXECUTOR ? a->subject : "",
				       a->level == SB_PROJECT ? a->subject : NULL,
				       json_pack("{s:s, s:o, s:o, s:o}", "level",
					       sb_source_name(a->level), "subject",
					       cl_json_string(a->subject), "before",
					       limits_json(&a->before), "after",
					       limits_json(&a->after)),
				       e) ||
			       store_commit(&t, e)
		       ? -1
		       : 0;
}

static void amount(enum sb_resource r, int64_t v, char out[40])
{
	if (v)
		sb_amount(r, v, out);
	else
		(void)snprintf(out, 40, "-");
}

/* What each level says of each resource, and which one decides. */
static void show(struct cl_ctx *c, const struct fleet_cmd *f, const struct ask *a)
{
	static const char *const head[] = {"RESOURCE", "FLEET", "", "IN FORCE"};
	struct sb_ceilings all = {0};
	enum sb_source from;
	struct cl_table t;
	char text[40];

	all.of[SB_FLEET] = f->cfg.limits;
	all.of[a->level] = a->after;
	if (c->json) {
		struct sb_limits force;

		for (int r = 0; r < SB_NRESOURCES; r++)
			force.v[r] = sb_cap(&all, (enum sb_resource)r, NULL);
		cl_take_json(json_pack("{s:s, s:o, s:o, s:o, s:o, s:b}", "level",
			sb_source_name(a->level), "subject", cl_json_string(a->subject), "fleet",
			limits_json(&all.of[SB_FLEET]), "ceiling", limits_json(&a->after),
			"in_force", limits_json(&force), "changed", a->changed));
		return;
	}
	cl_table_init(&t, CL_ARRAY_LEN(head));
	for (size_t i = 0; i < CL_ARRAY_LEN(head); i++)
		cl_table_add(&t, i != 2                    ? head[i]
				 : a->level == SB_EXECUTOR ? "EXECUTOR"
							   : "PROJECT");
	for (int r = 0; r < SB_NRESOURCES; r++) {
		int64_t cap = sb_cap(&all, (enum sb_resource)r, &from);

		cl_table_add(&t, sb_resource_name((enum sb_resource)r));
		amount((enum sb_resource)r, all.of[SB_FLEET].v[r], text);
		cl_table_add(&t, text);
		amount((enum sb_resource)r, a->after.v[r], text);
		cl_table_add(&t, text);
		amount((enum sb_resource)r, cap, text);
		if (cap)
			(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " (%s)",
				sb_source_name(from));
		cl_table_add(&t, text);
	}
	cl_table_print(&t, stdout);
	cl_table_release(&t);
}

int cmd_executor_limits(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	struct ask a = {.set = wants_change(c)};
	bool found;
	int rc;

	rc = fleet_cmd_open(c, a.set ? STORE_RW : STORE_RO, &f, e) || find_subject(c, &f, &a, e);
	if (!rc)
		rc = a.set ? apply(c, &f, &a, e)
			   : store_ceiling_get(f.store, a.level, a.subject, &a.after, &found, e);
	if (!rc)
		show(c, &f, &a);
	cl_cleanup_free(&a.project);
	return rc ? -1 : 0;
}
