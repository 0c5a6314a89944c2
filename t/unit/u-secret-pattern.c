/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text.h"
#include "policy/secret/secret_pattern.h"
#include "tsv.h"

static bool match(const char *lang, const char *pattern, const char *subject)
{
	cleanup_strv struct cl_strv list = CL_STRV_INIT;

	if (!strcmp(lang, "perm")) {
		if (*pattern)
			cl_split(pattern, ',', &list);
		return sec_permission_allowed(&list, subject);
	}
	cl_strv_add(&list, pattern);
	if (!strcmp(lang, "repo"))
		return sec_repo_match(pattern, subject) && sec_repo_allowed(&list, subject);
	if (!strcmp(lang, "name"))
		return sec_name_match(pattern, subject) && sec_name_allowed(&list, subject);
	if (!strcmp(lang, "branch"))
		return sec_branch_match(pattern, subject) && sec_branch_allowed(&list, subject);
	if (!strcmp(lang, "host"))
		return sec_host_match(pattern, subject) && sec_host_allowed(&list, subject);
	UNIT_FAIL("no language '%s'", lang);
	return false;
}

static void match_row(const struct tsv_row *r)
{
	bool want = !strcmp(r->field[3], "Y");

	if (match(r->field[0], r->field[1], r->field[2]) != want)
		TSV_FAIL(r, "%s '%s' ~ '%s' is not %s", r->field[0], r->field[1], r->field[2],
			r->field[3]);
}

void test_match__cases(void)
{
	tsv_each("secret/match.tsv", match_row);
}

static int check(const char *lang, const char *entry, struct cl_err *e)
{
	if (!strcmp(lang, "pattern"))
		return sec_pattern_check(entry, "--repos", e);
	if (!strcmp(lang, "branch"))
		return sec_branch_check(entry, e);
	if (!strcmp(lang, "env"))
		return sec_env_key_check(entry, e);
	if (!strcmp(lang, "perm"))
		return sec_permission_check(entry, e);
	return sec_verb_check(entry, e);
}

static void entry_row(const struct tsv_row *r)
{
	bool want = !strcmp(r->field[2], "ok");
	struct cl_err e;

	cl_err_init(&e);
	if (!check(r->field[0], r->field[1], &e) != want)
		TSV_FAIL(r, "%s '%s' is not %s", r->field[0], r->field[1], r->field[2]);
	if (!want) {
		CHECK_STR(cl_err_slug(&e), "invalid_constraint");
		CHECK_INT(e.code, CL_EDATA);
		CHECK(e.msg[0] != '\0');
	}
}

void test_entry__cases(void)
{
	tsv_each("secret/entries.tsv", entry_row);
}

void test_lists__empty_lets_nothing_through(void)
{
	const struct cl_strv none = CL_STRV_INIT;

	CHECK(!sec_repo_allowed(&none, "org/tool"));
	CHECK(!sec_name_allowed(&none, "team-a"));
	CHECK(!sec_branch_allowed(&none, "main"));
	CHECK(!sec_host_allowed(&none, "ghcr.io"));
	CHECK(!sec_repos_all(&none));
}

void test_lists__all(void)
{
	cleanup_strv struct cl_strv v = CL_STRV_INIT;

	cl_strv_add(&v, "org/tool");
	CHECK(!sec_repos_all(&v));
	cl_strv_add(&v, "*/*");
	CHECK(sec_repos_all(&v));
	CHECK(sec_name_allowed(&v, "a/b") && !sec_name_allowed(&v, "ab"));
}

/* The slow and obvious one: what '*' takes is tried at every length. */
static bool naive(const char *p, const char *t)
{
	if (!*p)
		return !*t;
	if (*p != '*')
		return *t && (*p == *t || (*p == '?' && *t != '/')) && naive(p + 1, t + 1);
	for (;; t++) {
		if (naive(p + 1, t))
			return true;
		if (!*t || *t == '/')
			return false;
	}
}

void test_glob__is_the_obvious_one(void)
{
	static const char pset[] = "ab*?/", tset[] = "ab/";
	unsigned seed = 7;
	char p[9], t[11];
	int hits = 0;

	for (int i = 0; i < 300000; i++) {
		size_t np = (seed = seed * 1664525u + 1013904223u) >> 29, nt;

		for (size_t k = 0; k < np; k++)
			p[k] = pset[((seed = seed * 1664525u + 1013904223u) >> 24) % 5];
		p[np] = '\0';
		nt = ((seed = seed * 1664525u + 1013904223u) >> 24) % 11;
		for (size_t k = 0; k < nt; k++)
			t[k] = tset[((seed = seed * 1664525u + 1013904223u) >> 24) % 3];
		t[nt] = '\0';
		hits += naive(p, t);
		if (sec_glob(p, t) != naive(p, t)) {
			UNIT_FAIL("'%s' ~ '%s'", p, t);
			return;
		}
	}
	CHECK(hits > 1000);
}

void test_glob__many_stars_take_no_time(void)
{
	char p[257], t[4001];

	for (size_t i = 0; i < 256; i++)
		p[i] = i % 2 ? 'a' : '*';
	p[255] = 'b';
	p[256] = '\0';
	memset(t, 'a', 4000);
	t[4000] = '\0';
	for (int i = 0; i < 50; i++)
		CHECK(!sec_glob(p, t));
}

void test_repo__hostile_text(void)
{
	char big[5000], out[SEC_REPO_TEXT];

	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	CHECK(!sec_repo_of(big, out));
	big[100] = '/';
	big[201] = '\0';
	CHECK(sec_repo_of(big, out));
	CHECK_INT(strlen(out), 201);
	big[100] = 'a';
	big[101] = '/';
	CHECK(!sec_repo_of(big, out));
	CHECK(!sec_repo_of("://", out) && !sec_repo_of("@:", out) && !sec_repo_of(".git", out));
	CHECK(!sec_repo_of("a/b\n", out) || !strcmp(out, "a/b"));
	CHECK(!sec_repo_of("a/b\nc", out));
}
