/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job.h"
#include "base/mem.h"
#include "sys/path.h"
#include "work/hardware.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void job_init(struct job *j)
{
	*j = (struct job){.engine = ENGINE_INIT,
		.project_fd = -1,
		.go = -1,
		.net_lock = -1,
		.policy = EG_POLICY_INIT,
		.cg = CG_INIT,
		.oom = CG_OOM_INIT};
}

void job_release(struct job *j)
{
	engine_release(&j->engine);
	free(j->name);
	free(j->project);
	free(j->image);
	free(j->network);
	free(j->interfaces);
	free(j->table);
	eg_policy_release(&j->policy);
	eg_auth_release(&j->names);
	cg_oom_release(&j->oom);
	cg_release(&j->cg);
	if (j->project_fd >= 0)
		(void)close(j->project_fd);
	if (j->net_lock >= 0)
		(void)close(j->net_lock);
	job_init(j);
}

int job_open_project(struct job *j, struct cl_err *e)
{
	const struct work_spec *s = j->spec;
	struct sec_user who;
	cleanup_free gid_t *groups = NULL;
	struct stat st;

	j->project_fd = sys_resolve_dir(s->project, &j->project, e);
	if (j->project_fd < 0)
		return cl_wrap(e, "project '%s'", s->project);
	if (strcmp(j->project, s->project) != 0) {
		(void)cl_fail(e, CL_EREFUSED, "project '%s' is now '%s'", s->project, j->project);
		(void)cl_constraint(e, "project");
		return cl_fix(e,
			"something replaced the directory by a link; look at it, then run again");
	}
	if (fstat(j->project_fd, &st))
		return cl_fail_sys(e, CL_EOS, errno, "cannot look at '%s'", j->project);
	hardware_user(st.st_uid, st.st_gid, &who, &groups);
	j->uid = who.uid;
	j->gid = who.gid;
	if (j->uid || s->executor->allow_root_user)
		return 0;
	(void)cl_fail(e, CL_EREFUSED,
		"the project '%s' belongs to root, so its sandbox would run as root", j->project);
	(void)cl_constraint(e, "user");
	return cl_fix(e,
		"give it to an account of its own (chown -R USER '%s'), or set "
		"%s.allow_root_user: true",
		j->project, s->executor->key);
}
