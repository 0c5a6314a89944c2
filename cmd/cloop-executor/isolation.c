/* SPDX-License-Identifier: GPL-3.0-or-later */
/* probe, evidence: which kernel serves an executor's sandboxes, looked at now, and what is kept. */
#include "executor.h"
#include "base/mem.h"
#include "base/num.h"
#include "work/isolation.h"

#include <stdio.h>
#include <string.h>

static struct isolation_ask ask(const struct fleet_cmd *f, const struct cfg_executor *x)
{
	return (struct isolation_ask){
		.store = f->store, .hub_dir = f->hub.dir, .doc = &f->doc, .executor = x};
}

/* ---- probe ---- */

static void print(
	const struct cl_ctx *c, const struct store_isolation *row, const struct iso_answer *answer)
{
	cleanup_buf struct cl_buf name = CL_BUF_INIT, out = CL_BUF_INIT;
	json_t *j;

	if (c->json) {
		j = store_isolation_json(row);
		(void)json_object_set_new(j, "kept", json_boolean(answer->kept));
		(void)json_object_set_new(j, "fix", json_string(answer->fix));
		cl_take_json(j);
		return;
	}
	cl_buf_addf(&name, "%s, %s", row->executor_id,
		*row->runtime ? row->runtime : "the engine's default runtime");
	iso_answer_text(answer, name.p, &out);
	(void)fputs(out.p, stdout);
}

/* *worst: the exit status. */
static int take(const struct cl_ctx *c, const struct fleet_cmd *f, const struct cfg_executor *x,
	int *worst, struct cl_err *e)
{
	cleanup_isolation struct store_isolation was = STORE_ISOLATION_INIT,
						 row = STORE_ISOLATION_INIT;
	const struct isolation_ask q = ask(f, x);
	struct iso_answer answer;
	bool found = false;
	int status;

	if (cl_flag(c, "stale")) {
		if (isolation_read(&q, &was, &found, e))
			return -1;
		if (!isolation_due(&q, found ? &was : NULL, NULL))
			return 0;
	}
	if (isolation_take(&q, cl_int(c, "timeout", 0), &row, &answer, e))
		return cl_wrap(e, "%s", x->id);
	print(c, &row, &answer);
	status = answer.standing == ISO_CONTRADICTED ? 1
		 : answer.standing == ISO_UNVERIFIED ? 2
						     : 0;
	if (status && (*worst != 1))
		*worst = status;
	return 0;
}

int cmd_executor_probe(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	const struct cfg_executor *x;
	int worst = 0;

	if (fleet_cmd_open(c, STORE_RW, &f, e))
		return -1;
	if (cl_operand(c, 0))
		return cfg_executor(&f.cfg, cl_operand(c, 0), &x, e) || take(c, &f, x, &worst, e)
			       ? -1
			       : worst;
	for (size_t i = 0; i < f.cfg.nexecutors; i++) {
		x = &f.cfg.executors[i];
		if (x->enabled && !x->disabled_reason && !strcmp(x->kind, "container") &&
			take(c, &f, x, &worst, e))
			return -1;
	}
	return worst;
}

/* ---- evidence ---- */

struct listing {
	const struct cl_ctx *c;
	const struct fleet_cmd *f;
	struct cl_table table;
};

static const struct cfg_executor *find(const struct cfg *cfg, const struct store_isolation *r)
{
	for (size_t i = 0; i < cfg->nexecutors; i++)
		if (!strcmp(cfg->executors[i].id, r->executor_id) &&
			!strcmp(isolation_runtime(&cfg->executors[i]), r->runtime))
			return &cfg->executors[i];
	return NULL;
}

static int add_row(const struct store_isolation *r, void *arg, struct cl_err *e)
{
	struct listing *l = arg;
	const struct cfg_executor *x = find(&l->f->cfg, r);
	const char *due = "the executor has another runtime now, or is gone";
	char at[32] = "never";
	json_t *j;

	(void)e;
	if (x) {
		const struct isolation_ask q = ask(l->f, x);

		(void)isolation_due(&q, r, &due);
	}
	if (l->c->json) {
		j = store_isolation_json(r);
		(void)json_object_set_new(j, "due", due ? json_string(due) : json_null());
		cl_take_json(j);
		return 0;
	}
	if (r->taken_at)
		cl_format_time(r->taken_at / 1000, at);
	cl_table_add(&l->table, r->executor_id);
	cl_table_add(&l->table, *r->runtime ? r->runtime : "-");
	cl_table_add(&l->table, r->standing);
	cl_table_add(&l->table, r->verdict);
	cl_table_add(&l->table, at);
	cl_table_add(&l->table, due ? due : "-");
	cl_table_add(&l->table, r->failure ? r->failure : r->reason);
	return 0;
}

int cmd_executor_evidence(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const heads[] = {
		"EXECUTOR", "RUNTIME", "STANDING", "VERDICT", "FOUND", "DUE", "REASON"};
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	struct listing l = {.c = c, .f = &f};
	int rc;

	if (fleet_cmd_open(c, STORE_RO, &f, e))
		return -1;
	cl_table_init(&l.table, CL_ARRAY_LEN(heads));
	for (size_t i = 0; i < CL_ARRAY_LEN(heads); i++)
		cl_table_add(&l.table, heads[i]);
	rc = store_isolation_each(f.store, add_row, &l, e);
	if (!rc && !c->json)
		cl_table_print(&l.table, stdout);
	cl_table_release(&l.table);
	return rc;
}
