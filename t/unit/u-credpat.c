/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"
#include "base/text.h"
#include "base/credpat.h"
#include "policy/secret/scrub.h"
#include "tsv.h"

static const char *wanted(const struct tsv_row *r)
{
	return !strcmp(r->field[1], "=") ? r->field[0] : r->field[1];
}

static void whole_row(const struct tsv_row *r)
{
	cleanup_buf struct cl_buf out = CL_BUF_INIT;
	size_t n = cp_scrub(r->field[0], r->len[0], &out);

	if (strcmp(out.p, wanted(r)) != 0)
		TSV_FAIL(r, "'%s', not '%s'", out.p, wanted(r));
	CHECK_INT(n != 0, strcmp(r->field[1], "=") != 0);
}

void test_detect__cases(void)
{
	tsv_each("secret/credentials.tsv", whole_row);
}

/* Cut anywhere, the secret does not leave; what is none leaves as it came. */
static void stream_row(const struct tsv_row *r)
{
	for (size_t cut = 1; cut < 12; cut++) {
		cleanup_scrub struct scrub *s = scrub_new(true);
		cleanup_buf struct cl_buf out = CL_BUF_INIT;

		for (size_t at = 0; at < r->len[0]; at += cut)
			scrub_feed(s, r->field[0] + at, cut < r->len[0] - at ? cut : r->len[0] - at,
				&out);
		scrub_flush(s, &out);
		if (!strcmp(r->field[1], "=")
				? strcmp(out.p, r->field[0]) != 0
				: !strstr(out.p, CP_REDACTED) || strstr(out.p, r->field[2]) != NULL)
			TSV_FAIL(r, "in pieces of %zu: '%s'", cut, out.p);
	}
}

void test_detect__in_pieces(void)
{
	tsv_each("secret/credentials.tsv", stream_row);
}

static unsigned detected(const char *name)
{
	unsigned found = 0;

	for (int i = 0; cp_detectors[i]; i++)
		found += !strcmp(cp_detectors[i], name);
	return found;
}

static void name_row(const struct tsv_row *r)
{
	for (size_t i = 0; i < r->len[0]; i++) {
		struct cp_match m;

		if (cp_at(r->field[0], r->len[0], i, true, &m) != CP_YES)
			continue;
		CHECK_INT(detected(m.detector), 1);
		CHECK(m.from < m.to && m.to <= r->len[0] && m.from >= i);
		CHECK(m.from - i <= CP_CONTEXT);
	}
}

void test_detect__every_detector_has_a_name(void)
{
	tsv_each("secret/credentials.tsv", name_row);
}

void test_long__tokens_do_not_leak_their_tail(void)
{
	static const char *const leads[] = {"ghs_", "cloop_pat_",
		"token: ", "Authorization: Bearer ", "-----BEGIN PRIVATE KEY-----\n"};

	for (size_t k = 0; k < CL_ARRAY_LEN(leads); k++) {
		cleanup_scrub struct scrub *s = scrub_new(true);
		cleanup_buf struct cl_buf in = CL_BUF_INIT, out = CL_BUF_INIT;

		cl_buf_adds(&in, leads[k]);
		for (int i = 0; i < 60000; i++)
			cl_buf_addc(&in, "aB3dE6gH9"[i % 9]);
		cl_buf_adds(&in, " end");
		for (size_t at = 0; at < in.len; at += 999)
			scrub_feed(s, in.p + at, in.len - at < 999 ? in.len - at : 999, &out);
		scrub_flush(s, &out);
		if (out.len > 64 || !strstr(out.p, CP_REDACTED " end"))
			UNIT_FAIL("of '%s' %zu bytes leave: %.60s", leads[k], out.len, out.p);
	}
}

/* Text made to be looked at again and again: it only has to end. */
void test_hostile__text_ends(void)
{
	static const char *const pieces[] = {"sk-", "eyJ-", "eyJ.", "token=$", "token:", "bearer ",
		"://", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "authorization:", "xoxe.xox",
		"ghp_", "AKIA"};

	for (size_t k = 0; k < CL_ARRAY_LEN(pieces); k++) {
		cleanup_scrub struct scrub *s = scrub_new(true);
		cleanup_buf struct cl_buf in = CL_BUF_INIT, out = CL_BUF_INIT;

		while (in.len < 40000)
			cl_buf_adds(&in, pieces[k]);
		scrub_feed(s, in.p, in.len, &out);
		CHECK(scrub_held(s) <= CP_MAX + CP_CONTEXT);
		scrub_flush(s, &out);
		CHECK(out.len > 0);
	}
}

void test_echo__what_somebody_typed(void)
{
	char out[CP_ECHO];

	cp_echo("grant_7f3a1c", out);
	CHECK_STR(out, "grant_7f3a1c");
	cp_echo("grant_7f3a1cx", out);
	CHECK_STR(out, "grant_7f3a1c…");
	cp_echo("ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", out);
	CHECK_STR(out, "[redacted]");
	cp_echo("äöüäöüäöüäöüä", out);
	CHECK_STR(out, "äöüäöüäöüäöü…");
	cp_echo("a\x1b[31m\xff", out);
	CHECK_STR(out, "a?[31m?");
	cp_echo("", out);
	CHECK_STR(out, "");
}
