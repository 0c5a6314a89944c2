/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/user.h"
#include "base/mem.h"
#include "sys/proc.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define GETENT_MS 10000

static char *of_file(uid_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd pw, *found = NULL;
	char space[4096];
	char *name = NULL;

	/* "+" lines bring in other sources, which getent knows. */
	while (f && !name && !fgetpwent_r(f, &pw, space, sizeof(space), &found))
		if (pw.pw_uid == uid && *pw.pw_name != '+' && *pw.pw_name != '-')
			name = cl_strdup(pw.pw_name);
	if (f)
		(void)fclose(f);
	return name;
}

static char *of_getent(uid_t uid)
{
	cleanup_free char *number = cl_asprintf("%u", (unsigned)uid);
	char *argv[] = {(char *)(uintptr_t) "getent", (char *)(uintptr_t) "passwd", number, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;
	size_t len;

	r.spawn.path = "getent";
	r.spawn.argv = argv;
	r.spawn.new_session = true;
	r.timeout_ms = GETENT_MS;
	if (sys_run(&r, &e) || r.status || !r.out.len)
		return NULL;
	len = strcspn(r.out.p, ":\n");
	return len ? cl_strndup(r.out.p, len) : NULL;
}

char *sys_user_name(uid_t uid)
{
	char *name = of_file(uid);

	return name ? name : of_getent(uid);
}
