/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "front.h"

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

/*
 * `cloop [-C DIR] NAME ...` becomes `cloop-NAME ...` before anything is parsed: the
 * command knows its own options. Everything else is the front command's own.
 */
int main(int argc, char **argv)
{
	struct cl_err e;
	int i = 1;

	while (i < argc && argv[i][0] == '-') {
		const char *dir = NULL;

		if (!strcmp(argv[i], "-C") || !strcmp(argv[i], "--dir"))
			dir = i + 1 < argc ? argv[++i] : NULL;
		else if (!strncmp(argv[i], "-C", 2))
			dir = argv[i] + 2;
		else if (!strncmp(argv[i], "--dir=", 6))
			dir = argv[i] + 6;
		if (!dir)
			break;
		(void)setenv("CLOOP_DIR", dir, 1);
		i++;
	}
	if (i >= argc) {
		char *help[] = {argv[0], (char *)"help", NULL};

		(void)cl_main(&front_spec, 2, help);
		return 64;
	}
	if (argv[i][0] == '-' || own_verb(argv[i]))
		return cl_main(&front_spec, argc, argv);
	(void)front_exec(argv[i], argv + i, &e);
	cl_err_print("cloop", false, &e);
	return cl_err_exit(&e);
}
