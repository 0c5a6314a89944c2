/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What belongs to nobody any more, collected by the executor's driver. */
#include "executor.h"
#include "base/mem.h"
#include "base/text.h"
#include "work/driver.h"

#include <string.h>

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "?";
}

/* Names are an engine's: nothing of them is sent to a terminal as it is. */
static void say(const struct cl_ctx *c, const json_t *answer)
{
	size_t n = json_array_size(json_object_get(answer, "removed"));
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(answer, "removed"), i, row) {
		cleanup_free char *line =
			cl_asprintf("removed %s (%s)", text_of(row, "name"), text_of(row, "why"));

		cl_mask(line, "");
		(void)puts(line);
	}
	json_array_foreach (json_object_get(answer, "failed"), i, row)
		cl_warn(c, "%s could not be removed: %s", text_of(row, "name"),
			text_of(row, "error"));
	if (n)
		(void)printf("%zu removed\n", n);
	else
		(void)puts("no orphans found");
}

int cmd_executor_reap(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	const struct cfg_executor *x;
	json_t *answer = NULL;
	int rc;

	if (fleet_cmd_look(c, STORE_RW, &f, e) ||
		cfg_executor_find(&f.cfg, cl_operand(c, 0), &x, e))
		return -1;
	if (work_driver_ask(x, &f.doc, f.hub.dir, "reap", NULL, &answer, e)) {
		if (e->code != CL_EUSAGE)
			return -1;
		(void)cl_fail(e, CL_EREFUSED,
			"executor '%s' collects nothing: its driver %s has "
			"no reap",
			x->id, x->driver);
		return cl_fix(e, "'cloop sweep' collects what its supervisors have left");
	}
	rc = json_array_size(json_object_get(answer, "failed")) ? 1 : 0;
	if (c->json)
		cl_take_json(json_incref(answer));
	else
		say(c, answer);
	json_decref(answer);
	return rc;
}
