/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unit tests: TAP out, one function a test, found by their prototype `void test_x(void)`. */
#ifndef T_UNIT_H
#define T_UNIT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A test is found by its name in the text, not declared anywhere. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

extern int unit_failures; /* of the running test */

#define UNIT_FAIL(...)                                   \
	do {                                             \
		unit_failures++;                         \
		printf("# %s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__);                     \
		printf("\n");                            \
	} while (0)
#define CHECK(x)                                       \
	do {                                           \
		if (!(x))                              \
			UNIT_FAIL("not true: %s", #x); \
	} while (0)
#define CHECK_INT(got, want)                                             \
	do {                                                             \
		long long g_ = (long long)(got), w_ = (long long)(want); \
		if (g_ != w_)                                            \
			UNIT_FAIL("%s is %lld, not %lld", #got, g_, w_); \
	} while (0)
#define CHECK_STR(got, want)                                                        \
	do {                                                                        \
		const char *g_ = (got), *w_ = (want);                               \
		if (!g_ || !w_ ? g_ != w_ : strcmp(g_, w_) != 0)                    \
			UNIT_FAIL("%s is '%s', not '%s'", #got, g_ ? g_ : "(null)", \
				w_ ? w_ : "(null)");                                \
	} while (0)
/* The text holds the piece. */
#define CHECK_HAS(text, piece)                                                        \
	do {                                                                          \
		const char *t_ = (text), *p_ = (piece);                               \
		if (!t_ || !strstr(t_, p_))                                           \
			UNIT_FAIL("'%s' does not hold '%s'", t_ ? t_ : "(null)", p_); \
	} while (0)

#endif
