/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which directory is a project, by the rules of confinement and with this hub's registry. */
#ifndef WORK_PROJECT_H
#define WORK_PROJECT_H

#include "policy/config/config.h"
#include "store/project.h"
#include "sys/confine.h"
#include "sys/hub.h"

/* ui.projects_root, or NULL. */
const char *work_projects_root(const struct cfg *c);
/*
 * confine_check for a directory as it was typed. *out is CONFINE_DIR_INIT. A refusal carries
 * the constraint "project".
 */
int work_confine(struct store *s, const struct hub *h, const struct cfg *c, const char *dir,
	enum confine_purpose purpose, struct confine_dir *out, struct cl_err *e);
/*
 * The path of a project that somebody names; one that is gone is known by its absolute path as it
 * is typed. Owned.
 */
int work_project_path(const char *dir, char **path, struct cl_err *e);
/* The project that a directory belongs to: itself, or for a feature's that of the feature; owned. */
char *work_project_of(const char *path);
/*
 * In the transaction of its run's row: registers a directory that is not yet, as `owner`'s.
 * CL_EREFUSED with rule confine.5 when another project or a claim came to overlap it meanwhile.
 */
int work_project_ensure(struct store *s, const char *path, uid_t owner, const char *by, int64_t now,
	struct cl_err *e);
/* A user's name, or "uid:N"; owned. */
char *work_user_name(uid_t uid);

#endif
