/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/b64.h"
#include "base/mem.h"
#include "base/credpat.h"
#include "policy/secret/scrub.h"
#include "policy/secret/scrub_internal.h"
#include "unit.h"

static unsigned seed = 11;

static unsigned rnd(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Feeds the text in pieces of at most `most` bytes, 0: at once. */
static void run(struct scrub *s, const char *text, size_t len, size_t most, struct cl_buf *out)
{
	for (size_t at = 0, n; at < len; at += n) {
		n = most ? 1 + rnd((unsigned)most) : len;
		n = n < len - at ? n : len - at;
		scrub_feed(s, text + at, n, out);
	}
	scrub_flush(s, out);
	CHECK_INT(scrub_held(s), 0);
}

static void check(const char *value, const char *text, const char *want)
{
	static const size_t cuts[] = {0, 1, 3, 7};

	for (size_t i = 0; i < CL_ARRAY_LEN(cuts); i++) {
		cleanup_scrub struct scrub *s = scrub_new(false);
		cleanup_buf struct cl_buf out = CL_BUF_INIT;

		(void)scrub_add(s, value, strlen(value));
		run(s, text, strlen(text), cuts[i], &out);
		CHECK_STR(out.p, want);
	}
}

void test_value__in_every_form(void)
{
	/* The value of each line, with what base64(1), curl and python make of it. */
	check("hunter2-hunter2", "a hunter2-hunter2 b", "a [redacted] b");
	check(" hunter2-hunter2\n", "hunter2-hunter2", "[redacted]");
	check("hunter2-hunter2", "hunter2-hunter", "[redacted]");
	check("hunter2-hunter2", "hunter2-hunter2hunter2-hunter2", "[redacted][redacted]");
	check("hunter2-hunter2", "hunter2-hunthunter2-hunter2x", "hunter2-hunt[redacted]x");
	/* printf 'hunter2-hunter2' | base64; with "x" and "xy" before it. */
	check("hunter2-hunter2", "aHVudGVyMi1odW50ZXIy", "[redacted]");
	check("hunter2-hunter2", "eGh1bnRlcjItaHVudGVyMg==", "eG[redacted]g==");
	check("hunter2-hunter2", "eHlodW50ZXIyLWh1bnRlcjI=", "eHl[redacted]I=");
	check("p@ss w/rd&\xc3\xa9", "q=p%40ss%20w%2Frd%26%C3%A9;", "q=[redacted];");
	check("p@ss w/rd&\xc3\xa9", "q=p%40ss+w%2frd%26%c3%a9;", "q=[redacted];");
	check("line one\nline two", "\"line one\\nline two\"", "\"[redacted]\"");
	check("line one\nline two", "line one\r\nline two", "[redacted]");
	/* Somewhere in what base64(1) broke into lines, of more and of less. */
	check("hunter2-hunter2-and-more-of-it-0123456789",
		"eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4aHVudGVyMi1odW50ZXIyLWFuZC1tb3JlLW9m\n"
		"LWl0LTAxMjM0NTY3ODkKeXl5eXl5eXl5",
		"eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4[redacted]kKeXl5eXl5eXl5");
	check("hunter2-hunter2-and-more-of-it-0123456789",
		"eHh4eHh4eHhodW50ZXIy\r\nLWh1bnRlcjItYW5kLW1vcmUtb2YtaXQtMDEyMzQ1Njc4OQp5eXl5",
		"eHh4eHh4eHh[redacted]Qp5eXl5");
	/* Its first two digits end a line: the rest goes. */
	check("hunter2-hunter2-and-more-of-it-0123456789",
		"aH\nVudGVyMi1odW50ZXIyLWFuZC1tb3JlLW9mLWl0LTAxMjM0NTY3ODkK", "aH\nV[redacted]kK");
	/* Nor is a line that is none of base64's taken for one. */
	check("hunter2-hunter2", "aHVudGVy\n\nMi1odW50ZXIy .", "aHVudGVy\n\nMi1odW50ZXIy .");
	check("hunter2-hunter2", "hunter2-\nhunter2 .", "hunter2-\nhunter2 .");
	/* PHP escapes '/', Go '&', '<' and '>', Python all that is not ASCII; any may do several. */
	check("a/b&c<d>/\xc3\xa9", "\"a\\/b&c<d>\\/\xc3\xa9\"", "\"[redacted]\"");
	check("a/b&c<d>/\xc3\xa9", "\"a/b\\u0026c\\u003cd\\u003e/\xc3\xa9\"", "\"[redacted]\"");
	check("a/b&c<d>/\xc3\xa9", "\"a/b&c<d>/\\u00e9\"", "\"[redacted]\"");
	check("a/b&c<d>/\xc3\xa9", "\"a\\/b\\u0026c\\u003cd\\u003e\\/\\u00e9\"", "\"[redacted]\"");
	check("key\xf0\x9f\x94\x91key", "key\\ud83d\\udd11key", "[redacted]");
	check("key\xe2\x82\xackey\x7f\x01", "key\\u20ackey\x7f\\u0001", "[redacted]");
	check("key\xff\xc3keykey", "key\xff\xc3keykey", "[redacted]");
	check("\xff\xfe\xfd\xfb\xff\xfe\xfd\xfb", "//79+//+/fs=", "[redacted]s=");
	check("\xff\xfe\xfd\xfb\xff\xfe\xfd\xfb", "__79-__-_fs", "[redacted]s");
}

void test_value__too_short_or_a_placeholder(void)
{
	cleanup_scrub struct scrub *s = scrub_new(false);
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	CHECK(!scrub_add(s, "seven77", 7));
	CHECK(!scrub_add(s, "  seven77  \n", 12));
	CHECK(!scrub_add(s, "[redacted]", 10));
	CHECK(!scrub_add(s, "<REDACTED:token>", 16));
	CHECK(!scrub_add(s, "", 0));
	run(s, "seven77 [redacted]", 18, 3, &out);
	CHECK_STR(out.p, "seven77 [redacted]");
	CHECK(scrub_add(s, "eight888", 8));
}

void test_value__that_only_begins_like_a_placeholder(void)
{
	check("[redacted", "a [redacted b", "a [redacted] b");
	check("[redacted]-4711", "a [redacted]-4711 b", "a [redacted] b");
	check("<redacted-4711", "a <redacted-4711 b", "a [redacted] b");
	check("<redacted>\nand-the-next-4711>", "x and-the-next-4711>", "x [redacted]");
}

void test_stream__holds_only_what_may_be_a_beginning(void)
{
	cleanup_scrub struct scrub *s = scrub_new(true);
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	CHECK(scrub_add(s, "swordfish-1234", 14));
	scrub_feed(s, "Password: ", 10, &out);
	CHECK_STR(out.p, "Password: ");
	scrub_feed(s, "swordf", 6, &out);
	CHECK_STR(out.p, "Password: ");
	CHECK_INT(scrub_held(s), 6);
	scrub_feed(s, "ight", 4, &out);
	CHECK_STR(out.p, "Password: swordfight");
	scrub_feed(s, " swordfish-1234", 15, &out);
	CHECK_STR(out.p, "Password: swordfight [redacted]");
	CHECK_INT(scrub_count(s), 1);
}

void test_stream__of_beginnings_is_not_held(void)
{
	cleanup_scrub struct scrub *s = scrub_new(true);
	cleanup_buf struct cl_buf out = CL_BUF_INIT, in = CL_BUF_INIT;

	for (size_t i = 0; i < 10000; i++)
		cl_buf_adds(&in, "eyJhbGciOiJ.");
	scrub_feed(s, in.p, in.len, &out);
	CHECK(scrub_held(s) < 128);
	scrub_flush(s, &out);
	/* The last five may be one, with the dot behind it not in it. */
	CHECK_INT(scrub_count(s), 1);
	CHECK_INT(out.len, in.len - 59 + 10);
}

void test_stream__learns_while_it_runs(void)
{
	cleanup_scrub struct scrub *s = scrub_new(false);
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	scrub_feed(s, "old-token-1 new-token-22 ", 25, &out);
	CHECK(scrub_add(s, "old-token-1", 11));
	scrub_feed(s, "old-token-1 new-token-22 new-to", 31, &out);
	CHECK(scrub_add(s, "new-token-22", 12));
	scrub_feed(s, "new-token-22 new-to", 19, &out);
	/* Learned while the beginning of it was held back. */
	CHECK(scrub_add(s, "new-tokens-are-long", 19));
	scrub_feed(s, "ken-22.", 7, &out);
	scrub_flush(s, &out);
	CHECK_STR(out.p,
		"old-token-1 new-token-22 [redacted] new-token-22 new-to[redacted] [redacted].");
}

/* ---- against the slow and obvious ---- */

struct all {
	struct cl_buf form[800];
	enum scrub_how how[800];
	size_t n;
};

static void take(void *ctx, const char *form, size_t len, enum scrub_how how)
{
	struct all *a = ctx;

	if (len < SCRUB_MIN)
		return;
	a->form[a->n] = CL_BUF_INIT;
	a->how[a->n] = how;
	cl_buf_add(&a->form[a->n++], form, len);
}

/* How far it reaches from here; 0: nowhere. *open: the text ends within it. */
static size_t reach(const struct cl_buf *f, enum scrub_how how, const char *t, size_t n, bool *open)
{
	size_t i = 0, k, line = how == SCRUB_TAIL ? 3 : 32;

	*open = false;
	for (k = 0; k < f->len; k++, i++, line++) {
		if (how && i < n && t[i] != f->p[k] && k >= 4 && line >= 32) {
			i += t[i] == '\r' && (i + 1 == n || t[i + 1] == '\n');
			if (i < n && t[i] != '\n')
				return 0;
			i++;
			line = 0;
		}
		*open = i >= n;
		if (*open || t[i] != f->p[k])
			return *open ? n : 0;
	}
	return i;
}

/* Every byte that any occurrence covers goes; what overlaps is one mark. */
static void naive(const struct all *a, const char *t, size_t len, struct cl_buf *out)
{
	size_t end = 0; /* of the span that is open */

	for (size_t i = 0; i < len; i++) {
		size_t most = 0, left = len - i;

		for (size_t k = 0; k < a->n; k++) {
			bool open;
			size_t n = reach(&a->form[k], a->how[k], t + i, left, &open);

			if (n > most && (!open || left >= SCRUB_MIN))
				most = n;
		}
		if (most && i >= end)
			cl_buf_adds(out, "[redacted]");
		end = most && i + most > end ? i + most : end;
		if (i >= end)
			cl_buf_addc(out, t[i]);
	}
}

/* With a line end in it, or two. */
static void add_cut(struct cl_buf *text, const struct cl_buf *f)
{
	size_t at = rnd((unsigned)f->len), more = at + 30 + rnd(5);

	cl_buf_add(text, f->p, at);
	cl_buf_adds(text, rnd(3) ? "\n" : "\r\n");
	if (more < f->len) {
		cl_buf_add(text, f->p + at, more - at);
		cl_buf_addc(text, '\n');
		at = more;
	}
	cl_buf_add(text, f->p + at, f->len - at);
}

/* Values over few letters, so that they overlap each other and themselves. */
static void random_round(unsigned letters, size_t longest)
{
	static struct all a;
	cleanup_scrub struct scrub *s = scrub_new(false);
	cleanup_buf struct cl_buf text = CL_BUF_INIT, want = CL_BUF_INIT, got = CL_BUF_INIT;
	unsigned values = 1 + rnd(6);

	a.n = 0;
	for (unsigned v = 0; v < values; v++) {
		char value[80];
		size_t n = SCRUB_MIN + rnd((unsigned)longest);

		for (size_t i = 0; i < n; i++)
			value[i] = (char)('a' + rnd(letters));
		(void)scrub_add(s, value, n);
		scrub_forms(value, n, take, &a);
	}
	while (text.len < 600) {
		const struct cl_buf *f = &a.form[rnd((unsigned)a.n)];
		size_t from = rnd((unsigned)f->len), n = 1 + rnd((unsigned)(f->len - from));

		if (!rnd(3))
			cl_buf_add(&text, f->p, f->len);
		if (!rnd(3))
			add_cut(&text, f);
		cl_buf_add(&text, f->p + from, n);
		if (!rnd(4))
			cl_buf_addc(&text, (char)('a' + rnd(letters)));
	}
	naive(&a, text.p, text.len, &want);
	run(s, text.p, text.len, rnd(2) ? 1 + rnd(40) : 0, &got);
	if (strcmp(got.p, want.p) != 0)
		UNIT_FAIL("of %s: %s, not %s", text.p, got.p, want.p);
	for (size_t i = 0; i < a.n; i++)
		cl_buf_release(&a.form[i]);
}

void test_property__as_the_obvious_one(void)
{
	for (int i = 0; i < 1500 && !unit_failures; i++)
		random_round(2 + rnd(3), i % 2 ? 20 : 55);
}

void test_stream__memory_is_bounded(void)
{
	cleanup_scrub struct scrub *s = scrub_new(true);
	cleanup_buf struct cl_buf out = CL_BUF_INIT, value = CL_BUF_INIT;

	for (int i = 0; i < 5000; i++)
		cl_buf_addc(&value, (char)('a' + rnd(26)));
	CHECK(scrub_add(s, value.p, value.len));
	CHECK(scrub_add(s, "aaaaaaaaaaaaaaaaaaaaaaaa", 24));
	for (int i = 0; i < 3000; i++) {
		scrub_feed(s, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 36, &out);
		scrub_feed(s, value.p, 4999, &out);
		if (scrub_held(s) > 16384)
			UNIT_FAIL("%zu bytes are held", scrub_held(s));
		CHECK(!strstr(out.p, "aaaaaaaaaaaaaaaaaaaaaaaa"));
		cl_buf_reset(&out);
	}
}

void test_stream__large_values_come_out_whole(void)
{
	cleanup_scrub struct scrub *s = scrub_new(false);
	cleanup_buf struct cl_buf out = CL_BUF_INIT, value = CL_BUF_INIT;

	for (int i = 0; i < SCRUB_VALUE_MAX; i++)
		cl_buf_addc(&value, (char)('a' + rnd(26)));
	CHECK(scrub_add(s, value.p, value.len));
	run(s, value.p, value.len, 50000, &out);
	CHECK_STR(out.p, "[redacted]");
	cl_buf_addc(&value, 'x');
	CHECK(!scrub_add(s, value.p, value.len));
}

/* Feeds `text`, is quiet, and compares all that has left so far. */
static void quiet(struct scrub *s, const char *text, struct cl_buf *out, const char *want)
{
	scrub_feed(s, text, strlen(text), out);
	scrub_quiet(s, out);
	CHECK_STR(out->p, want);
}

void test_quiet__lets_a_short_beginning_go_and_takes_the_rest(void)
{
	cleanup_scrub struct scrub *s = scrub_new(true);
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	CHECK(scrub_add(s, "swordfish-1234", 14));
	quiet(s, "Go on? s", &out, "Go on? s");
	CHECK_INT(scrub_held(s), 0);
	quiet(s, "word", &out, "Go on? sword");
	/* Eight of them and more are the value's, whoever waits. */
	quiet(s, "fish-1", &out, "Go on? sword");
	CHECK_INT(scrub_held(s), 6);
	quiet(s, "234 sw", &out, "Go on? sword[redacted] sw");
	quiet(s, "ing\n", &out, "Go on? sword[redacted] swing\n");
	quiet(s, "swordfish-swordfish-1234", &out,
		"Go on? sword[redacted] swing\nswordfish-[redacted]");
	CHECK_INT(scrub_count(s), 2);
	quiet(s, " swo", &out, "Go on? sword[redacted] swing\nswordfish-[redacted] swo");
	scrub_flush(s, &out);
	CHECK_STR(out.p, "Go on? sword[redacted] swing\nswordfish-[redacted] swo");
}

void test_quiet__a_prompt_leaves_and_a_credential_does_not(void)
{
	cleanup_scrub struct scrub *s = scrub_new(true);
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	quiet(s, "api_token: ", &out, "api_token: ");
	cl_buf_reset(&out);
	quiet(s, "ghp_0123456789abcdefABCDEF", &out, "");
	quiet(s, "012345", &out, "");
	quiet(s, "\n$ ", &out, "[redacted]\n$ ");
}

/* Whatever is quiet when: no value leaves whole, and with the shown beginnings nothing is lost. */
void test_quiet__property(void)
{
	for (int i = 0; i < 2000 && !unit_failures; i++) {
		cleanup_scrub struct scrub *s = scrub_new(false);
		cleanup_buf struct cl_buf out = CL_BUF_INIT, text = CL_BUF_INIT;

		CHECK(scrub_add(s, "abababac", 8));
		CHECK(scrub_add(s, "babacabab", 9));
		for (int k = 0; k < 60; k++)
			cl_buf_addc(&text, (char)('a' + rnd(3) % (2 + (rnd(6) == 0))));
		for (size_t at = 0, n; at < text.len; at += n) {
			n = 1 + rnd(5);
			n = n < text.len - at ? n : text.len - at;
			scrub_feed(s, text.p + at, n, &out);
			if (rnd(2))
				scrub_quiet(s, &out);
		}
		scrub_flush(s, &out);
		if (strstr(out.p, "abababac") || strstr(out.p, "babacabab"))
			UNIT_FAIL("'%s' became '%s'", text.p, out.p);
		if (!scrub_count(s))
			CHECK_STR(out.p, text.p);
	}
}

/* Looking at many places at once passes over none at which a credential can start. */
void test_skip__misses_no_lead(void)
{
	static const char *const pieces[] = {"ghp_", "token", "TOKEN", "ToKeN", "eyJ", "sk-",
		"AKIA", "://", "-----BEGIN ", "Authorization", "bEARER", "xoxb-", "client_secret",
		"clet1.", "AWS_secret_access_key", "a", "st", " ", "\xff", "\n", "gh", "cl"};
	static unsigned char table[CP_TABLE];
	struct scrub_skip skip;

	cp_filter(table);
	scrub_skip_init(&skip);
	for (int round = 0; round < 3000 && !unit_failures; round++) {
		cleanup_buf struct cl_buf b = CL_BUF_INIT;
		size_t next = 0;

		for (unsigned i = 0, n = rnd(40); i < n; i++)
			cl_buf_adds(&b, pieces[rnd(CL_ARRAY_LEN(pieces))]);
		for (size_t at = 0; at + 2 < b.len; at++) {
			unsigned char p[3];

			memcpy(p, b.p + at, 3);
			if (at >= next)
				next = scrub_skip(&skip, b.p, at, b.len);
			CHECK(next >= at);
			if (at < next &&
				table[cp_hash(p[0] | (unsigned)p[1] << 8 | (unsigned)p[2] << 16)] &&
				cp_at(b.p, b.len, at, true, &(struct cp_match){0}) == CP_YES)
				UNIT_FAIL("place %zu of '%s' was passed over", at, b.p);
			if (at == next)
				next++;
		}
	}
}

void test_quiet__one_value_begins_another(void)
{
	static const char text[] = "x planted-env-value-1 y";
	cleanup_scrub struct scrub *s = scrub_new(true);
	cleanup_buf struct cl_buf out = CL_BUF_INIT;

	CHECK(scrub_add(s, "planted-env-value-1", 19));
	CHECK(scrub_add(s, "planted-env", 11));
	for (size_t i = 0; i < strlen(text); i += 2) {
		scrub_feed(s, text + i, strlen(text + i) < 2 ? 1 : 2, &out);
		scrub_quiet(s, &out);
		CHECK(!strstr(out.p, "planted"));
	}
	scrub_flush(s, &out);
	CHECK_STR(out.p, "x plante[redacted] y");
}

void test_value__of_several_lines(void)
{
	static const char value[] = "-----BEGIN THING-----\r\nMIIEow first of the lines\r\n"
				    "  second-of-the-lines\nshort one\n-----END THING-----";
	cleanup_buf struct cl_buf many = CL_BUF_INIT, out = CL_BUF_INIT;
	cleanup_scrub struct scrub *s = scrub_new(false);

	check(value, "> MIIEow first of the lines\n> second-of-the-lines\n> short one",
		"> [redacted]\n> [redacted]\n> short one");
	check(value, value, "[redacted]");
	/* c2Vjb25kLW9mLXRoZS1saW5lcw== is one of them alone. */
	check(value, "c2Vjb25kLW9mLXRoZS1saW5lcw== -----BEGIN THING----- .",
		"[redacted]w== -----BEGIN THING----- .");
	for (int i = 0; i < 2000; i++)
		cl_buf_addf(&many, "this is line %d of many\n", i);
	CHECK(scrub_add(s, many.p, many.len));
	run(s, "this is line 7 of many. this is line 1999 of many.", 50, 0, &out);
	CHECK_STR(out.p, "[redacted]. this is line 1999 of many.");
}
