/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hidden parts that speak to others: cloop-forge and cloop-registry (DECISIONS D15). Each reads
 * a request from its standard input, and answers on its standard output or fails with an error in
 * JSON on the other.
 */
#ifndef WORK_PART_H
#define WORK_PART_H

#include "sys/proc.h"

#include <jansson.h>

/*
 * Runs the part argv[0], which stands beside us, in a session of its own; r says the rest: input,
 * environment, time limit. What it wrote is in r->out. An error is the part's own, and CL_EBUG where
 * that is none in JSON; `verb` is for that message.
 */
int work_part_run(struct sys_run *r, char *const argv[], const char *verb, struct cl_err *e);
/* The same with a request in JSON (text), and its answer in JSON; *out is owned. It ends with us. */
int work_part_ask(struct sys_run *r, char *const argv[], const char *verb, const char *text,
	json_t **out, struct cl_err *e);

#endif
