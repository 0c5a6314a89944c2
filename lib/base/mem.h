/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ownership is in the verb: `_init` and `_release` for values, `_new` and `_free`
 * for pointers; parameters borrow, `take_` consumes, what is returned is owned by
 * the caller unless it is const. Running out of memory aborts: processes are short
 * and the store survives it.
 */
#ifndef CL_BASE_MEM_H
#define CL_BASE_MEM_H

#include <stddef.h>

void *cl_malloc(size_t size) __attribute__((malloc, returns_nonnull));
void *cl_calloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *cl_realloc(void *p, size_t size) __attribute__((returns_nonnull));
char *cl_strdup(const char *s) __attribute__((malloc, returns_nonnull));
char *cl_strdup_null(const char *s) __attribute__((malloc)); /* NULL for NULL */
/* Exactly n bytes of s, NUL or not, and a NUL after them. */
char *cl_strndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
char *cl_asprintf(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), malloc, returns_nonnull));

/* Returns p grown so that at least `need` elements of `size` bytes fit; *cap follows. */
void *cl_grow(void *p, size_t *cap, size_t need, size_t size) __attribute__((returns_nonnull));

/* Scope-bound release; initialise at declaration, hand out with cl_steal(). */
void cl_cleanup_free(void *pp);
void cl_cleanup_fd(const int *fd);
#define cleanup_free __attribute__((cleanup(cl_cleanup_free)))
#define cleanup_fd   __attribute__((cleanup(cl_cleanup_fd)))
#define cl_steal(pp)                               \
	({                                         \
		__typeof__(*(pp)) stolen_ = *(pp); \
		*(pp) = NULL;                      \
		stolen_;                           \
	})
#define cl_steal_fd(p)              \
	({                          \
		int stolen_ = *(p); \
		*(p) = -1;          \
		stolen_;            \
	})

#define CL_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
