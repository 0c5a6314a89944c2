/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON (RFC 8259) without a tree, for inputs of hundreds of thousands of values whose shape
 * is known: a pull reader over a text in memory, and a writer of strings. What doc.h refuses
 * is refused here too (text that is not UTF-8, NUL, nesting beyond a cap); keys that stand
 * twice are for the caller to see, who has a slot for each. For everything else use doc.h.
 */
#ifndef CL_BASE_JSON_TEXT_H
#define CL_BASE_JSON_TEXT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* A reader. Strings that it gives are borrowed and live until the text or the reader goes. */
struct cl_scan {
	char *text; /* text[len] is NUL; the closing quotes of strings become NUL as they are read */
	size_t len, at;
	size_t last;               /* where the string, or key, that was read last stands */
	unsigned depth, max_depth; /* of mappings and lists */
	const char *name;          /* of the file, for messages */
	struct cl_strv unescaped;  /* strings that were written with escapes */
};
#define CL_SCAN_INIT ((struct cl_scan){.unescaped = CL_STRV_INIT})
/* name is borrowed. */
void cl_scan_start(struct cl_scan *s, const char *name, char *text, size_t len, unsigned max_depth);
void cl_scan_release(struct cl_scan *s);
#define cleanup_scan __attribute__((cleanup(cl_scan_release)))

enum cl_scan_type {
	CL_SCAN_NOTHING, /* the end, or what starts no value */
	CL_SCAN_OBJECT,
	CL_SCAN_LIST,
	CL_SCAN_STRING,
	CL_SCAN_NUMBER,
	CL_SCAN_BOOL,
	CL_SCAN_NULL
};
/* What comes next; blanks before it are passed over. */
enum cl_scan_type cl_scan_peek(struct cl_scan *s);

/*
 * Each fails with CL_EDATA, file, line and column. `what` names the value in the message.
 *
 *	bool first = true;
 *	if (cl_scan_open(s, '{', "the request", e))
 *		return -1;
 *	for (;;) {
 *		if (cl_scan_key(s, &first, &key, e))
 *			return -1;
 *		if (!key)
 *			break;
 *		... read exactly one value ...
 *	}
 */
int cl_scan_open(struct cl_scan *s, char bracket, const char *what, struct cl_err *e);
int cl_scan_key(struct cl_scan *s, bool *first, const char **key, struct cl_err *e);
/* The same of a list: *more says that a value stands next. */
int cl_scan_item(struct cl_scan *s, bool *first, bool *more, struct cl_err *e);
int cl_scan_string(struct cl_scan *s, const char *what, const char **out, struct cl_err *e);
/* A whole number, written as one. */
int cl_scan_int(struct cl_scan *s, const char *what, int64_t min, int64_t max, int64_t *out,
	struct cl_err *e);
int cl_scan_bool(struct cl_scan *s, const char *what, bool *out, struct cl_err *e);
/* One value of any kind, checked and passed over. */
int cl_scan_skip(struct cl_scan *s, struct cl_err *e);
/* Nothing but blanks may be left. */
int cl_scan_end(struct cl_scan *s, struct cl_err *e);

/* CL_EDATA at byte `at` of the text. Returns -1. */
int cl_scan_fail(const struct cl_scan *s, size_t at, struct cl_err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void cl_json_quote(struct cl_buf *out, const char *text);

/* The same of bytes, NUL among them; false, and nothing written, where they are not UTF-8. */
bool cl_json_quote_exact(struct cl_buf *out, const char *text, size_t len);
void cl_json_int(struct cl_buf *out, int64_t n);

#endif
