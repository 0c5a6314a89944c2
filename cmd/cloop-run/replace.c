/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run that takes the place of one whose executor was lost, and the one that must not run again. */
#include "run.h"
#include "base/mem.h"
#include "store/audit.h"
#include "store/journal.h"
#include "sys/clock.h"
#include "work/failover.h"

#include <stdlib.h>
#include <string.h>

char *run_argv_text(const struct cl_ctx *c)
{
	json_t *a = json_array();
	char *text;

	for (size_t i = 0; i < c->noperands; i++) {
		json_t *s = json_string(c->operands[i]);

		(void)json_array_append_new(a, s ? s : json_string(""));
	}
	text = cl_json_text(a);
	json_decref(a);
	return text;
}

static int not_that(const struct run_plan *p, const char *what, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED, "%s is not what %s was: its %s is another", "this run",
		p->lost.run_id, what);
	(void)cl_constraint(e, "session");
	return cl_fix(e, "'cloop runs show %s' has what it was", p->lost.run_id);
}

int run_replaces(struct cl_ctx *c, struct run_plan *p, struct cl_err *e)
{
	cleanup_free char *argv = run_argv_text(c), *workload = NULL;
	const char *id = cl_str(c, "replaces");

	if (!id)
		return 0;
	if (!cl_flag(c, "detach") || cl_given(c, "executor"))
		return cl_usage(c, e,
			"--replaces goes with --detach, and never with --executor: it is placed");
	if (store_session_get(p->store, id, &p->lost, e) ||
		store_run_get(p->store, p->lost.run_id, &p->lost_run, e))
		return -1;
	workload = store_workload(cl_str(c, "task"), argv);
	if (strcmp(p->lost.state, "requeued") != 0) {
		(void)cl_fail(e, CL_EREFUSED, "the session %s is %s: there is nothing to replace",
			p->lost.id, p->lost.state);
		(void)cl_constraint(e, "session");
		return cl_fix(e, "start the run anew, without --replaces");
	}
	if (strcmp(p->lost.project, p->project) != 0)
		return not_that(p, "project", e);
	if (strcmp(p->lost.workload, workload) != 0 || strcmp(p->lost_run.argv, argv) != 0)
		return not_that(p, "command or task", e);
	return 0;
}

int run_check_suspect(const struct cl_ctx *c, const struct run_plan *p, struct cl_err *e)
{
	cleanup_suspect struct store_suspect q = STORE_SUSPECT_INIT;
	cleanup_free char *argv = run_argv_text(c), *workload = NULL;
	bool found;

	workload = store_workload(cl_str(c, "task"), argv);
	if (store_suspect_find(p->store, p->project, workload, &q, &found, e))
		return -1;
	if (!found)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"the executors %s were lost while this workload ran on them: it may have taken "
		"them down",
		q.executors);
	(void)cl_constraint(e, "quarantine");
	return cl_fix(
		e, "when you know that it was not that: cloop executor pardon %s", q.session_id);
}

int run_note_replaced(const struct run_plan *p, int64_t now, struct cl_err *e)
{
	cleanup_free char *text = NULL;
	struct store_audit_row row = {
		"failover", "executor.failover", "executor", p->lost.executor_id, p->project, NULL};
	json_t *detail;
	int rc;

	if (!p->lost.id)
		return 0;
	text = cl_asprintf("run failed over from executor %s to %s: it was %s", p->lost.executor_id,
		p->executor->id, p->lost.run_id);
	row.detail = detail = json_pack("{s:s, s:s, s:s, s:s, s:I}", "session_id", p->lost.id,
		"run_id", p->lost.run_id, "to", p->executor->id, "replaced_by", p->id, "attempt",
		(json_int_t)p->lost.attempt + 1);
	rc = store_audit_add(p->store, now, &row, e) ||
	     store_journal_add(p->store, now, p->project, p->id, "failover", text, NULL, e);
	json_decref(detail);
	return rc ? -1 : 0;
}

/* What the same question would be answered with in a minute, too. */
static bool is_final(const struct cl_err *e)
{
	static const enum cl_code codes[] = {
		CL_ENO, CL_EREFUSED, CL_EDATA, CL_ENOTFOUND, CL_EDENIED, CL_ECONFIG};

	for (size_t i = 0; i < CL_ARRAY_LEN(codes); i++)
		if (e->code == codes[i])
			return true;
	return false;
}

void run_not_replaced(const struct run_plan *p, const struct cl_err *why)
{
	struct cl_err e;
	bool won;

	/* One that is replaced already is no longer requeued, and left as it is. */
	if (p->lost.id && (p->told || is_final(why)))
		(void)failover_give_up(p->store, &p->lost, INT64_MAX,
			p->told ? "no executor takes it" : why->msg, sys_now_ms(), &won, &e);
}
