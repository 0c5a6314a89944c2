/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking a binding away needs no key, as revoking needs none (DECISIONS K9). */
#include "executor.h"
#include "base/mem.h"
#include "work/project.h"

#include <string.h>

static int subject(const struct cl_ctx *c, char **project, struct cl_err *e)
{
	cleanup_free char *path = NULL;

	if (cl_flag(c, "default") && cl_given(c, "project"))
		return cl_usage(c, e, "--default is of every project: give it or --project");
	if (cl_flag(c, "default")) {
		*project = cl_strdup("");
		return 0;
	}
	if (work_project_path(cl_str_or(c, "project", "."), &path, e))
		return -1;
	*project = work_project_of(path);
	return 0;
}

int cmd_executor_unbind(struct cl_ctx *c, struct cl_err *e)
{
	cleanup_fleet_cmd struct fleet_cmd f = FLEET_CMD_INIT;
	cleanup_binding struct store_binding old = STORE_BINDING_INIT;
	cleanup_free char *project = NULL;
	cleanup_txn struct store_txn t = {0};
	const char *name;
	bool found, was = false;

	if (subject(c, &project, e) || fleet_cmd_open(c, STORE_RW, &f, e) ||
		store_begin(f.store, &t, e) ||
		store_binding_get(f.store, project, &old, &found, e) ||
		store_binding_delete(f.store, project, &was, e) ||
		(was && fleet_audit(&f, "executor.unbind", old.executor_id, project,
				json_pack("{s:o}", "project", cl_json_string(project)), e)) ||
		store_commit(&t, e))
		return -1;
	name = *project ? project : "default";
	if (c->json)
		cl_take_json(json_pack("{s:o, s:b, s:o, s:b}", "project",
			*project ? cl_json_string(project) : json_null(), "default", !*project,
			"before", found ? cl_json_string(old.executor_id) : json_null(), "changed",
			was));
	else if (was)
		(void)printf("%s: no longer %s\n", name, old.executor_id);
	else
		(void)printf("%s: bound to none\n", name);
	return 0;
}
