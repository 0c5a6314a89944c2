/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The audit chain: whole as written, and every way of altering it named by its row. */
#include "store-fixture.h"
#include "base/doc.h"
#include "base/sha256.h"
#include "store/audit.h"

static struct store *trail(void)
{
	fresh();
	return open_as(STORE_CREATE);
}

static void over(struct store *s)
{
	store_close(s);
	gone();
}

static void add(struct store *s, int n)
{
	struct store_audit_row row = {.actor = "uid:0", .action = "run.start", .entity = "run"};
	struct cl_err e;

	for (int i = 0; i < n; i++) {
		json_t *d = json_pack("{s:i, s:s}", "n", i, "text", "\"quoted\" \xc3\xa9\n");

		row.entity_id = i % 2 ? "odd" : NULL;
		row.detail = i % 3 ? d : NULL;
		CHECK_INT(store_audit_add(s, 1700000000000 + i, &row, &e), 0);
		json_decref(d);
	}
}

struct seen {
	char want[CL_SHA256_HEX];
	int n;
};

/* What a row's hash is of, by another writer of JSON. */
static int hash_again(const struct store_audit *a, void *arg, struct cl_err *e)
{
	struct seen *s = arg;
	json_t *o = json_pack("{s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:s}", "seq", (json_int_t)a->seq,
		"at", (json_int_t)a->at, "actor", a->actor, "action", a->action, "entity",
		a->entity, "entity_id", a->entity_id, "project", a->project, "detail", a->detail);
	cleanup_free char *json = cl_json_text(o);
	cleanup_free char *text = cl_asprintf("%s\n%s", a->prev, json);

	(void)e;
	json_decref(o);
	cl_sha256_hex(text, strlen(text), s->want);
	CHECK_STR(a->hash, s->want);
	s->n++;
	return 0;
}

void test_audit__a_hash_is_of_canonical_json(void)
{
	static const char *const odd[] = {"", "\"", "\\", "\\\\\"\"", "\b\f\n\r\t\v\x7f", "/</",
		"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91", "\xef\xbf\xbf", "a\x1f", "\x01"};
	struct store *s = trail();
	struct seen seen = {.n = 0};
	char every[128];
	struct cl_err e;

	for (int i = 1; i < 128; i++)
		every[i - 1] = (char)i;
	every[127] = '\0';
	for (size_t i = 0; i <= CL_ARRAY_LEN(odd); i++) {
		const char *t = i < CL_ARRAY_LEN(odd) ? odd[i] : every;
		json_t *d = json_pack("{s:s}", "t", t);
		const struct store_audit_row row = {t, t, t, t, t, d};

		CHECK_INT(store_audit_add(s, -(int64_t)i, &row, &e), 0);
		json_decref(d);
	}
	CHECK_INT(store_audit_each(s, &(struct store_audit_filter){.since = INT64_MIN}, hash_again,
			  &seen, &e),
		0);
	CHECK_INT(seen.n, CL_ARRAY_LEN(odd) + 1);
	over(s);
}

static void tamper(const char *sql)
{
	cleanup_free char *all = cl_asprintf("DROP TRIGGER IF EXISTS audit_no_update;"
					     "DROP TRIGGER IF EXISTS audit_no_delete; %s",
		sql);

	outside(all);
}

static struct store_chain verify(struct store *s)
{
	struct store_chain c;
	struct cl_err e;

	CHECK_INT(store_audit_verify(s, 0, NULL, &c, &e), 0);
	return c;
}

void test_audit__whole(void)
{
	struct store *s = trail();
	struct store_chain c = verify(s);

	CHECK(!c.broken);
	CHECK_INT(c.rows, 0);
	add(s, 9);
	c = verify(s);
	CHECK(!c.broken);
	CHECK_INT(c.rows, 9);
	CHECK_INT(c.head_seq, 9);
	CHECK_INT(strlen(c.head), 64);
	over(s);
}

/* The form that audit.h promises, so that somebody else can check a chain. */
void test_audit__documented_hash(void)
{
	static const char row[] =
		"\n{\"action\":\"run.start\",\"actor\":\"uid:0\",\"at\":1700000000000,"
		"\"detail\":\"{}\",\"entity\":\"run\",\"entity_id\":\"\",\"project\":\"\","
		"\"seq\":1}";
	struct store *s = trail();
	char want[CL_SHA256_HEX];

	add(s, 1);
	cl_sha256_hex(row, strlen(row), want);
	CHECK_STR(verify(s).head, want);
	over(s);
}

void test_audit__tampering_is_named(void)
{
	static const struct {
		const char *sql;
		int row;
		const char *why;
	} cases[] = {
		{"UPDATE audit SET actor = 'uid:1' WHERE seq = 3", 3, "content"},
		{"UPDATE audit SET at = at + 1 WHERE seq = 9", 9, "content"},
		{"UPDATE audit SET detail = detail || ' ' WHERE seq = 1", 1, "content"},
		{"UPDATE audit SET detail = detail || char(0) || 'x' WHERE seq = 2", 2, "NUL"},
		{"UPDATE audit SET actor = CAST(x'ff' AS TEXT) WHERE seq = 4", 4, "content"},
		{"UPDATE audit SET hash = replace(hash, 'a', 'b') WHERE seq = 5", 5, "content"},
		{"UPDATE audit SET prev = '' WHERE seq = 6", 6, "follow"},
		{"DELETE FROM audit WHERE seq = 4", 4, "not there"},
		{"DELETE FROM audit WHERE seq = 1", 1, "not there"},
		{"DELETE FROM audit WHERE seq > 7", 8, "cut off"},
		{"DELETE FROM audit", 1, "cut off"},
		{"DELETE FROM audit WHERE seq = 9; UPDATE audit_head SET seq = 8", 8, "head"},
		{"UPDATE audit_head SET seq = 8", 8, "head"},
		{"UPDATE audit_head SET hash = ''", 1, "head"},
		{"INSERT INTO audit SELECT 10, at, actor, action, entity, entity_id, project, "
		 "detail, hash, hash, 1 FROM audit WHERE seq = 9",
			10, "content"},
		{"UPDATE audit SET at_end = 0", 10, "cut off"},
		{"UPDATE audit SET at_end = 1 WHERE seq = 5", 5, "rows follow it"},
		{"DELETE FROM audit WHERE seq > 7; UPDATE audit SET at_end = 1 WHERE seq = 5", 8,
			"cut off"},
		{"DELETE FROM audit WHERE seq > 7; UPDATE audit SET at_end = 1 WHERE seq = 7;"
		 "UPDATE audit_head SET seq = 8",
			8, "cut off"},
		{"UPDATE audit SET seq = -1 WHERE seq = 2", 1, "not there"},
		{"UPDATE audit SET seq = seq + 10 WHERE seq > 5", 6, "not there"},
	};

	for (size_t i = 0; i < CL_ARRAY_LEN(cases); i++) {
		struct store *s = trail();
		struct store_chain c;

		add(s, 9);
		tamper(cases[i].sql);
		c = verify(s);
		if (!c.broken || c.bad_seq != cases[i].row || !strstr(c.why, cases[i].why))
			UNIT_FAIL("%s: broken %d row %lld: %s", cases[i].sql, c.broken,
				(long long)c.bad_seq, c.why);
		over(s);
	}
}

void test_audit__a_new_chain_misses_the_noted_head(void)
{
	struct store *s = trail();
	struct store_chain c, later;
	struct cl_err e;

	add(s, 4);
	c = verify(s);
	add(s, 3);
	CHECK_INT(store_audit_verify(s, c.head_seq, c.head, &later, &e), 0);
	CHECK(!later.broken);
	CHECK_INT(store_audit_verify(s, 99, c.head, &later, &e), 0);
	CHECK(later.broken && later.bad_seq == 99);
	tamper("DELETE FROM audit; UPDATE audit_head SET seq = 0, hash = ''");
	add(s, 2);
	add(s, 5);
	CHECK(!verify(s).broken);
	CHECK_INT(store_audit_verify(s, c.head_seq, c.head, &later, &e), 0);
	CHECK(later.broken && later.bad_seq == 4);
	over(s);
}

void test_audit__a_cut_is_missed_though_the_chain_goes_on(void)
{
	static const struct {
		const char *sql;
		int64_t row;
	} cuts[] = {{"DELETE FROM audit WHERE seq = 9", 9}, {"DELETE FROM audit WHERE seq > 2", 3},
		{"DELETE FROM audit", 1}};

	for (size_t i = 0; i < CL_ARRAY_LEN(cuts); i++) {
		struct store *s = trail();
		struct store_chain c;

		add(s, 9);
		tamper(cuts[i].sql);
		add(s, 1);
		add(s, 3);
		c = verify(s);
		CHECK_INT(c.bad_seq, cuts[i].row);
		CHECK_HAS(c.why, "not there");
		over(s);
	}
}

static int keep_place(const struct store_audit *a, void *arg, struct cl_err *e)
{
	(void)e;
	cl_buf_addf(arg, "%lld after %s", (long long)a->seq, a->prev);
	return 0;
}

/* Who cuts the tail off and says so of the row that is last then is found by what the trail has passed. */
void test_audit__what_it_has_passed(void)
{
	struct store *s = trail();
	struct store_txn t = {0};
	struct store_chain c;
	struct cl_err e;

	CHECK_INT(store_begin(s, &t, &e), 0);
	add(s, 70);
	CHECK(!verify(s).broken);
	CHECK_INT(store_commit(&t, &e), 0);
	add(s, 70);
	CHECK(!verify(s).broken);
	CHECK_INT(verify(s).rows, 140);
	tamper("DELETE FROM audit WHERE seq > 130; UPDATE audit SET at_end = 1 WHERE seq = 130");
	CHECK(!verify(s).broken);
	tamper("DELETE FROM audit WHERE seq > 127; UPDATE audit SET at_end = 1 WHERE seq = 127");
	c = verify(s);
	CHECK_INT(c.bad_seq, 128);
	CHECK_HAS(c.why, "cut off");
	add(s, 2);
	c = verify(s);
	CHECK_INT(c.bad_seq, 128);
	CHECK_HAS(c.why, "not there");
	over(s);
}

/* What somebody put before the first row or at the last number that there is. */
void test_audit__numbers_that_no_row_has(void)
{
	static const char *const seqs[] = {"0", "-1", "9223372036854775807"};
	const struct store_audit_row row = {.action = "x.y"};

	for (size_t i = 0; i < CL_ARRAY_LEN(seqs); i++)
		for (int end = 0; end < 2; end++) {
			cleanup_free char *put = cl_asprintf(
				"INSERT INTO audit SELECT %s, at, actor, action, entity, entity_id,"
				" project, detail, prev, hash, %d FROM audit WHERE seq = 1",
				seqs[i], end);
			struct store *s = trail();
			bool last = i == 2;
			struct cl_err e;

			add(s, 3);
			tamper(put);
			CHECK_INT(verify(s).bad_seq, last ? 4 : 1);
			CHECK_INT(store_audit_add(s, 1, &row, &e), last ? -1 : 0);
			if (last)
				CHECK_HAS(e.msg, "no row can follow");
			CHECK_INT(verify(s).bad_seq, last ? 4 : 1);
			over(s);
		}
}

/* Nobody who noted a head finds another row of that number. */
void test_audit__a_number_that_was_cut_off_is_not_used_again(void)
{
	struct store *s = trail();
	struct store_audit_filter newest = {.limit = 1};
	cleanup_buf struct cl_buf got = CL_BUF_INIT;
	struct store_chain c;
	struct cl_err e;

	add(s, 64);
	c = verify(s);
	tamper("DELETE FROM audit WHERE seq > 10");
	add(s, 1);
	CHECK_INT(store_audit_each(s, &newest, keep_place, &got, &e), 0);
	CHECK_HAS(got.p, "65 after ");
	CHECK_HAS(got.p, c.head);
	CHECK_INT(verify(s).bad_seq, 11);
	over(s);
}

/* What was passed is known in the transactions that follow. */
void test_audit__verified_on_the_way(void)
{
	struct store *s = trail();
	struct cl_err e;

	for (int i = 0; i < 4; i++) {
		struct store_txn t = {0};

		CHECK_INT(store_begin(s, &t, &e), 0);
		add(s, 40);
		if (i == 3)
			CHECK(!verify(s).broken);
		CHECK_INT(store_commit(&t, &e), 0);
	}
	CHECK(!verify(s).broken);
	CHECK_INT(verify(s).rows, 160);
	over(s);
}

void test_audit__lost_head(void)
{
	struct store *s = trail();
	struct store_audit_row row = {.action = "x.y"};
	struct store_chain c;
	struct cl_err e;

	tamper("DELETE FROM audit_head");
	CHECK_INT(store_audit_verify(s, 0, NULL, &c, &e), -1);
	CHECK_INT(store_audit_add(s, 1, &row, &e), -1);
	CHECK_HAS(e.msg, "lost its head");
	over(s);
}

void test_audit__rows_are_not_changed_by_accident(void)
{
	struct store *s = trail();
	sqlite3 *db = NULL;

	add(s, 1);
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, "UPDATE audit SET actor = ''", 0, 0, 0), SQLITE_CONSTRAINT);
	CHECK_INT(sqlite3_exec(db, "DELETE FROM audit", 0, 0, 0), SQLITE_CONSTRAINT);
	(void)sqlite3_close(db);
	over(s);
}

void test_audit__with_the_change_or_not_at_all(void)
{
	struct store *s = trail();
	struct store_txn t = {0};
	struct store_chain c;
	struct cl_err e;

	CHECK_INT(store_begin(s, &t, &e), 0);
	add(s, 2);
	store_rollback(&t);
	c = verify(s);
	CHECK(!c.broken && !c.rows);
	for (int i = 2; i < 5; i += 2) {
		CHECK_INT(store_begin(s, &t, &e), 0);
		add(s, 2);
		c = verify(s);
		CHECK(!c.broken && c.rows == i);
		CHECK_INT(store_commit(&t, &e), 0);
		c = verify(s);
		CHECK(!c.broken && c.rows == i);
	}
	over(s);
}

void test_audit__bytes_that_are_no_text(void)
{
	struct store *s = trail();
	struct store_audit_row row = {.actor = "uid:0", .action = "p.q", .project = "/a\xff/b"};
	struct cl_err e;

	CHECK_INT(store_audit_add(s, 1, &row, &e), 0);
	CHECK(!verify(s).broken);
	over(s);
}

static int first_seq(const struct store_audit *a, void *arg, struct cl_err *e)
{
	(void)e;
	if (!*(int64_t *)arg)
		*(int64_t *)arg = a->seq;
	else
		*(int64_t *)arg += 100;
	return 0;
}

void test_audit__filters(void)
{
	static const struct {
		struct store_audit_filter f;
		int64_t want; /* newest seq + 100 for each further one */
	} cases[] = {
		{{0}, 4 + 300},
		{{.limit = 1}, 4},
		{{.action = "run.start"}, 4 + 300},
		{{.action = "run."}, 4 + 300},
		{{.action = "ru*"}, 4 + 300},
		{{.action = "*"}, 4 + 300},
		{{.action = "run"}, 0},
		{{.action = "run.%"}, 0},
		{{.entity_id = "odd"}, 4 + 100},
		{{.since = 1700000000002}, 4 + 100},
		{{.project = "/none"}, 0},
		{{.actor = "uid:0"}, 4 + 300},
	};
	struct store *s = trail();
	struct cl_err e;

	add(s, 4);
	for (size_t i = 0; i < CL_ARRAY_LEN(cases); i++) {
		int64_t got = 0;

		CHECK_INT(store_audit_each(s, &cases[i].f, first_seq, &got, &e), 0);
		if (got != cases[i].want)
			UNIT_FAIL("case %zu: %lld", i, (long long)got);
	}
	over(s);
}

static int keep_detail(const struct store_audit *a, void *arg, struct cl_err *e)
{
	(void)e;
	cl_buf_adds(arg, a->detail);
	return 0;
}

/* Others word a reason or an error; everything else is ours. */
void test_audit__a_credential_in_a_reason_is_taken_out(void)
{
	static const char token[] = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
	const struct store_audit_filter all = {0};
	cleanup_buf struct cl_buf got = CL_BUF_INIT;
	cleanup_free char *reason = cl_asprintf("leaked: %s in a chat", token);
	json_t *d = json_pack("{s:s, s:s, s:i}", "reason", reason, "error", token, "n", 7);
	struct store_audit_row row = {.actor = "uid:0", .action = "test.row", .detail = d};
	struct store *s = trail();
	struct store_chain chain;
	struct cl_err e;

	CHECK_INT(store_audit_add(s, 1700000000000, &row, &e), 0);
	CHECK_STR(json_string_value(json_object_get(d, "error")), token);
	CHECK_INT(store_audit_each(s, &all, keep_detail, &got, &e), 0);
	CHECK(!strstr(got.p, "0123456789abcdefghij"));
	CHECK_HAS(got.p, "leaked: ");
	CHECK_HAS(got.p, " in a chat");
	CHECK_HAS(got.p, "\"n\":7");
	CHECK_INT(store_audit_verify(s, 0, "", &chain, &e), 0);
	CHECK(!chain.broken);
	json_decref(d);
	over(s);
}
