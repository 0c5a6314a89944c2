/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sys/user.h"
#include "base/mem.h"
#include "sys/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GETENT_MS 10000

/* The first field of the line whose third is the number; lines of groups may be very long. */
static char *of_file(const char *path, const char *number)
{
	FILE *f = fopen(path, "re");
	char *line = NULL, *name = NULL;
	size_t room = 0, len = strlen(number);

	while (f && !name && getline(&line, &room, f) > 0) {
		char *second = strchr(line, ':'), *third = second ? strchr(second + 1, ':') : NULL;

		/* "+" lines bring in other sources, which getent knows. */
		if (third && second != line && !strchr("+-#", *line) &&
			!strncmp(third + 1, number, len) && third[1 + len] == ':')
			name = cl_strndup(line, (size_t)(second - line));
	}
	free(line);
	if (f)
		(void)fclose(f);
	return name;
}

static char *of_getent(const char *database, const char *number)
{
	char *argv[] = {(char *)(uintptr_t) "getent", (char *)(uintptr_t)database,
		(char *)(uintptr_t)number, NULL};
	cleanup_run struct sys_run r = SYS_RUN_INIT;
	struct cl_err e;
	size_t len;

	r.spawn.path = "getent";
	r.spawn.argv = argv;
	r.spawn.new_session = true;
	r.timeout_ms = GETENT_MS;
	r.max_output = 4096; /* the name; of members there may be any number */
	if (sys_run(&r, &e) || r.status || !r.out.len)
		return NULL;
	len = strcspn(r.out.p, ":\n");
	return len ? cl_strndup(r.out.p, len) : NULL;
}

static char *name_of(const char *database, const char *path, unsigned id)
{
	cleanup_free char *number = cl_asprintf("%u", id);
	char *name = of_file(path, number);

	return name ? name : of_getent(database, number);
}

char *sys_user_name(uid_t uid)
{
	return name_of("passwd", "/etc/passwd", (unsigned)uid);
}

char *sys_group_name(gid_t gid)
{
	return name_of("group", "/etc/group", (unsigned)gid);
}
