/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "registry.h"

static const struct cl_verb verbs[] = {
	{.name = "resolve",
		.summary = "ask which digest a reference stands for",
		.run = cmd_registry_resolve},
	{.name = "verify",
		.summary = "ask whether an image is signed by somebody who is trusted",
		.run = cmd_registry_verify},
	{0},
};

static const struct cl_spec spec = {
	.name = "cloop-registry",
	.summary = "ask image registries for cloop-sandbox and cloop-exec-container",
	.verbs = verbs,
};

int main(int argc, char **argv)
{
	return cl_main(&spec, argc, argv);
}
