/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"
#include "base/mem.h"
#include "base/num.h"
#include "sys/clock.h"

#include <stdlib.h>
#include <string.h>

#define COMMAND_MAX 50 /* bytes of a command that a list shows */

struct listing {
	struct cl_ctx *c;
	struct cl_table table;
	size_t n;
};

/* The command as one line, shortened: "make -j8 check". */
static char *command(const char *argv_json)
{
	json_t *a = json_loads(argv_json, 0, NULL), *v;
	struct cl_buf b = CL_BUF_INIT;
	size_t i;

	json_array_foreach (a, i, v)
		cl_buf_addf(&b, "%s%s", i ? " " : "", json_string_value(v));
	json_decref(a);
	for (size_t k = 0; k < b.len; k++)
		if ((unsigned char)b.p[k] < 0x20)
			b.p[k] = ' ';
	if (b.len > COMMAND_MAX) {
		b.len = COMMAND_MAX - 3;
		while (b.len && ((unsigned char)b.p[b.len] & 0xc0) == 0x80)
			b.len--;
		cl_buf_adds(&b, "...");
	}
	return cl_buf_detach(&b);
}

static int row(const struct store_run *r, void *arg, struct cl_err *e)
{
	struct listing *l = arg;
	cleanup_free char *cmd = NULL;
	char age[24], status[48];

	(void)e;
	l->n++;
	if (l->c->json) {
		cl_take_json(store_run_json(r));
		return 0;
	}
	cmd = command(r->argv);
	cl_format_age(sys_now_ms() - r->created_at, age);
	if (r->outcome && r->exit_code >= 0)
		(void)snprintf(status, sizeof(status), "%s (%d)", r->outcome, (int)r->exit_code);
	else
		(void)snprintf(status, sizeof(status), "%s", r->outcome ? r->outcome : r->state);
	cl_table_add(&l->table, r->id);
	cl_table_add(&l->table, status);
	cl_table_add(&l->table, age);
	cl_table_add(&l->table, r->executor_id);
	cl_table_add(&l->table, r->project);
	cl_table_add(&l->table, cmd);
	return 0;
}

int cmd_runs_list(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const head[] = {
		"RUN", "STATUS", "AGE", "EXECUTOR", "PROJECT", "COMMAND"};
	cleanup_hub struct hub hub = HUB_INIT;
	cleanup_store struct store *store = NULL;
	struct store_run_filter f = STORE_RUN_FILTER_INIT;
	cleanup_free char *project = NULL;
	struct listing l = {.c = c};
	int rc;

	if (hub_store_from_ctx(c, STORE_RO, &hub, &store, e))
		return -1;
	if (cl_str(c, "project")) {
		project = realpath(cl_str(c, "project"), NULL);
		f.project = project ? project : cl_str(c, "project");
	}
	f.executor_id = cl_str(c, "executor");
	f.task = cl_str(c, "task");
	f.live = cl_flag(c, "live");
	f.limit = cl_int(c, "limit", 50);
	cl_table_init(&l.table, CL_ARRAY_LEN(head));
	for (size_t i = 0; i < CL_ARRAY_LEN(head); i++)
		cl_table_add(&l.table, head[i]);
	rc = store_run_each(store, &f, row, &l, e);
	if (!rc && !c->json && l.n)
		cl_table_print(&l.table, stdout);
	else if (!rc && !c->json)
		(void)puts("no runs");
	cl_table_release(&l.table);
	return rc;
}

static int id_only(const struct store_run *r, void *arg, struct cl_err *e)
{
	(void)arg;
	(void)e;
	(void)puts(r->id);
	return 0;
}

int cmd_runs_names(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_hub struct hub hub = HUB_INIT;
	cleanup_store struct store *store = NULL;
	struct store_run_filter f = STORE_RUN_FILTER_INIT;

	f.limit = 40;
	if (hub_store_from_ctx(c, STORE_RO, &hub, &store, e))
		return -1;
	return store_run_each(store, &f, id_only, NULL, e);
}
