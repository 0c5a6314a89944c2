/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *cl_malloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		abort();
	return p;
}

void *cl_calloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		abort();
	return p;
}

void *cl_realloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		abort();
	return p;
}

char *cl_strdup(const char *s)
{
	return cl_strndup(s, strlen(s));
}

char *cl_strdup_null(const char *s)
{
	return s ? cl_strdup(s) : NULL;
}

char *cl_strndup(const char *s, size_t n)
{
	char *p = cl_malloc(n + 1);

	if (n)
		memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *cl_asprintf(const char *fmt, ...)
{
	char *p = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&p, fmt, ap) < 0)
		abort();
	va_end(ap);
	return p;
}

void *cl_grow(void *p, size_t *cap, size_t need, size_t size)
{
	size_t want = *cap ? *cap : 8, bytes;

	if (p && need <= *cap)
		return p;
	while (want < need)
		if (__builtin_mul_overflow(want, (size_t)2, &want))
			abort();
	if (__builtin_mul_overflow(want, size, &bytes))
		abort();
	p = cl_realloc(p, bytes);
	*cap = want;
	return p;
}

void cl_cleanup_free(void *pp)
{
	free(*(void **)pp);
}

void cl_cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}
