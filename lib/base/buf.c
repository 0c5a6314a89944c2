/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/buf.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char cl_buf_empty[1];

static void wipe(const struct cl_buf *b)
{
	if (b->secret && b->cap)
		explicit_bzero(b->p, b->cap);
}

static void as_new(struct cl_buf *b)
{
	b->p = cl_buf_empty;
	b->len = b->cap = 0;
}

void cl_buf_release(struct cl_buf *b)
{
	wipe(b);
	if (b->cap)
		free(b->p);
	as_new(b);
}

void cl_buf_reset(struct cl_buf *b)
{
	wipe(b);
	b->len = 0;
	if (b->cap)
		b->p[0] = '\0';
}

/* realloc would leave the old bytes where they were. */
static void grow_secret(struct cl_buf *b, size_t need)
{
	size_t cap = 0;
	char *p = cl_grow(NULL, &cap, need, 1);

	memcpy(p, b->p, b->len);
	wipe(b);
	if (b->cap)
		free(b->p);
	b->p = p;
	b->cap = cap;
}

char *cl_buf_reserve(struct cl_buf *b, size_t extra)
{
	size_t need;

	if (__builtin_add_overflow(b->len, extra, &need) || __builtin_add_overflow(need, 1, &need))
		abort();
	if (need <= b->cap)
		return b->p + b->len;
	if (b->secret)
		grow_secret(b, need);
	else
		b->p = cl_grow(b->cap ? b->p : NULL, &b->cap, need, 1);
	b->p[b->len] = '\0';
	return b->p + b->len;
}

void cl_buf_add(struct cl_buf *b, const void *p, size_t len)
{
	if (!len)
		return;
	memcpy(cl_buf_reserve(b, len), p, len);
	b->len += len;
	b->p[b->len] = '\0';
}

void cl_buf_adds(struct cl_buf *b, const char *s)
{
	cl_buf_add(b, s, strlen(s));
}

void cl_buf_addc(struct cl_buf *b, char c)
{
	cl_buf_add(b, &c, 1);
}

void cl_buf_addf(struct cl_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	(void)vsnprintf(cl_buf_reserve(b, (size_t)n), (size_t)n + 1, fmt, again);
	va_end(again);
	b->len += (size_t)n;
}

char *cl_buf_detach(struct cl_buf *b)
{
	char *p = b->cap ? b->p : cl_strdup("");

	as_new(b);
	return p;
}

void cl_strv_release(struct cl_strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = CL_STRV_INIT;
}

void cl_strv_addn(struct cl_strv *s, const char *text, size_t len)
{
	s->v = cl_grow(s->v, &s->cap, s->n + 2, sizeof(*s->v));
	s->v[s->n++] = cl_strndup(text, len);
	s->v[s->n] = NULL;
}

void cl_strv_add(struct cl_strv *s, const char *text)
{
	cl_strv_addn(s, text, strlen(text));
}

void cl_strv_addf(struct cl_strv *s, const char *fmt, ...)
{
	char *p = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&p, fmt, ap) < 0)
		abort();
	va_end(ap);
	cl_strv_add(s, p);
	free(p);
}

bool cl_strv_has(const struct cl_strv *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->v[i], text))
			return true;
	return false;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void cl_strv_sort(struct cl_strv *s)
{
	if (s->n > 1)
		qsort(s->v, s->n, sizeof(*s->v), by_bytes);
}

static int by_text_then_place(const void *a, const void *b)
{
	char *const *x = *(char **const *)a, *const *y = *(char **const *)b;
	int d = strcmp(*x, *y);

	return d ? d : (x > y) - (x < y);
}

/* By a sorted index: the list may come from a file that somebody made long on purpose. */
void cl_strv_uniq(struct cl_strv *s)
{
	char ***order = cl_calloc(s->n, sizeof(*order));
	char **kept = s->v;

	for (size_t i = 0; i < s->n; i++)
		order[i] = &s->v[i];
	qsort(order, s->n, sizeof(*order), by_text_then_place);
	for (size_t i = s->n; i-- > 1;)
		if (!strcmp(*order[i], *order[i - 1])) {
			free(*order[i]);
			*order[i] = NULL;
		}
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i])
			*kept++ = s->v[i];
	if (s->v) {
		s->n = (size_t)(kept - s->v);
		*kept = NULL;
	}
	free(order);
}
