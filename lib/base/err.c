/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/err.h"
#include "base/credpat.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *slug;
	int exit;
} codes[CL_NCODES] = {
	[CL_OK] = {"ok", 0},
	[CL_ENO] = {"no", 1},
	[CL_EREFUSED] = {"refused", 1},
	[CL_EUSAGE] = {"usage", 64},
	[CL_EDATA] = {"bad_input", 65},
	[CL_ENOTFOUND] = {"not_found", 65},
	[CL_EUNAVAIL] = {"unavailable", 69},
	[CL_EBUG] = {"bug", 70},
	[CL_EOS] = {"os_error", 71},
	[CL_EBUSY] = {"busy", 75},
	[CL_EDENIED] = {"denied", 77},
	[CL_ECONFIG] = {"configuration", 78},
};

/* What helps against an error number, whatever was being done; else nothing is said. */
static const struct {
	int sys;
	const char *fix;
} remedies[] = {
	{EACCES, "run it as root, or as a user who may do that"},
	{EPERM, "run it as root, or as a user who may do that"},
	{ENOENT, "check that it exists, and how it is spelt"},
	{ENOTDIR, "check the path: a part of it is no directory"},
	{EISDIR, "name a file, not a directory"},
	{ENAMETOOLONG, "use a shorter path"},
	{EROFS, "use a place that is not mounted read-only"},
	{ENOSPC, "make room: 'df' shows which file system is full"},
	{EDQUOT, "make room, or have the quota raised"},
	{EMFILE, "raise the limit of open files (ulimit -n)"},
	{ENFILE, "close what holds many files open, or raise fs.file-max"},
	{ENOMEM, "free memory, or run less at once"},
	{EAGAIN, "try again; if it stays so, raise the limit of processes (ulimit -u)"},
};

void cl_err_init(struct cl_err *e)
{
	memset(e, 0, sizeof(*e));
}

/*
 * Formatted aside first: an argument may be the message that is being replaced. What somebody typed
 * may be a credential, and a message goes to logs, to the journal and into the audit trail; it is
 * looked through before it is cut, since a part of one has no form to be known by.
 */
static void __attribute__((format(printf, 3, 0)))
put(char *out, size_t size, const char *fmt, va_list ap)
{
	cleanup_buf struct cl_buf said = CL_BUF_SECRET;
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	(void)cp_scrub(text, strlen(text), &said);
	explicit_bzero(text, strlen(text));
	free(text);
	(void)snprintf(out, size, "%s", said.p);
	cl_mask(out, "");
}

int cl_fail(struct cl_err *e, enum cl_code code, const char *fmt, ...)
{
	char text[sizeof(e->msg)];
	va_list ap;

	va_start(ap, fmt);
	put(text, sizeof(text), fmt, ap);
	va_end(ap);
	cl_err_init(e);
	e->code = code;
	memcpy(e->msg, text, sizeof(e->msg));
	if (code == CL_EBUG)
		(void)cl_fix(e, "this is a fault of cloop: report it with the command and what "
				"'cloop version' prints");
	return -1;
}

int cl_fail_sys(struct cl_err *e, enum cl_code code, int sys, const char *fmt, ...)
{
	const char *why = strerrordesc_np(sys);
	char text[sizeof(e->msg)];
	va_list ap;

	va_start(ap, fmt);
	put(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (why)
		(void)cl_fail(e, code, "%s: %s", text, why);
	else
		(void)cl_fail(e, code, "%s: error %d", text, sys);
	e->sys = sys;
	for (size_t i = 0; i < sizeof(remedies) / sizeof(*remedies); i++)
		if (remedies[i].sys == sys)
			(void)cl_fix(e, "%s", remedies[i].fix);
	return -1;
}

int cl_fix(struct cl_err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(e->fix, sizeof(e->fix), fmt, ap);
	va_end(ap);
	return -1;
}

int cl_wrap(struct cl_err *e, const char *fmt, ...)
{
	char text[sizeof(e->msg)], old[sizeof(e->msg)];
	va_list ap;

	va_start(ap, fmt);
	put(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(old, e->msg, sizeof(old));
	if (snprintf(e->msg, sizeof(e->msg), "%s: %s", text, old) >= (int)sizeof(e->msg))
		cl_mask(e->msg, ""); /* the cut may have gone through a character */
	return -1;
}

int cl_at(struct cl_err *e, const char *file, unsigned line, unsigned column)
{
	if (file) {
		(void)snprintf(e->file, sizeof(e->file), "%s", file);
		cl_mask(e->file, "");
	}
	e->line = line;
	e->column = column;
	return -1;
}

int cl_constraint(struct cl_err *e, const char *constraint)
{
	(void)snprintf(e->constraint, sizeof(e->constraint), "%s", constraint);
	cl_mask(e->constraint, "");
	return -1;
}

int cl_rule(struct cl_err *e, const char *rule)
{
	(void)snprintf(e->rule, sizeof(e->rule), "%s", rule);
	cl_mask(e->rule, "");
	return -1;
}

int cl_slug(struct cl_err *e, const char *slug)
{
	(void)snprintf(e->slug, sizeof(e->slug), "%s", slug);
	cl_mask(e->slug, "");
	return -1;
}

const char *cl_err_slug(const struct cl_err *e)
{
	return e->slug[0] ? e->slug : codes[e->code].slug;
}

const char *cl_err_kind(const struct cl_err *e)
{
	return codes[e->code].slug;
}

int cl_err_exit(const struct cl_err *e)
{
	return codes[e->code].exit;
}

enum cl_code cl_code_of(const char *slug)
{
	for (int c = 0; c < CL_NCODES; c++)
		if (!strcmp(codes[c].slug, slug))
			return (enum cl_code)c;
	return CL_EREFUSED;
}
