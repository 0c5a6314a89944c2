/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "store/journal.h"

#include <errno.h>
#include <stdlib.h>

static int row(const struct store_journal *j, void *arg, struct cl_err *e)
{
	const struct cl_ctx *c = arg;
	cleanup_free char *text = NULL;
	char at[32];

	(void)e;
	if (c->json) {
		cl_take_json(store_journal_json(j));
		return 0;
	}
	cl_format_time(j->at / 1000, at);
	/* Names of files in a workspace are in there, and a workload chooses those. */
	text = cl_strdup(j->text);
	cl_mask(text, "");
	(void)printf("%s  %-18s  %s%s%s\n", at, j->kind, j->run_id ? j->run_id : "",
		j->run_id ? "  " : "", text);
	return 0;
}

int cmd_runs_journal(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_one_run struct one_run o = {HUB_INIT, NULL, STORE_RUN_INIT};
	const char *dir = cl_str_or(c, "project", ".");
	cleanup_free char *project = NULL;
	int64_t limit = cl_int(c, "limit", 100);

	if (cl_operand(c, 0)) {
		if (one_run_open(c, STORE_RO, &o, e))
			return -1;
		return store_journal_each(o.store, NULL, o.run.id, 0, limit, row, c, e);
	}
	if (hub_store_from_ctx(c, STORE_RO, &o.hub, &o.store, e))
		return -1;
	project = realpath(dir, NULL);
	if (!project)
		return cl_fail_sys(e, CL_ENOTFOUND, errno, "no project at '%s'", dir);
	return store_journal_each(o.store, project, NULL, 0, limit, row, c, e);
}
