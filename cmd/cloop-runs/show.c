/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runs.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"

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

int cmd_runs_show(struct cl_ctx *c, struct cl_err *e)
{
	static const char *const order[] = {"id", "state", "outcome", "exit_code", "error",
		"project", "executor_id", "handle_id", "argv", "harness", "task", "uid", "detached",
		"created_at", "started_at", "finished_at", "deadline", "image_requested", "image",
		"image_digest", "reproducible", "spec_sha256", "setup_sha256", "limits", "clamps",
		"egress"};
	cleanup_one_run struct one_run o = {HUB_INIT, NULL, STORE_RUN_INIT};
	json_t *j;

	if (one_run_open(c, STORE_RO, &o, e))
		return -1;
	j = store_run_json(&o.run);
	if (c->json) {
		cl_take_json(j);
		return 0;
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(order); i++)
		line(order[i], json_object_get(j, order[i]));
	json_decref(j);
	return 0;
}
