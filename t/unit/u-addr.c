/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/mem.h"
#include "policy/addr.h"

#include <arpa/inet.h>

static struct pol_prefix prefix(const char *text)
{
	struct pol_prefix p;
	struct cl_err e;

	if (pol_prefix_parse(text, true, "test", &p, &e))
		UNIT_FAIL("%s: %s", text, e.msg);
	return p;
}

static struct pol_addr addr(const char *text)
{
	struct pol_addr a;
	struct cl_err e;

	if (pol_addr_parse(text, "test", &a, &e))
		UNIT_FAIL("%s: %s", text, e.msg);
	return a;
}

void test_addr__text(void)
{
	static const char *const same[] = {"0.0.0.0", "255.255.255.255", "192.0.2.10", "::", "::1",
		"2001:db8::1", "fe80::a9fe:a9fe", "::ffff:10.0.0.1", "64:ff9b::808:808",
		"fd00:a9fe:a9fe::1", "2001:db8:0:1:1:1:1:1"};
	static const char *const other[][2] = {{"2001:DB8::0:1", "2001:db8::1"},
		{"0:0:0:0:0:0:0:1", "::1"}, {"::ffff:a00:1", "::ffff:10.0.0.1"}};
	char text[POL_ADDR_TEXT];

	for (size_t i = 0; i < CL_ARRAY_LEN(same); i++) {
		struct pol_addr a = addr(same[i]);

		pol_addr_text(&a, text);
		CHECK_STR(text, same[i]);
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(other); i++) {
		struct pol_addr a = addr(other[i][0]);

		pol_addr_text(&a, text);
		CHECK_STR(text, other[i][1]);
	}
}

void test_addr__refused(void)
{
	static const char *const bad[] = {"", " ", "10.0.0", "10.0.0.256", "010.0.0.1", "10.0.0.1 ",
		"10.0.0.1.2", "0x0a.0.0.1", "1", "::1%lo", "fe80::1%eth0", "[::1]",
		":::", "1::2::3", "2001:db8", "12345::", "::ffff:10.0.0", "example.com",
		"10.0.0.1/8", "+1.0.0.1", "1.2.3.4\n", "\xff\xfe", "localhost"};
	struct pol_addr a;
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		if (!pol_addr_parse(bad[i], "--x", &a, &e)) {
			UNIT_FAIL("'%s' is accepted", bad[i]);
			continue;
		}
		CHECK_INT(e.code, CL_EDATA);
		CHECK_HAS(e.msg, "--x");
		CHECK(e.fix[0]);
		CHECK_INT(a.family, 0);
	}
}

void test_addr__long_and_hostile_text_is_cut(void)
{
	struct pol_addr a;
	struct cl_err e;
	char text[5000];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[3] = '\033';
	CHECK(pol_addr_parse(text, "x", &a, &e) < 0);
	CHECK(strlen(e.msg) < 200);
	CHECK(!strchr(e.msg, '\033'));
	CHECK(!strchr(e.fix, '\033'));
}

void test_prefix__masks(void)
{
	static const char *const pairs[][2] = {{"10.8.0.5/24", "10.8.0.0/24"},
		{"10.255.255.255/9", "10.128.0.0/9"}, {"1.2.3.4/0", "0.0.0.0/0"},
		{"1.2.3.4/32", "1.2.3.4/32"}, {"1.2.3.4", "1.2.3.4/32"}, {"::1", "::1/128"},
		{"2001:db8:ffff::/33", "2001:db8:8000::/33"}, {"ffff::/1", "8000::/1"},
		{"2001:db8::1/0", "::/0"}, {"::ffff:10.8.0.9/120", "::ffff:10.8.0.0/120"}};
	char text[POL_PREFIX_TEXT];

	for (size_t i = 0; i < CL_ARRAY_LEN(pairs); i++) {
		struct pol_prefix p = prefix(pairs[i][0]);

		pol_prefix_text(&p, text);
		CHECK_STR(text, pairs[i][1]);
	}
}

void test_prefix__says_what_was_masked(void)
{
	static const struct {
		const char *text, *msg, *fix;
	} t[] = {
		{"10.0.0.1/8", "'10.0.0.1/8' is read as 10.0.0.0/8", "10.0.0.1/32"},
		{"::1/64", "'::1/64' is read as ::/64", "::1/128"},
		{"1.2.3.4/0", "'1.2.3.4/0' is read as 0.0.0.0/0", "1.2.3.4/32"},
		{"::ffff:10.8.0.9/120", "is read as ::ffff:10.8.0.0/120", "/128"},
		{"10.0.0.0/8", NULL, NULL},
		{"10.0.0.1/32", NULL, NULL},
		{"10.0.0.1", NULL, NULL},
		{"2001:DB8:0::/32", NULL, NULL},
	};
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(t); i++) {
		struct pol_prefix p = prefix(t[i].text);

		cl_err_init(&e);
		CHECK_INT(pol_prefix_masked(t[i].text, &p, &e), t[i].msg ? -1 : 0);
		if (!t[i].msg)
			continue;
		CHECK_HAS(e.msg, t[i].msg);
		CHECK_HAS(e.fix, t[i].fix);
	}
}

void test_prefix__refused(void)
{
	static const char *const bad[] = {"10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1",
		"10.0.0.0/+8", "10.0.0.0/8 ", "10.0.0.0/255.0.0.0", "/8", "::/129", "::/1e1",
		"10.0.0.0/8/8", "::ffff:0.0.0.0/80", "::ffff:10.0.0.0/95", "a/8",
		"10.0.0.0/99999999999999999999",
		"1111111111111111111111111111111111111111111111111111111/8"};
	struct pol_prefix p;
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		if (!pol_prefix_parse(bad[i], true, "--x", &p, &e))
			UNIT_FAIL("'%s' is accepted", bad[i]);
		else
			CHECK(e.fix[0]);
	}
	CHECK(pol_prefix_parse("10.0.0.1", false, "--x", &p, &e) < 0);
	CHECK_HAS(e.fix, "10.0.0.1/32");
}

void test_endpoint__forms(void)
{
	static const char *const pairs[][2] = {{"9.9.9.9", "9.9.9.9:53"},
		{"9.9.9.9:5353", "9.9.9.9:5353"}, {"[2620:fe::fe]:53", "[2620:fe::fe]:53"},
		{"[2620:fe::fe]", "[2620:fe::fe]:53"}, {"2620:fe::fe", "[2620:fe::fe]:53"},
		{"1.2.3.4:0", "1.2.3.4:0"}, {"1.2.3.4:65535", "1.2.3.4:65535"},
		{"[::ffff:1.2.3.4]:1", "[::ffff:1.2.3.4]:1"}};
	static const char *const bad[] = {"", ":", ":53", "9.9.9.9:", "9.9.9.9:053",
		"9.9.9.9:65536", "9.9.9.9:-1", "9.9.9.9:5 3", "[9.9.9.9]:53", "[::1", "::1]:53",
		"[::1]53", "[::1]:", "[]:53", "[::1%lo]:53", "dns.example:53", "9.9.9.9:53:53",
		"[[::1]]:53", "9.9.9.9:000000000053"};
	struct pol_endpoint p;
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(pairs); i++) {
		char text[POL_ENDPOINT_TEXT];

		if (pol_endpoint_parse(pairs[i][0], 53, "x", &p, &e)) {
			UNIT_FAIL("%s: %s", pairs[i][0], e.msg);
			continue;
		}
		pol_endpoint_text(&p, text);
		CHECK_STR(text, pairs[i][1]);
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++)
		if (!pol_endpoint_parse(bad[i], 53, "x", &p, &e))
			UNIT_FAIL("'%s' is accepted", bad[i]);
	CHECK(pol_endpoint_parse("10.0.0.1", 0, "--broker", &p, &e) < 0);
	CHECK_STR(e.fix, "write 10.0.0.1:PORT");
	CHECK(pol_endpoint_parse("[2001:db8::1]", 0, "--broker", &p, &e) < 0);
	CHECK_STR(e.fix, "write [2001:db8::1]:PORT");
	CHECK(pol_endpoint_parse("::1:443", 0, "--check", &p, &e) < 0);
	CHECK_STR(e.fix, "write [::1]:443 for port 443 of ::1, or [::1:443]:PORT");
	CHECK(pol_endpoint_parse("2001:db8:0:0:0:0:0:1:53", 53, "--check", &p, &e) < 0);
	CHECK_STR(e.fix, "write [2001:db8::1]:53 for port 53 of 2001:db8::1");
	CHECK(pol_endpoint_parse("::1:99999", 0, "--check", &p, &e) < 0);
	CHECK(!strstr(e.fix, "99999"));
}

void test_prefix__order(void)
{
	static const char *const sorted[] = {"0.0.0.0/0", "0.0.0.0/1", "10.0.0.0/8", "10.0.0.0/9",
		"10.128.0.0/9", "255.255.255.255/32", "::/0", "::/128", "2001:db8::/32",
		"ffff::/16"};

	for (size_t i = 0; i < CL_ARRAY_LEN(sorted); i++) {
		for (size_t k = 0; k < CL_ARRAY_LEN(sorted); k++) {
			struct pol_prefix a = prefix(sorted[i]), b = prefix(sorted[k]);
			int c = pol_prefix_cmp(&a, &b);

			CHECK_INT((c > 0) - (c < 0), (i > k) - (i < k));
		}
	}
}

/* What the bits say, one at a time. */
static bool slow_has(const struct pol_prefix *p, const struct pol_addr *a)
{
	if (p->addr.family != a->family)
		return false;
	for (unsigned i = 0; i < p->len; i++)
		if ((p->addr.b[i / 8] ^ a->b[i / 8]) & (0x80u >> i % 8))
			return false;
	return true;
}

void test_prefix__containment_is_what_the_bits_say(void)
{
	unsigned seed = 1;

	for (int n = 0; n < 200000; n++) {
		struct pol_prefix p = {.addr = {.family = rand_r(&seed) % 2 ? 4 : 6}}, q;
		struct pol_addr a;

		p.len = (uint8_t)((unsigned)rand_r(&seed) % (pol_bits(p.addr.family) + 1u));
		for (unsigned i = 0; i < pol_bits(p.addr.family) / 8u; i++)
			p.addr.b[i] = (uint8_t)rand_r(&seed);
		a = p.addr;
		pol_prefix_mask(&p);
		/* Half of them differ from the prefix by one bit. */
		if (rand_r(&seed) % 2) {
			unsigned bit = (unsigned)rand_r(&seed) % pol_bits(a.family);

			a.b[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
		}
		if (pol_prefix_has(&p, &a) != slow_has(&p, &a))
			UNIT_FAIL("case %d differs", n);
		q = (struct pol_prefix){
			a, (uint8_t)((unsigned)rand_r(&seed) % (pol_bits(a.family) + 1u))};
		pol_prefix_mask(&q);
		if (pol_prefix_holds(&p, &q) != (q.len >= p.len && slow_has(&p, &q.addr)))
			UNIT_FAIL("case %d holds differs", n);
		if (pol_prefix_overlaps(&p, &q) != pol_prefix_overlaps(&q, &p))
			UNIT_FAIL("case %d overlaps differs", n);
	}
}

void test_addr__unmap(void)
{
	struct pol_addr a = addr("::ffff:10.0.0.1"), b = addr("::fffe:10.0.0.1"),
			c = addr("10.0.0.1");
	struct pol_prefix p = prefix("::ffff:10.8.0.0/120"), all = prefix("::ffff:0.0.0.0/96");
	char text[POL_PREFIX_TEXT];

	CHECK(pol_addr_unmap(&a));
	CHECK_INT(pol_addr_cmp(&a, &c), 0);
	CHECK(!pol_addr_unmap(&b));
	CHECK(!pol_addr_unmap(&c));
	CHECK(pol_prefix_unmap(&p));
	pol_prefix_text(&p, text);
	CHECK_STR(text, "10.8.0.0/24");
	CHECK(pol_prefix_unmap(&all));
	pol_prefix_text(&all, text);
	CHECK_STR(text, "0.0.0.0/0");
}

void test_addr__families_never_meet(void)
{
	struct pol_prefix v4 = prefix("0.0.0.0/0"), v6 = prefix("::/0");
	struct pol_addr a4 = addr("0.0.0.0"), a6 = addr("::");

	CHECK(!pol_prefix_has(&v4, &a6));
	CHECK(!pol_prefix_has(&v6, &a4));
	CHECK(!pol_prefix_holds(&v6, &v4));
	CHECK(!pol_prefix_overlaps(&v4, &v6));
}

void test_addr__quads_as_inet_ntop(void)
{
	for (unsigned i = 0; i < 256; i++) {
		const struct pol_addr a = {
			4, {(uint8_t)i, (uint8_t)(255 - i), (uint8_t)(i / 10), 7}};
		char got[POL_ADDR_TEXT], want[POL_ADDR_TEXT];

		pol_addr_text(&a, got);
		CHECK(inet_ntop(AF_INET, a.b, want, sizeof(want)));
		CHECK_STR(got, want);
	}
}

/* Printed here, and by the C library: every pattern of zero groups, with large and small ones. */
void test_addr__text_as_inet_ntop(void)
{
	static const unsigned groups[] = {1, 0x10, 0xabc, 0xffff, 0x8000};

	for (unsigned zeros = 0; zeros < 256; zeros++) {
		for (unsigned k = 0; k < CL_ARRAY_LEN(groups); k++) {
			char got[POL_ADDR_TEXT], want[POL_ADDR_TEXT];
			struct pol_addr a = {.family = 6};

			for (unsigned i = 0; i < 8; i++) {
				unsigned g =
					zeros >> i & 1 ? 0 : groups[(k + i) % CL_ARRAY_LEN(groups)];

				a.b[2 * i] = (uint8_t)(g >> 8);
				a.b[2 * i + 1] = (uint8_t)g;
			}
			pol_addr_text(&a, got);
			CHECK(inet_ntop(AF_INET6, a.b, want, sizeof(want)));
			CHECK_STR(got, want);
		}
	}
}
