/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small questions about text. Nothing here knows a locale. */
#ifndef CL_BASE_TEXT_H
#define CL_BASE_TEXT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

bool cl_starts(const char *s, const char *prefix);
bool cl_ends(const char *s, const char *suffix);
/* s without blanks at both ends, owned. */
char *cl_trim_dup(const char *s);
/*
 * Bytes of the UTF-8 sequence that s[0..len) starts with (RFC 3629 section 4), or 0 when
 * it starts with none.
 */
size_t cl_utf8_next(const char *s, size_t len);
/* True when every byte of s[0..len) is well-formed UTF-8 (RFC 3629), NUL included. */
bool cl_utf8_valid(const char *s, size_t len);
/* The largest n <= max that does not cut a UTF-8 sequence of s. */
size_t cl_utf8_cut(const char *s, size_t len, size_t max);
/*
 * Masks with '?', in place, what untrusted text must not bring to a terminal: control
 * characters other than those in `keep`, the marks that turn the writing direction
 * (U+202A-202E, U+2066-2069), and bytes that are not UTF-8.
 */
void cl_mask(char *s, const char *keep);
/* A copy of s that is fit for one line of a terminal: cl_mask with nothing kept; owned. */
char *cl_masked(const char *s);
/* s as a word that a POSIX shell reads back, in single quotes where it needs them; owned. */
char *cl_shell_word(const char *s);
/* True when every byte of s is one of the ASCII set; an empty s is false. */
bool cl_all_in(const char *s, const char *set);
/* ASCII lower case, in place. */
void cl_lower(char *s);
/* Splits at every `sep`; empty pieces are kept; out is added to. */
void cl_split(const char *s, char sep, struct cl_strv *out);
/* Joins with `sep`; owned. */
char *cl_join(const char *const *v, size_t n, const char *sep);
/*
 * The candidate nearest to `word` by edit distance (a swap of neighbours is one
 * edit), or NULL when none is near enough to be what somebody meant.
 */
const char *cl_nearest(const char *word, const char *const *candidates, size_t n);
/* Lower-case hex of len bytes; out holds 2*len+1. */
void cl_hex(const void *p, size_t len, char *out);
/* Exactly 2 * len lower-case hex digits into out; false for any other text. */
bool cl_unhex(const char *s, unsigned char *out, size_t len);

#define CL_LOWER  "abcdefghijklmnopqrstuvwxyz"
#define CL_UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define CL_DIGITS "0123456789"
#define CL_ALNUM  CL_LOWER CL_UPPER CL_DIGITS

#endif
