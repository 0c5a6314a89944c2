/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement: the cases of t/cases/place, then what no case can say. */
#include "base/doc.h"
#include "base/mem.h"
#include "policy/place/place.h"
#include "unit.h"

/* A request that was made of a case, and its answer as JSON. */
struct asked {
	char *text;
	struct pl_request request;
	json_t *answer; /* the choice, or what "error" holds */
	bool placed;
};

static void asked_release(struct asked *a)
{
	json_decref(a->answer);
	pl_request_release(&a->request);
	free(a->text);
}

static void answer(struct asked *a, const char *bound)
{
	struct pl_request *r = &a->request;
	cleanup_pl_result struct pl_result result = PL_RESULT_INIT;
	cleanup_pl_fixes struct pl_fixes fixes = PL_FIXES_INIT;
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	struct pl_query q;
	size_t which = 0;
	json_t *whole;

	pl_query_init(&q, &r->requirements, &r->policy);
	while (bound && which < r->n && strcmp(r->v[which].executor_id, bound) != 0)
		which++;
	if (bound)
		pl_check(&q, r->v, r->n, which, &result);
	else
		pl_select(&q, r->v, r->n, r->nulls, &result);
	pl_fix(&q, r->v, r->n, &result, &fixes);
	a->placed = result.chosen != NULL;
	if (a->placed)
		pl_choice_json(&q, r->v, r->n, &result, true, &out);
	else
		pl_refusal_json(&q, r->v, r->n, &result, &fixes, &out);
	whole = json_loads(out.p, JSON_REJECT_DUPLICATES, NULL);
	if (!whole)
		UNIT_FAIL("not JSON: %s", out.p);
	a->answer = a->placed ? json_incref(whole) : json_incref(json_object_get(whole, "error"));
	json_decref(whole);
}

static bool ask(struct asked *a, const char *text, const char *bound)
{
	struct cl_err e;

	*a = (struct asked){.text = cl_strdup(text), .request = PL_REQUEST_INIT};
	if (pl_request_read("case", a->text, strlen(text), &a->request, &e)) {
		UNIT_FAIL("%s: %s", e.msg, text);
		return false;
	}
	answer(a, bound);
	return true;
}

/* ---- cases ---- */

static json_t *load(const char *name)
{
	json_error_t je;
	json_t *j = json_load_file(name, 0, &je);

	if (!j)
		UNIT_FAIL("%s: %s", name, je.text);
	return j;
}

/* The request of a case: names become candidates, and changes are made to them. */
static char *request_text(const json_t *templates, const json_t *c)
{
	json_t *all = json_array(), *o = json_object(), *v;
	char *text;
	size_t i;

	json_array_foreach (json_object_get(c, "candidates"), i, v) {
		const char *base = json_is_string(v)
					   ? json_string_value(v)
					   : json_string_value(json_object_get(v, "base"));
		json_t *one = base ? json_deep_copy(json_object_get(templates, base)) : json_null();

		if (json_is_object(v)) {
			json_t *changes = json_deep_copy(v);

			(void)json_object_del(changes, "base");
			(void)json_object_update_recursive(one, changes);
			json_decref(changes);
		}
		(void)json_array_append_new(all, one);
	}
	(void)json_object_set_new(o, "candidates", all);
	(void)json_object_set(o, "requirements", json_object_get(c, "requirements"));
	(void)json_object_set(o, "policy", json_object_get(c, "policy"));
	text = cl_json_text(o);
	json_decref(o);
	return text;
}

static json_t *rejection_of(const struct asked *a, const char *id)
{
	json_t *v;
	size_t i;

	json_array_foreach (json_object_get(a->answer, "rejections"), i, v)
		if (!strcmp(json_string_value(json_object_get(v, "executor_id")), id))
			return v;
	return NULL;
}

static char *constraints_of(const json_t *list)
{
	json_t *names = json_array(), *v;
	char *text;
	size_t i;

	json_array_foreach (list, i, v)
		(void)json_array_append(names, json_object_get(v, "constraint"));
	text = cl_json_text(names);
	json_decref(names);
	return text;
}

static void check_also(const struct asked *a, const json_t *want)
{
	const char *id;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)want, id, v) {
		json_t *r = rejection_of(a, id);
		cleanup_free char *got = constraints_of(json_object_get(r, "also"));
		cleanup_free char *expected = cl_json_text(v);

		CHECK_STR(got, expected);
	}
}

static void check_fixes(const struct asked *a, const json_t *want)
{
	json_t *texts = json_array(), *v;
	cleanup_free char *got = NULL, *expected = cl_json_text(want);
	size_t i;

	json_array_foreach (json_object_get(a->answer, "fixes"), i, v)
		(void)json_array_append(texts, json_object_get(v, "change"));
	got = cl_json_text(texts);
	json_decref(texts);
	CHECK_STR(got, expected);
}

static void check_member(const struct asked *a, const char *key, const json_t *want)
{
	const json_t *first = json_array_get(json_object_get(a->answer, "rejections"), 0);

	if (!strcmp(key, "also")) {
		check_also(a, want);
	} else if (!strcmp(key, "fixes")) {
		check_fixes(a, want);
	} else if (!strcmp(key, "warning")) {
		const json_t *w = json_array_get(json_object_get(a->answer, "warnings"), 0);

		if (json_is_null(want))
			CHECK(!w);
		else
			CHECK_HAS(json_string_value(w), json_string_value(want));
	} else if (!strcmp(key, "detail") || !strcmp(key, "remedy")) {
		CHECK_HAS(json_string_value(json_object_get(first, key)), json_string_value(want));
	} else if (!json_equal(json_object_get(a->answer, key), want)) {
		json_t *got = json_object_get(a->answer, key);
		cleanup_free char *g = got ? json_dumps(got, JSON_ENCODE_ANY) : NULL;
		cleanup_free char *w = json_dumps(want, JSON_ENCODE_ANY);

		UNIT_FAIL("%s is %s, not %s", key, g ? g : "(none)", w);
	}
}

static void check_case(const json_t *templates, json_t *c)
{
	cleanup_free char *text = request_text(templates, c);
	int before = unit_failures;
	struct asked a;
	const char *key;
	json_t *v;

	if (ask(&a, text, json_string_value(json_object_get(c, "bound")))) {
		CHECK_INT(a.placed,
			json_object_get(json_object_get(c, "want"), "executor_id") != NULL);
		json_object_foreach (json_object_get(c, "want"), key, v)
			check_member(&a, key, v);
	}
	if (unit_failures != before) {
		cleanup_free char *n = json_dumps(json_object_get(c, "n"), JSON_ENCODE_ANY);

		printf("# case %s\n", n);
	}
	asked_release(&a);
}

static int each_case(const char *name, void (*fn)(const json_t *templates, json_t *c))
{
	json_t *templates = load(T_CASES "/place/candidates.json");
	FILE *f = fopen(name, "r");
	char line[4096];
	int n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		json_t *c;

		if (*line == '#')
			continue;
		c = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		if (c)
			fn(templates, c);
		else
			UNIT_FAIL("%s: not JSON: %s", name, line);
		n += c != NULL;
		json_decref(c);
	}
	if (f)
		(void)fclose(f);
	json_decref(templates);
	return n;
}

void test_place__cases_of_the_facts(void)
{
	CHECK_INT(each_case(T_CASES "/place/facts.case", check_case), 37);
}

void test_place__our_cases(void)
{
	CHECK(each_case(T_CASES "/place/ours.case", check_case) > 55);
}

/* A request that is printed and read again has the same answer. */
static void check_round(const json_t *templates, json_t *c)
{
	const char *bound = json_string_value(json_object_get(c, "bound"));
	cleanup_free char *text = request_text(templates, c), *again = NULL;
	struct asked a, b;

	if (strstr(text, "null")) /* an entry that is null is not printed */
		return;
	if (!ask(&a, text, bound))
		return;
	again = pl_request_text(
		a.request.v, a.request.n, &a.request.requirements, &a.request.policy);
	if (ask(&b, again, bound) && !json_equal(a.answer, b.answer))
		UNIT_FAIL("another answer after printing: %s", again);
	asked_release(&b);
	asked_release(&a);
}

void test_place__a_request_reads_back(void)
{
	(void)each_case(T_CASES "/place/facts.case", check_round);
	(void)each_case(T_CASES "/place/ours.case", check_round);
}

/* ---- the table ---- */

/* The names that a refusal may have, as the guide lists them. */
void test_place__every_constraint_has_its_words(void)
{
	static const char *const guide[] = {"executor_id", "health", "host_execution_policy",
		"isolation", "virtualization", "kernel_isolation", "isolation_evidence", "labels",
		"platform", "arch", "harness", "container_runtime", "network_egress",
		"resource_limits", "disk_limit", "stream", "signal", "memory", "capacity",
		"image_override", "sandbox_build", "sandbox_mounts", "host_mounts", "devices",
		"interfaces", "egress_scope", "workspace", "write_back", "secret_files",
		"revocation", "agent_build"};
	struct pl_requirements r = PL_REQUIREMENTS_INIT;
	struct pl_policy p = PL_POLICY_INIT;
	struct pl_candidate c = PL_CANDIDATE_INIT;
	struct pl_query q;

	pl_query_init(&q, &r, &p);
	for (unsigned row = 0; row < PL_NROWS; row++) {
		cleanup_buf struct cl_buf b = CL_BUF_INIT;
		bool known = false;

		for (size_t i = 0; i < CL_ARRAY_LEN(guide); i++)
			known = known || !strcmp(guide[i], pl_constraint((enum pl_row)row));
		CHECK(known);
		if (row == PL_AGENT_BUILD) /* needs a floor to speak of */
			continue;
		pl_detail(&q, &c, (enum pl_row)row, &b);
		CHECK(row == PL_LABELS || b.len > 3);
		cl_buf_reset(&b);
		pl_remedy(&q, &c, (enum pl_row)row, &b);
		CHECK(b.len > 3);
	}
}

/* Whoever fails a set of needs fails each of them alone, and nothing else. */
void test_place__needs_are_independent(void)
{
	struct pl_policy p = PL_POLICY_INIT;
	struct pl_candidate c = PL_CANDIDATE_INIT;
	struct pl_requirements r = PL_REQUIREMENTS_INIT;
	uint64_t all = 0, together;
	struct pl_query q;

	for (unsigned i = 0; i < PL_NNEEDS; i++) {
		uint64_t one;

		r.needs = PL_NEED_BIT(i);
		pl_query_init(&q, &r, &p);
		one = pl_failed(&q, &c);
		CHECK_INT(__builtin_popcountll(one), 1);
		CHECK(!(one & all));
		all |= one;
	}
	r.needs = PL_NEED_BIT(PL_NNEEDS) - 1;
	pl_query_init(&q, &r, &p);
	together = pl_failed(&q, &c);
	CHECK(together == all);
	c.caps.bits = CAP_BIT(CAP_N) - 1;
	c.caps.isolation = CAP_ISOLATION_VM;
	c.caps.disk = CAP_DISK_SAMPLED;
	c.runtimes = (struct pl_words){(const char *const[]){"podman"}, 1};
	CHECK(!pl_failed(&q, &c));
}

void test_place__releases(void)
{
	static const char *const bad[] = {"", "v", "1.2.3", "v1.2", "v1.2.3.4", "v1.2.3-rc1",
		"v1.2.x", "va.b.c", "v1..3", "v1.2.", "v1.2.3 ", "v99999999.0.0", "v2097152.0.0",
		"dev", "1"};

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++)
		CHECK_INT(pl_release(bad[i]), 0);
	CHECK(pl_release("v0.0.0") > 0);
	CHECK(pl_release("v0.0.1") > pl_release("v0.0.0"));
	CHECK(pl_release("v0.1.0") > pl_release("v0.0.2097151"));
	CHECK(pl_release("v1.0.0") > pl_release("v0.2097151.2097151"));
	CHECK(pl_release("v2097151.2097151.2097151") > pl_release("v2097151.2097151.2097150"));
}

/* ---- what a run has ---- */

void test_place__a_spec_becomes_requirements(void)
{
	static const char text[] =
		"image: x\nsetup: [a]\nresources: {disk: 1g}\n"
		"capabilities: {git: true, kernel_isolated: true, egress: public}\n";
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
	struct pl_spec_words words;
	struct pl_requirements r;
	struct cl_err e;

	CHECK_INT(sb_read("f", text, sizeof(text) - 1, &d, &s, &e), 0);
	pl_of_spec(&s, &words, &r);
	CHECK_INT(r.needs,
		PL_NEED_BIT(PL_NEED_KERNEL_ISOLATION) | PL_NEED_BIT(PL_NEED_NETWORK_EGRESS) |
			PL_NEED_BIT(PL_NEED_RESOURCE_LIMITS) | PL_NEED_BIT(PL_NEED_DISK_LIMIT) |
			PL_NEED_BIT(PL_NEED_IMAGE_OVERRIDE) | PL_NEED_BIT(PL_NEED_SANDBOX_BUILD) |
			PL_NEED_BIT(PL_NEED_EGRESS_SCOPE));
	CHECK_INT(r.harnesses.n, 1);
	CHECK_STR(r.harnesses.v[0], "git");
}

/* Each constraint that a spec can ask for is a need or a harness: none falls by the way. */
void test_place__every_need_of_a_spec_is_known(void)
{
	static const char text[] =
		"image: x\nsetup: [a]\nresources: {disk: 1g}\nmounts: [{source: a, target: /b}]\n"
		"capabilities: {git: true, kernel_isolated: true, virtualized: true, egress: "
		"public, "
		"network: g, devices: [d], interfaces: [i]}\n";
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_sb_spec struct sb_spec s = SB_SPEC_INIT;
	struct sb_need need[SB_NEEDS_MAX];
	struct pl_spec_words words;
	struct pl_requirements r;
	struct cl_err e;

	CHECK_INT(sb_read("f", text, sizeof(text) - 1, &d, &s, &e), 0);
	pl_of_spec(&s, &words, &r);
	CHECK_INT((size_t)__builtin_popcount(r.needs) + r.harnesses.n, sb_needs(&s, need));
}

void test_place__an_executor_of_the_configuration(void)
{
	static const char text[] =
		"executors:\n  isolation_evidence: required\n  min_agent_build: v1.2.3\n"
		"  container:\n    enabled: true\n    id: box\n    oci_runtime: kata\n"
		"    network: bridge\n    labels: {gpu: 'true'}\n";
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_cfg struct cfg c = CFG_INIT;
	struct pl_label labels[PL_MAX_LIST];
	struct pl_candidate x;
	struct pl_policy p;
	struct cl_err e;

	CHECK_INT(cl_doc_parse(&d, CL_DOC_YAML, "f", text, sizeof(text) - 1, NULL, &e), 0);
	CHECK_INT(cfg_read(&d, &c, &e), 0);
	CHECK_INT(c.nexecutors, 1);
	pl_of_executor(&c.executors[0], true, "x86_64", labels, &x);
	CHECK_STR(x.executor_id, "box");
	CHECK_STR(x.kind, "container");
	CHECK_INT(x.caps.isolation, CAP_ISOLATION_VM);
	CHECK(x.caps.bits & CAP_BIT(CAP_VIRTUALIZED));
	CHECK(x.caps.bits & CAP_BIT(CAP_NETWORK_EGRESS));
	CHECK(x.caps.bits & CAP_BIT(CAP_EGRESS_SCOPE));
	CHECK_INT(x.labels.n, 1);
	CHECK_STR(x.labels.v[0].value, "true");
	pl_of_executor(&c.executors[0], false, "x86_64", labels, &x);
	CHECK(!(x.caps.bits & CAP_BIT(CAP_EGRESS_SCOPE)));
	pl_of_config(&c, &p);
	CHECK(p.evidence_required);
	CHECK(p.floor == pl_release("v1.2.3"));
	CHECK(p.allow_host_process);
}

/* What no configuration tells is asked of a driver; nothing is claimed for it meanwhile. */
void test_place__other_kinds_claim_nothing(void)
{
	static const char text[] = "executors:\n  local: {enabled: true}\n"
				   "  drivers: {enabled: true, driver: /usr/lib/cloop-exec-jail}\n";
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_cfg struct cfg c = CFG_INIT;
	const struct cfg_executor *one;
	struct pl_label labels[PL_MAX_LIST];
	struct pl_candidate x;
	struct cap_set caps;
	struct cl_err e;

	CHECK_INT(cl_doc_parse(&d, CL_DOC_YAML, "f", text, sizeof(text) - 1, NULL, &e), 0);
	CHECK_INT(cfg_read(&d, &c, &e), 0);
	CHECK_INT(c.nexecutors, 2);
	pl_of_executor(&c.executors[0], true, "x86_64", labels, &x);
	CHECK_STR(x.kind, "jail");
	CHECK_INT(x.caps.bits, 0);
	CHECK_INT(x.caps.isolation, CAP_ISOLATION_NONE);
	pl_of_executor(&c.executors[1], true, "x86_64", labels, &x);
	CHECK_STR(x.kind, "localprocess");
	/* It is nobody's default. */
	CHECK_INT(cfg_executor(&c, NULL, &one, &e), 0);
	CHECK_STR(one->id, "driver");
	CHECK_INT(cfg_executor(&c, "local", &one, &e), 0);
	cap_of_process(false, "x86_64", &caps);
	CHECK_INT(caps.isolation, CAP_ISOLATION_NONE);
	CHECK(!(caps.bits & CAP_BIT(CAP_RESOURCE_LIMITS)));
	CHECK(!(caps.bits & (CAP_BIT(CAP_EGRESS_SCOPE) | CAP_BIT(CAP_IMAGE_OVERRIDE))));
	cap_of_process(true, "x86_64", &caps);
	CHECK(caps.bits & CAP_BIT(CAP_RESOURCE_LIMITS));
}
