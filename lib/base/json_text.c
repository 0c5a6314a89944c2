/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json_text.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cl_scan_start(struct cl_scan *s, const char *name, char *text, size_t len, unsigned max_depth)
{
	*s = (struct cl_scan){.text = text,
		.len = len,
		.max_depth = max_depth,
		.name = name,
		.unescaped = CL_STRV_INIT};
}

void cl_scan_release(struct cl_scan *s)
{
	cl_strv_release(&s->unescaped);
}

int cl_scan_fail(const struct cl_scan *s, size_t at, struct cl_err *e, const char *fmt, ...)
{
	unsigned line = 1, column = 1;
	char msg[sizeof(e->msg)];
	va_list ap;

	for (size_t i = 0; i < at && i < s->len; i++) {
		if (s->text[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)s->text[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	va_start(ap, fmt);
	(void)vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	(void)cl_fail(e, CL_EDATA, "%s", msg);
	return cl_at(e, s->name, line, column);
}

static void blanks(struct cl_scan *s)
{
	for (;; s->at++) {
		char c = s->text[s->at];

		if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
			return;
	}
}

/* True and passed over when the next byte is this one. */
static bool take(struct cl_scan *s, char c)
{
	blanks(s);
	if (s->at >= s->len || s->text[s->at] != c)
		return false;
	s->at++;
	return true;
}

enum cl_scan_type cl_scan_peek(struct cl_scan *s)
{
	blanks(s);
	switch (s->text[s->at]) {
	case '{':
		return CL_SCAN_OBJECT;
	case '[':
		return CL_SCAN_LIST;
	case '"':
		return CL_SCAN_STRING;
	case 't':
	case 'f':
		return CL_SCAN_BOOL;
	case 'n':
		return CL_SCAN_NULL;
	case '-':
		return CL_SCAN_NUMBER;
	default:
		return s->text[s->at] >= '0' && s->text[s->at] <= '9' ? CL_SCAN_NUMBER
								      : CL_SCAN_NOTHING;
	}
}

/* What stands where something else was wanted. */
static int unexpected(struct cl_scan *s, const char *want, struct cl_err *e)
{
	static const char *const words[] = {[CL_SCAN_NOTHING] = "something else",
		[CL_SCAN_OBJECT] = "an object",
		[CL_SCAN_LIST] = "a list",
		[CL_SCAN_STRING] = "a string",
		[CL_SCAN_NUMBER] = "a number",
		[CL_SCAN_BOOL] = "true or false",
		[CL_SCAN_NULL] = "null"};
	enum cl_scan_type t = cl_scan_peek(s);

	if (s->at >= s->len)
		return cl_scan_fail(s, s->at, e, "the text ends where %s should stand", want);
	return cl_scan_fail(s, s->at, e, "%s stands where %s should", words[t], want);
}

/* "'NAME' is not KIND". */
static int not_a(struct cl_scan *s, const char *what, const char *kind, struct cl_err *e)
{
	blanks(s);
	if (s->at >= s->len)
		return unexpected(s, what, e);
	return cl_scan_fail(s, s->at, e, "%s is not %s", what, kind);
}

int cl_scan_open(struct cl_scan *s, char bracket, const char *what, struct cl_err *e)
{
	if (!take(s, bracket))
		return not_a(s, what, bracket == '{' ? "an object" : "a list", e);
	if (++s->depth > s->max_depth)
		return cl_scan_fail(
			s, s->at - 1, e, "nested more than %u levels deep", s->max_depth);
	return 0;
}

/* Between two members: *more says that another one follows; the closing bracket is passed. */
static int between(struct cl_scan *s, char close, bool *first, bool *more, struct cl_err *e)
{
	*more = false;
	if (take(s, close)) {
		s->depth--;
		return 0;
	}
	if (!*first && !take(s, ','))
		return unexpected(s, close == '}' ? "',' or '}'" : "',' or ']'", e);
	*first = false;
	*more = true;
	return 0;
}

int cl_scan_key(struct cl_scan *s, bool *first, const char **key, struct cl_err *e)
{
	bool more;

	*key = NULL;
	if (between(s, '}', first, &more, e))
		return -1;
	if (!more)
		return 0;
	if (cl_scan_peek(s) != CL_SCAN_STRING)
		return unexpected(s, "a key", e);
	if (cl_scan_string(s, "the key", key, e))
		return -1;
	return take(s, ':') ? 0 : unexpected(s, "':'", e);
}

int cl_scan_item(struct cl_scan *s, bool *first, bool *more, struct cl_err *e)
{
	return between(s, ']', first, more, e);
}

/* Four hex digits at p, or -1. */
static int hex4(const char *p)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			return -1;
		v = v << 4 | digit;
	}
	return v;
}

static void add_utf8(struct cl_buf *b, unsigned u)
{
	if (u < 0x80) {
		cl_buf_addc(b, (char)u);
	} else if (u < 0x800) {
		cl_buf_addc(b, (char)(0xc0 | u >> 6));
		cl_buf_addc(b, (char)(0x80 | (u & 0x3f)));
	} else if (u < 0x10000) {
		cl_buf_addc(b, (char)(0xe0 | u >> 12));
		cl_buf_addc(b, (char)(0x80 | (u >> 6 & 0x3f)));
		cl_buf_addc(b, (char)(0x80 | (u & 0x3f)));
	} else {
		cl_buf_addc(b, (char)(0xf0 | u >> 18));
		cl_buf_addc(b, (char)(0x80 | (u >> 12 & 0x3f)));
		cl_buf_addc(b, (char)(0x80 | (u >> 6 & 0x3f)));
		cl_buf_addc(b, (char)(0x80 | (u & 0x3f)));
	}
}

/* One \uXXXX, or two for a character beyond the first 65536, from s->at. */
static int unicode(struct cl_scan *s, struct cl_buf *b, struct cl_err *e)
{
	size_t start = s->at;
	const char *p = s->text + s->at;
	int u = hex4(p + 2), low;

	s->at += 6;
	if (u >= 0xd800 && u <= 0xdbff) {
		low = p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;
		s->at += 6;
		u = low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00)
						   : -1;
	}
	if (u < 0 || (u >= 0xdc00 && u <= 0xdfff))
		return cl_scan_fail(
			s, start, e, "not JSON: '\\u' without the digits of a character");
	if (!u)
		return cl_scan_fail(s, start, e, "not JSON: a NUL character in a string");
	add_utf8(b, (unsigned)u);
	return 0;
}

static int escape(struct cl_scan *s, struct cl_buf *b, struct cl_err *e)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = s->text[s->at + 1];
	const char *found;

	if (c == 'u')
		return unicode(s, b, e);
	found = c ? strchr(from, c) : NULL;
	if (!found)
		return cl_scan_fail(s, s->at, e, "not JSON: no such escape in a string");
	cl_buf_addc(b, to[found - from]);
	s->at += 2;
	return 0;
}

/* Bytes that mean themselves; ends before a quote, a backslash, or what may not stand. */
static void plain(struct cl_scan *s)
{
	size_t n;

	for (;; s->at += n) {
		unsigned char c = (unsigned char)s->text[s->at];

		n = 1;
		if (c >= 0x80)
			n = cl_utf8_next(s->text + s->at, s->len - s->at);
		else if (c < 0x20 || c == '"' || c == '\\')
			n = 0;
		if (!n)
			return;
	}
}

int cl_scan_string(struct cl_scan *s, const char *what, const char **out, struct cl_err *e)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	bool escaped = false;
	size_t from;

	*out = "";
	if (!take(s, '"'))
		return not_a(s, what, "a string", e);
	s->last = s->at - 1;
	for (from = s->at;; from = s->at) {
		plain(s);
		if (s->text[s->at] == '"' && !escaped)
			break;
		cl_buf_add(&b, s->text + from, s->at - from);
		if (s->text[s->at] == '"')
			break;
		escaped = true;
		if (s->at >= s->len)
			return cl_scan_fail(s, s->at, e, "not JSON: a string without its end");
		if (s->text[s->at] != '\\')
			return cl_scan_fail(s, s->at, e,
				(unsigned char)s->text[s->at] < 0x20
					? "not JSON: a control character in a string"
					: "not JSON: a string that is not UTF-8");
		if (escape(s, &b, e))
			return -1;
	}
	if (escaped) {
		cl_strv_add(&s->unescaped, b.p);
		*out = s->unescaped.v[s->unescaped.n - 1];
	} else {
		*out = s->text + from;
	}
	s->text[s->at++] = '\0';
	return 0;
}

static void digits(const char *p, size_t *i)
{
	while (p[*i] >= '0' && p[*i] <= '9')
		++*i;
}

/* The length of the number at p, 0 when there is none; *whole without fraction and exponent. */
static size_t number(const char *p, bool *whole)
{
	size_t i = p[0] == '-', from = i;

	digits(p, &i);
	if (i == from || (p[from] == '0' && i > from + 1))
		return 0;
	*whole = p[i] != '.' && p[i] != 'e' && p[i] != 'E';
	if (p[i] == '.') {
		from = ++i;
		digits(p, &i);
		if (i == from)
			return 0;
	}
	if (p[i] == 'e' || p[i] == 'E') {
		i += p[i + 1] == '+' || p[i + 1] == '-' ? 2 : 1;
		from = i;
		digits(p, &i);
		if (i == from)
			return 0;
	}
	return i;
}

int cl_scan_int(struct cl_scan *s, const char *what, int64_t min, int64_t max, int64_t *out,
	struct cl_err *e)
{
	const char *p;
	int64_t v = 0;
	bool whole = false, over = false, minus;
	size_t n;

	if (cl_scan_peek(s) != CL_SCAN_NUMBER)
		return not_a(s, what, "a whole number", e);
	p = s->text + s->at;
	n = number(p, &whole);
	if (!n || !whole)
		return not_a(s, what, "a whole number", e);
	minus = *p == '-';
	for (size_t i = minus; i < n && !over; i++)
		over = __builtin_mul_overflow(v, 10, &v) ||
		       __builtin_sub_overflow(v, (int64_t)(p[i] - '0'), &v);
	/* Gathered below zero, where there is one value more. */
	over = over || (!minus && __builtin_sub_overflow((int64_t)0, v, &v));
	if (over || v < min || v > max)
		return cl_scan_fail(s, s->at, e, "%s is %.*s, not from %lld to %lld", what,
			n > 30 ? 30 : (int)n, p, (long long)min, (long long)max);
	*out = v;
	s->at += n;
	return 0;
}

static bool word(struct cl_scan *s, const char *w)
{
	size_t len = strlen(w);

	if (strncmp(s->text + s->at, w, len) != 0)
		return false;
	s->at += len;
	return true;
}

int cl_scan_bool(struct cl_scan *s, const char *what, bool *out, struct cl_err *e)
{
	blanks(s);
	*out = word(s, "true");
	return *out || word(s, "false") ? 0 : not_a(s, what, "true or false", e);
}

/* A value that holds no others. */
static int skip_scalar(struct cl_scan *s, struct cl_err *e)
{
	const char *text;
	bool whole;
	size_t n;

	switch (cl_scan_peek(s)) {
	case CL_SCAN_STRING:
		return cl_scan_string(s, "a value", &text, e);
	case CL_SCAN_NUMBER:
		n = number(s->text + s->at, &whole);
		s->at += n;
		return n ? 0 : cl_scan_fail(s, s->at, e, "not JSON: a malformed number");
	case CL_SCAN_BOOL:
	case CL_SCAN_NULL:
		if (word(s, "true") || word(s, "false") || word(s, "null"))
			return 0;
		return cl_scan_fail(s, s->at, e, "not JSON: a word that is no value");
	case CL_SCAN_NOTHING:
	case CL_SCAN_OBJECT:
	case CL_SCAN_LIST:
		break;
	}
	return unexpected(s, "a value", e);
}

int cl_scan_skip(struct cl_scan *s, struct cl_err *e)
{
	enum cl_scan_type t = cl_scan_peek(s);
	bool first = true, more = true;
	const char *key;

	if (t != CL_SCAN_OBJECT && t != CL_SCAN_LIST)
		return skip_scalar(s, e);
	if (cl_scan_open(s, t == CL_SCAN_OBJECT ? '{' : '[', "a value", e))
		return -1;
	for (;;) {
		if (t == CL_SCAN_OBJECT) {
			if (cl_scan_key(s, &first, &key, e))
				return -1;
			more = key != NULL;
		} else if (cl_scan_item(s, &first, &more, e)) {
			return -1;
		}
		if (!more)
			return 0;
		if (cl_scan_skip(s, e))
			return -1;
	}
}

int cl_scan_end(struct cl_scan *s, struct cl_err *e)
{
	blanks(s);
	if (s->at >= s->len)
		return 0;
	return cl_scan_fail(s, s->at, e, "not JSON: more stands behind the end of the object");
}

void cl_json_quote(struct cl_buf *out, const char *text)
{
	size_t len = strlen(text), from = 0, i = 0, n;

	cl_buf_addc(out, '"');
	for (; i < len; i += n) {
		unsigned char c = (unsigned char)text[i];

		n = c < 0x80 ? 1 : cl_utf8_next(text + i, len - i);
		if (n && c >= 0x20 && c != '"' && c != '\\')
			continue;
		cl_buf_add(out, text + from, i - from);
		if (!n)
			cl_buf_adds(out, "\xef\xbf\xbd");
		else if (c < 0x20)
			cl_buf_addf(out, "\\u%04X", c);
		else
			cl_buf_addf(out, "\\%c", c);
		n = n ? n : 1;
		from = i + n;
	}
	cl_buf_add(out, text + from, len - from);
	cl_buf_addc(out, '"');
}
