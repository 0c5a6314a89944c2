/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A growing byte buffer, always NUL-terminated (p is never NULL), and a list of strings.
 * A secret buffer wipes every byte that it gives back: when it grows, is reset or released.
 */
#ifndef CL_BASE_BUF_H
#define CL_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct cl_buf {
	char *p;
	size_t len; /* without the terminating NUL */
	size_t cap; /* 0: p is not ours */
	bool secret;
};

extern char cl_buf_empty[1];
#define CL_BUF_INIT   ((struct cl_buf){cl_buf_empty, 0, 0, false})
#define CL_BUF_SECRET ((struct cl_buf){cl_buf_empty, 0, 0, true})

void cl_buf_release(struct cl_buf *b); /* frees; as new, secret as before, to be used again */
void cl_buf_reset(struct cl_buf *b);   /* length 0, memory kept */
/* Makes room for `extra` more bytes and returns where they start; then add to len. */
char *cl_buf_reserve(struct cl_buf *b, size_t extra);
void cl_buf_add(struct cl_buf *b, const void *p, size_t len);
void cl_buf_adds(struct cl_buf *b, const char *s);
void cl_buf_addc(struct cl_buf *b, char c);
void cl_buf_addf(struct cl_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Gives the memory away (to be freed, and wiped if it was secret); the buffer is as new. */
char *cl_buf_detach(struct cl_buf *b);
#define cleanup_buf __attribute__((cleanup(cl_buf_release)))

/* Owned strings; v[n] is NULL once anything was added. */
struct cl_strv {
	char **v;
	size_t n, cap;
};
#define CL_STRV_INIT ((struct cl_strv){NULL, 0, 0})

void cl_strv_release(struct cl_strv *s);
void cl_strv_add(struct cl_strv *s, const char *text);
void cl_strv_addn(struct cl_strv *s, const char *text, size_t len);
void cl_strv_addf(struct cl_strv *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool cl_strv_has(const struct cl_strv *s, const char *text);
void cl_strv_sort(struct cl_strv *s); /* bytewise */
void cl_strv_uniq(struct cl_strv *s); /* drops later duplicates, order kept */
#define cleanup_strv __attribute__((cleanup(cl_strv_release)))

#endif
