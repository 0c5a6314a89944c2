/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/journal.h"
#include "work/blocked.h"
#include "work/paths.h"

#include <stdlib.h>
#include <string.h>

static void line(const char *key, const json_t *v)
{
	cleanup_free char *text = NULL;

	if (!v || json_is_null(v))
		return;
	text = json_is_string(v) ? cl_strdup(json_string_value(v)) : cl_json_text(v);
	cl_mask(text, ""); /* it quotes arguments, names and labels of others */
	(void)printf("%-16s  %s\n", key, text);
}

/* Of a run that goes on the kernel knows, if it may be asked. */
static void add_live_blocked(const struct one_run *o, json_t *j)
{
	cleanup_blocked_rows struct store_blocked_list rows = STORE_BLOCKED_INIT;
	cleanup_handle_row struct store_handle h = STORE_HANDLE_INIT;
	cleanup_free char *base = work_run_base();
	int64_t unrecorded = 0;
	struct cl_err e;
	json_t *sums;

	if (store_handle_of_run(o->store, o->run.id, &h, &e) || strcmp(h.state, "live") != 0 ||
		blocked_live(&h, base, &rows, &unrecorded, &e))
		return;
	sums = blocked_sums(&rows, unrecorded);
	if (sums)
		(void)json_object_set_new(j, "blocked", sums);
}

/* What was warned of when it started: rows of its journal that say so. */
static int add_warning(const struct store_journal *row, void *arg, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	(void)e;
	if (row->data &&
		!cl_doc_parse(&d, CL_DOC_JSON, "journal", row->data, strlen(row->data), NULL, e) &&
		json_is_true(json_object_get(d.root, "warning")))
		(void)json_array_append_new(arg, cl_json_string(row->text));
	return 0;
}

static int add_warnings(const struct one_run *o, json_t *j, struct cl_err *e)
{
	json_t *list = json_array();
	int rc = store_journal_each(o->store, NULL, o->run.id, 0, 0, add_warning, list, e);

	(void)json_object_set(j, "warnings", json_array_size(list) ? list : json_null());
	json_decref(list);
	return rc;
}

static void blocked_line(const char *id, const json_t *sums)
{
	if (json_is_object(sums))
		(void)printf("%-16s  %lld packets to %lld destinations; see: cloop egress blocked "
			     "--run %s\n",
			"blocked", (long long)json_integer_value(json_object_get(sums, "packets")),
			(long long)json_integer_value(json_object_get(sums, "destinations")), id);
}

int cmd_runs_show(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const order[] = {"id", "state", "outcome", "exit_code", "error",
		"project", "executor_id", "handle_id", "argv", "harness", "task", "uid", "detached",
		"created_at", "started_at", "finished_at", "deadline", "image_requested", "image",
		"image_digest", "reproducible", "spec_sha256", "setup_sha256", "limits", "clamps",
		"warnings", "egress"};
	cleanup_one_run struct one_run o = {HUB_INIT, NULL, STORE_RUN_INIT};
	json_t *j;

	if (one_run_open(c, STORE_RO, &o, e))
		return -1;
	j = store_run_json(&o.run);
	if (add_warnings(&o, j, e)) {
		json_decref(j);
		return -1;
	}
	if (json_is_null(json_object_get(j, "blocked")))
		add_live_blocked(&o, j);
	if (c->json) {
		cl_take_json(j);
		return 0;
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(order); i++)
		line(order[i], json_object_get(j, order[i]));
	blocked_line(o.run.id, json_object_get(j, "blocked"));
	json_decref(j);
	return 0;
}
