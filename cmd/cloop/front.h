/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The front command: it finds cloop-NAME and becomes it. */
#ifndef CLOOP_FRONT_H
#define CLOOP_FRONT_H

#include "cli/cli.h"

extern const struct cl_spec front_spec;

int front_help(struct cl_ctx *c, struct cl_err *e);
int front_version(struct cl_ctx *c, struct cl_err *e);
int front_list(struct cl_ctx *c, struct cl_err *e);

/* The path of cloop-NAME: beside us, in ../libexec/cloop, then on PATH. Owned, or NULL. */
char *front_find(const char *name);
/* Every NAME that front_find would find, sorted. */
void front_names(struct cl_strv *out);
/* Replaces this process by cloop-NAME with the arguments of argv[1..]. */
int front_exec(const char *name, char **argv, struct cl_err *e);

#endif
