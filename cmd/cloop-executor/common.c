/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "executor.h"
#include "base/mem.h"
#include "base/num.h"
#include "store/audit.h"
#include "sys/clock.h"

#include <unistd.h>

void fleet_cmd_release(struct fleet_cmd *f)
{
	work_fleet_release(&f->fleet);
	cfg_release(&f->cfg);
	cl_doc_release(&f->doc);
	store_close(f->store);
	hub_release(&f->hub);
}

int fleet_cmd_look(
	const struct cl_ctx *c, enum store_mode mode, struct fleet_cmd *out, struct cl_err *e)
{
	(void)snprintf(out->actor, sizeof(out->actor), "uid:%u", (unsigned)getuid());
	out->now = sys_now_ms();
	if (hub_store_from_ctx(c, mode, &out->hub, &out->store, e) ||
		hub_config(&out->hub, geteuid(), &out->doc, &out->cfg, e))
		return -1;
	return work_fleet_look(out->store, &out->cfg, out->now, &out->fleet, e);
}

int fleet_cmd_open(
	const struct cl_ctx *c, enum store_mode mode, struct fleet_cmd *out, struct cl_err *e)
{
	if (fleet_cmd_look(c, mode, out, e))
		return -1;
	return work_fleet_sign(out->store, out->hub.dir, &out->fleet, e);
}

int fleet_cmd_node(
	const struct cl_ctx *c, const struct fleet_cmd *f, struct work_node **out, struct cl_err *e)
{
	return work_fleet_find(&f->fleet, cl_operand(c, 0), out, e);
}

int fleet_audit(struct fleet_cmd *f, const char *action, const char *executor, const char *project,
	json_t *take_detail, struct cl_err *e)
{
	json_t *detail = take_detail ? take_detail : json_object();
	const struct store_audit_row row = {
		f->actor, action, "executor", executor, project, detail};
	int rc = store_audit_add(f->store, f->now, &row, e);

	json_decref(detail);
	return rc;
}

int health_put(struct fleet_cmd *f, const struct work_node *n, bool *won, struct cl_err *e)
{
	const struct hl_health *h = &n->health;
	char state[24], reason[sizeof(h->reason)];
	const struct store_health row = {.executor_id = n->x->id,
		.state = state,
		.reason = reason,
		.failures = h->failures,
		.last_seen = h->last_seen,
		.last_probe = h->last_probe,
		.next_probe = h->next_probe,
		.changed_at = h->changed_at,
		.changed_by = f->actor,
		.version = n->version};

	(void)snprintf(state, sizeof(state), "%s", pl_health_name(h->state));
	(void)snprintf(reason, sizeof(reason), "%s", h->reason);
	return store_health_put(f->store, &row, won, e);
}

int health_get(struct fleet_cmd *f, struct work_node *n, struct cl_err *e)
{
	cleanup_health struct store_health row = STORE_HEALTH_INIT;
	bool found;

	if (store_health_get(f->store, n->x->id, &row, &found, e))
		return -1;
	work_node_health(n, found ? &row : NULL);
	return 0;
}

void fleet_age(const struct fleet_cmd *f, int64_t at, char out[24])
{
	if (at)
		cl_format_age(f->now - at, out);
	else
		(void)snprintf(out, 24, "never");
}

void fleet_time(json_t *o, const char *key, int64_t at_ms)
{
	char text[32];

	if (!at_ms)
		return;
	cl_format_time(at_ms / 1000, text);
	(void)json_object_set_new(o, key, json_string(text));
}
