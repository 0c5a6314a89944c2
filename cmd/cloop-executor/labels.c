/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Showing labels, and taking the stored ones away, need no key (DECISIONS K9); setting does. */
#include "executor.h"
#include "base/mem.h"

#include <string.h>

static const char *source(const struct work_node *n, const struct sec_label *l)
{
	const char *configured = json_string_value(json_object_get(n->x->labels, l->key));

	return configured && !strcmp(configured, l->value) ? "configuration" : "stored";
}

static void show(const struct cl_ctx *c, const struct work_node *n)
{
	json_t *labels = json_object(), *from = json_object();
	struct cl_table t;

	cl_table_init(&t, 3);
	for (size_t i = 0; i < n->labels.n; i++) {
		const struct sec_label *l = &n->labels.v[i];

		(void)json_object_set_new(labels, l->key, cl_json_string(l->value));
		(void)json_object_set_new(from, l->key, json_string(source(n, l)));
		cl_table_add(&t, l->key);
		cl_table_add(&t, l->value);
		cl_table_add(&t, source(n, l));
	}
	if (n->forged)
		cl_warn(c, WORK_FORGED_LABELS, n->x->id);
	if (c->json) {
		cl_take_json(
			json_pack("{s:o, s:o, s:o, s:b}", "executor_id", cl_json_string(n->x->id),
				"labels", labels, "from", from, "forged", n->forged));
	} else {
		json_decref(labels);
		json_decref(from);
		if (n->labels.n)
			cl_table_print(&t, stdout);
		else
			(void)printf("%s: no labels\n", n->x->id);
	}
	cl_table_release(&t);
}

static int clear(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	cleanup_txn struct store_txn t = {0};
	cleanup_label_row struct store_labels row = STORE_LABELS_INIT;
	struct work_node *n;
	bool was, found, undone;

	if (fleet_cmd_open(c, STORE_RW, &f, e) || fleet_cmd_node(c, &f, &n, e) ||
		store_begin(f.store, &t, e) ||
		store_labels_get(f.store, n->x->id, &row, &found, &undone, e) ||
		store_labels_delete(f.store, n->x->id, &was, e))
		return -1;
	/* Of labels that somebody took away nobody has said so yet. */
	was = was || undone;
	if ((was && fleet_audit(&f, "executor.labels", n->x->id, NULL, json_pack("{s:n}", "after"),
			    e)) ||
		store_commit(&t, e))
		return -1;
	if (c->json)
		cl_take_json(json_pack("{s:o, s:n, s:b}", "executor_id", cl_json_string(n->x->id),
			"stored", "changed", was));
	else
		(void)printf(
			"%s: %s\n", n->x->id, was ? "stored labels are gone" : "no stored labels");
	return 0;
}

int cmd_executor_labels(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	struct work_node *n;

	if (cl_flag(c, "clear") && c->noperands > 1)
		return cl_usage(c, e, "--clear takes all stored labels away: give it or labels");
	if (cl_flag(c, "clear"))
		return clear(c, e);
	if (c->noperands > 1)
		return cmd_executor_key(c, e);
	if (fleet_cmd_open(c, STORE_RO, &f, e) || fleet_cmd_node(c, &f, &n, e))
		return -1;
	show(c, n);
	return 0;
}
