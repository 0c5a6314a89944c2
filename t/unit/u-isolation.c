/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy/place/isolation.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "unit.h"

/* ---- vectors ---- */

static const char *member(const json_t *c, const char *key)
{
	const char *s = json_string_value(json_object_get(c, key));

	return s ? s : "";
}

/* NULL where the case has null. */
static const struct iso_evidence *evidence(const json_t *c, const char *key, struct iso_evidence *v)
{
	const json_t *j = json_object_get(c, key);
	cleanup_free char *text = NULL;
	struct cl_err e;

	if (!j || json_is_null(j))
		return NULL;
	text = cl_json_text(j);
	if (iso_evidence_read(key, text, strlen(text), v, &e))
		UNIT_FAIL("%s: %s", key, e.msg);
	return v;
}

static void one_case(const json_t *c)
{
	const json_t *before = json_object_get(c, "earlier"), *want = json_object_get(c, "want");
	struct iso_evidence sandbox, reference;
	struct iso_answer earlier = {0}, a;
	const struct iso_question q = {.runtime = member(c, "runtime"),
		.sandbox = evidence(c, "sandbox", &sandbox),
		.failure = member(c, "failure"),
		.reference = evidence(c, "reference", &reference),
		.engine_release = member(c, "engine_release"),
		.agent_protocol = json_integer_value(json_object_get(c, "agent_protocol"))};

	if (before) {
		CHECK(iso_verdict_of(member(before, "verdict"), &earlier.verdict));
		CHECK(iso_standing_of(member(before, "standing"), &earlier.standing));
	}
	iso_classify(&q, before ? &earlier : NULL, &a);
	CHECK_STR(iso_verdict_name(a.verdict), member(want, "verdict"));
	CHECK_STR(iso_standing_name(a.standing), member(want, "standing"));
	CHECK_HAS(a.reason, member(want, "reason"));
	/* Whoever has to do something is told what. */
	CHECK((*a.fix != '\0') == (a.standing == ISO_CONTRADICTED || a.standing == ISO_UNVERIFIED ||
					  (a.kept && q.agent_protocol)));
	CHECK(a.kept == (before && (!q.sandbox || !strcmp(member(want, "verdict"), "unknown"))));
}

static int each_line(const char *name, void (*fn)(const json_t *))
{
	cleanup_free char *path = cl_asprintf("%s/isolation/%s", T_CASES, name);
	FILE *f = fopen(path, "r");
	static char line[16384];
	int rows = 0;

	while (f && fgets(line, sizeof(line), f)) {
		int before = unit_failures;
		json_t *c;

		if (*line == '#')
			continue;
		c = json_loads(line, 0, NULL);
		CHECK(c != NULL);
		fn(c);
		if (unit_failures != before)
			printf("# in %s: %.100s\n", name, line);
		json_decref(c);
		rows++;
	}
	if (f)
		(void)fclose(f);
	return rows;
}

void test_classify__facts(void)
{
	CHECK_INT(each_line("facts.case", one_case), 21);
}

void test_classify__ours(void)
{
	CHECK(each_line("ours.case", one_case) >= 26);
}

/* ---- every combination ---- */

#define HOST "8332a934-d156-45d4-97c1-74cf9d0dc6f7"
#define OWN  "0f1e2d3c-4b5a-4697-8879-6a5b4c3d2e1f"

/* A host's kernel must never come out as more than it is, whatever else is read beside it. */
static void one_combination(unsigned bits, const char *runtime)
{
	struct iso_evidence s = {.uptime_ms = bits & 1 ? 50 : 5000,
		.hypervisor = bits & 2 ? 1 : -1,
		.gvisor_boot_log = bits & 4 ? 1 : 0};
	struct iso_evidence r = {.uptime_ms = bits & 8 ? 1000 : -1};
	const struct iso_question q = {.runtime = runtime,
		.sandbox = &s,
		.reference = bits & 16 ? &r : NULL,
		.engine_release = bits & 32 ? "9.9" : ""};
	const char *boot = bits & 64 ? HOST : bits & 128 ? OWN : "";
	struct iso_question asked = q;
	struct iso_answer a, b;

	(void)snprintf(s.boot_id, sizeof(s.boot_id), "%s", boot);
	(void)snprintf(s.dmi_vendor, sizeof(s.dmi_vendor), "%s", bits & 256 ? "QEMU" : "Google");
	(void)snprintf(r.boot_id, sizeof(r.boot_id), "%s", HOST);
	iso_classify(&q, NULL, &a);
	if (q.reference && !strcmp(boot, HOST))
		CHECK(a.verdict == ISO_HOST_KERNEL && a.standing != ISO_VERIFIED);
	if (a.verdict == ISO_VM)
		CHECK(q.reference && !strcmp(boot, OWN) && s.uptime_ms < r.uptime_ms &&
			!*q.engine_release);
	if (!q.reference)
		CHECK(a.verdict == ISO_UNKNOWN);
	/* Whatever could not be told leaves what was found before as it was. */
	iso_classify(&q, &(struct iso_answer){.verdict = ISO_HOST_KERNEL}, &b);
	CHECK(b.kept == (a.verdict == ISO_UNKNOWN));
	CHECK(b.verdict == (b.kept ? ISO_HOST_KERNEL : a.verdict));
	/* Only what an engine that was asked does not say is another machine's. */
	asked.engine_asked = true;
	iso_classify(&asked, NULL, &b);
	CHECK(b.verdict == (a.verdict == ISO_VM ? ISO_UNKNOWN : a.verdict));
	if (a.verdict == ISO_VM)
		CHECK_HAS(b.reason, "does not say which kernel");
	CHECK(a.reason[0] != '\0');
}

void test_classify__combinations(void)
{
	static const char *const runtimes[] = {NULL, "", "runc", "runsc", "kata", "kata-qemu"};

	for (unsigned bits = 0; bits < 512; bits++)
		for (size_t i = 0; i < CL_ARRAY_LEN(runtimes); i++)
			one_combination(bits, runtimes[i]);
}

/* ---- reading ---- */

static void one_garbage(const json_t *c)
{
	const char *text = member(c, "text");
	struct iso_evidence v;
	struct cl_err e;

	CHECK_INT(iso_evidence_read("x", text, strlen(text), &v, &e), -1);
	CHECK_INT(e.code, CL_EDATA);
	CHECK_HAS(e.msg, member(c, "has"));
	CHECK(e.fix[0] != '\0');
}

void test_read__garbage(void)
{
	CHECK(each_line("garbage.case", one_garbage) >= 28);
}

void test_read__too_much(void)
{
	size_t n = (size_t)100 << 20;
	cleanup_free char *big = cl_malloc(n);
	struct iso_evidence v;
	struct cl_err e;

	memset(big, ' ', n);
	CHECK_INT(iso_evidence_read("x", big, n, &v, &e), -1);
	CHECK_INT(e.code, CL_EDATA);
	memset(big, '[', n);
	CHECK_INT(iso_evidence_read("x", big, n, &v, &e), -1);
}

void test_read__masks_what_a_terminal_obeys(void)
{
	static const char text[] = "{\"evidence\":1,\"uname\":{\"release\":\"6\\u001b[2J\"},"
				   "\"unread\":{\"boot_id\":\"a\\nb\"}}";
	struct iso_evidence v;
	struct cl_err e;

	CHECK_INT(iso_evidence_read("x", text, strlen(text), &v, &e), 0);
	CHECK_STR(v.release, "6?[2J");
	CHECK_STR(v.no_boot_id, "a?b");
	CHECK_INT(v.uptime_ms, -1);
	CHECK_INT(v.hypervisor, -1);
}

void test_names__both_ways(void)
{
	enum iso_standing s;
	enum iso_verdict v;

	for (unsigned i = 0; i < ISO_NVERDICTS; i++)
		CHECK(iso_verdict_of(iso_verdict_name((enum iso_verdict)i), &v) && v == i);
	for (unsigned i = 0; i < ISO_NSTANDINGS; i++)
		CHECK(iso_standing_of(iso_standing_name((enum iso_standing)i), &s) && s == i);
	CHECK(!iso_verdict_of("", &v) && !iso_standing_of("Verified", &s));
}
