/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Base64 (RFC 4648 section 4) and its URL form (section 5). */
#ifndef CL_BASE_B64_H
#define CL_BASE_B64_H

#include "base/buf.h"

#include <stdbool.h>

enum cl_b64 {
	CL_B64,         /* + and /, padded */
	CL_B64_URL,     /* - and _, not padded */
	CL_B64_URL_PAD, /* - and _, padded */
};

/* Adds to *out. */
void cl_b64_encode(enum cl_b64 form, const void *p, size_t len, struct cl_buf *out);
/*
 * Adds the bytes to *out. Padding may be there or not, whatever the form; blanks and line
 * ends are skipped when `blanks` says so. False, and *out as it was, for any other byte, a
 * wrong length, padding that does not fit, or bits beyond the last byte that are not zero.
 */
bool cl_b64_decode(enum cl_b64 form, const char *text, size_t len, bool blanks, struct cl_buf *out);

#endif
