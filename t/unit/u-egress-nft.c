/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/egress/egress_lookup.h"

void test_names(void)
{
	static const char *const t[][4] = {
		{"vx-wj7bbgym43", NULL, "cloop-sbx-vx-wj7bbgym43", "cloop_sbx_vx_wj7bbgym43"},
		{"Build.Box 1", "public", "cloop-sbx-build-box-1-public",
			"cloop_sbx_build_box_1_public"},
		{"", NULL, "cloop-sbx-default", "cloop_sbx"},
		{"--x--", "", "cloop-sbx-x", "cloop_sbx_x"},
		{"e\xc3\xa9", "r0123456789abx8118", "cloop-sbx-e-r0123456789abx8118", NULL},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(t); i++) {
		cleanup_free char *n = eg_network_name(t[i][0], t[i][1]);
		cleanup_free char *table = eg_table_name(t[i][0], t[i][1]);
		struct cl_err e;

		CHECK_STR(n, t[i][2]);
		if (t[i][3])
			CHECK_STR(table, t[i][3]);
		CHECK_INT(eg_check_table(table, &e), 0);
	}
}

void test_names__long_ones_stay_apart(void)
{
	char a[101], b[101];

	memset(a, 'a', sizeof(a));
	a[100] = '\0';
	memcpy(b, a, sizeof(b));
	b[99] = 'b';
	{
		cleanup_free char *na = eg_network_name(a, "public"),
				  *nb = eg_network_name(b, "public");
		cleanup_free char *ta = eg_table_name(a, "public"), *tb = eg_table_name(a, "other");

		CHECK(strcmp(na, nb) != 0);
		CHECK(strcmp(ta, tb) != 0);
		CHECK_INT(strlen(na), strlen("cloop-sbx-") + 32 + strlen("-public"));
		CHECK_INT(strlen(ta), 64);
	}
}

void test_names__checked(void)
{
	static const char *const tables[] = {"", "-x", "a b", "a;b", "a\"b", "a\nb", "a.b",
		"\xc3\xa9", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff12345"};
	static const char *const interfaces[] = {
		"", "a/b", "a b", "br0\"", "abcdefghijklmnop", ".", "..", "a\nb", "a:b", "a%"};
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(tables); i++)
		CHECK_INT(eg_check_table(tables[i], &e), -1);
	for (size_t i = 0; i < CL_ARRAY_LEN(interfaces); i++)
		CHECK_INT(eg_check_interface(interfaces[i], &e), -1);
	CHECK_INT(eg_check_table("cloop_sbx-1", &e), 0);
	CHECK_INT(eg_check_interface("csbx-0123456789", &e), 0);
	CHECK_INT(eg_check_interface("br0.7", &e), 0);
}

void test_comment(void)
{
	char out[121], long_text[400];

	eg_comment("  a \"b\" \\ c; {d} #e\n\r\tf\x7f  ", out);
	CHECK_STR(out, "a b c d e f");
	eg_comment("", out);
	CHECK_STR(out, "");
	eg_comment("caf\xc3\xa9 \xe2\x80\x94 ok", out);
	CHECK_STR(out, "caf\xc3\xa9 \xe2\x80\x94 ok");
	eg_comment("bad \xff byte \xc3", out);
	CHECK_STR(out, "bad ? byte ?");
	memset(long_text, 'x', 120);
	long_text[120] = '\0';
	eg_comment(long_text, out);
	CHECK_INT(strlen(out), 120);
	CHECK(!strstr(out, "..."));
	memset(long_text, 'x', 116);
	(void)snprintf(long_text + 116, 20, "\xe2\x80\x94\xe2\x80\x94\xe2\x80\x94");
	eg_comment(long_text, out);
	CHECK_INT(strlen(out), 119);
	CHECK(cl_ends(out, "x..."));
	CHECK(cl_utf8_valid(out, strlen(out)));
}

/* --- the script --- */

static void compile(const char *json, struct eg_policy *out)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	if (cl_doc_parse(&d, CL_DOC_JSON, "case", json, strlen(json), NULL, &e) ||
		eg_auth_read(&d, d.root, &a, &e) || eg_compile(&a, out, &e))
		UNIT_FAIL("%s: %s", json, e.msg);
}

static char *script(const char *json, const struct eg_nft *form)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	compile(json, &p);
	if (eg_render_nft_form(&p, form, &b, &e))
		UNIT_FAIL("%s", e.msg);
	return cl_buf_detach(&b);
}

/* How often the text holds the piece. */
static size_t count(const char *text, const char *piece)
{
	size_t n = 0;

	while ((text = strstr(text, piece))) {
		text += strlen(piece);
		n++;
	}
	return n;
}

#define TABLE "cloop_sbx_t"

static void check_lines(const char *text, const char *const *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK_HAS(text, lines[i]);
}

/* Established passes before anything else; with sources, what has one of them and no other. */
void test_script__established_first(void)
{
	static const char *const lines[][2] = {
		{"priority 0; policy accept;\n\t\tct state established,related counter accept\n"
		 "\t\toifname \"br0\" goto inbound\n"
		 "\t\tct state invalid iifname \"br0\" counter drop\n\t\tgoto outbound\n\t}\n",
			"mld2-listener-report } counter drop comment \"multicast listener "
			"report\"\n"
			"\t\tct state established,related counter accept\n"},
		{"policy accept;\n\t\tip saddr 10.211.0.2 ct state established,related counter "
		 "accept\n"
		 "\t\toifname \"br0\" goto inbound\n"
		 "\t\tip saddr != 10.211.0.2 iifname \"br0\" counter drop comment \"" EG_SAY_SOURCE
		 "\"\n\t\tip6 saddr != fe80::/10 iifname \"br0\" counter drop comment "
		 "\"" EG_SAY_SOURCE "\"\n"
		 "\t\tct state established,related counter accept\n"
		 "\t\tct state invalid iifname \"br0\" counter drop\n\t\tgoto outbound\n\t}\n",
			"comment \"multicast listener report\"\n"
			"\t\tip saddr != 10.211.0.2 iifname \"br0\" counter drop"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(lines); i++) {
		struct eg_nft f = {.table = TABLE, .bridge = "br0"};
		cleanup_free char *s = NULL;

		if (i)
			f.source4 = (struct pol_addr){.family = 4, .b = {10, 211, 0, 2}};
		s = script("{}", &f);
		check_lines(s, lines[i], CL_ARRAY_LEN(lines[i]));
	}
}

/* Few openings are rules, and say why they are there. */
void test_script__rules(void)
{
	cleanup_free char *s =
		script("{\"allow_cidrs\":[\"10.8.0.0/24\",\"10.8.1.0/25\",\"2a00::/17\"],"
		       "\"allow_ports\":[443,444,22],\"resolvers\":[\"[2620:fe::fe]:5353\"],"
		       "\"deny_cidrs\":[\"10.8.0.16/28\"]}",
			&(struct eg_nft){.table = TABLE, .bridge = "br0"});
	static const char *const lines[] = {
		"\t\tct state invalid iifname \"br0\" counter drop\n\t\tgoto outbound\n",
		"\n\tchain outbound {\n\t\tip daddr 10.8.0.0/28 tcp dport { 22, 443-444 } counter "
		"accept comment "
		"\"granted "
		"CIDR (waives private (RFC1918/ULA))\"\n"
		"\t\tip daddr 10.8.0.32-10.8.1.127 tcp dport { 22, 443-444 } counter accept "
		"comment "
		"\"granted CIDR (waives private (RFC1918/ULA))\"\n",
		"\t\tip6 daddr 2620:fe::fe/128 tcp dport 5353 counter accept comment \"DNS "
		"resolver "
		"(truncated answers retry over TCP)\"\n"
		"\t\tip6 daddr 2620:fe::fe/128 udp dport 5353 counter accept comment \"DNS "
		"resolver\"\n"
		"\t\tip6 daddr 2a00::/17 tcp dport { 22, 443-444 } counter accept comment "
		"\"granted "
		"CIDR\"\n",
	};
	static const char last[] =
		"\t\tiifname \"br0\" counter goto denied comment \"default deny\"\n\t}\n";

	/* In the order of the addresses: 2620 before 2a00. */
	check_lines(s, lines, CL_ARRAY_LEN(lines));
	CHECK_HAS(s, last);
	CHECK_INT(count(s, "vmap"), 0);
	CHECK_INT(count(s, "chain allow"), 0);
	CHECK_INT(count(s, "add table inet " TABLE "\ndelete table inet " TABLE "\n"), 1);
}

/* Many are maps. What is denied is in neither, and needs no rule. */
void test_script__maps(void)
{
	cleanup_free char *s = script("{\"allow_public_internet\":true,\"allow_ports\":[443],"
				      "\"resolvers\":[\"9.9.9.9:53\"],"
				      "\"deny_cidrs\":[\"8.8.8.8/32\",\"224.0.0.0/3\"]}",
		&(struct eg_nft){.table = TABLE, .bridge = "br0"});
	static const char *const lines[] = {
		"\tmap allowed4 {\n\t\ttype ipv4_addr : verdict\n\t\tflags interval\n\t\telements "
		"= "
		"{\n\t\t\t0.0.0.1-8.8.8.7 : goto allow1,\n\t\t\t8.8.8.9-9.9.9.8 : goto allow1,\n"
		"\t\t\t9.9.9.9 : goto allow2,\n\t\t\t9.9.9.10-9.255.255.255 : goto allow1,\n",
		"\t\t\t192.169.0.0-223.255.255.255 : goto allow1\n\t\t}\n\t}\n",
		"\tmap allowed6 {\n\t\ttype ipv6_addr : verdict\n",
		"\t\tip daddr vmap @allowed4\n\t\tip6 daddr vmap @allowed6\n"
		"\t\tiifname \"br0\" counter goto denied comment \"default deny\"\n\t}\n"
		"\n\tchain allow1 {\n\t\ttcp dport 443 accept\n\t\tiifname \"br0\" counter goto "
		"denied "
		"comment \"default deny\"\n"
		"\t}\n\n\tchain allow2 {\n\t\ttcp dport 443 accept\n\t\ttcp dport 53 accept\n"
		"\t\tudp dport 53 accept\n\t\tiifname \"br0\" counter goto denied comment "
		"\"default "
		"deny\"\n\t}\n",
	};

	check_lines(s, lines, CL_ARRAY_LEN(lines));
	CHECK_INT(count(s, "ffff:0.0.0.0"), 0);
}

/* All of a length for a few ports: the port first, then one lookup, and no chain to go to. */
void test_script__direct(void)
{
	static const char cidrs[] =
		"\"10.1.0.0/16\",\"10.3.0.0/16\",\"10.5.0.0/16\",\"10.7.0.0/16\",\"10.9.0.0/16\","
		"\"11.1.0.0/16\",\"11.3.0.0/16\",\"11.5.0.0/16\",\"11.7.0.0/16\",\"11.9.0.0/16\","
		"\"12.1.0.0/16\"";
	static const struct {
		const char *ports;
		bool direct;
		const char *has;
	} t[] = {
		{"\"allow_ports\":[443,80]", true,
			"\n\tchain outbound {\n"
			"\t\ttcp dport 443 ip daddr & 255.255.0.0 == @allowed4_16 accept\n"
			"\t\ttcp dport 80 ip daddr & 255.255.0.0 == @allowed4_16 accept\n"
			"\t\tip6 daddr vmap @allowed6\n\t\tiifname \"br0\" counter goto denied"},
		{"\"all_ports\":true", true,
			"\t\tmeta l4proto tcp ip daddr & 255.255.0.0 == @allowed4_16 accept\n"},
		{"\"allow_ports\":[443,444]", true,
			"\t\ttcp dport 443-444 ip daddr & 255.255.0.0 == @allowed4_16 accept\n"},
		{"\"allow_ports\":[1,3,5,7]", false,
			"\t\tip daddr & 255.255.0.0 == @allowed4_16 goto allow1\n"},
		/* Each length for itself. */
		{"\"allow_ports\":[443],\"brokers\":[\"10.13.0.1:3128\"]", true,
			"\t\ttcp dport 3128 ip daddr @allowed4_32 accept\n"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(t); i++) {
		cleanup_free char *policy =
			cl_asprintf("{\"allow_cidrs\":[%s],%s}", cidrs, t[i].ports);
		cleanup_free char *s =
			script(policy, &(struct eg_nft){.table = TABLE, .bridge = "br0"});

		CHECK_HAS(s, t[i].has);
		CHECK_INT(count(s, "chain allow1 {"), t[i].direct ? 0 : 1);
	}
}

/*
 * Prefixes of few lengths are a set each, or a map where they say different things; the longer
 * ones are reached by the middle one.
 */
void test_script__prefixes(void)
{
	cleanup_free char *s = script(
		"{\"allow_cidrs\":[\"10.1.0.0/16\",\"10.3.0.0/16\",\"10.9.1.0/24\",\"10.9.3.0/24\","
		"\"10.9.5.1/32\",\"10.9.5.3/32\",\"10.9.5.5/32\",\"11.9.5.5/32\",\"11.9.5.7/32\","
		"\"12.0.0.0/16\",\"12.2.0.0/16\",\"12.4.0.0/16\",\"12.6.0.0/16\"],"
		"\"allow_ports\":[80,81,443,1,5]}",
		&(struct eg_nft){.table = TABLE, .bridge = "br0"});
	static const char *const lines[] = {
		"\tset allowed4_16 {\n\t\ttype ipv4_addr\n\t\tsize 6\n\t\telements = "
		"{\n\t\t\t10.1.0.0,\n\t\t\t10.3.0.0,\n",
		"\tmap allowed4_24 {\n\t\ttype ipv4_addr : verdict\n\t\tsize 4\n\t\telements = "
		"{\n\t\t\t10.9.1.0 : goto allow1,\n\t\t\t10.9.3.0 : goto allow1,\n\t\t\t10.9.5.0 : "
		"goto allowed4_32,\n\t\t\t11.9.5.0 : goto allowed4_32\n\t\t}\n",
		"\tset allowed4_32 {\n\t\ttype ipv4_addr\n\t\tsize 5\n",
		"\t\tip daddr & 255.255.255.0 vmap @allowed4_24\n"
		"\t\tip daddr & 255.255.0.0 == @allowed4_16 goto allow1\n"
		"\t\tip6 daddr vmap @allowed6\n"
		"\t\tiifname \"br0\" counter goto denied comment \"default deny\"\n\t}\n"
		"\n\tchain allowed4_32 {\n\t\tip daddr @allowed4_32 goto allow1\n"
		"\t\tiifname \"br0\" counter goto denied comment \"default deny\"\n\t}\n"
		"\n\tchain allow1 {\n\t\ttcp dport { 1, 5, 80-81, 443 } accept\n",
	};

	check_lines(s, lines, CL_ARRAY_LEN(lines));
}

/* Of one lookup's worth, five are enough. */
void test_script__from_rules_to_maps(void)
{
	const struct eg_nft form = {.table = TABLE, .bridge = "br0"};
	cleanup_free char *few = script("{\"allow_cidrs\":[\"12.0.0.0/16\",\"12.2.0.0/16\","
					"\"12.4.0.0/16\",\"12.6.0.0/16\"],\"allow_ports\":[80]}",
		&form);
	cleanup_free char *more =
		script("{\"allow_cidrs\":[\"12.0.0.0/16\",\"12.2.0.0/16\","
		       "\"12.4.0.0/16\",\"12.6.0.0/16\",\"12.8.0.0/16\"],\"allow_ports\":[80]}",
			&form);
	cleanup_free char *mixed =
		script("{\"allow_cidrs\":[\"12.0.0.0/16\",\"12.2.0.0/16\","
		       "\"12.4.0.0/16\",\"12.6.0.0/16\",\"14.0.0.0/8\"],\"allow_ports\":[80]}",
			&form);

	CHECK_INT(count(few, "vmap"), 0);
	CHECK_HAS(more, "set allowed4_16 {");
	CHECK_HAS(more, "map allowed6 {\n\t\ttype ipv6_addr : verdict\n\t\tflags interval\n\t}\n");
	CHECK_INT(count(mixed, "vmap"), 0);
}

/* What the maps say of an address, as a kernel would ask them. */
static uint32_t ask(const struct eg_lookup *l, flat_u128 a)
{
	uint8_t chain_of = EG_OWN_CHAIN;

	for (size_t i = l->n; eg_lookup_next(l, chain_of, &i);) {
		struct pol_addr mask = eg_length_mask(l, i);
		flat_u128 key = a & flat_number(&mask);
		size_t lo = 0, hi = l->at[i].n;

		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (l->at[i].v[mid].key < key)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo == l->at[i].n || l->at[i].v[lo].key != key)
			continue;
		if (!(l->at[i].v[lo].to & EG_LONGER))
			return l->at[i].v[lo].to;
		chain_of = (uint8_t)(l->at[i].v[lo].to & ~EG_LONGER);
		CHECK_INT(l->at[chain_of].chain, chain_of);
		i = l->n;
	}
	return FLAT_DROP_ALL;
}

/* Every entry is asked for, and the numbers at and beside both ends of every interval. */
static void check_lookup(const struct flat *f, const struct eg_lookup *l)
{
	const struct flat_view *v = &f->sense[flat_half(l->family)];

	for (size_t i = 0; i < v->n; i++) {
		flat_u128 hi = flat_hi(v, i, l->family), middle = v->lo[i] + (hi - v->lo[i]) / 2;

		CHECK_INT(ask(l, v->lo[i]), v->id[i]);
		CHECK_INT(ask(l, middle), v->id[i]);
		CHECK_INT(ask(l, hi), v->id[i]);
	}
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->at[i].n; k++) {
			struct pol_addr mask = eg_length_mask(l, i);

			CHECK(!k || l->at[i].v[k - 1].key < l->at[i].v[k].key);
			CHECK(!(l->at[i].v[k].key & ~flat_number(&mask)));
		}
}

static uint32_t random_below(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % n;
}

/* Ranges of random sizes, apart and side by side, in two classes and open to everything. */
static size_t random_ranges(struct flat_rule *r, size_t most, uint8_t family, uint32_t *seed)
{
	static const struct flat_ports one = {443, 443};
	flat_u128 at = family == 4 ? 0x0a000000 : (flat_u128)0x2a << 120, last = flat_last(family);
	unsigned size = 1 + random_below(seed, family == 4 ? 14 : 100);
	unsigned align = random_below(seed, 3) ? 0 : size;
	size_t n = 0;

	while (n < most) {
		flat_u128 len = ((flat_u128)1 << random_below(seed, size)) + random_below(seed, 3);

		at = ((at >> align) + random_below(seed, 4)) << align;
		if (last - at <= len)
			break;
		r[n++] = (struct flat_rule){.family = family,
			.protos = random_below(seed, 3) ? 1u << EG_PROTO_TCP : FLAT_EVERY_PROTO,
			.verdict = EG_ALLOW,
			.lo = at,
			.hi = at + len - 1,
			.ports = &one,
			.nports = random_below(seed, 2),
			.reason = ""};
		at += len + ((flat_u128)1 << align) - 1;
	}
	return n;
}

void test_lookup__says_what_the_flat_form_says(void)
{
	static struct flat_rule r[3000];
	size_t hashed = 0, deep = 0;
	uint32_t seed = 1;

	for (int i = 0; i < 400; i++) {
		size_t most = i % 20 ? 40 : 1400;
		size_t n = random_ranges(r, most, 4, &seed);
		cleanup_flat struct flat f = FLAT_INIT;
		cleanup_maps struct eg_maps m = EG_MAPS_INIT;

		n += random_ranges(r + n, most, 6, &seed);
		flat_build_rules(r, n, &f);
		eg_maps_make(&f, &m);
		for (int half = FLAT_V4; m.there && half <= FLAT_V6; half++) {
			hashed += m.of[half].n > 0;
			deep += m.of[half].n > 7;
			if (m.of[half].n)
				check_lookup(&f, &m.of[half]);
		}
	}
	CHECK(hashed > 50);
	CHECK(deep > 5);
}

/* The first and the last address, and everything. */
void test_lookup__ends_of_a_family(void)
{
	static const char *const policies[] = {
		"{\"allow_cidrs\":[\"0.0.0.0/1\",\"::/1\"],\"all_ports\":true}",
		"{\"allow_cidrs\":[\"128.0.0.0/1\",\"8000::/1\"],\"all_ports\":true}",
		"{\"allow_cidrs\":[\"0.0.0.0/32\",\"0.0.0.2/32\",\"0.0.0.4/32\",\"255.255.255.255/"
		"32\",\"255.255.255.253/32\","
		"\"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128\",\"::5/"
		"128\"],\"allow_ports\":[443]}",
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(policies); i++) {
		cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
		cleanup_flat struct flat f = FLAT_INIT;
		cleanup_maps struct eg_maps m = EG_MAPS_INIT;

		compile(policies[i], &p);
		flat_build(&p, true, &f);
		eg_maps_make(&f, &m);
		for (int half = FLAT_V4; half <= FLAT_V6; half++)
			if (m.of[half].n)
				check_lookup(&f, &m.of[half]);
	}
}

void test_script__every_port_is_tcp(void)
{
	cleanup_free char *s = script("{\"allow_public_internet\":true,\"all_ports\":true}",
		&(struct eg_nft){.table = TABLE});
	static const char *const lines[] = {
		"# WARNING: every public address is reachable on any port; only the\n",
		"type filter hook output priority 0; policy drop;",
		"\t\t\t127.0.0.0-127.255.255.255 : accept,\n",
		"\t\t\t::1 : accept,\n",
		("\tchain allow1 {\n\t\tmeta l4proto tcp accept\n\t\tcounter goto denied "
		 "comment "),
	};

	check_lines(s, lines, CL_ARRAY_LEN(lines));
	CHECK_INT(count(s, "br0"), 0);
}

/* Rules that no authorisation compiles to, and every shape of a match. */
void test_script__shapes(void)
{
	static const uint16_t ports[] = {7, 9};
	struct eg_rule rules[] = {
		{.verdict = EG_DROP,
			.prefix = {{4, {0}}, 0},
			.proto = EG_PROTO_UDP,
			.ports = ports,
			.nports = 2,
			.reason = "no"},
		{.verdict = EG_ALLOW,
			.prefix = {{4, {0}}, 0},
			.proto = EG_PROTO_UDP,
			.reason = "udp"},
		{.verdict = EG_ALLOW,
			.prefix = {{6, {0x20}}, 3},
			.proto = EG_PROTO_ANY,
			.reason = "all"},
		{.verdict = EG_ALLOW,
			.prefix = {{6, {0x40}}, 3},
			.proto = EG_PROTO_ANY,
			.ports = ports,
			.nports = 1,
			.reason = "seven"},
	};
	const struct eg_policy p = {.rules = rules, .nrules = CL_ARRAY_LEN(rules)};
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	CHECK_INT(eg_render_nft(&p, TABLE, "br0", &b, &e), 0);
	CHECK_HAS(b.p,
		"\t\tmeta nfproto ipv4 udp dport { 0-6, 8, 10-65535 } counter accept comment "
		"\"udp\"\n"
		"\t\tip6 daddr 2000::/3 counter accept comment \"all\"\n"
		"\t\tip6 daddr 4000::/3 tcp dport 7 counter accept comment \"seven\"\n"
		"\t\tip6 daddr 4000::/3 udp dport 7 counter accept comment \"seven\"\n"
		"\t\tip6 daddr 4000::/3 meta l4proto != { tcp, udp } th dport 7 counter accept "
		"comment \"seven\"\n");
}

void test_script__silence(void)
{
	struct eg_nft form = {.table = TABLE, .bridge = "br0"};
	cleanup_free char *loud = script("{}", &form), *quiet = script("{\"silent\":true}", &form);

	CHECK_INT(count(loud, "reject with tcp reset"), 2);
	CHECK_INT(count(loud, "reject with icmpx admin-prohibited"), 2);
	CHECK_INT(count(quiet, "reject"), 0);
	CHECK_INT(count(quiet, "update @blocked4"), 2);
	CHECK_INT(count(quiet, "add @since6"), 2);
	CHECK_HAS(quiet,
		"\t\tcounter goto refused comment \"not recorded: too many destinations\"\n"
		"\t}\n\n\tchain refused {\n\t\tcounter drop\n\t}\n}\n");
}

void test_script__sources_and_masquerade(void)
{
	struct eg_nft form = {.table = TABLE, .bridge = "br0", .masquerade = true};
	cleanup_free char *v4 = NULL, *v6 = NULL, *both = NULL, *none = NULL;

	form.source4 = (struct pol_addr){4, {10, 211, 0, 2}};
	v4 = script("{}", &form);
	CHECK_HAS(v4, "\t\tip saddr != 10.211.0.2 iifname \"br0\" counter drop comment \"not the "
		      "sandbox's own "
		      "address\"\n\t\tip6 saddr != fe80::/10 iifname \"br0\" counter drop");
	CHECK_INT(count(v4, "masquerade"), 1);
	form.source6 = (struct pol_addr){6, {0xfd, 0x11, [15] = 2}};
	both = script("{}", &form);
	CHECK_HAS(both, "ip6 saddr != fe80::/10 ip6 saddr != fd11::2 iifname \"br0\" counter drop");
	CHECK_HAS(both, "\t\tip saddr 10.211.0.2 oifname != \"br0\" counter masquerade\n"
			"\t\tip6 saddr fd11::2 oifname != \"br0\" counter masquerade\n");
	form.source4 = (struct pol_addr){0};
	v6 = script("{}", &form);
	CHECK_HAS(v6, "\t\tmeta nfproto ipv4 iifname \"br0\" counter drop comment \"not the "
		      "sandbox's own");
	form = (struct eg_nft){.table = TABLE, .bridge = "br0"};
	none = script("{}", &form);
	CHECK_INT(count(none, "saddr !="), 0);
	CHECK_INT(count(none, "postrouting"), 0);
}

/* Nothing that a person wrote ends a comment, a line or a rule. */
void test_script__text_stays_text(void)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	compile("{\"brokers\":[\"10.0.0.1:3128\"]}", &p);
	p.rules[2].reason = "x\" accept; } # \n flush ruleset \\";
	cl_strv_add(&p.warnings, "a\nflush ruleset\r\n} \\");
	CHECK_INT(eg_render_nft(&p, TABLE, "br0", &b, &e), 0);
	CHECK_HAS(b.p, "comment \"x accept flush ruleset\"\n");
	CHECK_HAS(b.p, "# WARNING: a flush ruleset }\n");
	CHECK_INT(count(b.p, "\nflush"), 0);
	CHECK_INT(eg_render_nft(&p, "a b", "br0", &b, &e), -1);
	CHECK_INT(eg_render_nft(&p, TABLE, "br0\"", &b, &e), -1);
	CHECK_INT(eg_render_nft(&p, TABLE, "", &b, &e), -1);
}
