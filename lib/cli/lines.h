/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Questions by the million: a line in, an answer out. What has been answered is written
 * before more is waited for, so that another program can ask through a pipe.
 */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "base/err.h"

#include <stddef.h>

/* The longest line that is given whole. */
#define CL_LINE_MAX 32768

struct cl_lines {
	const char *name; /* of the input, for messages */
	void *arg;
	/*
	 * One line without its end: text[len] is NUL, and NUL bytes may be in it. Of a longer one
	 * the first CL_LINE_MAX + 1 bytes. -1 ends it all.
	 */
	int (*line)(void *arg, char *text, size_t len, struct cl_err *e);
	/* What was answered is to be written: the next read may wait. */
	int (*wait)(void *arg, struct cl_err *e);
};

/* Calls for each line of fd, the last one without an end too. CL_EOS; whatever a call fails with. */
int cl_each_line(int fd, const struct cl_lines *l, struct cl_err *e);
/* A descriptor of the file, or of standard input for "-"; to be closed. -1: CL_EUNAVAIL. */
int cl_open_lines(const char *path, struct cl_err *e);

#endif
