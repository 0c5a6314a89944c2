/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "store/journal.h"

#include <errno.h>
#include <stdlib.h>

static int row_json(const struct store_journal *j, void *arg, struct cl_err *e)
{
	(void)arg;
	(void)e;
	cl_take_json(store_journal_json(j));
	return 0;
}

static int row_text(const struct store_journal *j, void *arg, struct cl_err *e)
{
	/* Names of files in a workspace are in there, and a workload chooses those. */
	cleanup_free char *text = cl_strdup(j->text);
	struct cl_table *t = arg;
	char at[32];

	(void)e;
	cl_mask(text, "");
	cl_format_time(j->at / 1000, at);
	cl_table_add(t, at);
	cl_table_add(t, j->kind);
	cl_table_add(t, j->run_id ? j->run_id : "-");
	cl_table_add(t, text);
	return 0;
}

static int list(
	struct cl_ctx *c, struct store *s, const char *project, const char *run, struct cl_err *e)
{
	struct cl_table t;
	int rc;

	cl_table_init(&t, 4);
	rc = store_journal_each(
		s, project, run, 0, cl_int(c, "limit", 100), c->json ? row_json : row_text, &t, e);
	cl_table_print(&t, stdout);
	cl_table_release(&t);
	return rc;
}

int cmd_runs_journal(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_one_run struct one_run o = {HUB_INIT, NULL, STORE_RUN_INIT};
	const char *dir = cl_str_or(c, "project", ".");
	cleanup_free char *project = NULL;

	if (cl_operand(c, 0)) {
		if (one_run_open(c, STORE_RO, &o, e))
			return -1;
		return list(c, o.store, NULL, o.run.id, e);
	}
	if (hub_store_from_ctx(c, STORE_RO, &o.hub, &o.store, e))
		return -1;
	project = realpath(dir, NULL);
	if (!project)
		return cl_fail_sys(e, CL_ENOTFOUND, errno, "no project at '%s'", dir);
	return list(c, o.store, project, NULL, e);
}
