/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/egress/question.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A number of at most max without leading zeros; returns the byte behind it, or NULL. */
static const char *number(const char *s, const char *end, unsigned max, unsigned *out)
{
	unsigned v = 0;
	const char *at = s;

	for (; at < end && is_digit(*at); at++) {
		v = v * 10 + (unsigned)(*at - '0');
		if (v > max || (at > s && *s == '0'))
			return NULL;
	}
	*out = v;
	return at > s ? at : NULL;
}

/* A port, and nothing or a protocol as it is printed; false: not this form. */
static bool ending(const char *s, const char *end, struct eg_question *q)
{
	unsigned v;

	s = number(s, end, 65535, &v);
	if (!s)
		return false;
	q->to.port = (uint16_t)v;
	if (s == end)
		return true;
	if (end - s != 4)
		return false;
	for (enum eg_proto p = EG_PROTO_ANY; p <= EG_PROTO_UDP; p++) {
		q->proto = p;
		if (*s == '/' && !memcmp(s + 1, eg_proto_name(p), 3))
			return true;
	}
	return false;
}

/* A dotted quad, a port, and nothing or a protocol as it is printed; false: not this form. */
static bool plain(const char *s, size_t len, struct eg_question *q)
{
	const char *end = s + len;
	unsigned v;

	*q = (struct eg_question){.to.addr.family = 4, .proto = EG_PROTO_TCP};
	for (int i = 0; i < 4; i++) {
		s = number(s, end, 255, &v);
		if (!s || s == end || *s++ != (i < 3 ? '.' : ':'))
			return false;
		q->to.addr.b[i] = (uint8_t)v;
	}
	return ending(s, end, q);
}

/* An IPv6 address in brackets, a port, and nothing or a protocol; false: not this form. */
static bool bracketed(const char *s, size_t len, struct eg_question *q)
{
	const char *close = len && *s == '[' ? memchr(s, ']', len) : NULL;
	char addr[POL_ADDR_TEXT];
	struct cl_err e;
	size_t n = close ? (size_t)(close - s) - 1 : 0;

	if (!n || n >= sizeof(addr) || memchr(s, 0, n + 1))
		return false;
	memcpy(addr, s + 1, n);
	addr[n] = '\0';
	*q = (struct eg_question){.proto = EG_PROTO_TCP};
	if (s + len - close < 2 || close[1] != ':' || pol_addr_parse(addr, "", &q->to.addr, &e) ||
		q->to.addr.family != 6)
		return false;
	return ending(close + 2, s + len, q);
}

static int proto_of(
	const char *name, const char *whole, const char *what, enum eg_proto *out, struct cl_err *e)
{
	for (enum eg_proto p = EG_PROTO_ANY; p <= EG_PROTO_UDP; p++) {
		if (!strcmp(name, eg_proto_name(p))) {
			*out = p;
			return 0;
		}
	}
	(void)cl_fail(e, CL_EDATA, "%s: '%.80s' has an unknown protocol", what, whole);
	return cl_fix(e, "end it in /tcp, /udp or /any (ICMP and the rest), or in nothing for tcp");
}

/* Lines of a file that somebody else's program has written. */
static int no_question(const char *text, const char *what, struct cl_err *e)
{
	if (!*text) {
		(void)cl_fail(e, CL_EDATA, "%s: there is nothing to ask", what);
		return cl_fix(e, "write ADDR:PORT or ADDR:PORT/PROTO, and no empty line");
	}
	(void)cl_fail(e, CL_EDATA, "%s: '%.80s' ends in a carriage return", what, text);
	return cl_fix(e, "end lines as Unix does: tr -d '\\r' < FILE");
}

static int parse(const char *text, const char *what, struct eg_question *q, struct cl_err *e)
{
	char endpoint[EG_QUESTION_MAX + 1], *slash;
	struct cl_err other;

	if (!*text || text[strlen(text) - 1] == '\r')
		return no_question(text, what, e);
	(void)snprintf(endpoint, sizeof(endpoint), "%s", text);
	slash = strrchr(endpoint, '/');
	q->proto = EG_PROTO_TCP;
	if (slash) {
		*slash++ = '\0';
		cl_lower(slash);
		if (proto_of(slash, text, what, &q->proto, e))
			return -1;
	}
	if (!pol_endpoint_parse(endpoint, 0, what, &q->to, e))
		return 0;
	/* ICMP has no port, and is asked about with port 0. */
	if (q->proto == EG_PROTO_ANY && !pol_endpoint_parse(endpoint, 1, what, &q->to, &other))
		(void)cl_fix(e, "write port 0, as in 192.0.2.10:0/any or [2001:db8::10]:0/any");
	return -1;
}

int eg_question_parse(
	const char *text, size_t len, const char *what, struct eg_question *out, struct cl_err *e)
{
	char whole[EG_QUESTION_MAX + 1];

	if (!plain(text, len, out) && !bracketed(text, len, out)) {
		if (len > EG_QUESTION_MAX || memchr(text, 0, len)) {
			(void)cl_fail(e, CL_EDATA, "%s: '%.*s%s' is no destination", what,
				(int)cl_utf8_cut(text, strnlen(text, len), 40), text,
				len > 40 ? "..." : "");
			return cl_fix(e, "write ADDR:PORT or ADDR:PORT/PROTO");
		}
		memcpy(whole, text, len);
		whole[len] = '\0';
		if (parse(whole, what, out, e))
			return -1;
	}
	if (out->to.port || out->proto == EG_PROTO_ANY)
		return 0;
	(void)cl_fail(e, CL_EDATA, "%s: '%.*s' has port 0, which is not a destination", what,
		(int)len, text);
	return cl_fix(e, "write a port from 1 to 65535, or '/any' for what has no port");
}

static char *put_number(char *at, unsigned v)
{
	char digits[5];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*at++ = digits[--n];
	return at;
}

size_t eg_question_text(
	const struct eg_question *q, char out[EG_QUESTION_TEXT], size_t *addr_at, size_t *addr_len)
{
	char *at = out;

	if (q->to.addr.family == 4) {
		for (int i = 0; i < 4; i++) {
			at = put_number(at, q->to.addr.b[i]);
			*at++ = i < 3 ? '.' : ':';
		}
		*addr_at = 0;
		*addr_len = (size_t)(at - out) - 1;
	} else {
		char addr[POL_ADDR_TEXT];
		size_t len;

		pol_addr_text(&q->to.addr, addr);
		len = strlen(addr);
		*at++ = '[';
		memcpy(at, addr, len);
		at += len;
		*at++ = ']';
		*at++ = ':';
		*addr_at = 1;
		*addr_len = len;
	}
	at = put_number(at, q->to.port);
	*at++ = '/';
	memcpy(at, eg_proto_name(q->proto), 4);
	return (size_t)(at + 3 - out);
}
