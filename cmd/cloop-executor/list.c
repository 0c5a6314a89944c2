/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `list` says what is configured, `ls` how it is. */
#include "executor.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* The one that work goes to that names none; NULL where there is no answer. */
static const char *default_id(struct fleet_cmd *f)
{
	struct work_node *n;
	enum reg_how how;
	struct cl_err ignored;

	return work_resolve(f->store, &f->fleet, NULL, NULL, &n, &how, &ignored) ? NULL : n->x->id;
}

static const char *egress_of(const struct work_node *n)
{
	if (strcmp(n->x->kind, "container") != 0)
		return n->x->row->named_only ? "unfiltered" : "-";
	if (!strcmp(n->x->network, "none"))
		return "none";
	if (!n->x->egress.enabled)
		return "unfiltered";
	return n->x->egress.internal ? "internal" : "filtered";
}

static void note(struct cl_buf *b, const char *text)
{
	if (*text)
		cl_buf_addf(b, "%s%s", b->len ? ", " : "", text);
}

static void notes(const struct work_node *n, const char *dflt, struct cl_buf *b)
{
	const char *engine = *n->x->runtime ? n->x->runtime : "podman or docker";

	if (dflt && !strcmp(dflt, n->x->id))
		note(b, "default");
	if (n->x->disabled_reason) {
		note(b, "out of service");
		note(b, n->x->disabled_reason);
		return;
	}
	if (!n->x->enabled)
		note(b, "off");
	if (strcmp(n->x->kind, "container") != 0) {
		note(b, n->x->driver);
		if (n->x->row->named_only)
			note(b, "only by name");
	} else if (*n->x->oci_runtime) {
		cleanup_free char *via = cl_asprintf("%s via %s", engine, n->x->oci_runtime);

		note(b, via);
	} else {
		note(b, engine);
	}
	if (!strcmp(n->x->kind, "container"))
		note(b, n->x->image);
	if (n->caps.bits & CAP_BIT(CAP_VIRTUALIZED))
		note(b, "hypervisor-backed");
	if (!strcmp(work_node_isolation(n), "none"))
		note(b, "no isolation");
}

static json_t *list_json(const struct work_node *n, const char *dflt)
{
	json_t *o = json_pack("{s:o, s:s, s:s, s:s, s:b, s:b, s:b, s:s, s:s, s:o}", "executor_id",
		cl_json_string(n->x->id), "kind", n->x->kind, "isolation", work_node_isolation(n),
		"egress", egress_of(n), "enabled", n->x->enabled, "in_service", work_node_serves(n),
		"default", dflt && !strcmp(dflt, n->x->id), "oci_runtime", n->x->oci_runtime,
		"image", n->x->image, "virtualized",
		json_boolean(n->caps.bits & CAP_BIT(CAP_VIRTUALIZED)));

	if (n->x->disabled_reason)
		(void)json_object_set_new(o, "reason", cl_json_string(n->x->disabled_reason));
	return o;
}

int cmd_executor_list(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const head[] = {"ID", "KIND", "ISOLATION", "EGRESS", "NOTES"};
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	const char *dflt;
	struct cl_table t;

	if (fleet_cmd_open(c, STORE_RO, &f, e))
		return -1;
	dflt = default_id(&f);
	cl_table_init(&t, CL_ARRAY_LEN(head));
	for (size_t i = 0; i < CL_ARRAY_LEN(head); i++)
		cl_table_add(&t, head[i]);
	for (size_t i = 0; i < f.fleet.n; i++) {
		const struct work_node *n = &f.fleet.v[i];
		cleanup_buf struct cl_buf b = CL_BUF_INIT;

		if (c->json) {
			cl_take_json(list_json(n, dflt));
			continue;
		}
		notes(n, dflt, &b);
		cl_table_add(&t, n->x->id);
		cl_table_add(&t, n->x->kind);
		cl_table_add(&t, work_node_isolation(n));
		cl_table_add(&t, egress_of(n));
		cl_table_add(&t, b.p);
	}
	if (!c->json && f.fleet.n)
		cl_table_print(&t, stdout);
	else if (!c->json)
		(void)puts("no executors are configured");
	cl_table_release(&t);
	return cl_flag(c, "inventory") ? fleet_suspects(c, &f, e) : 0;
}

/* ---- ls ---- */

struct listing {
	struct cl_ctx *c;
	struct fleet_cmd *f;
	const char *dflt;
	struct cl_table table;
	size_t n;
};

static void put_health(json_t *o, const struct hl_health *h)
{
	(void)json_object_set_new(o, "state", json_string(pl_health_name(h->state)));
	(void)json_object_set_new(o, "schedulable", json_boolean(hl_schedulable(h->state)));
	(void)json_object_set_new(o, "consecutive_failures", json_integer(h->failures));
	if (*h->reason)
		(void)json_object_set_new(o, "reason", cl_json_string(h->reason));
	fleet_time(o, "last_seen", h->last_seen);
	fleet_time(o, "last_probe", h->last_probe);
	fleet_time(o, "state_changed_at", h->changed_at);
}

/* A line of what is configured; n is NULL for a row of one that no longer is. */
static void line(
	struct listing *l, const char *id, const struct work_node *n, const struct hl_health *h)
{
	char load[24] = "-", seen[24];

	l->n++;
	if (l->c->json) {
		json_t *o = json_pack(
			"{s:o, s:b}", "executor_id", cl_json_string(id), "registered", n != NULL);

		put_health(o, h);
		if (n)
			(void)json_object_set_new(o, "kind", json_string(n->x->kind));
		if (n)
			(void)json_object_set_new(
				o, "isolation", json_string(work_node_isolation(n)));
		(void)json_object_set_new(
			o, "default", json_boolean(l->dflt && !strcmp(l->dflt, id)));
		(void)json_object_set_new(o, "in_flight", json_integer(n ? n->load : 0));
		(void)json_object_set_new(o, "in_flight_known", json_boolean(n != NULL));
		cl_take_json(o);
		return;
	}
	if (n)
		(void)snprintf(load, sizeof(load), "%lld", (long long)n->load);
	fleet_age(l->f, h->last_seen, seen);
	cl_table_add(&l->table, id);
	cl_table_add(&l->table, n ? n->x->kind : "-");
	cl_table_add(&l->table, pl_health_name(h->state));
	cl_table_add(&l->table, load);
	cl_table_add(&l->table, seen);
	cl_table_add(&l->table, h->reason);
}

/* A row of an executor that was taken out of the configuration. */
static int leftover(const struct store_health *row, void *arg, struct cl_err *e)
{
	struct listing *l = arg;
	struct work_node gone = {.x = NULL}, *n;
	struct cl_err ignored;

	(void)e;
	if (!work_fleet_find(&l->f->fleet, row->executor_id, &n, &ignored))
		return 0;
	work_node_health(&gone, row);
	line(l, row->executor_id, NULL, &gone.health);
	return 0;
}

/* What is configured but out of service is as unreachable as it gets. */
static struct hl_health shown(const struct work_node *n)
{
	struct hl_health h = n->health;

	if (!n->x->disabled_reason)
		return h;
	h.state = PL_UNREACHABLE;
	(void)snprintf(h.reason, sizeof(h.reason), "%.*s", (int)(sizeof(h.reason) - 1),
		n->x->disabled_reason);
	cl_mask(h.reason, "");
	return h;
}

int cmd_executor_ls(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const head[] = {
		"ID", "KIND", "STATE", "IN-FLIGHT", "LAST-SEEN", "REASON"};
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	struct listing l = {.c = c, .f = &f};
	int rc;

	/* For people it is asked often, and shows nothing that is signed. */
	if (c->json ? fleet_cmd_open(c, STORE_RO, &f, e) : fleet_cmd_look(c, STORE_RO, &f, e))
		return -1;
	l.dflt = c->json ? default_id(&f) : NULL;
	cl_table_init(&l.table, CL_ARRAY_LEN(head));
	for (size_t i = 0; i < CL_ARRAY_LEN(head); i++)
		cl_table_add(&l.table, head[i]);
	for (size_t i = 0; i < f.fleet.n; i++) {
		const struct work_node *n = &f.fleet.v[i];
		const struct hl_health h = shown(n);

		if (n->x->enabled || n->x->disabled_reason)
			line(&l, n->x->id, n, &h);
	}
	rc = f.fleet.strays ? store_health_each(f.store, leftover, &l, e) : 0;
	if (!rc && !c->json && l.n)
		cl_table_print(&l.table, stdout);
	else if (!rc && !c->json)
		(void)puts("no executors are on");
	cl_table_release(&l.table);
	return rc;
}
