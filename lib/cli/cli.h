/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a verb sees of its command line, and how it answers. */
#ifndef CL_CLI_CLI_H
#define CL_CLI_CLI_H

#include "base/buf.h"
#include "cli/spec.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* The parsed command line. Borrowed by verbs; the shared main owns it. */
struct cl_ctx {
	const struct cl_spec *spec;
	const struct cl_verb *verb;
	const char *dir; /* -C DIR, or CLOOP_DIR, or NULL */
	bool json;       /* --json */
	char **argv;     /* the whole command line, as main got it */
	char **operands; /* what is left, NULL-terminated */
	size_t noperands;
	struct cl_given *given; /* options as given; cli/parse.c */
	size_t ngiven, given_cap;
};

/* Options by long name; asking for one that the tables do not have aborts. */
bool cl_flag(const struct cl_ctx *c, const char *name);
bool cl_given(const struct cl_ctx *c, const char *name);
const char *cl_str(const struct cl_ctx *c, const char *name); /* NULL: not given */
const char *cl_str_or(const struct cl_ctx *c, const char *name, const char *def);
int64_t cl_int(const struct cl_ctx *c, const char *name, int64_t def); /* also durations: ms */
/* The values of a CL_LIST or CL_CSV in order; borrowed strings, *out is added to. */
void cl_list(const struct cl_ctx *c, const char *name, struct cl_strv *out);

/* Operand n, or NULL. */
const char *cl_operand(const struct cl_ctx *c, size_t n);

/* Prints one JSON value as one line on stdout; consumes j. */
void cl_take_json(json_t *j);
/* A line of talk on stderr, with the command's name in front: "cloop-run: ...". */
void cl_say(const struct cl_ctx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same as "warning: ..." */
void cl_warn(const struct cl_ctx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints the error on stderr: message and `fix:` as text, or one JSON line. */
void cl_err_print(const char *who, bool json, const struct cl_err *e);

/* A usage error: CL_EUSAGE with the remediation "see 'NAME --help'". Returns -1. */
int cl_usage(const struct cl_ctx *c, struct cl_err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Reads a whole file, or standard input for "-", up to max bytes (CL_EDATA beyond).
 * CL_EUNAVAIL when it cannot be opened. *out is added to.
 */
int cl_read_file(const char *path, size_t max, struct cl_buf *out, struct cl_err *e);
int cl_read_fd(int fd, const char *name, size_t max, struct cl_buf *out, struct cl_err *e);

/* True when stdout shows colour: a terminal, and NO_COLOR is not set. */
bool cl_colour(void);

/* A table for people: columns padded to the widest cell, two blanks between. */
struct cl_table {
	struct cl_strv cells;
	size_t columns;
};
void cl_table_init(struct cl_table *t, size_t columns);
void cl_table_add(struct cl_table *t, const char *cell);  /* row by row; fit for a terminal */
void cl_table_print(const struct cl_table *t, FILE *out); /* the last column is not padded */
void cl_table_release(struct cl_table *t);

/* Where cloop's executables and data are. Owned. */
void cl_find_exe(void);             /* looks once, for good; cl_main calls it first */
char *cl_libexec_dir(void);         /* the folder of the running executable */
char *cl_sibling(const char *name); /* "<libexec>/NAME" */

#endif
