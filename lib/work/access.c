/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work/access.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/fleet.h"
#include "sys/user.h"

#include <stdlib.h>
#include <unistd.h>

void work_who_release(struct work_who *w)
{
	free(w->user);
	cl_strv_release(&w->groups);
	*w = WORK_WHO_INIT;
}

static void add_group(gid_t gid, struct cl_strv *out)
{
	cleanup_free char *name = sys_group_name(gid);

	if (name)
		cl_strv_add(out, name);
}

void work_who(struct work_who *out)
{
	int n = getgroups(0, NULL);
	cleanup_free gid_t *ids = cl_calloc((size_t)(n > 0 ? n : 0) + 1, sizeof(*ids));

	out->user = sys_user_name(getuid());
	out->named = out->user != NULL;
	if (!out->user)
		out->user = cl_asprintf("uid:%u", (unsigned)getuid());
	add_group(getgid(), &out->groups);
	n = n > 0 ? getgroups(n, ids) : 0;
	for (int i = 0; i < n; i++)
		add_group(ids[i], &out->groups);
}

int work_access(
	struct store *s, const char *executor, bool *allowed, bool *listed, struct cl_err *e)
{
	cleanup_strv struct cl_strv entries = CL_STRV_INIT;
	cleanup_who struct work_who who = WORK_WHO_INIT;

	if (store_access_list(s, executor, &entries, e))
		return -1;
	if (listed)
		*listed = entries.n != 0;
	*allowed = !entries.n;
	/* Names are looked up only where somebody asks for them. */
	if (!entries.n)
		return 0;
	work_who(&who);
	*allowed = access_allows(&entries, &(struct access_who){who.user, &who.groups});
	return 0;
}

int work_access_check(struct store *s, const char *executor, struct cl_err *e)
{
	cleanup_who struct work_who who = WORK_WHO_INIT;
	cleanup_free char *word = cl_shell_word(executor);
	bool allowed;

	if (work_access(s, executor, &allowed, NULL, e))
		return -1;
	if (allowed)
		return 0;
	work_who(&who);
	(void)cl_fail(e, CL_EDENIED, "executor '%s' is restricted, and %s is not on its list",
		executor, who.user);
	(void)cl_constraint(e, "access");
	if (!who.named)
		return cl_fix(e, "use another executor, or run cloop as an account of this host: "
				 "lists hold names");
	return cl_fix(e,
		"use another executor, or have somebody add you: cloop executor access %s --add "
		"user:%s",
		word, who.user);
}
