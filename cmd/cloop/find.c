/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "front.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/proc.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Other names that the guides type for a command. */
static const struct {
	const char *typed, *name;
} aliases[] = {
	{"isolation-probe", "probe"},
};

/*
 * Ours by name and place, but not for a person to type: four run inside a sandbox, the others are
 * parts of other commands that hold keys, link what those do not load, or speak to a forge or a
 * registry.
 */
static bool internal(const char *name)
{
	static const char *const names[] = {"init", "isolation-probe", "confine-test",
		"device-trial", "hub-key", "executor-key", "forge", "interfaces", "registry"};

	for (size_t i = 0; i < CL_ARRAY_LEN(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static const char *real_name(const char *typed)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(aliases); i++)
		if (!strcmp(aliases[i].typed, typed))
			return aliases[i].name;
	return typed;
}

/* The folders that hold our own commands: beside us (a build), or the installed libexec. */
static char *own_path(void)
{
	cleanup_free char *dir = cl_libexec_dir();

	return cl_asprintf("%s:%s/../libexec/cloop", dir, dir);
}

char *front_find(const char *name)
{
	cleanup_free char *own = own_path(), *file = cl_asprintf("cloop-%s", real_name(name));
	const char *path = getenv("PATH");
	char *found;

	if (!cl_all_in(name, CL_ALNUM "-_") || internal(real_name(name)))
		return NULL;
	found = sys_find_on(own, file);
	return found ? found : sys_find_on(path ? path : SYS_PATH, file);
}

static void names_in(const char *dir, struct cl_strv *out)
{
	DIR *d = opendir(dir);
	const struct dirent *de;

	while (d && (de = readdir(d))) {
		cleanup_free char *p = NULL;

		if (!cl_starts(de->d_name, "cloop-") || !cl_all_in(de->d_name + 6, CL_ALNUM "-_") ||
			internal(de->d_name + 6))
			continue;
		p = cl_asprintf("%s/%s", dir, de->d_name);
		if (!access(p, X_OK))
			cl_strv_add(out, de->d_name + 6);
	}
	if (d)
		(void)closedir(d);
}

void front_names(struct cl_strv *out)
{
	cleanup_free char *own = own_path(), *all = NULL;
	cleanup_strv struct cl_strv dirs = CL_STRV_INIT;
	const char *path = getenv("PATH");

	all = cl_asprintf("%s:%s", own, path ? path : SYS_PATH);
	cl_split(all, ':', &dirs);
	for (size_t i = 0; i < dirs.n; i++)
		if (dirs.v[i][0] == '/')
			names_in(dirs.v[i], out);
	cl_strv_sort(out);
	cl_strv_uniq(out);
}

static int unknown(const char *name, struct cl_err *e)
{
	cleanup_strv struct cl_strv names = CL_STRV_INIT;
	const char *near;

	front_names(&names);
	for (const struct cl_verb *v = front_spec.verbs; v->name; v++)
		cl_strv_add(&names, v->name);
	near = cl_nearest(name, (const char *const *)names.v, names.n);
	(void)cl_fail(e, CL_EUSAGE, "'%s' is not a cloop command", name);
	if (near)
		return cl_fix(e, "did you mean 'cloop %s'?", near);
	return cl_fix(e, "'cloop help' lists the commands");
}

int front_exec(const char *name, char **argv, struct cl_err *e)
{
	cleanup_free char *path = front_find(name);

	if (!path)
		return unknown(name, e);
	argv[0] = path;
	(void)execv(path, argv);
	return cl_fail_sys(e, CL_EOS, errno, "cannot run '%s'", path);
}
