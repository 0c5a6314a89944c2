/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole file of t/cases, for what is no table of vectors. */
#ifndef T_UNIT_CASE_FILE_H
#define T_UNIT_CASE_FILE_H

#include "unit.h"
#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>

/* Adds what T_CASES/name holds; one that is missing or empty is a failure. */
static inline void case_file(const char *name, struct cl_buf *out)
{
	cleanup_free char *path = cl_asprintf("%s/%s", T_CASES, name);
	FILE *f = fopen(path, "r");
	char part[4096];
	size_t n;

	while (f && (n = fread(part, 1, sizeof(part), f)) > 0)
		cl_buf_add(out, part, n);
	CHECK(f && out->len);
	if (f)
		(void)fclose(f);
}

#endif
