/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/secret_github.h"
#include "tsv.h"

static void constraints(
	struct sec_constraints *c, const char *repos, const char *perms, const char *branches)
{
	struct cl_err e;

	CHECK_INT(sec_constraints_add(c, SEC_REPOS, repos, &e), 0);
	if (*perms)
		CHECK_INT(sec_constraints_add(c, SEC_PERMISSIONS, perms, &e), 0);
	if (*branches)
		CHECK_INT(sec_constraints_add(c, SEC_BRANCHES, branches, &e), 0);
	CHECK_INT(sec_constraints_check(SEC_GITHUB_APP, c, NULL, &e), 0);
}

void test_permissions__asked_for(void)
{
	static const struct {
		const char *perms, *branches, *want;
	} rows[] = {
		{"", "", "{\"contents\":\"read\"}"},
		{"contents:read", "", "{\"contents\":\"read\"}"},
		{"contents:write", "", "{\"contents\":\"write\"}"},
		{"contents", "", "{\"contents\":\"write\"}"},
		{"issues", "", "{\"contents\":\"read\",\"issues\":\"write\"}"},
		{"issues:read,issues:admin,issues:write", "",
			"{\"contents\":\"read\",\"issues\":\"admin\"}"},
		{"*", "", NULL},
		{"contents:write,*", "", NULL},
		{"contents:write,pull_requests:write", "cloop/*",
			"{\"contents\":\"read\",\"pull_requests\":\"read\"}"},
		{"*", "cloop/*", "{\"contents\":\"read\"}"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
		cleanup_free char *text = NULL;
		json_t *j;

		constraints(&c, "a/b", rows[i].perms, rows[i].branches);
		j = sec_github_permissions(&c);
		text = j ? cl_json_text(j) : NULL;
		CHECK_STR(text, rows[i].want);
		json_decref(j);
	}
}

void test_select__concrete_names_must_be_there(void)
{
	static const struct sec_repository have[] = {
		{3, "acme/web"}, {1, "acme/tool"}, {2, "Acme/Api"}, {9, "other/x"}};
	static const struct {
		const char *repos, *want;
	} rows[] = {
		{"acme/tool", "1"},
		{"ACME/TOOL", "1"},
		{"acme/*", "2,1,3"},
		{"*", "2,1,3,9"},
		{"acme/api,acme/w*", "2,3"},
		{"acme/nope,zz/y,acme/tool", "!4 repositories, and not acme/nope, zz/y"},
		{"nobody/*", "!4 repositories matches nobody/*"},
		{"*tool", "!4 repositories matches *tool"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
		cleanup_buf struct cl_buf got = CL_BUF_INIT;
		size_t out[4];
		struct cl_err e;
		int n;

		constraints(&c, rows[i].repos, "", "");
		n = sec_github_select(&c, have, 4, "deploy-app", out, &e);
		if (*rows[i].want == '!') {
			CHECK_INT(n, -1);
			if (n < 0)
				CHECK_HAS(e.msg, rows[i].want + 1);
			continue;
		}
		for (int k = 0; k < n; k++)
			cl_buf_addf(&got, "%s%d", k ? "," : "", (int)have[out[k]].id);
		CHECK_STR(got.p, rows[i].want);
	}
}

void test_helper__no_text_that_a_shell_could_turn(void)
{
	static const char *const bad[] = {
		"a/$(id)", "a/b;c", "a/`x`", "a'b/c", "a b/c", "a/b|c", "..", "a/\n"};
	cleanup_strv struct cl_strv repos = CL_STRV_INIT;
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	struct cl_err e;

	cl_strv_add(&repos, "a/b");
	CHECK_INT(sec_github_helper(&repos, "github.com'; id; '", "t", &out, &e), -1);
	CHECK_INT(sec_github_helper(&repos, "github.com", "../t", &out, &e), -1);
	CHECK_INT(out.len, 0);
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_strv struct cl_strv v = CL_STRV_INIT;

		cl_strv_add(&v, "a/b");
		cl_strv_add(&v, bad[i]);
		if (!sec_github_helper(&v, "github.com", "t", &out, &e) && !cl_ends(bad[i], "\n"))
			UNIT_FAIL("'%s' became a script", bad[i]);
	}
}

static void host_row(const struct tsv_row *r)
{
	if (sec_web_host_same(r->field[0], r->field[1]) != !strcmp(r->field[2], "Y") ||
		sec_web_host_same(r->field[1], r->field[0]) != !strcmp(r->field[2], "Y"))
		TSV_FAIL(r, "'%s' and '%s' are not %s", r->field[0], r->field[1], r->field[2]);
}

void test_host__the_same_server(void)
{
	tsv_each("secret/hosts.tsv", host_row);
}
