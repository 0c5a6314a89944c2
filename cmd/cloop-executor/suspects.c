/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workloads that two executors were lost with: listed with the executors, and let go. */
#include "executor.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/audit.h"
#include "store/journal.h"
#include "store/session.h"

#include <stdlib.h>
#include <string.h>

struct listing {
	const struct cl_ctx *c;
	const struct fleet_cmd *f;
	struct cl_table table;
	size_t n;
};

/* "task T-1", or the command of the last run that it was. Owned. */
static char *words(const struct fleet_cmd *f, const struct store_suspect *q)
{
	cleanup_session struct store_session s = STORE_SESSION_INIT;
	cleanup_run_row struct store_run r = STORE_RUN_INIT;
	struct cl_err e;
	char *text;

	if (cl_starts(q->workload, "task:"))
		text = cl_asprintf("task %s", q->workload + strlen("task:"));
	else if (!store_session_get(f->store, q->session_id, &s, &e) &&
		 !store_run_get(f->store, s.run_id, &r, &e))
		text = cl_strdup(r.argv);
	else
		text = cl_strdup(q->workload);
	cl_mask(text, "");
	return text;
}

static char *release_of(const struct store_suspect *q)
{
	return cl_asprintf("cloop executor pardon %s", q->session_id);
}

static int line(const struct store_suspect *q, void *arg, struct cl_err *e)
{
	cleanup_free char *release = release_of(q), *what = NULL;
	struct listing *l = arg;
	char age[24];

	(void)e;
	l->n++;
	if (l->c->json) {
		json_t *o = store_suspect_json(q);

		(void)json_object_set_new(o, "suspect", json_true());
		(void)json_object_set_new(o, "release", json_string(release));
		cl_take_json(o);
		return 0;
	}
	what = words(l->f, q);
	fleet_age(l->f, q->lost_at, age);
	cl_table_add(&l->table, q->project);
	cl_table_add(&l->table, what);
	cl_table_add(&l->table, q->executors);
	cl_table_add(&l->table, age);
	cl_table_add(&l->table, release);
	return 0;
}

int fleet_suspects(const struct cl_ctx *c, const struct fleet_cmd *f, struct cl_err *e)
{
	static const char *const head[] = {"PROJECT", "SUSPECT", "LOST WITH", "LAST", "LET GO BY"};
	struct listing l = {.c = c, .f = f};
	int rc;

	cl_table_init(&l.table, CL_ARRAY_LEN(head));
	for (size_t i = 0; i < CL_ARRAY_LEN(head); i++)
		cl_table_add(&l.table, head[i]);
	rc = store_suspect_each(f->store, line, &l, e);
	if (!rc && !c->json && l.n) {
		(void)puts("\nsuspected node killers:");
		cl_table_print(&l.table, stdout);
	} else if (!rc && !c->json) {
		(void)puts("\nno suspected node killers");
	}
	cl_table_release(&l.table);
	return rc;
}

static int forget(struct fleet_cmd *f, const struct store_session *s, int64_t *n, struct cl_err *e)
{
	json_t *detail = json_pack("{s:s, s:s}", "workload", s->workload, "run_id", s->run_id);
	const struct store_audit_row row = {
		f->actor, "task.quarantine_release", "session", s->id, s->project, detail};
	cleanup_txn struct store_txn t = {0};
	int rc = store_begin(f->store, &t, e) ||
		 store_session_pardon(f->store, s->project, s->workload, n, e) ||
		 (*n && (store_audit_add(f->store, f->now, &row, e) ||
				store_journal_add(f->store, f->now, s->project, s->run_id,
					"quarantine", "the workload may run again", NULL, e))) ||
		 store_commit(&t, e);

	json_decref(detail);
	return rc ? -1 : 0;
}

int cmd_executor_pardon(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_session struct store_session s = STORE_SESSION_INIT;
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	int64_t n = 0;

	if (fleet_cmd_look(c, STORE_RW, &f, e) ||
		store_session_get(f.store, cl_operand(c, 0), &s, e) || forget(&f, &s, &n, e))
		return -1;
	if (c->json)
		cl_take_json(json_pack("{s:s, s:s, s:s, s:I}", "session_id", s.id, "project",
			s.project, "workload", s.workload, "losses_forgotten", (json_int_t)n));
	else if (n)
		(void)printf("%s: %lld loss%s forgotten, it may run again\n", s.id, (long long)n,
			n == 1 ? "" : "es");
	else
		(void)printf("%s: nothing is held against it\n", s.id);
	return 0;
}
