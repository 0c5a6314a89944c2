/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The error value. A fallible function returns 0 or -1 and takes a caller-owned
 * `struct cl_err *` last; on -1 it has filled it. The value lives on the caller's
 * stack and holds no pointers that need freeing. A message names the offending
 * value and its source; the remediation is what a tired person types next. All texts
 * are kept fit for a terminal and for JSON: control characters and bytes that are not
 * UTF-8 become '?'; and what has the form of a credential (credpat.h) becomes "[redacted]", since
 * people paste tokens where a name belongs. An argument may be a text of the same error.
 */
#ifndef CL_BASE_ERR_H
#define CL_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

/* What kind of failure; the table in err.c maps each to a slug and an exit status. */
enum cl_code {
	CL_OK = 0,
	CL_ENO,       /* the answer is no: exit 1 */
	CL_EREFUSED,  /* a request that cannot be honoured whole: exit 1 */
	CL_EUSAGE,    /* the command line is wrong: 64 */
	CL_EDATA,     /* input is broken: 65 */
	CL_ENOTFOUND, /* input names what does not exist: 65 */
	CL_EUNAVAIL,  /* something needed is not there: 69 */
	CL_EBUG,      /* a bug of ours: 70 */
	CL_EOS,       /* the system refused: 71 */
	CL_EBUSY,     /* try again: 75 */
	CL_EDENIED,   /* not permitted: 77 */
	CL_ECONFIG,   /* the configuration is wrong: 78 */
	CL_NCODES
};

struct cl_err {
	enum cl_code code;
	int sys;             /* errno, or 0 */
	char slug[40];       /* replaces the code's slug, or "" */
	unsigned line;       /* 1-based, 0 unknown */
	unsigned column;     /* 1-based in characters, 0 unknown */
	char constraint[40]; /* placement or capability that refused */
	char rule[48];       /* rule of a policy that refused */
	char file[256];      /* file the message is about */
	char msg[1200];
	char fix[800];
};

/* Clears *e. */
void cl_err_init(struct cl_err *e);

/* Fills code and message (and clears the rest; CL_EBUG has its own fix); returns -1. */
int cl_fail(struct cl_err *e, enum cl_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * As cl_fail, with ": <strerror(sys)>" appended; a sys of EACCES or EPERM keeps `code`. What
 * is commonly done about such an error is the fix, until the caller sets a better one.
 */
int cl_fail_sys(struct cl_err *e, enum cl_code code, int sys, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Sets the remediation; returns -1 so that it can end a return statement. */
int cl_fix(struct cl_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prepends "<text>: " to the message; returns -1. */
int cl_wrap(struct cl_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets file (may be NULL to keep it), line and column; returns -1. */
int cl_at(struct cl_err *e, const char *file, unsigned line, unsigned column);

/* Set constraint, rule or slug; each returns -1. */
int cl_constraint(struct cl_err *e, const char *constraint);
int cl_rule(struct cl_err *e, const char *rule);
int cl_slug(struct cl_err *e, const char *slug);

/* The slug that JSON shows for the error, and the exit status main leaves with. */
const char *cl_err_slug(const struct cl_err *e);
int cl_err_exit(const struct cl_err *e);
/* The slug of its code, whatever slug it carries itself: "refused", "bad_input". */
const char *cl_err_kind(const struct cl_err *e);
/* The code whose slug it is; CL_EREFUSED for the slug of one particular refusal. */
enum cl_code cl_code_of(const char *slug);

#endif
