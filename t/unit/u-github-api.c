/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What GitHub's answers mean, and that no token is taken that is other than asked for. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/secret/github_api.h"
#include "tsv.h"

#define NOW 1700000000

static struct gh_ask ask(enum gh_call call)
{
	return (struct gh_ask){call, "api.github.test", "deploy-app", 42, 7};
}

static struct gh_answer answer(int status, const char *body)
{
	return (struct gh_answer){.status = status,
		.content_type = "application/json; charset=utf-8",
		.location = "https://evil.test/x",
		.retry_after = -1,
		.remaining = -1,
		.now = NOW,
		.body = body,
		.len = strlen(body)};
}

static const char *const calls[] = {"mint", "repositories", "installations", "destroy"};

static void status_row(const struct tsv_row *r)
{
	struct gh_answer a = answer((int)strtol(r->field[1], NULL, 10), "");
	struct gh_ask q = ask(GH_MINT);
	struct cl_err e;
	int rc;

	for (size_t i = 0; i < CL_ARRAY_LEN(calls); i++)
		if (!strcmp(calls[i], r->field[0]))
			q.call = (enum gh_call)i;
	a.retry_after = strtol(r->field[2], NULL, 10);
	a.remaining = strtol(r->field[3], NULL, 10);
	a.date = NOW - strtol(r->field[4], NULL, 10);
	a.body = r->field[5];
	a.len = r->len[5];
	rc = gh_check(&q, &a, &e);
	if (!strcmp(r->field[6], "-")) {
		if (rc)
			TSV_FAIL(r, "%s", e.msg);
		return;
	}
	if (!rc || strcmp(cl_err_slug(&e), r->field[6]) != 0)
		TSV_FAIL(r, "%s, not %s", rc ? cl_err_slug(&e) : "a success", r->field[6]);
	else if (!strstr(e.msg, r->field[7]) || !*e.fix || !strstr(e.msg, "'deploy-app'"))
		TSV_FAIL(r, "says '%s' (fix '%s')", e.msg, e.fix);
	else if (gh_retry(&e) == (e.code == CL_EREFUSED))
		TSV_FAIL(r, "final and not");
}

void test_status__each_has_its_meaning(void)
{
	tsv_each("github/status.tsv", status_row);
}

void test_status__who_is_asked_for_is_not_named_when_nothing_is_stored(void)
{
	struct gh_ask q = ask(GH_MINT);
	struct gh_answer a = answer(404, "{}");
	struct cl_err e;

	q.secret = "";
	CHECK_INT(gh_check(&q, &a, &e), -1);
	CHECK(!strstr(e.msg, "secret"));
	CHECK_HAS(e.fix, "--file FILE");
}

/* ---- pages ---- */

static int read_page(const char *body, struct gh_repositories *out, struct cl_err *e)
{
	struct gh_ask q = ask(GH_REPOSITORIES);
	struct gh_answer a = answer(200, body);

	return gh_repositories_read(&q, &a, out, e);
}

void test_repositories__pages_are_added_and_nothing_comes_twice(void)
{
	cleanup_gh_repositories struct gh_repositories r = GH_REPOSITORIES_INIT;
	struct gh_ask q = ask(GH_REPOSITORIES);
	struct cl_err e;
	bool all;

	CHECK_INT(
		read_page("{\"total_count\":101,\"repositories\":[{\"id\":1,\"full_name\":\"a/b\","
			  "\"private\":true,\"owner\":{}},{\"id\":2,\"full_name\":\"Acme/Tool\"}]}",
			&r, &e),
		0);
	CHECK_INT(gh_repositories_all(&q, &r, 1, &all, &e), 0);
	CHECK(!all);
	CHECK_INT(read_page("{\"total_count\":101,\"repositories\":[{\"id\":2,\"full_name\":\"Acme/"
			    "Tool\"},{\"id\":3,\"full_name\":\"a/../b\"},{\"id\":4,\"full_name\":"
			    "\"x y/z\"},{\"id\":5,\"full_name\":\"a/c\"}]}",
			  &r, &e),
		0);
	CHECK_INT(r.n, 3);
	CHECK(r.v[0].private && !r.v[1].private);
	CHECK_STR(r.v[2].full_name, "a/c");
	CHECK_INT(gh_repositories_all(&q, &r, 2, &all, &e), 0);
	CHECK(all);
	/* An end that comes before the count says so ends it. */
	CHECK_INT(read_page("{\"total_count\":900,\"repositories\":[]}", &r, &e), 0);
	CHECK_INT(gh_repositories_all(&q, &r, 3, &all, &e), 0);
	CHECK(all);
	r.page = 100;
	r.total = 6000;
	CHECK_INT(gh_repositories_all(&q, &r, GH_PAGES, &all, &e), -1);
	CHECK_HAS(e.msg, "6000 repositories");
}

void test_answers__broken_ones_are_refused_and_not_quoted(void)
{
	static const char *const bad[] = {"", "{", "[]", "nonsense", "{\"total_count\":1}",
		"{\"repositories\":[]}", "{\"total_count\":-1,\"repositories\":[]}",
		"{\"total_count\":1,\"repositories\":[{\"id\":0,\"full_name\":\"a/b\"}]}",
		"{\"total_count\":1,\"repositories\":[{\"id\":\"1\",\"full_name\":\"a/b\"}]}",
		"{\"total_count\":1,\"repositories\":[{\"id\":1}]}",
		"{\"total_count\":1,\"repositories\":[7]}",
		"{\"total_count\":1,\"total_count\":2,\"repositories\":[]}",
		"{\"total_count\":1,\"repositories\":[]} x"};
	cleanup_gh_repositories struct gh_repositories r = GH_REPOSITORIES_INIT;
	struct gh_ask q = ask(GH_REPOSITORIES);
	struct gh_answer a = answer(200, "{\"total_count\":0,\"repositories\":[]}");
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		if (!read_page(bad[i], &r, &e)) {
			UNIT_FAIL("taken: %s", bad[i]);
			continue;
		}
		CHECK_STR(cl_err_slug(&e), "github_answer");
		CHECK(gh_retry(&e));
		CHECK(!strstr(e.msg, "nonsense"));
	}
	a.content_type = "text/html";
	CHECK_INT(gh_repositories_read(&q, &a, &r, &e), -1);
	CHECK_HAS(e.msg, "no JSON by its type");
	a.content_type = "";
	CHECK_INT(gh_repositories_read(&q, &a, &r, &e), -1);
	a.content_type = "application/vnd.github+json";
	CHECK_INT(gh_repositories_read(&q, &a, &r, &e), 0);
}

void test_installations__what_is_shown_of_them(void)
{
	static const char body[] =
		"[{\"id\":313131,\"app_id\":42,\"account\":{\"login\":\"acme\",\"type\":"
		"\"Organization\"},"
		"\"repository_selection\":\"selected\",\"permissions\":{\"contents\":\"write\"},"
		"\"suspended_at\":null},"
		"{\"id\":2,\"account\":{\"slug\":\"big\\u001b[31m\"},\"repository_selection\":"
		"\"all\","
		"\"suspended_at\":\"2026-01-02T03:04:05Z\"}]";
	cleanup_gh_installations struct gh_installations r = GH_INSTALLATIONS_INIT;
	struct gh_ask q = ask(GH_INSTALLATIONS);
	struct gh_answer a = answer(200, body);
	struct cl_err e;

	CHECK_INT(gh_installations_read(&q, &a, &r, &e), 0);
	CHECK_INT(r.n, 2);
	CHECK_INT(r.page, 2);
	CHECK_STR(r.v[0].account, "acme");
	CHECK(r.v[0].selected && !r.v[0].suspended_at);
	CHECK_STR(r.v[1].account, "big?[31m");
	CHECK_STR(r.v[1].type, "Enterprise");
	CHECK_STR(r.v[1].suspended_at, "2026-01-02T03:04:05Z");
	a = answer(200, "{\"message\":\"x\"}");
	CHECK_INT(gh_installations_read(&q, &a, &r, &e), -1);
	a = answer(200, "[{\"id\":1}]");
	CHECK_INT(gh_installations_read(&q, &a, &r, &e), -1);
}

/* ---- tokens ---- */

#define TOKEN   "\"token\":\"ghs_x\",\"expires_at\":\"2023-11-14T23:13:20Z\""
#define CONTENT "\"permissions\":{\"contents\":\"read\",\"metadata\":\"read\"}"
#define SOME    "\"repository_selection\":\"selected\""
#define ONE     "\"repositories\":[{\"id\":1,\"full_name\":\"a/b\"}]"

static struct gh_scope scope(uint64_t first, uint64_t second, const char *permissions)
{
	struct gh_scope s = GH_SCOPE_INIT;

	s.nids = first ? second ? 2 : 1 : 0;
	s.ids = s.nids ? cl_calloc(2, sizeof(*s.ids)) : NULL;
	if (first)
		s.ids[0] = first;
	if (second)
		s.ids[1] = second;
	s.permissions = permissions ? json_loads(permissions, 0, NULL) : NULL;
	return s;
}

static const struct token_row {
	uint64_t first, second;
	const char *permissions, *body, *slug;
} token_rows[] = {
	{1, 0, "{\"contents\":\"read\"}", "{" TOKEN "," CONTENT "," SOME "," ONE "}", ""},
	{0, 0, "{\"contents\":\"read\"}",
		"{" TOKEN "," CONTENT ",\"repository_selection\":\"all\"}", ""},
	{1, 0, NULL,
		"{" TOKEN ",\"permissions\":{\"contents\":\"write\",\"actions\":\"admin\"}," SOME
		"," ONE "}",
		""},
	{1, 0, "{\"contents\":\"read\"}",
		"{" TOKEN ",\"permissions\":{\"contents\":\"write\"}," SOME "," ONE "}",
		"github_wider"},
	{1, 0, "{\"contents\":\"read\"}",
		"{" TOKEN ",\"permissions\":{\"contents\":\"read\",\"issues\":\"read\"}," SOME
		"," ONE "}",
		"github_wider"},
	{1, 0, "{\"contents\":\"read\"}",
		"{" TOKEN ",\"permissions\":{\"contents\":\"read\",\"metadata\":\"write\"}," SOME
		"," ONE "}",
		"github_wider"},
	{1, 0, "{\"contents\":\"read\"}",
		"{" TOKEN ",\"permissions\":{\"contents\":\"everything\"}," SOME "," ONE "}",
		"github_wider"},
	{1, 0, "{\"contents\":\"read\"}",
		"{" TOKEN ",\"permissions\":{\"contents\":7}," SOME "," ONE "}", "github_wider"},
	{1, 0, "{\"contents\":\"write\"}", "{" TOKEN "," CONTENT "," SOME "," ONE "}",
		"github_narrower"},
	{1, 0, "{\"contents\":\"read\",\"issues\":\"read\"}",
		"{" TOKEN "," CONTENT "," SOME "," ONE "}", "github_narrower"},
	{1, 0, "{\"contents\":\"read\"}",
		"{" TOKEN "," CONTENT ",\"repository_selection\":\"all\"," ONE "}", "github_wider"},
	{1, 0, "{\"contents\":\"read\"}", "{" TOKEN "," CONTENT "," ONE "}", "github_wider"},
	{1, 0, "{\"contents\":\"read\"}", "{" TOKEN "," CONTENT "," SOME "}", "github_wider"},
	{2, 0, "{\"contents\":\"read\"}", "{" TOKEN "," CONTENT "," SOME "," ONE "}",
		"github_wider"},
	/* A name that no grant could mean is a repository all the same. */
	{1, 0, "{\"contents\":\"read\"}",
		"{" TOKEN "," CONTENT "," SOME ",\"repositories\":[{\"id\":1,\"full_name\":\"a/"
		"b\"},{\"id\":9,\"full_name\":\"..\"}]}",
		"github_wider"},
	{1, 2, "{\"contents\":\"read\"}", "{" TOKEN "," CONTENT "," SOME "," ONE "}",
		"github_narrower"},
	{1, 0, "{\"contents\":\"read\"}",
		"{\"token\":\"g\",\"expires_at\":\"2023-11-14T22:18:19Z\"," CONTENT "," SOME "," ONE
		"}",
		"github_stale"},
	{1, 0, "{\"contents\":\"read\"}",
		"{\"token\":\"g\",\"expires_at\":\"2023-11-14T22:18:20Z\"," CONTENT "," SOME "," ONE
		"}",
		""},
};

void test_token__what_comes_is_what_was_asked_for(void)
{
	for (size_t i = 0; i < CL_ARRAY_LEN(token_rows); i++) {
		cleanup_gh_scope struct gh_scope s =
			scope(token_rows[i].first, token_rows[i].second, token_rows[i].permissions);
		cleanup_gh_token struct gh_token t = GH_TOKEN_INIT;
		struct gh_ask q = ask(GH_MINT);
		struct gh_answer a = answer(201, token_rows[i].body);
		struct cl_err e;
		int rc;

		cl_err_init(&e);
		CHECK_INT(gh_token_read(&q, &a, &t, &e), 0);
		rc = gh_token_held(&q, &t, &s, &a, &e);
		if (rc != (*token_rows[i].slug ? -1 : 0) ||
			strcmp(rc ? cl_err_slug(&e) : "", token_rows[i].slug) != 0)
			UNIT_FAIL("row %zu: %s, not '%s'", i, rc ? e.msg : "held",
				token_rows[i].slug);
		CHECK(!rc || !gh_retry(&e));
	}
}

void test_token__any_form_and_no_other_bytes(void)
{
	cleanup_buf struct cl_buf body = CL_BUF_INIT, longest = CL_BUF_INIT;
	static const char *const bad[] = {"{" CONTENT ",\"expires_at\":\"2023-11-14T23:13:20Z\"}",
		"{\"token\":\"\",\"expires_at\":\"2023-11-14T23:13:20Z\"," CONTENT "}",
		"{\"token\":\"a b\",\"expires_at\":\"2023-11-14T23:13:20Z\"," CONTENT "}",
		"{\"token\":\"a\\nb\",\"expires_at\":\"2023-11-14T23:13:20Z\"," CONTENT "}",
		"{\"token\":\"planted\",\"expires_at\":\"soon\"," CONTENT "}",
		"{\"token\":\"planted\"," CONTENT "}", "{" TOKEN "}",
		"{" TOKEN "," CONTENT ",\"repositories\":{}}",
		"{" TOKEN "," CONTENT ",\"repositories\":[{}]}", "[]"};
	struct gh_ask q = ask(GH_MINT);
	struct gh_answer a;
	struct cl_err e;

	while (longest.len < 4096)
		cl_buf_adds(&longest, "ghs_A.b-9/");
	longest.p[4096] = '\0';
	cl_buf_addf(&body,
		"{\"token\":\"%s\",\"expires_at\":\"2023-11-14T23:13:20+01:00\"," CONTENT "}",
		longest.p);
	{
		cleanup_gh_token struct gh_token t = GH_TOKEN_INIT;

		a = answer(201, body.p);
		CHECK_INT(gh_token_read(&q, &a, &t, &e), 0);
		CHECK_STR(t.token.p, longest.p);
		CHECK_INT(t.expires_at, NOW);
	}
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_gh_token struct gh_token t = GH_TOKEN_INIT;

		a = answer(201, bad[i]);
		if (!gh_token_read(&q, &a, &t, &e))
			UNIT_FAIL("taken: %s", bad[i]);
		else
			CHECK_STR(cl_err_slug(&e), "github_answer");
		CHECK(!strstr(e.msg, "planted"));
	}
}

/* ---- scopes ---- */

static void constraints(struct sec_constraints *c, const char *repos, const char *permissions)
{
	struct cl_err e;

	CHECK_INT(sec_constraints_add(c, SEC_REPOS, repos, &e), 0);
	if (*permissions)
		CHECK_INT(sec_constraints_add(c, SEC_PERMISSIONS, permissions, &e), 0);
	CHECK_INT(sec_constraints_check(SEC_GITHUB_APP, c, NULL, &e), 0);
}

static struct gh_repository three[] = {{3, (char *)(uintptr_t) "acme/web", false},
	{1, (char *)(uintptr_t) "acme/tool", false}, {9, (char *)(uintptr_t) "other/x", false}};
static const struct gh_repositories have = {.v = three, .n = 3, .total = 3};

void test_scope__of_a_grant(void)
{
	static const struct {
		const char *repos, *permissions, *body;
	} rows[] = {
		{"acme/*", "",
			"{\"permissions\":{\"contents\":\"read\"},\"repository_ids\":[1,3]}"},
		{"*", "contents:write", "{\"permissions\":{\"contents\":\"write\"}}"},
		{"acme/tool", "*", "{\"repository_ids\":[1]}"},
		{"*/*", "*", "{}"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
		cleanup_gh_scope struct gh_scope s = GH_SCOPE_INIT;
		cleanup_free char *body = NULL;
		struct cl_err e;

		constraints(&c, rows[i].repos, rows[i].permissions);
		CHECK_INT(gh_scope_of(&c, &have, "deploy-app", &s, &e), 0);
		body = gh_scope_body(&s);
		CHECK_STR(body, rows[i].body);
	}
}

void test_scope__more_than_a_token_takes(void)
{
	cleanup_gh_repositories struct gh_repositories many = GH_REPOSITORIES_INIT;
	cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
	cleanup_gh_scope struct gh_scope s = GH_SCOPE_INIT;
	struct cl_err e;

	for (uint64_t i = 1; i <= GH_IDS_MAX + 1; i++) {
		many.v = cl_grow(many.v, &many.cap, many.n + 1, sizeof(*many.v));
		many.v[many.n++] = (struct gh_repository){
			i, cl_asprintf("acme/r%llu", (unsigned long long)i), false};
	}
	constraints(&c, "acme/*", "");
	CHECK_INT(gh_scope_of(&c, &many, "deploy-app", &s, &e), -1);
	CHECK_HAS(e.msg, "admits 501 repositories");
}

void test_scope__again_never_wider(void)
{
	static const struct {
		uint64_t first, second;
		const char *was, *repos, *permissions, *want, *dropped;
	} rows[] = {
		{1, 3, "{\"contents\":\"read\"}", "acme/*", "",
			"{\"permissions\":{\"contents\":\"read\"},\"repository_ids\":[1,3]}", ""},
		{1, 9, "{\"contents\":\"read\"}", "acme/*", "",
			"{\"permissions\":{\"contents\":\"read\"},\"repository_ids\":[1]}",
			"other/x"},
		{1, 77, "{\"contents\":\"read\"}", "*", "",
			"{\"permissions\":{\"contents\":\"read\"},\"repository_ids\":[1]}",
			"repository 77"},
		{77, 9, "{\"contents\":\"read\"}", "acme/*", "", "!none of the repositories", ""},
		{0, 0, "{\"contents\":\"read\"}", "*", "",
			"{\"permissions\":{\"contents\":\"read\"}}", ""},
		{0, 0, "{\"contents\":\"read\"}", "acme/*", "", "!every repository", ""},
		{1, 0, "{\"contents\":\"write\",\"metadata\":\"read\"}", "acme/*", "contents:write",
			"{\"permissions\":{\"contents\":\"write\",\"metadata\":\"read\"},"
			"\"repository_ids\":[1]}",
			""},
		{1, 0, "{\"contents\":\"write\"}", "acme/*", "", "!has contents:write", ""},
		{1, 0, "{\"contents\":\"read\",\"issues\":\"read\"}", "acme/*", "contents",
			"!has issues:read", ""},
		{1, 0, "{\"contents\":\"admin\",\"issues\":\"write\"}", "acme/*", "*",
			"{\"permissions\":{\"contents\":\"admin\",\"issues\":\"write\"},"
			"\"repository_ids\":[1]}",
			""},
		{1, 0, NULL, "acme/*", "contents", "!has every permission", ""},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		cleanup_constraints struct sec_constraints c = SEC_CONSTRAINTS_INIT;
		cleanup_gh_scope struct gh_scope s = GH_SCOPE_INIT,
						 was = scope(rows[i].first, rows[i].second,
							 rows[i].was);
		cleanup_strv struct cl_strv dropped = CL_STRV_INIT;
		cleanup_free char *body = NULL, *gone = NULL;
		struct cl_err e;
		int rc;

		constraints(&c, rows[i].repos, rows[i].permissions);
		rc = gh_scope_again(&was, &c, &have, "deploy-app", &s, &dropped, &e);
		if (*rows[i].want == '!') {
			CHECK_INT(rc, -1);
			if (rc)
				CHECK_HAS(e.msg, rows[i].want + 1);
			CHECK_STR(rc ? cl_err_slug(&e) : "", "github_scope");
			continue;
		}
		CHECK_INT(rc, 0);
		body = gh_scope_body(&s);
		CHECK_STR(body, rows[i].want);
		gone = cl_join((const char *const *)dropped.v, dropped.n, ",");
		CHECK_STR(gone, rows[i].dropped);
	}
}

void test_scope__written_and_read_again(void)
{
	static const char *const bad[] = {"{\"x\":1}", "{\"repository_ids\":[]}",
		"{\"repository_ids\":[0]}", "{\"repository_ids\":[\"1\"]}", "{\"permissions\":{}}",
		"{\"permissions\":{\"contents\":\"all\"}}", "{\"permissions\":{\"contents\":1}}"};
	cleanup_gh_scope struct gh_scope s = scope(1, 2, "{\"contents\":\"read\"}"),
					 again = GH_SCOPE_INIT;
	cleanup_doc struct cl_doc d = CL_DOC_INIT;
	cleanup_free char *text = NULL, *second = NULL;
	json_t *j = gh_scope_json(&s), *k;
	struct cl_err e;

	text = cl_json_text(j);
	CHECK_STR(text, "{\"permissions\":{\"contents\":\"read\"},\"repository_ids\":[1,2]}");
	CHECK_INT(gh_scope_read(&d, j, &again, &e), 0);
	k = gh_scope_json(&again);
	second = cl_json_text(k);
	CHECK_STR(second, text);
	json_decref(j);
	json_decref(k);
	for (size_t i = 0; i < CL_ARRAY_LEN(bad); i++) {
		cleanup_gh_scope struct gh_scope none = GH_SCOPE_INIT;

		j = json_loads(bad[i], 0, NULL);
		if (!gh_scope_read(&d, j, &none, &e))
			UNIT_FAIL("taken: %s", bad[i]);
		json_decref(j);
	}
}
