/* SPDX-License-Identifier: GPL-3.0-or-later */
/* status, wait, logs and signal: what is asked of a workload that is there. */
#include "work/verbs.h"
#include "base/err_json.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "work/control.h"
#include "work/logs.h"
#include "work/paths.h"
#include "work/rundir.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INPUT ((size_t)4 << 20)

typedef int (*read_fn)(
	const char *section, const char *text, size_t len, struct work_spec *out, struct cl_err *e);

static int read_with(read_fn fn, const char *section, struct work_spec *out, struct cl_err *e)
{
	cleanup_buf struct cl_buf in = CL_BUF_INIT;

	return cl_read_fd(STDIN_FILENO, "standard input", MAX_INPUT, &in, e) ||
			       fn(section, in.p, in.len, out, e)
		       ? -1
		       : 0;
}

int work_spec_in(const char *section, struct work_spec *out, struct cl_err *e)
{
	return read_with(work_spec_read, section, out, e);
}

int work_executor_in(const char *section, struct work_spec *out, struct cl_err *e)
{
	return read_with(work_executor_read, section, out, e);
}

int work_reaped_out(int rc, const char *executor_id, json_t *take_removed, json_t *take_failed)
{
	json_t *answer = json_pack("{s:s, s:o, s:o}", "executor_id", executor_id, "removed",
		take_removed, "failed", take_failed);

	if (rc)
		json_decref(answer);
	else
		cl_take_json(answer);
	return rc;
}

void handle_in_release(struct handle_in *h)
{
	store_handle_release(&h->row);
	store_close(h->store);
	free(h->state);
	cl_doc_release(&h->doc);
}

int handle_in_read(
	struct handle_in *h, const char *const *extra, enum store_mode mode, struct cl_err *e)
{
	cleanup_buf struct cl_buf in = CL_BUF_INIT;
	const char *known[8] = {"handle", "hub"}, *id = NULL;
	size_t n = 2;

	*h = (struct handle_in){.doc = CL_DOC_INIT, .row = STORE_HANDLE_INIT};
	while (extra && *extra && n < CL_ARRAY_LEN(known))
		known[n++] = *extra++;
	if (cl_read_fd(STDIN_FILENO, "standard input", 65536, &in, e) ||
		cl_doc_parse(&h->doc, CL_DOC_JSON, "standard input", in.p, in.len, NULL, e))
		return -1;
	if (!json_is_object(h->doc.root)) {
		(void)cl_fail(e, CL_EDATA, "standard input is not a JSON object");
		return cl_fix(e, "give {\"handle\":ID,\"hub\":DIR}, see cloop-exec(7)");
	}
	if (cl_doc_closed(&h->doc, h->doc.root, "", known, n, e) ||
		cl_doc_str(&h->doc, h->doc.root, "handle", &id, e) ||
		cl_doc_str(&h->doc, h->doc.root, "hub", &h->hub, e))
		return -1;
	if (!id || !h->hub) {
		(void)cl_fail(e, CL_EDATA, "'handle' and 'hub' are both needed");
		return cl_fix(e, "give {\"handle\":ID,\"hub\":DIR}, see cloop-exec(7)");
	}
	h->state = cl_asprintf("%s/.cloop/state.db", h->hub);
	if (store_open(h->state, mode, &h->store, e))
		return -1;
	return store_handle_get(h->store, id, &h->row, e);
}

/* {state, exit_code, outcome, error} of a handle, from what is recorded. */
static json_t *state_json(struct handle_in *h, bool *ended, struct cl_err *e)
{
	cleanup_run_row struct store_run run = STORE_RUN_INIT;
	json_t *j;

	*ended = strcmp(h->row.state, "live") != 0;
	if (!h->row.run_id || store_run_get(h->store, h->row.run_id, &run, e))
		return json_pack("{s:s}", "state", *ended ? "finished" : "running");
	*ended = *ended && !strcmp(run.state, "finished");
	j = json_pack("{s:s}", "state", *ended ? "finished" : "running");
	if (run.outcome)
		(void)json_object_set_new(j, "outcome", json_string(run.outcome));
	if (run.exit_code >= 0)
		(void)json_object_set_new(j, "exit_code", json_integer(run.exit_code));
	if (run.error)
		(void)json_object_set_new(j, "error", json_string(run.error));
	return j;
}

int work_verb_status(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_handle_in struct handle_in h;
	bool ended;

	(void)c;
	if (handle_in_read(&h, NULL, STORE_RO, e))
		return -1;
	cl_take_json(state_json(&h, &ended, e));
	return 0;
}

int work_verb_wait(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_handle_in struct handle_in h;

	(void)c;
	if (handle_in_read(&h, NULL, STORE_RO, e))
		return -1;
	for (;;) {
		cleanup_free char *id = cl_strdup(h.row.id);
		bool ended;
		json_t *j = state_json(&h, &ended, e);

		if (ended) {
			cl_take_json(j);
			return 0;
		}
		json_decref(j);
		work_nap(h.store, id);
		store_handle_release(&h.row);
		if (store_handle_get(h.store, id, &h.row, e))
			return -1;
	}
}

int work_verb_logs(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const extra[] = {"from_seq", NULL};
	cleanup_handle_in struct handle_in h;
	cleanup_free char *dir = NULL;
	int64_t from = 0;

	(void)c;
	if (handle_in_read(&h, extra, STORE_RO, e) ||
		cl_doc_int(&h.doc, h.doc.root, "from_seq", 0, INT64_MAX, &from, e))
		return -1;
	dir = cl_asprintf("%s/.cloop/logs/%s", h.hub, h.row.id);
	return work_logs_json(dir, (uint64_t)from, e);
}

int work_verb_signal(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const extra[] = {"signal", NULL};
	cleanup_free char *base = NULL;
	cleanup_rundir struct rundir rd = {0};
	cleanup_handle_in struct handle_in h;
	const char *name = NULL;
	json_t *msg;
	int rc;

	(void)c;
	if (handle_in_read(&h, extra, STORE_RO, e) ||
		cl_doc_str(&h.doc, h.doc.root, "signal", &name, e))
		return -1;
	if (!name) {
		(void)cl_fail(e, CL_EDATA, "'signal' is missing");
		return cl_fix(e, "give \"signal\": interrupt, terminate or kill");
	}
	/* What has ended needs no signal. */
	if (strcmp(h.row.state, "live") != 0) {
		cl_take_json(json_object());
		return 0;
	}
	base = work_base_of(&h.row);
	rundir_init(&rd, base, h.row.id);
	msg = json_pack("{s:s, s:s}", "op", "signal", "signal", name);
	rc = control_ask(rd.sock, msg, e);
	json_decref(msg);
	if (rc)
		return -1;
	cl_take_json(json_object());
	return 0;
}
