/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/num.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int no_integer(const char *s, const char *what, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA, "%s '%s' is not a whole number", what, s);
	return cl_fix(e, "write digits alone, such as 10");
}

static int no_number(const char *s, const char *what, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA, "%s '%s' is not a number", what, s);
	return cl_fix(e, "write a number such as 2 or 0.5");
}

static bool all_digits(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

int cl_parse_u64(const char *s, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	struct cl_err *e)
{
	unsigned long long v;

	if (!all_digits(s))
		return no_integer(s, what, e);
	errno = 0;
	v = strtoull(s, NULL, 10);
	if (errno || v < min || v > max) {
		(void)cl_fail(e, CL_EDATA, "%s '%s' is not between %" PRIu64 " and %" PRIu64, what,
			s, min, max);
		return cl_fix(e, "write a whole number from %" PRIu64 " to %" PRIu64, min, max);
	}
	*out = v;
	return 0;
}

int cl_parse_i64(
	const char *s, int64_t min, int64_t max, const char *what, int64_t *out, struct cl_err *e)
{
	long long v;

	if (!all_digits(s + (*s == '-')))
		return no_integer(s, what, e);
	errno = 0;
	v = strtoll(s, NULL, 10);
	if (errno || v < min || v > max) {
		if (max == INT64_MAX && !errno) {
			(void)cl_fail(e, CL_EDATA, "%s '%s' is less than %" PRId64, what, s, min);
			return cl_fix(e, "write %" PRId64 " or more", min);
		}
		(void)cl_fail(e, CL_EDATA, "%s '%s' is not between %" PRId64 " and %" PRId64, what,
			s, min, max);
		return cl_fix(e, "write a whole number from %" PRId64 " to %" PRId64, min, max);
	}
	*out = v;
	return 0;
}

int cl_parse_double(const char *s, const char *what, double *out, struct cl_err *e)
{
	char *end = NULL;
	double v;

	/* strtod takes blanks, hex, inf and nan; none of them is a number here. */
	if (!*s || s[strspn(s, "0123456789.eE+-")] || isspace((unsigned char)*s))
		return no_number(s, what, e);
	errno = 0;
	v = strtod(s, &end);
	if (*end || end == s || !isfinite(v))
		return no_number(s, what, e);
	*out = v;
	return 0;
}

static int size_shift(char c)
{
	switch (tolower((unsigned char)c)) {
	case 'b':
		return 0;
	case 'k':
		return 10;
	case 'm':
		return 20;
	case 'g':
		return 30;
	case 't':
		return 40;
	default:
		return -1;
	}
}

static int no_size(const char *s, const char *what, const char *why, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA, "%s '%s' %s", what, s, why);
	return cl_fix(e, "write a whole number and one of b, k, m, g, t, such as 512m");
}

int cl_parse_size(
	const char *s, enum cl_size_unit bare, const char *what, int64_t *out, struct cl_err *e)
{
	cleanup_free char *text = cl_trim_dup(s);
	size_t len = strlen(text);
	const char *digits = text;
	int shift = (int)bare;
	long long v;

	if (len && size_shift(text[len - 1]) >= 0) {
		shift = size_shift(text[--len]);
		while (len && isspace((unsigned char)text[len - 1]))
			len--;
		text[len] = '\0';
		if (!len)
			return no_size(s, what, "has a unit and no value", e);
	}
	if (*digits == '+' || *digits == '-')
		digits++;
	if (!all_digits(digits))
		return no_size(s, what, "is not a size", e);
	errno = 0;
	v = strtoll(text, NULL, 10);
	if (errno) {
		(void)cl_fail(e, CL_EDATA, "%s '%s' does not fit in 64 bits", what, s);
		return cl_fix(e, "write a smaller size");
	}
	if (__builtin_mul_overflow((int64_t)v, (int64_t)1 << shift, out))
		*out = v < 0 ? INT64_MIN : INT64_MAX;
	return 0;
}

int64_t cl_bytes_to_mb(int64_t bytes)
{
	return bytes / (1 << 20) + (bytes % (1 << 20) > 0);
}

void cl_format_size(int64_t bytes, char out[24])
{
	static const char units[] = "bkmgt";
	int u = 0;

	while (bytes && bytes % 1024 == 0 && u < 4) {
		bytes /= 1024;
		u++;
	}
	(void)snprintf(out, 24, "%" PRId64 "%c", bytes, units[u]);
}

static const struct {
	const char *name;
	int64_t ms;
} duration_units[] = {
	{"ms", 1},
	{"s", 1000},
	{"m", 60000},
	{"h", 3600000},
	{"d", 86400000},
};

/* One "<number><unit>" of a duration at *p; advances *p. False: not one, or too large. */
static bool duration_part(const char **p, int64_t *total)
{
	const char *s = *p;
	size_t whole = strspn(s, "0123456789"), frac = 0, unit_len = 0;
	double v;

	if (s[whole] == '.')
		frac = 1 + strspn(s + whole + 1, "0123456789");
	if (!whole && frac < 2)
		return false;
	v = strtod(s, NULL);
	s += whole + frac;
	while (s[unit_len] >= 'a' && s[unit_len] <= 'z')
		unit_len++;
	for (size_t i = 0; i < CL_ARRAY_LEN(duration_units); i++) {
		double add;

		if (strlen(duration_units[i].name) != unit_len ||
			memcmp(duration_units[i].name, s, unit_len) != 0)
			continue;
		add = v * (double)duration_units[i].ms;
		if (add > 9e15 || (double)*total + add > 9e15)
			return false;
		*total +=
			(int64_t)(add +
				  0.5); /* positive; llround() would cost every command a library */
		*p = s + unit_len;
		return true;
	}
	return false;
}

static int no_duration(const char *s, const char *what, struct cl_err *e)
{
	(void)cl_fail(e, CL_EDATA, "%s '%s' is not a duration", what, s);
	return cl_fix(e, "write one such as 90s, 15m, 24h, 7d or 1h30m");
}

int cl_parse_duration(const char *s, bool zero_ok, const char *what, int64_t *ms, struct cl_err *e)
{
	const char *p = s;
	int64_t total = 0;

	if (!strcmp(s, "0"))
		p = s + 1;
	else
		do {
			if (!duration_part(&p, &total))
				return no_duration(s, what, e);
		} while (*p);
	if (!total && !zero_ok) {
		(void)cl_fail(e, CL_EDATA, "%s '%s' must be longer than nothing", what, s);
		return cl_fix(e, "write a time such as 90s or 15m");
	}
	*ms = total;
	return 0;
}

void cl_format_duration(int64_t ms, char out[40])
{
	uint64_t all = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms, s = all / 1000;
	unsigned minutes = (unsigned)(s / 60 % 60), seconds = (unsigned)(s % 60);
	unsigned fraction = (unsigned)(all % 1000);
	const char *sign = ms < 0 ? "-" : "";
	char sec[16];
	int n = snprintf(sec, sizeof(sec), fraction ? "%u.%03u" : "%u", seconds, fraction);

	while (fraction && sec[n - 1] == '0')
		sec[--n] = '\0';
	if (s >= 3600)
		n = snprintf(out, 40, "%s%" PRIu64 "h%um%ss", sign, s / 3600, minutes, sec);
	else if (minutes)
		n = snprintf(out, 40, "%s%um%ss", sign, minutes, sec);
	else if (all && !s)
		n = snprintf(out, 40, "%s%ums", sign, fraction);
	else
		n = snprintf(out, 40, "%s%ss", sign, sec);
	(void)n;
}

/* 0000-01-01T00:00:00Z and 9999-12-31T23:59:59Z */
#define TIME_MIN (-62167219200)
#define TIME_MAX 253402300799

void cl_format_age(int64_t ms, char out[24])
{
	int64_t s = ms < 0 ? 0 : ms / 1000;

	if (s < 60)
		(void)snprintf(out, 24, "%" PRId64 "s", s);
	else if (s < 3600)
		(void)snprintf(out, 24, "%" PRId64 "m", s / 60);
	else if (s < 2 * 86400)
		(void)snprintf(out, 24, "%" PRId64 "h", s / 3600);
	else
		(void)snprintf(out, 24, "%" PRId64 "d", s / 86400);
}

void cl_format_time(int64_t unix_seconds, char out[32])
{
	time_t t = (time_t)unix_seconds;
	struct tm tm = {0};

	if (t < TIME_MIN)
		t = TIME_MIN;
	else if (t > TIME_MAX)
		t = TIME_MAX;
	(void)gmtime_r(&t, &tm);
	/* strftime's %Y does not pad. */
	(void)snprintf(out, 32, "%04d", tm.tm_year + 1900);
	(void)strftime(out + 4, 28, "-%m-%dT%H:%M:%SZ", &tm);
}

/* `n` digits at *p as a number; advances. False when there are fewer. */
static bool digits(const char **p, int n, int *out)
{
	*out = 0;
	for (int i = 0; i < n; i++, (*p)++) {
		if (**p < '0' || **p > '9')
			return false;
		*out = *out * 10 + (**p - '0');
	}
	return true;
}

static bool expect(const char **p, const char *any)
{
	if (!**p || !strchr(any, **p))
		return false;
	(*p)++;
	return true;
}

/* The zone of RFC 3339: Z, or +hh:mm; seconds east of UTC. */
static bool zone(const char **p, int *offset)
{
	int h, m, sign = **p == '-' ? -1 : 1;

	*offset = 0;
	if (expect(p, "Zz"))
		return true;
	if (!expect(p, "+-") || !digits(p, 2, &h) || !expect(p, ":") || !digits(p, 2, &m))
		return false;
	if (h > 23 || m > 59)
		return false;
	*offset = sign * (h * 3600 + m * 60);
	return true;
}

int cl_parse_time(const char *s, const char *what, int64_t *unix_seconds, struct cl_err *e)
{
	struct tm tm = {0}, back;
	const char *p = s;
	int offset = 0;
	bool ok;
	time_t t;

	ok = digits(&p, 4, &tm.tm_year) && expect(&p, "-") && digits(&p, 2, &tm.tm_mon) &&
	     expect(&p, "-") && digits(&p, 2, &tm.tm_mday) && expect(&p, "Tt ") &&
	     digits(&p, 2, &tm.tm_hour) && expect(&p, ":") && digits(&p, 2, &tm.tm_min) &&
	     expect(&p, ":") && digits(&p, 2, &tm.tm_sec);
	if (ok && *p == '.') {
		size_t n = strspn(++p, "0123456789");

		ok = n > 0;
		p += n;
	}
	ok = ok && zone(&p, &offset) && !*p && tm.tm_sec < 60;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	back = tm;
	t = timegm(&back);
	/* timegm normalises 31 February; a value that it had to move was no date. */
	if (!ok || back.tm_mday != tm.tm_mday || back.tm_mon != tm.tm_mon ||
		back.tm_hour != tm.tm_hour || back.tm_min != tm.tm_min) {
		(void)cl_fail(e, CL_EDATA, "%s '%s' is not an RFC 3339 time", what, s);
		return cl_fix(e, "write it as 2026-01-31T12:00:00Z");
	}
	*unix_seconds = (int64_t)t - offset;
	return 0;
}

void cl_format_double(double v, char out[32])
{
	const char *exp;
	int digits = 0, power;

	do
		(void)snprintf(out, 32, "%.*e", digits, v);
	while (strtod(out, NULL) != v && ++digits < 17);
	exp = strchr(out, 'e');
	if (!exp)
		return; /* inf and nan stay as C writes them */
	power = (int)strtol(exp + 1, NULL, 10);
	if (power >= -4 && power < 15)
		(void)snprintf(out, 32, "%.*f", digits > power ? digits - power : 0, v);
}
