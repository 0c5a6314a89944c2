/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Levels of policies: a stack allows what every level allows, and names the level that
 * decided. Each question is also asked of every level alone, and the sets are compared whole.
 */
#include "unit.h"
#include "base/mem.h"
#include "egress-random.h"
#include "policy/egress/egress_stack.h"
#include "policy/flat/flat.h"

static void read_stack(const char *json, struct eg_stack *out)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	if (cl_doc_parse(&d, CL_DOC_JSON, "t", json, strlen(json), NULL, &e) ||
		eg_stack_read(&d, d.root, out, &e))
		UNIT_FAIL("%s: %s", json, e.msg);
}

static void refuses(const char *json, const char *piece)
{
	cleanup_eg_stack struct eg_stack s = EG_STACK_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	struct cl_err e;

	cl_err_init(&e);
	if (cl_doc_parse(&d, CL_DOC_JSON, "t", json, strlen(json), NULL, &e) ||
		eg_stack_read(&d, d.root, &s, &e))
		CHECK_HAS(e.msg, piece);
	else
		UNIT_FAIL("%s was read", json);
}

void test_stack_is_read_and_written(void)
{
	static const char text[] =
		"{\"levels\":[{\"level\":\"a\",\"policy\":{}},{\"level\":\"b\","
		"\"policy\":{\"allow_ports\":[443],\"allow_public_internet\":true},"
		"\"version\":3}]}";
	cleanup_eg_stack struct eg_stack s = EG_STACK_INIT, one = EG_STACK_INIT;
	cleanup_free char *back = NULL, *alone = NULL;
	json_t *j;

	read_stack(text, &s);
	CHECK_INT(s.n, 2);
	CHECK_STR(s.v[0].name, "a");
	CHECK_INT(s.v[1].version, 3);
	j = eg_stack_json(&s);
	back = cl_json_text(j);
	json_decref(j);
	CHECK_STR(back, text);
	read_stack("{\"allow_cidrs\":[\"10.0.0.0/8\"]}", &one);
	CHECK_INT(one.n, 1);
	CHECK(!one.v[0].name);
	j = eg_stack_json(&one);
	alone = cl_json_text(j);
	json_decref(j);
	CHECK_STR(alone, "{\"allow_cidrs\":[\"10.0.0.0/8\"]}");
}

void test_stack_refusals(void)
{
	refuses("[]", "is an object");
	refuses("{\"levels\":[]}", "0 levels");
	refuses("{\"levels\":{}}", "levels");
	refuses("{\"levels\":[3]}", "must be an object");
	refuses("{\"levels\":[{\"policy\":{}}]}", "has no name");
	refuses("{\"levels\":[{\"level\":\"\",\"policy\":{}}]}", "has no name");
	refuses("{\"levels\":[{\"level\":\"a\\nb\",\"policy\":{}}]}", "has no name");
	refuses("{\"levels\":[{\"level\":\"a\xe2\x80\xae"
		"b\",\"policy\":{}}]}",
		"has no name");
	refuses("{\"levels\":[{\"level\":\"a\"}]}", "no 'policy'");
	refuses("{\"levels\":[{\"level\":\"a\",\"policy\":{},\"version\":-1}]}", "version");
	refuses("{\"levels\":[{\"level\":\"a\",\"policy\":{},\"more\":1}]}", "more");
	refuses("{\"levels\":[{\"level\":\"a\",\"policy\":{\"x\":1}}]}", "x");
	refuses("{\"levels\":[{\"level\":\"a\",\"policy\":{}},{\"level\":\"a\",\"policy\":{}}]}",
		"twice");
	refuses("{\"levels\":[{\"level\":\"a\",\"policy\":{}}],\"silent\":true}", "silent");
}

static void wants(const struct eg_policy *p, const char *addr, uint16_t port, enum eg_proto proto,
	enum eg_verdict verdict, const char *reason, const char *level)
{
	struct eg_answer got;
	struct pol_addr a;
	struct cl_err e;

	CHECK(!pol_addr_parse(addr, "t", &a, &e));
	got = eg_evaluate(p, &a, port, proto, true);
	CHECK_INT(got.verdict, verdict);
	CHECK_STR(got.reason, reason);
	CHECK_STR(eg_level_of(p, got.rule), level);
}

void test_each_answer_names_its_level(void)
{
	cleanup_eg_stack struct eg_stack s = EG_STACK_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	struct cl_err e;

	read_stack("{\"levels\":["
		   "{\"level\":\"top\",\"policy\":{\"allow_public_internet\":true,"
		   "\"allow_cidrs\":[\"10.8.0.0/16\"],\"allow_ports\":[80,443],"
		   "\"deny_cidrs\":[\"203.0.113.0/24\"],\"resolvers\":[\"9.9.9.9\"]}},"
		   "{\"level\":\"mid\",\"policy\":{\"allow_public_internet\":true,"
		   "\"all_ports\":true,\"deny_cidrs\":[\"1.1.1.0/24\"],"
		   "\"resolvers\":[\"9.9.9.9\",\"8.8.8.8\"]}},"
		   "{\"level\":\"low\",\"policy\":{\"allow_public_internet\":true,"
		   "\"allow_ports\":[22,443],\"resolvers\":[\"9.9.9.9\",\"8.8.8.8\"]}}]}",
		&s);
	CHECK(!eg_stack_compile(&s, &p, &e));
	CHECK_INT(p.levels.n, 3);
	wants(&p, "93.184.216.34", 443, EG_PROTO_TCP, EG_ALLOW, "public Internet", "low");
	wants(&p, "93.184.216.34", 80, EG_PROTO_TCP, EG_DROP, "default deny", "low");
	wants(&p, "93.184.216.34", 22, EG_PROTO_TCP, EG_DROP, "default deny", "top");
	wants(&p, "203.0.113.9", 443, EG_PROTO_TCP, EG_DROP, "operator deny list", "top");
	wants(&p, "1.1.1.1", 443, EG_PROTO_TCP, EG_DROP, "operator deny list", "mid");
	wants(&p, "10.8.0.1", 443, EG_PROTO_TCP, EG_DROP, "private (RFC1918/ULA)", "mid");
	wants(&p, "9.9.9.9", 53, EG_PROTO_UDP, EG_ALLOW, "DNS resolver", "low");
	wants(&p, "8.8.8.8", 53, EG_PROTO_UDP, EG_DROP, "default deny", "top");
	wants(&p, "8.8.8.8", 53, EG_PROTO_ANY, EG_DROP, "default deny", "top");
}

void test_resolvers_that_get_through(void)
{
	cleanup_eg_stack struct eg_stack s = EG_STACK_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_eg_auth struct eg_auth got = EG_AUTH_INIT;
	char text[POL_ENDPOINT_TEXT];
	struct cl_err e;

	read_stack("{\"levels\":[{\"level\":\"a\",\"policy\":{\"resolvers\":[\"9.9.9.9\","
		   "\"8.8.8.8\",\"1.1.1.1:5353\"]}},{\"level\":\"b\",\"policy\":{\"resolvers\":"
		   "[\"8.8.8.8\",\"4.4.4.4\",\"1.1.1.1\"],\"deny_cidrs\":[\"9.9.9.9\"]}}]}",
		&s);
	CHECK(!eg_stack_compile(&s, &p, &e));
	CHECK_INT(p.mode, EG_ISOLATED);
	CHECK(eg_reaches_anything(&p));
	eg_stack_resolvers(&s, &p, &got);
	CHECK_INT(got.nresolvers, 1);
	pol_endpoint_text(&got.resolvers[0], text);
	CHECK_STR(text, "8.8.8.8:53");
}

/* Nothing in common: no rule that allows is left. */
void test_levels_that_do_not_meet(void)
{
	cleanup_eg_stack struct eg_stack s = EG_STACK_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	struct cl_err e;

	read_stack("{\"levels\":[{\"level\":\"a\",\"policy\":{\"allow_cidrs\":[\"10.1.0.0/16\"],"
		   "\"allow_ports\":[443]}},{\"level\":\"b\",\"policy\":{\"allow_cidrs\":"
		   "[\"10.2.0.0/16\",\"10.1.0.0/16\"],\"allow_ports\":[80]}}]}",
		&s);
	CHECK(!eg_stack_compile(&s, &p, &e));
	CHECK(!eg_reaches_anything(&p));
	wants(&p, "10.1.0.1", 443, EG_PROTO_TCP, EG_DROP, "private (RFC1918/ULA)", "b");
	wants(&p, "10.1.0.1", 443, EG_PROTO_UDP, EG_DROP, "private (RFC1918/ULA)", "a");
	wants(&p, "10.1.0.1", 80, EG_PROTO_TCP, EG_DROP, "private (RFC1918/ULA)", "a");
}

void test_an_error_names_its_level(void)
{
	cleanup_eg_stack struct eg_stack s = EG_STACK_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	struct cl_err e;

	read_stack("{\"levels\":[{\"level\":\"a\",\"policy\":{}},{\"level\":\"rules of x\","
		   "\"policy\":{\"allow_public_internet\":true}}]}",
		&s);
	CHECK(eg_stack_compile(&s, &p, &e));
	CHECK_HAS(e.msg, "rules of x: ");
}

/* --- random stacks --- */

#define LEVELS 3

static void random_stack(struct eg_stack *s, unsigned n)
{
	static const char *const names[LEVELS] = {"one", "two", "three"};

	for (unsigned i = 0; i < n; i++) {
		struct eg_auth *a = eg_stack_add(s, names[i], 0);

		/* Half of them are about the same ranges as the level above. */
		if (i && er_pick(2)) {
			eg_auth_copy(&s->v[i - 1].auth, a);
			a->internet = er_pick(3);
			for (unsigned k = er_pick(4); k; k--) {
				struct pol_prefix p = er_prefix(a);

				if (pol_prefix_valid(&p))
					eg_auth_add_deny(a, &p);
			}
		} else {
			er_auth(a);
		}
	}
}

/* What the levels say one by one. */
static void check_answer(const struct eg_policy *p, const struct flat *f,
	const struct eg_policy *each, size_t n, const struct pol_addr *a, uint16_t port,
	enum eg_proto proto)
{
	struct eg_answer got = eg_evaluate(p, a, port, proto, true), want = {EG_DROP, "", -1};
	size_t level = 0;

	for (size_t i = 0; i < n; i++) {
		want = eg_evaluate(&each[i], a, port, proto, true);
		level = i;
		if (want.verdict == EG_DROP)
			break;
	}
	CHECK_INT(got.verdict, want.verdict);
	CHECK_STR(got.reason, want.reason);
	CHECK_STR(eg_level_of(p, got.rule), p->levels.v[level]);
	got = flat_evaluate(f, a, port, proto);
	CHECK_INT(got.verdict, want.verdict);
	CHECK_STR(got.reason, want.reason);
}

static void check_edges(
	const struct eg_policy *p, const struct flat *f, const struct eg_policy *each, size_t n)
{
	static const uint16_t ports[] = {0, 1, 22, 53, 80, 443, 8080, 65535, 444};

	for (size_t l = 0; l < n; l++) {
		for (size_t i = 0; i < each[l].nrules && !unit_failures; i++) {
			uint8_t family = each[l].rules[i].prefix.addr.family;
			flat_u128 lo, hi, at[4];

			flat_prefix_range(&each[l].rules[i].prefix, &lo, &hi);
			at[0] = lo;
			at[1] = hi;
			at[2] = lo ? lo - 1 : 0;
			at[3] = hi < flat_last(family) ? hi + 1 : hi;
			for (size_t k = 0; k < 4; k++) {
				struct pol_addr a = flat_addr(family, at[k]);

				check_answer(p, f, each, n, &a, ports[er_pick(9)],
					(enum eg_proto)er_pick(3));
				check_answer(p, f, each, n, &a, ports[er_pick(9)], EG_PROTO_TCP);
			}
		}
	}
}

/* What all levels name, and not what one of them has as the Internet alone. */
static void check_named(const struct eg_policy *p, const struct eg_policy *each, size_t n)
{
	cleanup_flat struct flat got = FLAT_INIT, all = FLAT_INIT;

	flat_build_named(p, &got);
	flat_build_named(&each[0], &all);
	for (size_t i = 1; i < n; i++) {
		cleanup_flat struct flat level = FLAT_INIT;
		struct flat both = FLAT_INIT;

		flat_build_named(&each[i], &level);
		flat_intersect(&all, &level, "all", &both);
		flat_release(&all);
		all = both;
	}
	CHECK(flat_equal(&got, &all));
}

void test_stack_is_what_all_levels_allow(void)
{
	for (int i = 0; i < 300 && !unit_failures; i++) {
		cleanup_eg_stack struct eg_stack s = EG_STACK_INIT;
		cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
		cleanup_flat struct flat f = FLAT_INIT, all = FLAT_INIT;
		struct eg_policy each[LEVELS] = {EG_POLICY_INIT, EG_POLICY_INIT, EG_POLICY_INIT};
		unsigned n = 1 + er_pick(LEVELS);
		struct cl_err e;
		bool bad = false;

		random_stack(&s, n);
		for (unsigned k = 0; k < n; k++)
			bad |= eg_compile(&s.v[k].auth, &each[k], &e);
		CHECK_INT(eg_stack_compile(&s, &p, &e) != 0, bad);
		if (!bad) {
			flat_build(&p, true, &f);
			flat_build(&each[0], true, &all);
			for (unsigned k = 1; k < n; k++) {
				cleanup_flat struct flat level = FLAT_INIT;
				struct flat both = FLAT_INIT;

				flat_build(&each[k], true, &level);
				flat_intersect(&all, &level, "all", &both);
				flat_release(&all);
				all = both;
			}
			CHECK(flat_equal(&f, &all));
			check_named(&p, each, n);
			check_edges(&p, &f, each, n);
		}
		for (unsigned k = 0; k < n; k++)
			eg_policy_release(&each[k]);
	}
}
