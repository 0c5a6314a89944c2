/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expectations: what is read, what is refused and where, and that answers are exact. */
#include "unit.h"
#include "egress-random.h"
#include "tsv.h"

#include "base/mem.h"
#include "policy/egress/expect.h"

static int read_suite(const char *text, struct exp_suite *out, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	cl_err_init(e);
	if (cl_doc_parse(&d, CL_DOC_YAML, "case", text, strlen(text), NULL, e))
		return -1;
	return exp_read(&d, out, e);
}

/* field 0: a file; 1: "pass", "fail" or the place of the refusal as line:column; 2: a piece */
static void one_file(const struct tsv_row *r)
{
	cleanup_exp_suite struct exp_suite s = EXP_SUITE_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_flat struct flat f = FLAT_INIT;
	struct exp_result got = {.ok = true};
	struct cl_err e;
	char place[32];

	if (read_suite(r->field[0], &s, &e)) {
		(void)snprintf(place, sizeof(place), "%u:%u", e.line, e.column);
		if (strcmp(place, r->field[1]) != 0 || !strstr(e.msg, r->field[2]) ||
			e.code != CL_EDATA)
			TSV_FAIL(r, "%s at %s", e.msg, place);
		return;
	}
	if (eg_stack_compile(&s.policy, &p, &e)) {
		TSV_FAIL(r, "%s", e.msg);
		return;
	}
	flat_build(&p, true, &f);
	for (size_t i = 0; i < s.ncases && got.ok; i++)
		got = exp_run(&s.cases[i], &f);
	if (strcmp(r->field[1], got.ok ? "pass" : "fail") != 0)
		TSV_FAIL(r, "it is read and %s", got.ok ? "passes" : "fails");
	if (!got.ok) {
		struct pol_endpoint at = {got.addr, got.port};
		char text[POL_ENDPOINT_TEXT + 8], *end;

		pol_endpoint_text(&at, text);
		end = text + strlen(text);
		(void)snprintf(
			end, sizeof(text) - (size_t)(end - text), "/%s", eg_proto_name(got.proto));
		if (strcmp(text, r->field[2]) != 0)
			TSV_FAIL(r, "the example is %s", text);
	}
}

void test_files(void)
{
	tsv_each("expect/files.tsv", one_file);
}

void test_names_and_lines(void)
{
	cleanup_exp_suite struct exp_suite s = EXP_SUITE_INIT;
	struct cl_err e;

	CHECK_INT(read_suite("tests:\n- drop: 10.0.0.1\n- allow: [1.1.1.1, 2.2.2.2, 3.3.3.3]\n"
			     "  name: x\n- allow: [1.1.1.1, 2.2.2.2]\n",
			  &s, &e),
		0);
	CHECK_INT(s.ncases, 3);
	CHECK(!s.has_policy);
	CHECK_STR(s.cases[0].name, "drop 10.0.0.1");
	CHECK_STR(s.cases[1].name, "x");
	CHECK_STR(s.cases[2].name, "allow 1.1.1.1 and 1 more");
	CHECK_INT(s.cases[0].line, 2);
	CHECK_INT(s.cases[2].line, 5);
	/* What is dropped is dropped whole; what is allowed is TCP. */
	CHECK_INT(s.cases[0].protos, FLAT_EVERY_PROTO);
	CHECK_INT(s.cases[2].protos, 1u << EG_PROTO_TCP);
}

/* --- random expectations, by asking one destination after the other --- */

#ifdef CL_SANITIZED
#define ROUNDS 300
#else
#define ROUNDS 3000
#endif

static bool contradicts(const struct eg_policy *p, const struct exp_case *c, uint8_t family,
	flat_u128 n, uint16_t port, enum eg_proto proto)
{
	struct pol_addr a = flat_addr(family, n);
	struct eg_answer got = eg_evaluate(p, &a, port, proto, true);

	return got.verdict != c->want || (c->reason && strcmp(c->reason, got.reason) != 0);
}

static bool in_case(const struct exp_case *c, uint16_t port)
{
	for (size_t i = 0; i < c->nports; i++)
		if (c->ports[i].lo <= port && port <= c->ports[i].hi)
			return true;
	return !c->nports;
}

/* Every port where the random policies' lists begin or end, and those beside. */
static bool wrong_at(
	const struct eg_policy *p, const struct exp_case *c, uint8_t family, flat_u128 n)
{
	static const uint16_t ports[] = {1, 2, 21, 22, 23, 52, 53, 54, 79, 80, 81, 442, 443, 444,
		8079, 8080, 8081, 65534, 65535};

	for (int proto = 0; proto < FLAT_PROTOS; proto++) {
		if (!(c->protos & 1u << proto))
			continue;
		if (proto == EG_PROTO_ANY) {
			if (contradicts(p, c, family, n, 0, EG_PROTO_ANY))
				return true;
			continue;
		}
		for (size_t i = 0; i < CL_ARRAY_LEN(ports); i++)
			if (in_case(c, ports[i]) &&
				contradicts(p, c, family, n, ports[i], (enum eg_proto)proto))
				return true;
		for (size_t i = 0; i < c->nports; i++)
			if (contradicts(p, c, family, n, c->ports[i].lo, (enum eg_proto)proto))
				return true;
	}
	return false;
}

/* Every address where a rule begins or ends inside the target, and its own ends. */
static bool wrong_somewhere(
	const struct eg_policy *p, const struct exp_case *c, const struct exp_target *t)
{
	for (size_t i = 0; i < p->nrules; i++) {
		flat_u128 lo, hi;

		if (p->rules[i].prefix.addr.family != t->family)
			continue;
		flat_prefix_range(&p->rules[i].prefix, &lo, &hi);
		if (lo >= t->lo && lo <= t->hi && wrong_at(p, c, t->family, lo))
			return true;
		if (hi >= t->lo && hi < t->hi && wrong_at(p, c, t->family, hi + 1))
			return true;
	}
	return wrong_at(p, c, t->family, t->lo) || wrong_at(p, c, t->family, t->hi);
}

static void random_case(const struct eg_auth *a, const struct eg_policy *p, struct exp_case *c,
	struct exp_target *t, struct flat_ports *ports)
{
	struct pol_prefix range = er_prefix(a);

	(void)pol_prefix_unmap(&range);
	*t = (struct exp_target){.family = range.addr.family};
	flat_prefix_range(&range, &t->lo, &t->hi);
	*ports = (struct flat_ports){(uint16_t)(1 + er_pick(90)), (uint16_t)(400 + er_pick(100))};
	*c = (struct exp_case){.want = er_pick(2) ? EG_ALLOW : EG_DROP,
		.targets = t,
		.ntargets = 1,
		.protos = 1 + er_pick(FLAT_EVERY_PROTO),
		.ports = ports,
		.nports = er_pick(2)};
	if (!er_pick(3))
		c->reason = cl_strdup(p->rules[er_pick((unsigned)p->nrules)].reason);
}

static bool holds_mapped(const struct exp_target *t)
{
	const flat_u128 lo = (flat_u128)0xffff << 32, hi = lo | 0xffffffff;

	return t->family == 6 && t->lo <= hi && t->hi >= lo;
}

static void one_round(unsigned *ok, unsigned *not_ok)
{
	cleanup_eg_auth struct eg_auth a = EG_AUTH_INIT;
	cleanup_eg_policy struct eg_policy p = EG_POLICY_INIT;
	cleanup_flat struct flat f = FLAT_INIT;
	struct cl_err e;

	er_auth(&a);
	if (eg_compile(&a, &p, &e))
		return;
	flat_build(&p, true, &f);
	for (int i = 0; i < 20; i++) {
		struct exp_case c;
		struct exp_target t;
		struct flat_ports ports;
		struct exp_result got;

		random_case(&a, &p, &c, &t, &ports);
		if (!holds_mapped(&t)) {
			got = exp_run(&c, &f);
			CHECK(got.ok == !wrong_somewhere(&p, &c, &t));
			/* The example is one. */
			if (!got.ok)
				CHECK(contradicts(&p, &c, t.family, flat_number(&got.addr),
					got.port, got.proto));
			(*(got.ok ? ok : not_ok))++;
		}
		free(c.reason);
	}
}

void test_random__exact(void)
{
	unsigned ok = 0, not_ok = 0;

	for (int n = 0; n < ROUNDS && !unit_failures; n++)
		one_round(&ok, &not_ok);
	CHECK(ok > ROUNDS && not_ok > ROUNDS);
}
