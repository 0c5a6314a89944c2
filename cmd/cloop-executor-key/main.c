/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "key.h"

#define KEY_RUN(name) key_##name
#include "../cloop-executor/key_spec.h"

static const struct cl_verb verbs[] = {KEY_VERBS, {0}};

/* Named after the command that it is a part of: so are its messages. */
static const struct cl_spec spec = {
	.name = "cloop-executor",
	.summary = "say what may be said of executors only with the hub's key",
	.verbs = verbs,
};

int main(int argc, char **argv)
{
	return cl_main(&spec, argc, argv);
}
