/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "forge.h"

#include <signal.h>

static const struct cl_verb verbs[] = {
	{.name = "mint",
		.summary = "ask for an installation token, as wide as a grant and no wider",
		.run = cmd_forge_mint},
	{.name = "revoke",
		.summary = "have an installation token destroyed",
		.run = cmd_forge_revoke},
	{.name = "installations",
		.summary = "list where an App is installed",
		.run = cmd_forge_installations},
	{.name = "repositories",
		.summary = "list the repositories of an installation",
		.run = cmd_forge_repositories},
	{0},
};

static const struct cl_spec spec = {
	.name = "cloop-forge",
	.summary = "speak to GitHub for cloop-secret",
	.verbs = verbs,
};

int main(int argc, char **argv)
{
	/* Whoever waits for a token may be gone: then it is destroyed, which takes a living process. */
	(void)signal(SIGPIPE, SIG_IGN);
	return cl_main(&spec, argc, argv);
}
