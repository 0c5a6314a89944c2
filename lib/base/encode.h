/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes as text and back: base64 (RFC 4648 sections 4 and 5) and hex. */
#ifndef CL_BASE_ENCODE_H
#define CL_BASE_ENCODE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum cl_base64 {
	CL_BASE64,    /* "+/", padded with "=" */
	CL_BASE64_URL /* "-_", never padded */
};

/* Bytes that n bytes become at most, without a NUL; and that n characters become at most. */
#define CL_BASE64_LEN(n)     (((n) + 2) / 3 * 4)
#define CL_BASE64_DECODED(n) ((n) / 4 * 3 + 3)

/* Adds the text of p[0..len) to out. */
void cl_base64(enum cl_base64 kind, const void *p, size_t len, struct cl_buf *out);
/* The same into out, which holds CL_BASE64_LEN(len) + 1 bytes; a NUL is added. Returns its length. */
size_t cl_base64_to(enum cl_base64 kind, const void *p, size_t len, char *out);
/*
 * The reverse into out, which holds CL_BASE64_DECODED(len) bytes. False, and *n unset, for
 * anything but the one text that cl_base64 makes: no blanks, no other padding, no stray bits.
 */
bool cl_unbase64(enum cl_base64 kind, const char *s, size_t len, unsigned char *out, size_t *n);

/* Exactly 2 * len lower-case hex digits into out. */
bool cl_unhex(const char *s, unsigned char *out, size_t len);

#endif
