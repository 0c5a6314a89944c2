/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/err.h"

#include <stdio.h>
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

void cl_err_init(struct cl_err *e)
{
	memset(e, 0, sizeof(*e));
}

/*
 * Masks control characters: a message quotes untrusted text, and it goes to a
 * terminal. UTF-8 passes; the C1 controls hide behind 0xc2, so those go too.
 */
static void mask(char *s)
{
	unsigned char *p = (unsigned char *)s;

	for (; *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
		else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			*p = p[1] = '?';
	}
}

int cl_fail(struct cl_err *e, enum cl_code code, const char *fmt, ...)
{
	va_list ap;

	cl_err_init(e);
	e->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	mask(e->msg);
	return -1;
}

int cl_fail_sys(struct cl_err *e, enum cl_code code, int sys, const char *fmt, ...)
{
	size_t used;
	va_list ap;

	cl_err_init(e);
	e->code = code;
	e->sys = sys;
	va_start(ap, fmt);
	(void)vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	used = strlen(e->msg);
	(void)snprintf(e->msg + used, sizeof(e->msg) - used, ": %s", strerrordesc_np(sys));
	mask(e->msg);
	return -1;
}

int cl_fix(struct cl_err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(e->fix, sizeof(e->fix), fmt, ap);
	va_end(ap);
	mask(e->fix);
	return -1;
}

int cl_wrap(struct cl_err *e, const char *fmt, ...)
{
	char old[sizeof(e->msg)];
	size_t used;
	va_list ap;

	memcpy(old, e->msg, sizeof(old));
	va_start(ap, fmt);
	(void)vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	used = strlen(e->msg);
	(void)snprintf(e->msg + used, sizeof(e->msg) - used, ": %s", old);
	mask(e->msg);
	return -1;
}

int cl_at(struct cl_err *e, const char *file, unsigned line, unsigned column)
{
	if (file) {
		(void)snprintf(e->file, sizeof(e->file), "%s", file);
		mask(e->file);
	}
	e->line = line;
	e->column = column;
	return -1;
}

int cl_constraint(struct cl_err *e, const char *constraint)
{
	(void)snprintf(e->constraint, sizeof(e->constraint), "%s", constraint);
	return -1;
}

int cl_rule(struct cl_err *e, const char *rule)
{
	(void)snprintf(e->rule, sizeof(e->rule), "%s", rule);
	return -1;
}

int cl_slug(struct cl_err *e, const char *slug)
{
	(void)snprintf(e->slug, sizeof(e->slug), "%s", slug);
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
