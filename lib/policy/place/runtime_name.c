/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/place/runtime_name.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

struct matcher {
	const char *const *equal, *const *prefix, *const *inner;
};

static const struct matcher kata = {
	(const char *const[]){"kata", "katacontainers", NULL},
	(const char *const[]){"kata-", "kata.", NULL},
	(const char *const[]){".kata.", NULL},
};

static const struct matcher gvisor = {
	(const char *const[]){"runsc", "gvisor", NULL},
	(const char *const[]){"runsc-", "runsc.", "gvisor-", "gvisor.", NULL},
	(const char *const[]){".runsc.", ".gvisor.", NULL},
};

static bool matches(const struct matcher *m, const char *name)
{
	cleanup_free char *s = NULL;

	if (!name)
		return false;
	s = cl_trim_dup(name);
	cl_lower(s);
	for (const char *const *p = m->equal; *p; p++)
		if (!strcmp(s, *p))
			return true;
	for (const char *const *p = m->prefix; *p; p++)
		if (cl_starts(s, *p))
			return true;
	for (const char *const *p = m->inner; *p; p++)
		if (strstr(s, *p))
			return true;
	return false;
}

bool rn_virtualized(const char *name)
{
	return matches(&kata, name);
}

bool rn_userspace_kernel(const char *name)
{
	return matches(&gvisor, name);
}

bool rn_kernel_isolated(const char *name)
{
	return rn_virtualized(name) || rn_userspace_kernel(name);
}

int rn_check(const char *name, struct cl_err *e)
{
	if (strlen(name) <= RN_MAX && *name != '-' && cl_all_in(name, CL_ALNUM "._-"))
		return 0;
	(void)cl_fail(e, CL_ECONFIG, "oci_runtime '%.80s' is not the name of a runtime", name);
	return cl_fix(e,
		"use a name that the engine has registered, such as runsc or kata: 1-%d of "
		"letters, digits, '.', '_' and '-', never a path",
		RN_MAX);
}

int rn_near(const char *name, struct cl_err *e)
{
	static const char *const known[] = {"runc", "runsc", "crun", "kata", "kata-runtime",
		"gvisor", "youki", "katacontainers", "nvidia"};
	const char *others[CL_ARRAY_LEN(known)];
	const char *near = cl_nearest(name, known, CL_ARRAY_LEN(known)), *next;
	size_t n = 0;

	if (!near || !strcmp(near, name) || rn_kernel_isolated(name))
		return 0;
	for (size_t i = 0; i < CL_ARRAY_LEN(known); i++)
		if (known[i] != near)
			others[n++] = known[i];
	next = cl_nearest(name, others, n);
	(void)cl_fail(e, CL_ECONFIG, "'%.80s' is the name of no well-known runtime", name);
	if (next)
		return cl_fix(e, "did you mean '%s' or '%s'?", near, next);
	return cl_fix(e, "did you mean '%s'?", near);
}
