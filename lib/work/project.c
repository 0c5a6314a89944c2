/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/project.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/audit.h"
#include "sys/path.h"
#include "sys/user.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *work_projects_root(const struct cfg *c)
{
	const struct cfg_value *v = cfg_value(c, "ui.projects_root");
	const char *root = v ? json_string_value(v->value) : NULL;

	return root && *root ? root : NULL;
}

int work_confine(struct store *s, const struct hub *h, const struct cfg *c, const char *dir,
	enum confine_purpose purpose, struct confine_dir *out, struct cl_err *e)
{
	cleanup_strv struct cl_strv projects = CL_STRV_INIT;
	struct confine_ask ask = {.dir = dir,
		.purpose = purpose,
		.manage = true, /* whoever can write the hub's state */
		.hub = h->dir,
		.root = work_projects_root(c)};

	if (store_project_paths(s, &projects, e))
		return -1;
	ask.projects = (const char *const *)projects.v;
	ask.nprojects = projects.n;
	if (!confine_check(&ask, out, e))
		return 0;
	return e->constraint[0] ? -1 : cl_constraint(e, "project");
}

int work_project_path(const char *dir, char **path, struct cl_err *e)
{
	cleanup_fd int fd = sys_resolve_dir(dir, path, e);

	if (fd >= 0)
		return 0;
	if (e->code != CL_ENOTFOUND || *dir != '/')
		return -1;
	*path = confine_clean(dir);
	return 0;
}

char *work_project_of(const char *path)
{
	char *of = confine_feature_project(path);

	return of ? of : cl_strdup(path);
}

char *work_user_name(uid_t uid)
{
	char *name = sys_user_name(uid);

	return name ? name : cl_asprintf("uid:%u", (unsigned)uid);
}

static int overlaps(const char *path, const char *holder, struct cl_err *e)
{
	(void)cl_fail(e, CL_EREFUSED,
		"directory '%s' cannot be a project: it overlaps the registered project '%s'", path,
		holder);
	(void)cl_slug(e, "project_unconfined");
	(void)cl_constraint(e, "project");
	(void)cl_rule(e, "confine.5");
	return cl_fix(e, "choose a directory that overlaps no project");
}

int work_project_ensure(struct store *s, const char *path, uid_t owner, const char *by, int64_t now,
	struct cl_err *e)
{
	cleanup_project_row struct store_project row = STORE_PROJECT_INIT;
	cleanup_free char *holder = NULL;
	const char *name = strrchr(path, '/');
	struct store_audit_row audit = {by, "project.create", "project", path, path, NULL};
	json_t *detail;
	bool found, won;
	int rc;

	if (store_project_get(s, path, &row, &found, e))
		return -1;
	if (found)
		return 0;
	row = (struct store_project){.path = cl_strdup(path),
		.name = cl_strdup(name ? name + 1 : path),
		.owner = work_user_name(owner),
		.origin = cl_strdup("run"),
		.created_at = now,
		.created_by = cl_strdup(by)};
	if (store_project_add(s, &row, NULL, now, &won, &holder, e))
		return -1;
	if (!won)
		return overlaps(path, holder, e);
	detail = json_pack("{s:s, s:s}", "origin", "run", "owner", row.owner);
	audit.detail = detail;
	rc = store_audit_add(s, now, &audit, e);
	json_decref(detail);
	return rc;
}
