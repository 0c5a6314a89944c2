/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hidden parts that speak to others: cloop-forge and cloop-registry (DECISIONS D15). Each reads
 * a request from its standard input, and answers on its standard output or fails with an error in
 * JSON on the other.
 */
#ifndef WORK_PART_H
#define WORK_PART_H

#include "sys/proc.h"

/* What a part that ended with another status than 0 had to say; CL_EBUG where that is no error in
 * JSON. Always -1. */
int work_part_failed(
	const char *program, const char *verb, const struct sys_run *r, struct cl_err *e);

#endif
