/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/egress/egress.h"

#include "policy/egress/egress_internal.h"

#define FIELDS 6

/* One line of a table of cases, split at tabs; false at the end. Comments are skipped. */
static bool next_row(FILE *f, char **line, size_t *cap, char *field[FIELDS])
{
	ssize_t n;

	while ((n = getline(line, cap, f)) > 0) {
		char *p = *line;

		if (*p == '#' || *p == '\n')
			continue;
		if ((*line)[n - 1] == '\n')
			(*line)[n - 1] = '\0';
		for (int i = 0; i < FIELDS; i++) {
			field[i] = p;
			p += strcspn(p, "\t");
			if (*p)
				*p++ = '\0';
		}
		return true;
	}
	return false;
}

static FILE *cases(const char *name)
{
	cleanup_free char *path = cl_asprintf("%s/egress/%s", T_CASES, name);
	FILE *f = fopen(path, "r");

	if (!f)
		UNIT_FAIL("cannot open %s", path);
	return f;
}

static int read_auth(const char *json, struct eg_auth *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	cl_err_init(e);
	if (cl_doc_parse(&d, CL_DOC_JSON, "case", json, strlen(json), NULL, e))
		return -1;
	return eg_auth_read(&d, d.root, out, e);
}

static void compile(const char *json, struct eg_policy *out)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	struct cl_err e;

	if (read_auth(json, &a, &e) || eg_compile(&a, out, &e))
		UNIT_FAIL("%s: %s", json, e.msg);
}

static void named_policy(const char *name, struct eg_policy *out)
{
	char *line = NULL, *field[FIELDS];
	size_t cap = 0;
	bool found = false;
	FILE *f = cases("policies.tsv");

	while (f && !found && next_row(f, &line, &cap, field)) {
		if (strcmp(field[0], name) != 0)
			continue;
		found = true;
		compile(field[2], out);
		if (out->nrules != (size_t)strtoul(field[1], NULL, 10))
			UNIT_FAIL("policy %s has %zu rules, not %s", name, out->nrules, field[1]);
	}
	if (!found)
		UNIT_FAIL("no policy '%s'", name);
	free(line);
	if (f)
		(void)fclose(f);
}

static enum eg_proto proto_named(const char *name)
{
	for (enum eg_proto p = EG_PROTO_ANY; p < EG_PROTO_UDP; p++)
		if (!strcmp(name, eg_proto_name(p)))
			return p;
	return EG_PROTO_UDP;
}

static struct eg_answer ask(const struct eg_policy *p, const char *query, bool wire)
{
	cleanup_free char *text = cl_strdup(query);
	char *slash = strrchr(text, '/');
	struct pol_endpoint to;
	struct cl_err e;

	*slash = '\0';
	if (pol_endpoint_parse(text, 0, "query", &to, &e))
		UNIT_FAIL("%s", e.msg);
	return eg_evaluate(p, &to.addr, to.port, proto_named(slash + 1), wire);
}

void test_vectors__answers(void)
{
	char *line = NULL, *field[FIELDS];
	size_t cap = 0, n = 0;
	FILE *f = cases("answers.tsv");

	while (f && next_row(f, &line, &cap, field)) {
		cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
		struct eg_answer a;

		named_policy(field[1], &p);
		a = ask(&p, field[2], true);
		n++;
		if (strcmp(a.verdict == EG_ALLOW ? "allow" : "drop", field[3]) != 0)
			UNIT_FAIL("vector %s: verdict is not %s", field[0], field[3]);
		if (strcmp(a.reason, field[4]) != 0)
			UNIT_FAIL("vector %s: '%s', not '%s'", field[0], a.reason, field[4]);
	}
	CHECK(n >= 45);
	free(line);
	if (f)
		(void)fclose(f);
}

static int judge(const char *surface, const char *json, struct cl_err *e)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;

	if (read_auth(json, &a, e))
		return -1;
	if (!strcmp(surface, "write") && eg_check_metadata(&a, "allow_cidrs", "deny_cidrs", e))
		return -1;
	return strcmp(surface, "read") != 0 ? eg_compile(&a, &p, e) : 0;
}

void test_vectors__refusals(void)
{
	char *line = NULL, *field[FIELDS];
	size_t cap = 0, n = 0;
	FILE *f = cases("refusals.tsv");

	while (f && next_row(f, &line, &cap, field)) {
		bool refused = !strcmp(field[2], "refused");
		struct cl_err e;

		n++;
		if ((judge(field[1], field[4], &e) != 0) != refused) {
			UNIT_FAIL("vector %s is not %s", field[0], field[2]);
			continue;
		}
		if (!refused)
			continue;
		CHECK_HAS(e.msg, field[3]);
		CHECK_INT(e.code, CL_EDATA);
		CHECK(e.fix[0]);
	}
	CHECK(n >= 20);
	free(line);
	if (f)
		(void)fclose(f);
}

void test_vectors__every_policy(void)
{
	char *line = NULL, *field[FIELDS];
	size_t cap = 0;
	FILE *f = cases("policies.tsv");

	while (f && next_row(f, &line, &cap, field)) {
		cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;

		named_policy(field[0], &p);
		CHECK_STR(ask(&p, "127.0.0.1:9/tcp", false).reason, "sandbox-local loopback");
		CHECK_STR(ask(&p, "[::1]:9/any", false).reason, "sandbox-local loopback");
	}
	free(line);
	if (f)
		(void)fclose(f);
}

#define INTERNET \
	"{\"allow_public_internet\":true,\"allow_ports\":[443],\"resolvers\":[\"9.9.9.9\"]}"

static char *listing(const struct eg_policy *p)
{
	struct cl_buf b = CL_BUF_INIT;

	eg_render_rules(p, "flags", false, &b);
	return cl_buf_detach(&b);
}

void test_listing__guide_lines_in_order(void)
{
	static const char *const lines[] = {
		"IP-layer egress filter  mode filtered, 38 rules, from flags\n\n"
		"warning: every public address is reachable on port 443; only the private,\n"
		"loopback, link-local, CGNAT and metadata ranges are filtered\n\n"
		"  allow  127.0.0.0/8                any          sandbox-local loopback "
		"[namespace-local]\n",
		"\n  allow  9.9.9.9/32             udp 53           DNS resolver\n"
		"  allow  9.9.9.9/32             tcp 53           DNS resolver (truncated answers "
		"retry over TCP)\n",
		"\n  drop   100.100.100.200/32         any          cloud metadata service "
		"(100.100.100.200)\n"
		"  drop   168.63.129.16/32           any          cloud metadata service "
		"(168.63.129.16)\n",
		"\n  drop   fd00:ec2::254/128          any          cloud metadata service "
		"(fd00:ec2::254)\n",
		"\n  drop   127.0.0.0/8                any          loopback\n",
		"\n  drop   169.254.0.0/16             any          link-local\n"
		"  drop   10.0.0.0/8                 any          private (RFC1918/ULA)\n",
		"\n  drop   100.64.0.0/10              any          carrier-grade NAT (RFC6598)\n",
		"\n  allow  0.0.0.0/0              tcp 443          public Internet\n",
		"\n  drop   0.0.0.0/0                  any          default deny\n"};
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_free char *text = NULL;
	const char *at;

	compile(INTERNET, &p);
	text = listing(&p);
	at = text;
	for (size_t i = 0; i < CL_ARRAY_LEN(lines) && at; i++) {
		const char *found = strstr(at, lines[i]);

		CHECK_HAS(at, lines[i]);
		at = found ? found + strlen(lines[i]) - 1 : NULL;
	}
	CHECK_STR(at, "\n");
}

void test_listing__colour_changes_nothing_else(void)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT, plain = CL_BUF_INIT;
	cleanup_free char *text = NULL;

	compile(INTERNET, &p);
	text = listing(&p);
	eg_render_rules(&p, "flags", true, &b);
	for (char *s = b.p; *s;) {
		if (*s == '\033')
			s = strchr(s, 'm') + 1;
		else
			cl_buf_addc(&plain, *s++);
	}
	CHECK_STR(plain.p, text);
	CHECK(b.len > plain.len);
}

void test_wrap(void)
{
	cleanup_buf struct cl_buf b = CL_BUF_INIT;

	eg_wrap("one two three", "> ", "  ", 9, &b);
	CHECK_STR(b.p, "> one two\n  three\n");
	cl_buf_reset(&b);
	eg_wrap("a-word-that-is-too-long x", "> ", "> ", 9, &b);
	CHECK_STR(b.p, "> a-word-that-is-too-long\n> x\n");
	cl_buf_reset(&b);
	eg_wrap("", "> ", "", 9, &b);
	CHECK_STR(b.p, "> \n");
}

void test_rules__metadata_before_the_base_ranges(void)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;

	compile(INTERNET, &p);
	for (size_t i = 0; i < p.nrules; i++) {
		bool metadata = cl_starts(p.rules[i].reason, "cloud metadata");

		CHECK_INT(metadata, i >= 9 && i < 23);
		CHECK_INT(p.rules[i].carve, i >= 4 && i < 9);
		CHECK_INT(p.rules[i].local, i < 2);
	}
}

void test_normal_form(void)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_free char *text = NULL;

	compile("{\"allow_cidrs\":[\"10.9.0.0/16\",\"10.8.0.5/24\",\"::ffff:10.8.0.0/120\","
		"\"10.8.0.0/16\",\"2a00::/16\"],\"allow_ports\":[443,80,443],"
		"\"brokers\":[\"10.7.0.2:9\",\"10.7.0.2:8\",\"[::ffff:10.7.0.2]:8\"],"
		"\"deny_cidrs\":[\"10.8.1.0/24\",\"10.8.1.9/24\"]}",
		&p);
	text = listing(&p);
	CHECK_INT(p.nrules, 2 + 1 + 2 + 5 + 4 + 27);
	CHECK_HAS(text, "allow  10.7.0.2/32            tcp 8            egress broker\n"
			"  allow  10.7.0.2/32            tcp 9            egress broker\n");
	CHECK_HAS(text, "  allow  10.8.0.0/16            tcp 80,443       granted CIDR (waives "
			"private (RFC1918/ULA))\n"
			"  allow  10.8.0.0/24            tcp 80,443       granted CIDR (waives "
			"private (RFC1918/ULA))\n"
			"  allow  10.9.0.0/16 ");
	CHECK_HAS(text, "  allow  2a00::/16              tcp 80,443       granted CIDR\n");
}

/* The k-th warning of the policy that the JSON asks for. */
static char *warning(const char *json, size_t k)
{
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;

	compile(json, &p);
	return cl_strdup(k < p.warnings.n ? p.warnings.v[k] : "");
}

void test_warnings(void)
{
	static const struct {
		const char *json;
		size_t k;
		const char *text;
	} t[] = {
		{"{\"allow_public_internet\":true,\"allow_ports\":[443,80]}", 0,
			"reachable on ports 80, 443; only"},
		{"{\"allow_public_internet\":true,\"all_ports\":true}", 0,
			"reachable on any port;"},
		{"{\"allow_public_internet\":true,\"allow_ports\":[443],\"host_patterns\":"
		 "[\"a.example\",\"*.b.example\"]}",
			0, "a.example, *.b.example stands for every public address on port 443"},
		{"{\"allow_public_internet\":true,\"allow_ports\":[443]}", 1,
			"no resolver is allowed"},
		{"{\"allow_cidrs\":[\"10.8.0.0/16\"],\"allow_ports\":[443]}", 0, ""},
		{"{}", 0, "nothing is allowed"},
		{"{\"resolvers\":[\"9.9.9.9\"]}", 0, "nothing is allowed"},
		{"{\"brokers\":[\"10.7.0.2:1\"]}", 0, ""},
		{"{\"allow_cidrs\":[\"168.63.0.0/16\"],\"allow_ports\":[80]}", 0,
			"168.63.0.0/16 contains the cloud metadata service 168.63.129.16 (Azure "
			"WireServer); the filter keeps it closed unless 168.63.129.16/32 is "
			"allowed "
			"too"},
		{"{\"allow_cidrs\":[\"fd00:ec2::/32\"],\"allow_ports\":[80]}", 0,
			"the filter keeps them closed unless fd00:ec2::23/128, fd00:ec2::254/128 "
			"are"},
		{"{\"allow_cidrs\":[\"2000::/3\"],\"allow_ports\":[443]}", 0,
			"allowed range 2000::/3 overlaps 2002::/16 (6to4 translation prefix)"},
		{"{\"allow_cidrs\":[\"10.8.0.0/24\"],\"allow_ports\":[443],\"deny_cidrs\":"
		 "[\"10.0.0.0/8\",\"10.8.0.0/16\"]}",
			0, "allowed range 10.8.0.0/24 lies inside the denied range 10.0.0.0/8"},
		{"{\"brokers\":[\"10.7.0.2:1\"],\"resolvers\":[\"10.7.0.3\"],\"deny_cidrs\":"
		 "[\"10.0.0.0/8\"]}",
			0, "broker 10.7.0.2:1 lies inside the denied range 10.0.0.0/8"},
		{"{\"brokers\":[\"10.7.0.2:1\"],\"resolvers\":[\"10.7.0.3\"],\"deny_cidrs\":"
		 "[\"10.0.0.0/8\"]}",
			1, "resolver 10.7.0.3:53 lies inside"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(t); i++) {
		cleanup_free char *got = warning(t[i].json, t[i].k);

		if (*t[i].text)
			CHECK_HAS(got, t[i].text);
		else
			CHECK_STR(got, "");
	}
}

void test_waives(void)
{
	static const char *const t[][2] = {{"169.254.0.0/16", "link-local"},
		{"169.254.169.254/32", "cloud metadata service (169.254.169.254)"},
		{"168.63.0.0/16", NULL}, {"0.0.0.0/1", "unspecified address"},
		{"128.0.0.0/1", "multicast"}, {"2000::/3", "6to4 translation prefix"},
		{"64:ff9b::/96", "NAT64 translation prefix"},
		{"10.1.0.0/16", "private (RFC1918/ULA)"}};

	for (size_t i = 0; i < CL_ARRAY_LEN(t); i++) {
		struct pol_prefix p;
		struct cl_err e;
		const struct eg_block *b;

		CHECK_INT(pol_prefix_parse(t[i][0], false, "x", &p, &e), 0);
		b = eg_block_of(&p, false);
		CHECK_STR(b ? b->reason : NULL, t[i][1]);
	}
}

static int compile_many(size_t n, size_t max, struct cl_err *e)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	struct pol_prefix r = {{4, {20}}, 24};

	a.max_cidrs = max;
	a.all_ports = true;
	for (size_t i = 0; i < n; i++) {
		r.addr.b[1] = (uint8_t)(i >> 8);
		r.addr.b[2] = (uint8_t)i;
		eg_auth_add_allow(&a, &r);
	}
	return eg_compile(&a, &p, e);
}

void test_limits(void)
{
	struct cl_err e;

	CHECK_INT(compile_many(256, 0, &e), 0);
	CHECK_INT(compile_many(257, 0, &e), -1);
	CHECK_HAS(e.msg, "257 allowed ranges are more than the 256");
	CHECK_INT(compile_many(60000, EG_MAX_CIDRS_FILE, &e), 0);
	CHECK_INT(compile_many(EG_MAX_CIDRS_FILE + 1, EG_MAX_CIDRS_FILE, &e), -1);
}

void test_auth__json_and_back(void)
{
	static const char *const text =
		"{\"all_ports\":true,\"allow_cidrs\":[\"10.8.0.0/16\"],"
		"\"allow_public_internet\":true,\"block_special_use\":true,"
		"\"brokers\":[\"10.7.0.2:8118\"],\"deny_cidrs\":[\"8.8.8.8/32\"],"
		"\"host_patterns\":[\"*.example.com\"],\"resolvers\":[\"[2620:fe::fe]:53\"],"
		"\"silent\":true}";
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT, b = EG_AUTH_INIT;
	cleanup_free char *got = NULL, *copied = NULL;
	struct cl_err e;
	json_t *j;

	CHECK_INT(read_auth(text, &a, &e), 0);
	j = eg_auth_json(&a);
	got = cl_json_text(j);
	json_decref(j);
	CHECK_STR(got, text);
	eg_auth_copy(&a, &b);
	j = eg_auth_json(&b);
	copied = cl_json_text(j);
	json_decref(j);
	CHECK_STR(copied, text);
}

void test_auth__errors_say_where(void)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	struct cl_err e;

	CHECK_INT(
		read_auth("{\n \"deny_cidrs\": [\"10.0.0.0/8\",\n  \"10.0.0.0/40\"]}", &a, &e), -1);
	CHECK_HAS(e.msg, "deny_cidrs[1]: '10.0.0.0/40'");
	CHECK_STR(e.file, "case");
	CHECK_INT(e.line, 3);
	CHECK_INT(e.column, 3);
	CHECK_INT(read_auth("[]", &a, &e), -1);
	CHECK_HAS(e.msg, "is an object");
}

/* --- narrowing --- */

static int narrow(const char *json, bool enabled, bool internal, char **out, struct cl_err *e)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT, b = EG_AUTH_INIT;
	json_t *j;

	if (read_auth(json, &a, e) || eg_narrow_public(&a, enabled, internal, &b, e))
		return -1;
	j = eg_auth_json(&b);
	*out = cl_json_text(j);
	json_decref(j);
	return 0;
}

void test_narrow__keeps_ports_and_denies(void)
{
	cleanup_free char *a = NULL, *b = NULL;
	struct cl_err e;

	CHECK_INT(narrow("{\"allow_public_internet\":true,\"allow_cidrs\":[\"10.8.0.0/16\"],"
			 "\"deny_cidrs\":[\"8.8.8.0/24\"],\"allow_ports\":[443],"
			 "\"resolvers\":[\"9.9.9.9:53\"],\"brokers\":[\"10.7.0.2:1\"]}",
			  true, false, &a, &e),
		0);
	CHECK_STR(a, "{\"allow_ports\":[443],\"allow_public_internet\":true,"
		     "\"brokers\":[\"10.7.0.2:1\"],\"deny_cidrs\":[\"8.8.8.0/24\"],"
		     "\"resolvers\":[\"9.9.9.9:53\"]}");
	CHECK_INT(narrow("{\"resolvers\":[\"9.9.9.9:53\"]}", false, false, &b, &e), 0);
	CHECK_STR(b, "{\"all_ports\":true,\"allow_public_internet\":true,"
		     "\"resolvers\":[\"9.9.9.9:53\"]}");
}

void test_narrow__refuses_to_widen(void)
{
	cleanup_free char *out = NULL;
	struct cl_err e;

	CHECK_INT(narrow(INTERNET, true, true, &out, &e), -1);
	CHECK_HAS(e.msg, "egress_filter.internal");
	CHECK_STR(e.constraint, "egress");
	CHECK_INT(narrow("{\"allow_cidrs\":[\"10.8.0.0/16\"],\"allow_ports\":[1],"
			 "\"resolvers\":[\"9.9.9.9\"]}",
			  true, false, &out, &e),
		-1);
	CHECK_HAS(e.msg, "egress_filter.allow_public_internet");
	CHECK_INT(narrow("{\"allow_public_internet\":true,\"allow_ports\":[443]}", true, false,
			  &out, &e),
		-1);
	CHECK_INT(e.code, CL_EREFUSED);
	CHECK_HAS(e.fix, "egress_filter.resolvers");
}
