/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store-fixture.h"
#include "store/rules.h"
#include "base/mem.h"
#include "work/levels.h"

static const struct store_rules_of box = {"executor", "box"}, shop = {"project", "/srv/shop"};

static int64_t put(struct store *s, const struct store_rules_of *of, const char *rules)
{
	int64_t version = -1;
	struct cl_err e;

	if (store_rules_put(s, of, rules, "uid:7", 1000, &version, &e))
		UNIT_FAIL("%s", e.msg);
	return version;
}

void test_versions_count_up_by_subject(void)
{
	struct store *s;

	fresh();
	s = open_as(STORE_CREATE);
	CHECK_INT(put(s, &box, "{}"), 1);
	CHECK_INT(put(s, &box, NULL), 2);
	CHECK_INT(put(s, &shop, "{\"silent\":true}"), 1);
	CHECK_INT(put(s, &box, "{}"), 3);
	store_close(s);
	gone();
}

void test_the_newest_are_read_together(void)
{
	const struct store_rules_of of[] = {box, shop, {"project", "/srv/other"}, {"device", NULL}};
	struct store_rules got[4] = {
		STORE_RULES_INIT, STORE_RULES_INIT, STORE_RULES_INIT, STORE_RULES_INIT};
	struct store *s;
	struct cl_err e;

	fresh();
	s = open_as(STORE_CREATE);
	put(s, &box, "{\"silent\":true}");
	put(s, &box, "{}");
	put(s, &shop, "{}");
	put(s, &shop, NULL);
	CHECK(!store_rules_newest(s, of, 4, got, &e));
	CHECK_STR(got[0].rules, "{}");
	CHECK_INT(got[0].version, 2);
	CHECK_STR(got[0].created_by, "uid:7");
	CHECK_INT(got[1].version, 2);
	CHECK_STR(got[1].rules, NULL);
	CHECK(!got[2].level && !got[3].level);
	for (size_t i = 0; i < 4; i++)
		store_rules_release(&got[i]);
	store_close(s);
	gone();
}

static int count(const struct store_rules *r, void *arg, struct cl_err *e)
{
	(void)e;
	CHECK(r->rules != NULL);
	++*(int *)arg;
	return 0;
}

void test_what_is_cleared_is_not_listed(void)
{
	struct store *s;
	struct cl_err e;
	int n = 0;

	fresh();
	s = open_as(STORE_CREATE);
	put(s, &box, "{}");
	put(s, &shop, "{}");
	put(s, &shop, NULL);
	CHECK(!store_rules_each(s, count, &n, &e));
	CHECK_INT(n, 1);
	store_close(s);
	gone();
}

/* Each member that is signed for, altered: the row is not what was written. */
void test_an_altered_row_is_refused(void)
{
	static const char *const edits[] = {
		"UPDATE egress_rules SET rules = '{\"silent\":true}'",
		"UPDATE egress_rules SET rules = NULL",
		"UPDATE egress_rules SET created_by = 'uid:0'",
		"UPDATE egress_rules SET created_at = 1",
		"UPDATE egress_rules SET sha256 = ''",
		"UPDATE egress_rules SET version = 9",
		"INSERT INTO egress_rules SELECT level, subject, 2, rules, sha256, created_at, "
		"created_by, NULL, NULL FROM egress_rules",
		"INSERT INTO egress_rules SELECT 'executor', 'box', 2, '{}', sha256, created_at, "
		"created_by, NULL, NULL FROM egress_rules",
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(edits); i++) {
		cleanup_rules struct store_rules got = STORE_RULES_INIT;
		struct store *s;
		struct cl_err e;

		fresh();
		s = open_as(STORE_CREATE);
		put(s, &box, "{}");
		outside(edits[i]);
		cl_err_init(&e);
		if (!store_rules_newest(s, &box, 1, &got, &e))
			UNIT_FAIL("%s was taken", edits[i]);
		CHECK_INT(e.code, CL_ECONFIG);
		CHECK_STR(e.constraint, "egress_rules");
		/* What is broken can be replaced. */
		CHECK(put(s, &box, "{}") > 1);
		CHECK(!store_rules_newest(s, &box, 1, &got, &e));
		store_close(s);
		gone();
	}
}

void test_the_signed_text_is_canonical(void)
{
	char level[] = "project", subject[] = "/srv/\"x\"", by[] = "uid:0", rules[] = "{}";
	const struct store_rules r = {.level = level,
		.subject = subject,
		.version = 3,
		.rules = rules,
		.created_at = 5,
		.created_by = by};
	cleanup_free char *text = store_rules_text(&r);

	CHECK_STR(text, "{\"created_at\":5,\"created_by\":\"uid:0\",\"level\":\"project\","
			"\"rules\":\"{}\",\"subject\":\"/srv/\\\"x\\\"\",\"version\":3}");
}

void test_how_a_subject_is_named_to_the_command(void)
{
	static const struct {
		struct store_rules_of of;
		const char *words;
	} t[] = {
		{{"executor", "box"}, "--executor box"},
		{{"device", "box"}, "--executor box --level device"},
		{{"virtual", "vx-1"}, "--executor vx-1 --level virtual"},
		{{"project", "/srv/it's one"}, "--project '/srv/it'\\''s one'"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(t); i++) {
		cleanup_free char *words = store_rules_words(&t[i].of);

		CHECK_STR(words, t[i].words);
	}
}

void test_levels_are_above_and_below(void)
{
	CHECK_INT(work_rules_above("device"), 0);
	CHECK_INT(work_rules_above("executor"), WORK_RULES_DEVICE);
	CHECK_INT(work_rules_above("virtual"), WORK_RULES_DEVICE | WORK_RULES_EXECUTOR);
	CHECK_INT(work_rules_above("project"), WORK_RULES_ALL & ~WORK_RULES_PROJECT);
	CHECK_INT(work_rules_below("project"), 0);
	CHECK_INT(work_rules_below("executor"), WORK_RULES_VIRTUAL | WORK_RULES_PROJECT);
	CHECK_INT(work_rules_below("device"), WORK_RULES_ALL & ~WORK_RULES_DEVICE);
}
