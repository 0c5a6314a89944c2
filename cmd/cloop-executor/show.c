/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All that is known of one executor. */
#include "executor.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/sandbox/ceiling.h"

#include <string.h>

struct view {
	struct work_node *n;
	struct cl_strv access, bound, runs;
	struct sb_limits ceiling;
	bool ceiling_set;
};

static void view_release(struct view *v)
{
	cl_strv_release(&v->access);
	cl_strv_release(&v->bound);
	cl_strv_release(&v->runs);
}
#define cleanup_view __attribute__((cleanup(view_release)))

struct walk {
	const struct work_fleet *fleet;
	struct cl_strv *out;
};

/* A binding that this hub did not sign binds nothing. */
static int add_binding(const struct store_binding *b, void *arg, struct cl_err *e)
{
	struct walk *w = arg;

	(void)e;
	if (w->fleet->known && seal_binding_verify(w->fleet->pub, b))
		cl_strv_add(w->out, *b->project ? b->project : "(default)");
	return 0;
}

static int add_run(const struct store_run *r, void *arg, struct cl_err *e)
{
	(void)e;
	cl_strv_add(arg, r->id);
	return 0;
}

static int look(struct fleet_cmd *f, struct view *v, struct cl_err *e)
{
	struct store_run_filter live = STORE_RUN_FILTER_INIT;
	struct walk w = {&f->fleet, &v->bound};

	live.executor_id = v->n->x->id;
	live.live = true;
	return store_access_list(f->store, v->n->x->id, &v->access, e) ||
			       store_binding_each(f->store, v->n->x->id, add_binding, &w, e) ||
			       store_run_each(f->store, &live, add_run, &v->runs, e) ||
			       store_ceiling_get(f->store, SB_EXECUTOR, v->n->x->id, &v->ceiling,
				       &v->ceiling_set, e)
		       ? -1
		       : 0;
}

static json_t *strings(const struct cl_strv *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n; i++)
		(void)json_array_append_new(a, cl_json_string(s->v[i]));
	return a;
}

static json_t *labels(const struct work_node *n)
{
	json_t *o = json_object();

	for (size_t i = 0; i < n->labels.n; i++)
		(void)json_object_set_new(
			o, n->labels.v[i].key, cl_json_string(n->labels.v[i].value));
	return o;
}

static void as_json(const struct view *v)
{
	const struct work_node *n = v->n;
	const struct hl_health *h = &n->health;
	json_t *o = json_pack("{s:o, s:s, s:s, s:s, s:b, s:b, s:s, s:s, s:b, s:I, s:I, s:b}",
		"executor_id", cl_json_string(n->x->id), "kind", n->x->kind, "driver", n->x->driver,
		"configured_at", n->x->key, "enabled", n->x->enabled, "in_service",
		work_node_serves(n), "isolation", work_node_isolation(n), "state",
		pl_health_name(h->state), "schedulable", hl_schedulable(h->state),
		"consecutive_failures", (json_int_t)h->failures, "in_flight", (json_int_t)n->load,
		"labels_forged", n->forged);

	(void)json_object_set_new(
		o, "reason", *h->reason ? cl_json_string(h->reason) : json_null());
	if (n->x->disabled_reason)
		(void)json_object_set_new(
			o, "out_of_service", cl_json_string(n->x->disabled_reason));
	fleet_time(o, "last_seen", h->last_seen);
	fleet_time(o, "last_probe", h->last_probe);
	fleet_time(o, "next_probe", h->next_probe);
	fleet_time(o, "state_changed_at", h->changed_at);
	(void)json_object_set_new(o, "labels", labels(n));
	(void)json_object_set_new(o, "access", strings(&v->access));
	(void)json_object_set_new(o, "bound_projects", strings(&v->bound));
	(void)json_object_set_new(o, "live_runs", strings(&v->runs));
	(void)json_object_set_new(
		o, "ceiling", v->ceiling_set ? limits_json(&v->ceiling) : json_null());
	cl_take_json(o);
}

static void line(struct cl_table *t, const char *key, const char *value)
{
	cl_table_add(t, key);
	cl_table_add(t, value);
}

static void joined(struct cl_table *t, const char *key, const struct cl_strv *s, const char *none)
{
	cleanup_free char *all = cl_join((const char *const *)s->v, s->n, ", ");

	line(t, key, s->n ? all : none);
}

static void state(const struct fleet_cmd *f, const struct work_node *n, struct cl_buf *out)
{
	const struct hl_health *h = &n->health;
	char ago[24];

	if (n->x->disabled_reason) {
		cl_buf_addf(out, "out of service: %s", n->x->disabled_reason);
		return;
	}
	cl_buf_addf(out, "%s%s", n->x->enabled ? "" : "off; ", pl_health_name(h->state));
	if (*h->reason)
		cl_buf_addf(out, ": %s", h->reason);
	if (!h->changed_at)
		return;
	fleet_age(f, h->changed_at, ago);
	cl_buf_addf(out, " (for %s)", ago);
}

static void as_text(const struct fleet_cmd *f, const struct view *v)
{
	const struct work_node *n = v->n;
	cleanup_buf struct cl_buf how = CL_BUF_INIT, all = CL_BUF_INIT, cap = CL_BUF_INIT;
	char load[32], seen[24];
	struct cl_table t;

	state(f, n, &how);
	sec_labels_text(&n->labels, &all);
	limits_text(&v->ceiling, &cap);
	(void)snprintf(load, sizeof(load), "%lld", (long long)n->load);
	fleet_age(f, n->health.last_seen, seen);
	cl_table_init(&t, 2);
	line(&t, "executor", n->x->id);
	line(&t, "kind", n->x->kind);
	line(&t, "configured", n->x->key);
	line(&t, "isolation", work_node_isolation(n));
	line(&t, "state", how.p);
	line(&t, "last seen", seen);
	line(&t, "in flight", load);
	joined(&t, "live runs", &v->runs, "none");
	line(&t, "labels", n->forged ? "(forged)" : all.len ? all.p : "none");
	line(&t, "ceiling", cap.len ? cap.p : "none of its own");
	joined(&t, "access", &v->access, "not restricted");
	joined(&t, "bound", &v->bound, "no project");
	cl_table_print(&t, stdout);
	cl_table_release(&t);
}

int cmd_executor_show(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	cleanup_view struct view v = {.n = NULL};

	if (fleet_cmd_open(c, STORE_RO, &f, e) || fleet_cmd_node(c, &f, &v.n, e) || look(&f, &v, e))
		return -1;
	if (c->json)
		as_json(&v);
	else
		as_text(&f, &v);
	return 0;
}
