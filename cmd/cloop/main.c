/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "front.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* True when the word is a verb of the front command itself. */
static bool own_verb(const char *word)
{
	for (const struct cl_verb *v = front_spec.verbs; v->name; v++)
		if (!strcmp(v->name, word))
			return true;
	return false;
}

/* The directory of -C DIR, -CDIR, --dir DIR or --dir=DIR at *i, which then is on its last word. */
static const char *dir_option(int argc, char **argv, int *i)
{
	const char *a = argv[*i];

	if (!strcmp(a, "-C") || !strcmp(a, "--dir"))
		return *i + 1 < argc ? argv[++*i] : NULL;
	if (!strncmp(a, "-C", 2))
		return a + 2;
	return !strncmp(a, "--dir=", 6) ? a + 6 : NULL;
}

/*
 * `cloop [-C DIR] [--json] NAME ...` becomes `cloop-NAME [--json] ...` before anything is
 * parsed: the command knows its own options. Everything else is the front command's own.
 */
int main(int argc, char **argv)
{
	bool json = false;
	const char *name;
	struct cl_err e;
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		const char *dir = NULL;

		if (!strcmp(argv[i], "--json"))
			json = true;
		else if ((dir = dir_option(argc, argv, &i)))
			(void)setenv("CLOOP_DIR", dir, 1);
		else
			break;
	}
	if (i >= argc && !json) {
		char *help[] = {argv[0], (char *)"help", NULL};

		(void)cl_main(&front_spec, 2, help);
		return 64;
	}
	if (i >= argc || argv[i][0] == '-' || own_verb(argv[i]))
		return cl_main(&front_spec, argc, argv);
	name = argv[i];
	if (json)
		argv[i--] = (char *)"--json";
	(void)front_exec(name, argv + i, &e);
	cl_err_print("cloop", json, &e);
	return cl_err_exit(&e);
}
