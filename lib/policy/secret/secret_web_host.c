/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which server a URL names: what a credential is bound to. */
#include "base/text.h"
#include "policy/secret/secret_github.h"

#include <string.h>
#include <strings.h>

/* ---- Punycode, RFC 3492 section 6.3 ---- */

enum { BASE = 36, TMIN = 1, TMAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 128 };

static uint32_t adapt(uint32_t delta, uint32_t points, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / DAMP : delta / 2;
	delta += delta / points;
	for (; delta > (BASE - TMIN) * TMAX / 2; k += BASE)
		delta /= BASE - TMIN;
	return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static void add_digit(struct cl_buf *out, uint32_t d)
{
	cl_buf_addc(out, (char)(d < 26 ? 'a' + d : '0' + d - 26));
}

static void add_delta(struct cl_buf *out, uint32_t delta, uint32_t bias)
{
	uint32_t q = delta;

	for (uint32_t k = BASE;; k += BASE) {
		uint32_t t = k <= bias ? TMIN : k >= bias + TMAX ? TMAX : k - bias;

		if (q < t)
			break;
		add_digit(out, t + (q - t) % (BASE - t));
		q = (q - t) / (BASE - t);
	}
	add_digit(out, q);
}

/* A label is short, so nothing overflows: 63 points below 0x110000. */
static void encode(const uint32_t *cp, uint32_t n, struct cl_buf *out)
{
	uint32_t basic = 0, done, next = FIRST, delta = 0, bias = BIAS;

	for (uint32_t i = 0; i < n; i++)
		if (cp[i] < 128) {
			cl_buf_addc(out, (char)cp[i]);
			basic++;
		}
	done = basic;
	if (basic)
		cl_buf_addc(out, '-');
	while (done < n) {
		uint32_t m = UINT32_MAX;

		for (uint32_t i = 0; i < n; i++)
			m = cp[i] >= next && cp[i] < m ? cp[i] : m;
		delta += (m - next) * (done + 1);
		next = m;
		for (uint32_t i = 0; i < n; i++) {
			delta += cp[i] < next;
			if (cp[i] != next)
				continue;
			add_delta(out, delta, bias);
			bias = adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
		delta++;
		next++;
	}
}

/* ---- labels ---- */

/* Lower case of the scripts that have it, where it is a fixed step. */
static uint32_t fold(uint32_t c)
{
	static const struct {
		uint32_t from, to, step;
	} rows[] = {{'A', 'Z', 32}, {0xc0, 0xd6, 32}, {0xd8, 0xde, 32}, {0x391, 0x3a9, 32},
		{0x400, 0x40f, 80}, {0x410, 0x42f, 32}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (c >= rows[i].from && c <= rows[i].to)
			return c + rows[i].step;
	return c;
}

static uint32_t decode(const char *s, size_t n)
{
	static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = (unsigned char)s[0] & masks[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

#define LABEL 63

static bool add_label(const char *s, size_t len, struct cl_buf *out)
{
	uint32_t cp[LABEL], n = 0;
	size_t from = out->len;
	bool ascii = true;

	for (size_t i = 0, step; i < len; i += step) {
		step = cl_utf8_next(s + i, len - i);
		if (!step || n == LABEL)
			return false;
		cp[n] = fold(decode(s + i, step));
		ascii = ascii && cp[n] < 128;
		n++;
	}
	if (!ascii)
		cl_buf_adds(out, "xn--");
	if (!ascii) {
		encode(cp, n, out);
		return out->len - from <= LABEL; /* RFC 1035, 2.3.4: of the label as it is sent */
	}
	for (uint32_t i = 0; i < n; i++)
		cl_buf_addc(out, (char)cp[i]);
	return true;
}

bool sec_web_host_of(const char *text, struct cl_buf *out)
{
	cleanup_buf struct cl_buf plain = CL_BUF_INIT;
	const char *p = strncasecmp(text, "https://", 8) ? text : text + 8;
	size_t n = strcspn(p, "/?#"), host;
	const char *at = memrchr(p, '@', n);

	if (at) {
		n -= (size_t)(at + 1 - p);
		p = at + 1;
	}
	host = memchr(p, ':', n) ? (size_t)((const char *)memchr(p, ':', n) - p) : n;
	for (size_t i = 0; i < host;) {
		const char *dot = memchr(p + i, '.', host - i);
		size_t len = dot ? (size_t)(dot - p) - i : host - i;

		if (!add_label(p + i, len, &plain))
			return false;
		if (dot)
			cl_buf_addc(&plain, '.');
		i += len + (dot != NULL);
	}
	cl_buf_add(&plain, p + host, n - host);
	return sec_web_host(plain.p, out);
}

bool sec_web_host_same(const char *a, const char *b)
{
	cleanup_buf struct cl_buf x = CL_BUF_INIT, y = CL_BUF_INIT;

	return sec_web_host_of(a, &x) && sec_web_host_of(b, &y) && !strcmp(x.p, y.p);
}
