/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One table a command. From it come parsing, --help, the man page, completions for
 * three shells and the JSON of --cl-spec; there is no second place to keep true.
 * Every table ends with a zero row.
 */
#ifndef CL_CLI_SPEC_H
#define CL_CLI_SPEC_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum cl_opt_type {
	CL_FLAG,     /* present or not */
	CL_STR,      /* any text; the last one given holds */
	CL_INT,      /* whole number from min to max */
	CL_DURATION, /* 90s, 15m, 24h, 7d; milliseconds; min as in CL_INT (0: zero allowed) */
	CL_ENUM,     /* one of `values` */
	CL_LIST,     /* repeatable; each use is one value, kept whole */
	CL_CSV       /* repeatable; each use is split at commas, pieces trimmed, blanks dropped */
};

/* What completion offers for a value. */
enum cl_complete {
	CL_COMP_NONE,
	CL_COMP_FILE,
	CL_COMP_DIR,
	CL_COMP_COMMAND,  /* names of cloop's commands */
	CL_COMP_EXECUTOR, /* live names: asked of the command that can list them */
	CL_COMP_RUN,
	CL_COMP_GRANT,
	CL_COMP_SECRET,
	CL_COMP_CONFIG_KEY
};

struct cl_opt {
	const char *name; /* long name without dashes */
	char letter;      /* short form, or 0 */
	enum cl_opt_type type;
	const char *arg;           /* name of the value in help, upper case; NULL for a flag */
	const char *help;          /* one line, lower case, no full stop */
	const char *def;           /* default as help shows it, or NULL */
	const char *const *values; /* CL_ENUM: NULL-terminated */
	enum cl_complete complete;
	long long min, max; /* CL_INT; max 0: no upper bound */
};

struct cl_operand {
	const char *name; /* upper case */
	const char *help;
	bool optional;
	bool repeat; /* the last operand only */
	enum cl_complete complete;
};

struct cl_exit {
	int status;
	const char *meaning;
};

/* An example: the command line as typed, and what it is for. `run` is exercised by t/. */
struct cl_example {
	const char *line;
	const char *what;
	bool run; /* needs nothing but the executable: t/ runs it and expects status 0 or 1 */
};

struct cl_text {
	const char *name; /* environment variable, or path */
	const char *help;
};

/* Preconditions of a verb that the shared main meets before the verb runs. */
enum cl_need {
	CL_NEED_ROOT = 1u << 0, /* effective uid 0 */
	CL_ARGV_REST = 1u << 1, /* operands are a command line: options end at the first */
	CL_HIDDEN = 1u << 2,    /* not in help, man page or completion */
	CL_NO_JSON = 1u << 3    /* has no --json: the shared option is not added */
};

struct cl_ctx;

struct cl_verb {
	const char *name;    /* "" for a command without verbs; words joined by one blank */
	const char *alias;   /* another spelling, or NULL */
	const char *summary; /* one line, lower case, no full stop */
	const struct cl_opt *opts;
	const struct cl_operand *operands;
	const struct cl_exit *exits; /* 1-31 and wrappers' own; the shared ones are added */
	const struct cl_example *examples;
	unsigned needs; /* enum cl_need */
	/* Returns an exit status >= 0, or -1 with *e filled. */
	int (*run)(struct cl_ctx *c, struct cl_err *e);
};

struct cl_spec {
	const char *name;    /* "cloop-egress" */
	const char *summary; /* one line, lower case, no full stop */
	const struct cl_verb *verbs;
	const struct cl_opt *opts; /* accepted by every verb, beside -C, --json, --help */
	const struct cl_text *environment;
	const struct cl_text *files;
	const char *const *see_also; /* "cloop(1)", NULL-terminated, or NULL */
	int own_failure;             /* a wrapper's status for its own refusals (125), or 0 */
};

/* The shared main: every executable's main() is `return cl_main(&spec, argc, argv);`. */
int cl_main(const struct cl_spec *spec, int argc, char **argv);

#endif
