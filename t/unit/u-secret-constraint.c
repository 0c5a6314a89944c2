/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_constraint.h"
#include "tsv.h"

static int read_text(const char *json, struct sec_constraints *c, struct cl_err *e)
{
	cleanup_doc struct cl_doc d = CL_DOC_INIT;

	if (cl_doc_parse(&d, CL_DOC_JSON, "constraints", json, strlen(json), NULL, e))
		return -1;
	return sec_constraints_read(&d, d.root, c, e);
}

static enum sec_kind kind_of(const char *name)
{
	enum sec_kind k = SEC_ENV;
	struct cl_err e;

	CHECK_INT(sec_kind_parse(name, &k, &e), 0);
	return k;
}

static void check_row(const struct tsv_row *r)
{
	cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
	cleanup_constraints struct sec_constraints again = SEC_CONSTRAINTS_INIT;
	cleanup_strv struct cl_strv notes = CL_STRV_INIT;
	cleanup_buf struct cl_buf summary = CL_BUF_INIT;
	cleanup_free char *text = NULL, *text2 = NULL, *note = NULL;
	enum sec_kind k = kind_of(r->field[0]);
	struct cl_err e;
	int before = unit_failures, rc;

	rc = read_text(r->field[1], &c, &e);
	if (!rc)
		rc = sec_constraints_check(k, &c, &notes, &e);
	if (!strcmp(r->field[2], "!")) {
		CHECK_INT(rc, -1);
		if (rc) {
			CHECK_HAS(e.msg, r->field[3]);
			CHECK_STR(cl_err_slug(&e), "invalid_constraint");
			CHECK(*e.fix != '\0');
		}
	} else if (rc) {
		UNIT_FAIL("%s", e.msg);
	} else {
		sec_constraints_summary(&c, &summary);
		CHECK_STR(summary.p, r->field[2]);
		note = cl_join((const char *const *)notes.v, notes.n, "; ");
		CHECK_HAS(note, r->field[3]);
		CHECK_INT(notes.n != 0, *r->field[3] != '\0');
		/* What was checked reads back as itself and passes again. */
		text = sec_constraints_canonical(&c);
		CHECK_INT(read_text(text, &again, &e), 0);
		CHECK_INT(sec_constraints_check(k, &again, NULL, &e), 0);
		text2 = sec_constraints_canonical(&again);
		CHECK_STR(text2, text);
		CHECK_INT(sec_constraints_compare(k, &c, &again, NULL), SEC_SAME);
	}
	if (unit_failures != before)
		printf("# case line %d\n", r->line);
}

void test_check__cases(void)
{
	tsv_each("secret/constraints.tsv", check_row);
}

static void compare_row(const struct tsv_row *r)
{
	cleanup_constraints struct sec_constraints was = SEC_CONSTRAINTS_INIT,
						   now = SEC_CONSTRAINTS_INIT;
	cleanup_strv struct cl_strv why = CL_STRV_INIT;
	cleanup_free char *all = NULL;
	enum sec_kind k = kind_of(r->field[0]);
	struct cl_err e;
	int before = unit_failures;

	CHECK_INT(read_text(r->field[1], &was, &e), 0);
	CHECK_INT(read_text(r->field[2], &now, &e), 0);
	CHECK_INT(sec_constraints_check(k, &was, NULL, &e), 0);
	CHECK_INT(sec_constraints_check(k, &now, NULL, &e), 0);
	CHECK_STR(sec_change_name(sec_constraints_compare(k, &was, &now, &why)), r->field[3]);
	all = cl_join((const char *const *)why.v, why.n, "; ");
	CHECK_HAS(all, r->field[4]);
	CHECK_INT(why.n != 0, !strcmp(r->field[3], "narrows"));
	if (unit_failures != before)
		printf("# case line %d\n", r->line);
}

void test_compare__cases(void)
{
	tsv_each("secret/compare.tsv", compare_row);
}

void test_flags__commas_blanks_and_bounds(void)
{
	cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
	cleanup_free char *text = NULL;
	struct cl_err e;

	CHECK_INT(sec_constraints_add(&c, SEC_REPOS, "a/b, c/d", &e), 0);
	CHECK_INT(sec_constraints_add(&c, SEC_REPOS, "e/f,a/b", &e), 0);
	text = sec_constraints_canonical(&c);
	CHECK_STR(text, "{\"repos\":[\"a/b\",\"c/d\",\"e/f\"]}");
	CHECK_INT(sec_constraints_add(&c, SEC_REPOS, "", &e), -1);
	CHECK_HAS(e.msg, "--repos has an empty entry");
	CHECK_INT(sec_constraints_add(&c, SEC_REPOS, "a,,b", &e), -1);
	for (int i = 0; i < 32; i++) {
		char b[8];

		(void)snprintf(b, sizeof(b), "b%d", i);
		CHECK_INT(sec_constraints_add(&c, SEC_BRANCHES, b, &e), 0);
	}
	CHECK_INT(sec_constraints_add(&c, SEC_BRANCHES, "one-more", &e), -1);
	CHECK_HAS(e.msg, "more than 32");
}

void test_flags__the_copy_is_its_own(void)
{
	cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT, d;
	cleanup_free char *a = NULL, *b = NULL;
	struct cl_err e;

	CHECK_INT(sec_constraints_add(&c, SEC_DEVICES, "x,y", &e), 0);
	c.writable = true;
	d = sec_constraints_copy(&c);
	a = sec_constraints_canonical(&c);
	sec_constraints_release(&c);
	b = sec_constraints_canonical(&d);
	CHECK_STR(b, a);
	CHECK_STR(b, "{\"devices\":[\"x\",\"y\"],\"writable\":true}");
}

void test_verbs__default_and_all(void)
{
	cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
	cleanup_strv struct cl_strv v = CL_STRV_INIT;
	cleanup_free char *text = NULL;
	struct cl_err e;

	sec_constraints_verbs(&c, &v);
	text = cl_join((const char *const *)v.v, v.n, ",");
	CHECK_STR(text, "get,list,watch");
	CHECK(!sec_constraints_all_verbs(&c));
	CHECK_INT(sec_constraints_add(&c, SEC_VERBS,
			  "deletecollection,delete,patch,update,create,watch,list,get", &e),
		0);
	CHECK(sec_constraints_all_verbs(&c));
}
