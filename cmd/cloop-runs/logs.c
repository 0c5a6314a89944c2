/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"
#include "base/mem.h"
#include "work/paths.h"
#include "work/logs.h"

#include <errno.h>
#include <string.h>

static void print_text(struct cl_ctx *c, const struct spool_record *r)
{
	if (r->stream == SPOOL_NOTE) {
		if (cl_flag(c, "notes"))
			cl_say(c, "%.*s", (int)r->len, r->data);
	} else {
		(void)fwrite(r->data, 1, r->len, r->stream == SPOOL_STDERR ? stderr : stdout);
	}
}

static int print_all(struct cl_ctx *c, struct spool_reader *r, uint64_t *last, struct cl_err *e)
{
	struct spool_record rec;
	bool got;

	for (;;) {
		if (spool_next(r, &rec, &got, e))
			return -1;
		if (!got)
			break;
		if (*last && rec.seq != *last + 1 && !c->json)
			cl_warn(c, "%llu chunks of output were dropped here",
				(unsigned long long)(rec.seq - *last - 1));
		*last = rec.seq;
		if (c->json)
			cl_take_json(work_log_json(&rec));
		else
			print_text(c, &rec);
	}
	if (fflush(stdout))
		return cl_fail_sys(e, CL_EOS, errno, "cannot write standard output");
	return 0;
}

int cmd_runs_logs(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_one_run struct one_run o = {HUB_INIT, NULL, STORE_RUN_INIT};
	cleanup_free char *logs = NULL, *dir = NULL, *id = NULL;
	struct spool_reader *r = NULL;
	uint64_t last = 0;
	int rc = 0;

	if (one_run_open(c, STORE_RO, &o, e))
		return -1;
	if (!o.run.handle_id)
		return cl_fail(e, CL_ENOTFOUND, "%s has no output: it never got to run", o.run.id);
	id = cl_strdup(o.run.id);
	logs = work_log_dir(&o.hub);
	dir = cl_asprintf("%s/%s", logs, o.run.handle_id);
	if (spool_reader_open(dir, (uint64_t)cl_int(c, "from", 0), &r, e)) {
		(void)cl_wrap(e, "%s", id);
		return cl_fix(
			e, "logs are kept for 14 days; 'cloop runs show %s' has the rest", id);
	}
	while (!rc) {
		bool finished = !strcmp(o.run.state, "finished");

		/* Looked at before the reading: what was written by then is read. */
		rc = print_all(c, r, &last, e);
		if (rc || finished || !cl_flag(c, "follow"))
			break;
		spool_wait(r, 500);
		store_run_release(&o.run);
		rc = store_run_get(o.store, id, &o.run, e);
	}
	spool_reader_close(r);
	return rc;
}
