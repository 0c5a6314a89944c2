/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_subject.h"
#include "tsv.h"

/* "project|executor|k=v,k=v=Y" */
static void requester_row(const struct tsv_row *r, const struct sec_subject *s, char *text)
{
	cleanup_labels struct sec_labels labels = SEC_LABELS_INIT;
	cleanup_strv struct cl_strv pairs = CL_STRV_INIT;
	cleanup_buf struct cl_buf why = CL_BUF_INIT;
	char *project = strsep(&text, "|"), *executor = strsep(&text, "|");
	size_t n = strlen(text);
	bool want = text[n - 1] == 'Y';
	struct sec_requester q = {project, executor, &labels};
	struct cl_err e;

	text[n - 2] = '\0';
	cl_split(text, ',', &pairs);
	for (size_t i = 0; i < pairs.n; i++) {
		char *eq = strchr(pairs.v[i], '=');

		if (!eq)
			continue;
		*eq = '\0';
		CHECK_INT(sec_label_set(&labels, pairs.v[i], eq + 1, &e), 0);
	}
	sec_subject_why_not(s, &q, &why);
	if (sec_subject_matches(s, &q) != want || (why.len == 0) != want)
		TSV_FAIL(r, "'%s' '%s' '%s': '%s'", project, executor, text, why.p);
}

static void subject_row(const struct tsv_row *r)
{
	cleanup_subject struct sec_subject s = SEC_SUBJECT_INIT, again = SEC_SUBJECT_INIT;
	cleanup_buf struct cl_buf text = CL_BUF_INIT, text2 = CL_BUF_INIT;
	cleanup_strv struct cl_strv asked = CL_STRV_INIT;
	struct cl_err e;
	int rc = sec_subject_parse(r->field[0], &s, &e);

	if (!strcmp(r->field[1], "!")) {
		if (!rc || !strstr(e.msg, r->field[2]) ||
			strcmp(cl_err_slug(&e), "invalid_subject") != 0 || !*e.fix)
			TSV_FAIL(r, "'%s': %s", r->field[0], rc ? e.msg : "taken");
		return;
	}
	if (rc) {
		TSV_FAIL(r, "%s", e.msg);
		return;
	}
	sec_subject_text(&s, &text);
	CHECK_STR(text.p, r->field[1]);
	CHECK_INT(sec_subject_parse(text.p, &again, &e), 0);
	sec_subject_text(&again, &text2);
	CHECK_STR(text2.p, text.p);
	CHECK_INT(sec_subject_everybody(&s), s.kind == SEC_ANY || strchr(r->field[1], '*') != NULL);
	cl_split(r->field[2], ';', &asked);
	for (size_t i = 0; i < asked.n; i++)
		requester_row(r, &s, asked.v[i]);
}

void test_subject__cases(void)
{
	tsv_each("secret/subjects.tsv", subject_row);
}

void test_labels__what_no_selector_could_name(void)
{
	cleanup_labels struct sec_labels l = SEC_LABELS_INIT;
	cleanup_buf struct cl_buf b = CL_BUF_INIT;
	struct cl_err e;

	CHECK_INT(sec_label_set(&l, "region", "eu", &e), 0);
	CHECK_INT(sec_label_set(&l, "gpu", "", &e), 0);
	CHECK_INT(sec_label_set(&l, "region", "us=west", &e), 0);
	sec_labels_text(&l, &b);
	CHECK_STR(b.p, "gpu=,region=us=west");
	CHECK_INT(sec_label_set(&l, "a b", "x", &e), -1);
	CHECK_INT(sec_label_set(&l, "a,b", "x", &e), -1);
	CHECK_INT(sec_label_set(&l, "a=b", "x", &e), -1);
	CHECK_INT(sec_label_set(&l, "a", "x,y", &e), -1);
	CHECK_INT(sec_label_set(&l, "", "x", &e), -1);
	CHECK_STR(cl_err_slug(&e), "invalid_label");
	CHECK_INT(l.n, 2);
}
