/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/err.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/err_json.h"
#include "unit.h"

#include <errno.h>

static const struct {
	enum cl_code code;
	int exit;
	const char *slug;
} codes[] = {
	{CL_OK, 0, "ok"},
	{CL_ENO, 1, "no"},
	{CL_EREFUSED, 1, "refused"},
	{CL_EUSAGE, 64, "usage"},
	{CL_EDATA, 65, "bad_input"},
	{CL_ENOTFOUND, 65, "not_found"},
	{CL_EUNAVAIL, 69, "unavailable"},
	{CL_EBUG, 70, "bug"},
	{CL_EOS, 71, "os_error"},
	{CL_EBUSY, 75, "busy"},
	{CL_EDENIED, 77, "denied"},
	{CL_ECONFIG, 78, "configuration"},
};

void test_err__codes(void)
{
	struct cl_err e;

	CHECK_INT(CL_ARRAY_LEN(codes), CL_NCODES);
	for (size_t i = 0; i < CL_ARRAY_LEN(codes); i++) {
		CHECK_INT(cl_fail(&e, codes[i].code, "x"), -1);
		CHECK_INT(cl_err_exit(&e), codes[i].exit);
		CHECK_STR(cl_err_slug(&e), codes[i].slug);
	}
	CHECK_INT(cl_slug(&e, "grant_expired"), -1);
	CHECK_STR(cl_err_slug(&e), "grant_expired");
}

void test_err__fail_clears_the_rest(void)
{
	struct cl_err e;

	memset(&e, 'x', sizeof(e));
	CHECK_INT(cl_fail(&e, CL_EDATA, "value '%s'", "a"), -1);
	CHECK_STR(e.msg, "value 'a'");
	CHECK_STR(e.fix, "");
	CHECK_STR(e.file, "");
	CHECK_STR(e.constraint, "");
	CHECK_STR(e.rule, "");
	CHECK_STR(e.slug, "");
	CHECK(!e.line && !e.column && !e.sys);
}

void test_err__may_quote_itself(void)
{
	struct cl_err e;

	(void)cl_fail(&e, CL_EDATA, "inner");
	(void)cl_fix(&e, "do");
	CHECK_INT(cl_fail(&e, CL_EBUG, "outer(%s)", e.msg), -1);
	CHECK_STR(e.msg, "outer(inner)");
	CHECK_INT(cl_wrap(&e, "again(%s)", e.msg), -1);
	CHECK_STR(e.msg, "again(outer(inner)): outer(inner)");
	(void)cl_fix(&e, "see %s", e.msg);
	CHECK_STR(e.fix, "see again(outer(inner)): outer(inner)");
}

void test_err__system_errors(void)
{
	struct cl_err e;

	CHECK_INT(cl_fail_sys(&e, CL_EOS, ENOENT, "cannot open '%s'", "/x"), -1);
	CHECK_STR(e.msg, "cannot open '/x': No such file or directory");
	CHECK_INT(e.sys, ENOENT);
	(void)cl_fail_sys(&e, CL_EOS, 99999, "odd");
	CHECK_STR(e.msg, "odd: error 99999");
	(void)cl_fail_sys(&e, CL_EDENIED, EACCES, "x");
	CHECK_INT(e.code, CL_EDENIED);
}

void test_err__masks_what_a_terminal_would_obey(void)
{
	struct cl_err e;

	(void)cl_fail(&e, CL_EDATA,
		"a\x1b[31mb\nc\td\x7f"
		"e\xc2\x9b"
		"f\xc3\xa9");
	CHECK_STR(e.msg, "a?[31mb?c?d?e??f\xc3\xa9");
	(void)cl_fix(&e, "\xe2\x80\xae"
			 "evil\xe2\x81\xa6"
			 "x\xe2\x80\x93");
	CHECK_STR(e.fix, "???evil???x\xe2\x80\x93");
	(void)cl_at(&e, "a\nb", 3, 4);
	CHECK_STR(e.file, "a?b");
	(void)cl_rule(&e, "r\x1b");
	CHECK_STR(e.rule, "r?");
	(void)cl_constraint(&e, "c\n");
	CHECK_STR(e.constraint, "c?");
}

void test_err__broken_utf8_still_says_something(void)
{
	struct cl_err e;
	json_t *j;
	const char *m;

	(void)cl_fail(&e, CL_EDATA, "name '\xff\xc3(\xed\xa0\x80'");
	CHECK(cl_utf8_valid(e.msg, strlen(e.msg)));
	CHECK_STR(e.msg, "name '\?\?(\?\?\?'");
	j = cl_err_json(&e);
	m = json_string_value(json_object_get(json_object_get(j, "error"), "message"));
	CHECK_STR(m, e.msg);
	json_decref(j);
}

void test_err__long_texts_are_cut_between_characters(void)
{
	cleanup_free char *much = cl_malloc(9001);
	struct cl_err e;

	for (size_t i = 0; i < 9000; i += 3)
		memcpy(much + i, "\xe2\x82\xac", 3);
	much[9000] = '\0';
	for (int shift = 0; shift < 3; shift++) {
		(void)cl_fail(&e, CL_EDATA, "%.*s%s", shift, "xx", much);
		CHECK(cl_utf8_valid(e.msg, strlen(e.msg)));
		CHECK_INT(strlen(e.msg), sizeof(e.msg) - 1);
		(void)cl_wrap(&e, "%.*s", shift + 1, "xxx");
		CHECK(cl_utf8_valid(e.msg, strlen(e.msg)));
		(void)cl_fix(&e, "%.*s%s", shift, "xx", much);
		CHECK(cl_utf8_valid(e.fix, strlen(e.fix)));
		(void)cl_at(&e, much + shift * 3, 1, 1);
		CHECK(cl_utf8_valid(e.file, strlen(e.file)));
	}
}

static char *as_json(const struct cl_err *e)
{
	json_t *j = cl_err_json(e);
	char *text = cl_json_text(j);

	json_decref(j);
	return text;
}

/* Whoever fills an error, and however long the text is that a credential stands in. */
void test_err__never_repeats_a_credential(void)
{
	static const char token[] = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
	struct cl_err e;

	(void)cl_fail(&e, CL_EDATA, "there is no run '%s'", token);
	CHECK_STR(e.msg, "there is no run '[redacted]'");
	(void)cl_fix(&e, "cloop runs show %s", token);
	CHECK_STR(e.fix, "cloop runs show [redacted]");
	(void)cl_wrap(&e, "reading %s", token);
	CHECK_STR(e.msg, "reading [redacted]: there is no run '[redacted]'");
	(void)cl_fail_sys(&e, CL_EOS, ENOENT, "cannot open '%s'", token);
	CHECK(!strstr(e.msg, "ghp_"));
	/* Cut within, it would have no form to be known by. */
	for (size_t pad = sizeof(e.msg) - sizeof(token); pad < sizeof(e.msg); pad++) {
		cleanup_free char *before = cl_malloc(pad + 1);

		memset(before, '.', pad);
		before[pad] = '\0';
		(void)cl_fail(&e, CL_EDATA, "%s%s", before, token);
		CHECK(!strstr(e.msg, "ghp_"));
	}
}

void test_err__json_has_what_is_known(void)
{
	struct cl_err e;
	cleanup_free char *few = NULL, *all = NULL;

	(void)cl_fail(&e, CL_EREFUSED, "no");
	few = as_json(&e);
	CHECK_STR(
		few, "{\"error\":{\"code\":\"refused\",\"kind\":\"refused\",\"message\":\"no\"}}");
	(void)cl_fix(&e, "type this");
	(void)cl_rule(&e, "deny-4");
	(void)cl_constraint(&e, "virtualized");
	(void)cl_slug(&e, "grant_expired");
	(void)cl_at(&e, "f.yaml", 3, 9);
	all = as_json(&e);
	CHECK_STR(all, "{\"error\":{\"code\":\"grant_expired\",\"column\":9,\"constraint\":"
		       "\"virtualized\","
		       "\"file\":\"f.yaml\",\"kind\":\"refused\",\"line\":3,\"message\":\"no\","
		       "\"remediation\":\"type this\",\"rule\":\"deny-4\"}}");
}

void test_err__json_comes_back_as_it_was(void)
{
	struct cl_err e, back;
	cleanup_free char *before = NULL, *after = NULL;
	json_t *j;

	(void)cl_fail(&e, CL_EDENIED, "key '%s' is not readable", "k\xc3\xa9y");
	(void)cl_fix(&e, "chmod 0600 it");
	(void)cl_constraint(&e, "key");
	(void)cl_rule(&e, "r1");
	(void)cl_slug(&e, "key_mode");
	(void)cl_at(&e, "/etc/k", 1, 2);
	j = cl_err_json(&e);
	CHECK_INT(cl_err_from_json(j, &back), -1);
	before = as_json(&e);
	after = as_json(&back);
	CHECK_STR(after, before);
	CHECK_INT(back.code, CL_EDENIED);
	CHECK_INT(cl_err_from_json(json_object_get(j, "error"), &back), -1);
	CHECK_STR(back.msg, e.msg);
	json_decref(j);
}

void test_err__json_of_others_is_not_believed(void)
{
	static const struct {
		const char *json;
		enum cl_code code;
		const char *msg;
	} rows[] = {
		{"{}", CL_EBUG, "failed without a reason"},
		{"{\"error\":7}", CL_EBUG, "failed without a reason"},
		{"{\"error\":{\"kind\":\"ok\",\"message\":\"fine\"}}", CL_EBUG, "fine"},
		{"{\"error\":{\"code\":\"ok\"}}", CL_EBUG, "failed without a reason"},
		{"{\"error\":{\"kind\":3,\"message\":[]}}", CL_EBUG, "failed without a reason"},
		{"{\"error\":{\"code\":\"no_such_slug\",\"message\":\"m\"}}", CL_EREFUSED, "m"},
		{"{\"message\":\"a\\u001b[2Jb\\u202ec\"}", CL_EBUG, "a?[2Jb\?\?\?c"},
	};
	struct cl_err e;

	for (size_t i = 0; i < CL_ARRAY_LEN(rows); i++) {
		json_t *j = json_loads(rows[i].json, 0, NULL);

		CHECK(j != NULL);
		CHECK_INT(cl_err_from_json(j, &e), -1);
		CHECK_INT(e.code, rows[i].code);
		CHECK_STR(e.msg, rows[i].msg);
		CHECK(cl_err_exit(&e) > 0);
		json_decref(j);
	}
	CHECK_INT(cl_err_from_json(NULL, &e), -1);
	CHECK_STR(e.msg, "failed without a reason");
}

void test_err__json_places_are_numbers(void)
{
	json_t *j = json_pack("{s:s, s:I, s:I}", "message", "m", "line", (json_int_t)-1, "column",
		(json_int_t)1 << 40);
	struct cl_err e;

	(void)cl_err_from_json(j, &e);
	CHECK(!e.line && !e.column);
	json_decref(j);
}

void test_err__what_is_commonly_done_is_the_fix(void)
{
	struct cl_err e;

	(void)cl_fail_sys(&e, CL_EOS, ENOSPC, "cannot write 'x'");
	CHECK_HAS(e.fix, "df");
	(void)cl_fail_sys(&e, CL_EOS, EACCES, "cannot write 'x'");
	CHECK_HAS(e.fix, "root");
	(void)cl_fail_sys(&e, CL_EOS, EXDEV, "cannot move 'x'");
	CHECK_STR(e.fix, "");
	(void)cl_fail(&e, CL_EBUG, "no way");
	CHECK_HAS(e.fix, "cloop version");
	(void)cl_fail(&e, CL_EDATA, "no way");
	CHECK_STR(e.fix, "");
}
