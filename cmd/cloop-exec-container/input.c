/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine_verbs.h"
#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

char *exec_seccomp(const struct cfg_executor *x, bool raw, struct cl_err *e)
{
	static const char *const places[] = {
		"../../share/cloop/seccomp", "../../share/seccomp", "../../../share/seccomp"};
	const char *const names[2][2] = {
		{"strict.json", "strict-raw.json"}, {"userns.json", "userns-raw.json"}};
	const char *name = names[x->seccomp == CFG_SECCOMP_USERNS][raw];
	cleanup_free char *dir = cl_libexec_dir();

	cl_err_init(e);
	if (x->seccomp == CFG_SECCOMP_ENGINE)
		return NULL;
	for (size_t i = 0; i < CL_ARRAY_LEN(places); i++) {
		cleanup_free char *path = cl_asprintf("%s/%s/%s", dir, places[i], name);
		char *real = realpath(path, NULL);

		if (real)
			return real;
	}
	(void)cl_fail(e, CL_EUNAVAIL, "the seccomp profile '%s' is not installed", name);
	(void)cl_fix(e, "install cloop whole, with its share/cloop folder");
	return NULL;
}
