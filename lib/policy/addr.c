/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/addr.h"
#include "base/num.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 96 /* of a value in a message: enough to find it again */

/* The value as a message may hold it: cut, and no control characters. */
static const char *shown(const char *s, char out[SHOWN + 4])
{
	size_t len = strlen(s), n = cl_utf8_cut(s, len, SHOWN);

	memcpy(out, s, n);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f)
			out[i] = '?';
	memcpy(out + n, n < len ? "..." : "", n < len ? 4 : 1);
	return out;
}

uint8_t pol_bits(uint8_t family)
{
	return family == 4 ? 32 : 128;
}

static size_t bytes(uint8_t family)
{
	return pol_bits(family) / 8u;
}

static bool read_addr(const char *s, struct pol_addr *out)
{
	*out = (struct pol_addr){0};
	if (inet_pton(AF_INET, s, out->b) == 1)
		out->family = 4;
	else if (inet_pton(AF_INET6, s, out->b) == 1)
		out->family = 6;
	else
		*out = (struct pol_addr){0};
	return out->family != 0;
}

/* A whole number without leading zeros; false when it is none or beyond max. */
static bool small_number(const char *s, unsigned max, unsigned *out)
{
	unsigned v = 0;

	if (!*s || strlen(s) > 5 || (s[0] == '0' && s[1]))
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		v = v * 10 + (unsigned)(*s - '0');
	}
	*out = v;
	return v <= max;
}

/* "::1:443": an IPv6 address and what looks like its port, without brackets. */
static bool unbracketed(const char *s, struct pol_addr *addr, unsigned *port)
{
	const char *colon = strrchr(s, ':');
	char head[POL_ADDR_TEXT];

	if (!colon || colon - s >= POL_ADDR_TEXT || !small_number(colon + 1, 65535, port))
		return false;
	(void)snprintf(head, sizeof(head), "%.*s", (int)(colon - s), s);
	return read_addr(head, addr) && addr->family == 6;
}

/* Why a text is no address, as far as its shape tells. */
static int bad_addr(const char *s, const char *what, struct cl_err *e)
{
	char text[SHOWN + 4], addr[POL_ADDR_TEXT];
	struct pol_addr six;
	unsigned port;

	(void)cl_fail(e, CL_EDATA, "%s: '%s' is not an IP address", what, shown(s, text));
	if (unbracketed(s, &six, &port)) {
		pol_addr_text(&six, addr);
		return cl_fix(e, "write [%s]:%u for port %u of %s", addr, port, port, addr);
	}
	if (strchr(s, '%'))
		return cl_fix(e, "leave out the zone: rules match an address on every link");
	if (strchr(s, '/'))
		return cl_fix(e, "an address stands here, not a range");
	if (cl_all_in(s, CL_DIGITS "."))
		return cl_fix(e, "write four numbers from 0 to 255 without leading zeros, "
				 "such as 192.0.2.10");
	if (!strchr(s, ':') && strpbrk(s, CL_LOWER CL_UPPER))
		return cl_fix(e, "names mean nothing to a packet filter: write the address "
				 "that the name has");
	return cl_fix(e, "write an address such as 192.0.2.10 or 2001:db8::10");
}

int pol_addr_parse(const char *s, const char *what, struct pol_addr *out, struct cl_err *e)
{
	if (!read_addr(s, out))
		return bad_addr(s, what, e);
	return 0;
}

static bool mapped(const struct pol_addr *a)
{
	static const uint8_t head[12] = {[10] = 0xff, [11] = 0xff};

	return a->family == 6 && !memcmp(a->b, head, sizeof(head));
}

bool pol_prefix_valid(const struct pol_prefix *p)
{
	if (p->addr.family != 4 && p->addr.family != 6)
		return false;
	return p->len <= pol_bits(p->addr.family) && !(p->len < 96 && mapped(&p->addr));
}

void pol_prefix_mask(struct pol_prefix *p)
{
	for (unsigned i = 0; i < 16; i++) {
		unsigned from = i * 8;

		if (from >= p->len)
			p->addr.b[i] = 0;
		else if (p->len - from < 8)
			p->addr.b[i] &= (uint8_t)(0xffu << (8 - (p->len - from)));
	}
}

int pol_prefix_parse(
	const char *s, bool bare_host, const char *what, struct pol_prefix *out, struct cl_err *e)
{
	const char *slash = strchr(s, '/');
	char addr[POL_ADDR_TEXT], text[SHOWN + 4];
	unsigned len;

	*out = (struct pol_prefix){0};
	if (!slash) {
		if (pol_addr_parse(s, what, &out->addr, e))
			return -1;
		out->len = pol_bits(out->addr.family);
		if (bare_host)
			return 0;
		(void)cl_fail(e, CL_EDATA, "%s: '%s' has no prefix length", what, shown(s, text));
		return cl_fix(e, "write '%s/%u' for this one address", s, out->len);
	}
	if ((size_t)(slash - s) >= sizeof(addr))
		return bad_addr(s, what, e);
	(void)snprintf(addr, sizeof(addr), "%.*s", (int)(slash - s), s);
	if (!read_addr(addr, &out->addr))
		return bad_addr(addr, what, e);
	if (!small_number(slash + 1, pol_bits(out->addr.family), &len)) {
		(void)cl_fail(
			e, CL_EDATA, "%s: '%s' has a bad prefix length", what, shown(s, text));
		return cl_fix(e, "write a length from 0 to %u after the slash",
			pol_bits(out->addr.family));
	}
	out->len = (uint8_t)len;
	if (!pol_prefix_valid(out)) {
		(void)cl_fail(e, CL_EDATA, "%s: '%s' is an IPv4-mapped range shorter than /96",
			what, shown(s, text));
		return cl_fix(e, "write the IPv4 range itself, such as 10.8.0.0/16");
	}
	pol_prefix_mask(out);
	return 0;
}

int pol_prefix_masked(const char *s, const struct pol_prefix *p, struct cl_err *e)
{
	char said[POL_ADDR_TEXT], text[SHOWN + 4], range[POL_PREFIX_TEXT];
	struct pol_addr a;

	(void)snprintf(said, sizeof(said), "%.*s", (int)strcspn(s, "/"), s);
	if (!read_addr(said, &a) || !pol_addr_cmp(&a, &p->addr))
		return 0;
	pol_prefix_text(p, range);
	(void)cl_fail(e, CL_EDATA, "'%s' is read as %s", shown(s, text), range);
	return cl_fix(e, "write %s for the whole range, or %s/%u for the one address", range, said,
		pol_bits(a.family));
}

static int bad_port(const char *s, const char *what, struct cl_err *e)
{
	char text[SHOWN + 4];

	(void)cl_fail(e, CL_EDATA, "%s: '%s' has a bad port", what, shown(s, text));
	return cl_fix(e, "write a port from 1 to 65535 without leading zeros");
}

static int no_port(const char *s, const struct pol_addr *a, const char *what, struct cl_err *e)
{
	char text[SHOWN + 4], addr[POL_ADDR_TEXT], head[POL_ADDR_TEXT];
	struct pol_addr six;
	unsigned port;

	pol_addr_text(a, addr);
	(void)cl_fail(e, CL_EDATA, "%s: '%s' names no port", what, shown(s, text));
	if (unbracketed(s, &six, &port)) {
		pol_addr_text(&six, head);
		return cl_fix(e, "write [%s]:%u for port %u of %s, or [%s]:PORT", head, port, port,
			head, s);
	}
	return cl_fix(e, a->family == 4 ? "write %s:PORT" : "write [%s]:PORT", addr);
}

/* Splits "[ADDR6]...": the address to addr, what follows the bracket to *rest. */
static bool bracketed(const char *s, char addr[POL_ADDR_TEXT], const char **rest)
{
	const char *end = strchr(s, ']');

	if (!end || end - s - 1 >= POL_ADDR_TEXT || !memchr(s, ':', (size_t)(end - s)))
		return false;
	(void)snprintf(addr, POL_ADDR_TEXT, "%.*s", (int)(end - s - 1), s + 1);
	*rest = end + 1;
	return !**rest || **rest == ':';
}

int pol_endpoint_parse(const char *s, uint16_t default_port, const char *what,
	struct pol_endpoint *out, struct cl_err *e)
{
	const char *rest, *colon = strrchr(s, ':');
	char addr[POL_ADDR_TEXT];
	unsigned port = default_port;

	*out = (struct pol_endpoint){0};
	if (*s == '[') {
		if (!bracketed(s, addr, &rest))
			return bad_addr(s, what, e);
	} else if (colon && strchr(s, ':') == colon) {
		if (colon - s >= POL_ADDR_TEXT)
			return bad_addr(s, what, e);
		(void)snprintf(addr, sizeof(addr), "%.*s", (int)(colon - s), s);
		rest = colon;
	} else {
		if (pol_addr_parse(s, what, &out->addr, e))
			return -1;
		rest = "";
	}
	if (!out->addr.family && !read_addr(addr, &out->addr))
		return bad_addr(addr, what, e);
	if (*s == '[' && out->addr.family != 6)
		return bad_addr(s, what, e);
	if (*rest && !small_number(rest + 1, 65535, &port))
		return bad_port(s, what, e);
	if (!*rest && !port)
		return no_port(s, &out->addr, what, e);
	out->port = (uint16_t)port;
	return 0;
}

static char *put_hex(char *at, unsigned v)
{
	static const char digits[] = "0123456789abcdef";

	for (int shift = 12; shift >= 0; shift -= 4)
		if (v >> shift || !shift)
			*at++ = digits[v >> shift & 15];
	return at;
}

/* RFC 5952: the first of the longest runs of two or more zero groups is left out. */
static void longest_zeros(const unsigned g[8], int *from, int *len)
{
	*from = -1;
	*len = 1;
	for (int i = 0; i < 8; i++) {
		int n = 0;

		while (i + n < 8 && !g[i + n])
			n++;
		if (n > *len) {
			*from = i;
			*len = n;
		}
		i += n;
	}
}

/* As inet_ntop(3) writes what carries no IPv4 address inside. */
static void groups_text(const struct pol_addr *a, char *at)
{
	unsigned g[8];
	int from, len;

	for (int i = 0; i < 8; i++)
		g[i] = (unsigned)a->b[2 * i] << 8 | a->b[2 * i + 1];
	longest_zeros(g, &from, &len);
	for (int i = 0; i < 8; i++) {
		if (i == from) {
			*at++ = ':';
			i += len - 1;
			if (i == 7)
				*at++ = ':';
			continue;
		}
		if (i)
			*at++ = ':';
		at = put_hex(at, g[i]);
	}
	*at = '\0';
}

static void quad_text(const struct pol_addr *a, char *at)
{
	for (int i = 0; i < 4; i++) {
		unsigned v = a->b[i];

		if (v >= 100)
			*at++ = (char)('0' + v / 100);
		if (v >= 10)
			*at++ = (char)('0' + v / 10 % 10);
		*at++ = (char)('0' + v % 10);
		*at++ = '.';
	}
	at[-1] = '\0';
}

void pol_addr_text(const struct pol_addr *a, char out[POL_ADDR_TEXT])
{
	/* Addresses are printed by the million, and inet_ntop(3) formats number by number. */
	if (a->family == 4) {
		quad_text(a, out);
		return;
	}
	if (a->family == 6 && (a->b[0] || a->b[1])) {
		groups_text(a, out);
		return;
	}
	if (a->family != 6 || !inet_ntop(AF_INET6, a->b, out, POL_ADDR_TEXT))
		(void)snprintf(out, POL_ADDR_TEXT, "none");
}

void pol_prefix_text(const struct pol_prefix *p, char out[POL_PREFIX_TEXT])
{
	char addr[POL_ADDR_TEXT];

	pol_addr_text(&p->addr, addr);
	(void)snprintf(out, POL_PREFIX_TEXT, "%s/%u", addr, p->len);
}

void pol_endpoint_text(const struct pol_endpoint *p, char out[POL_ENDPOINT_TEXT])
{
	char addr[POL_ADDR_TEXT];

	pol_addr_text(&p->addr, addr);
	(void)snprintf(
		out, POL_ENDPOINT_TEXT, p->addr.family == 6 ? "[%s]:%u" : "%s:%u", addr, p->port);
}

bool pol_addr_unmap(struct pol_addr *a)
{
	struct pol_addr v4 = {.family = 4};

	if (!mapped(a))
		return false;
	memcpy(v4.b, a->b + 12, 4);
	*a = v4;
	return true;
}

bool pol_prefix_unmap(struct pol_prefix *p)
{
	if (p->addr.family != 6 || p->len < 96 || !pol_addr_unmap(&p->addr))
		return false;
	p->len = (uint8_t)(p->len - 96);
	return true;
}

int pol_addr_cmp(const struct pol_addr *a, const struct pol_addr *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return memcmp(a->b, b->b, bytes(a->family));
}

int pol_prefix_cmp(const struct pol_prefix *a, const struct pol_prefix *b)
{
	int c = pol_addr_cmp(&a->addr, &b->addr);

	return c ? c : (int)a->len - (int)b->len;
}

struct pol_prefix pol_host(const struct pol_addr *a)
{
	return (struct pol_prefix){*a, pol_bits(a->family)};
}

/* The first len bits of both are the same. */
static bool same_bits(const struct pol_addr *a, const struct pol_addr *b, unsigned len)
{
	unsigned whole = len / 8, rest = len % 8;
	unsigned differ;

	/* Most that are compared differ early. */
	if (whole && a->b[0] != b->b[0])
		return false;
	if (memcmp(a->b, b->b, whole) != 0)
		return false;
	if (!rest)
		return true;
	differ = (unsigned)a->b[whole] ^ b->b[whole];
	return !(differ >> (8 - rest));
}

bool pol_prefix_holds(const struct pol_prefix *a, const struct pol_prefix *b)
{
	return a->addr.family == b->addr.family && a->len <= b->len &&
	       same_bits(&a->addr, &b->addr, a->len);
}

bool pol_prefix_has(const struct pol_prefix *p, const struct pol_addr *a)
{
	return p->addr.family == a->family && same_bits(&p->addr, a, p->len);
}

bool pol_prefix_overlaps(const struct pol_prefix *a, const struct pol_prefix *b)
{
	return pol_prefix_holds(a, b) || pol_prefix_holds(b, a);
}
